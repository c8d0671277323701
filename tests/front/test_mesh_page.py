# SPDX-License-Identifier: GPL-2.0
# needs: browser
"""The page of krping mesh in a browser: what it shows, and what a click, a key and an address
choose. KEEP names a directory for pictures of it."""

import contextlib
import json
import os
import zlib

import browser
import front
from krping_front.mesh import figures
from ktap import Skip, Suite
from mesh_hosts import play

suite = Suite(limit=300)

KEEP = os.environ.get("KEEP")


@contextlib.contextmanager
def opened():
	"""A browser, and a directory."""
	if not browser.DIRECTORY:
		raise Skip("there is no browser: tests/front/run sets BROWSER to what scripts/browser "
			   "prints")
	with front.directory() as path, contextlib.closing(browser.Browser()) as found:
		yield found, f"file://{path}"


def picture(found, name):
	"""The size and the bytes of a picture of the page, which is kept where that is wanted."""
	data = found.picture()
	if KEEP:
		with open(os.path.join(KEEP, f"{name}.png"), "wb") as file:
			file.write(data)
	assert data.startswith(b"\x89PNG")
	chunks, at = {}, 8
	while at < len(data):
		size = int.from_bytes(data[at:at + 4], "big")
		chunks.setdefault(data[at + 4:at + 8], []).append(data[at + 8:at + 8 + size])
		at += 12 + size
	head, = chunks[b"IHDR"]
	return (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big"),
		zlib.decompress(b"".join(chunks[b"IDAT"])))


def click(found, client, server, count):
	"""Click the cell of hosts by their numbers, of COUNT: cells are squares that end 4 pixels
	before the map's end, and a name's width after its beginning."""
	left, top, width, height = json.loads(found.value(
		"JSON.stringify((({left, top, width, height}) => [left, top, width, height])"
		"(document.getElementById('map').getBoundingClientRect()))"))
	assert width == height, (width, height)
	cell = found.value("Number(document.getElementById('map').dataset.cell)")
	assert cell > 0
	end = width - 4
	found.click(left + end - (count - server - .5) * cell, top + end - (count - client - .5) * cell)


def fine(found):
	"""Nothing went wrong in the page, and it has asked nobody for anything."""
	assert not found.troubles, found.troubles
	others = [each for each in found.requests if not each.startswith("file://")]
	assert not others and found.requests, found.requests


@suite.test("a click shows a pair's figures, its series, who is accused, and why it failed")
def clicks():
	with opened() as (found, path):
		play("--html", "x.html", "--json", "x", "--repeat", "3", "--test", "wlat,bw",
		     "--sizes", "64,4K", slow={"h4": 5, ("h1", "h2"): 20},
		     faults={"h6": {"link": 0}, "h7": {"unreachable": 0},
			     # All of its rounds come before that.
			     ("h1", "h2"): {"link": 14 * 4 * 3}}, status=1)
		with open("x", encoding="utf-8") as file:
			document = json.load(file)
		found.open(f"{path}/x.html")
		assert "8 hosts, pairwise" in found.text("#summary")
		click(found, 1, 2, 8)
		assert found.text("#pair") == "h1 to h2", found.text("#pair")
		details = found.text("#details")
		sentence, = {each["sentence"] for each in document["outliers"]
			     if each["kind"] == "pair" and each["figure"] == "p50_ns"
			     and (each["test"], each["size"]) == ("wlat", 64)}
		assert sentence in details, (sentence, details)
		assert "3 of 3 failed" in sentence and f"{document['again']['failed']} failed when run " \
			"again" in found.text("#summary"), (sentence, found.text("#summary"))
		for words in ("wlat p50 by size", "p50 by run",
			      "rail 10.0.0.0/16, when run again: ETIMEDOUT: nothing happened"):
			assert words in details, details
		# The series has a point for each run, besides those of the sizes.
		assert found.value("document.querySelectorAll('#details svg').length") == 2
		assert found.value("document.querySelectorAll('#details svg circle').length") \
			== 5
		# One that failed has its sentence, and no figures.
		click(found, 0, 6, 8)
		details = found.text("#details")
		assert found.text("#pair") == "h0 to h6"
		assert "wlat, 64 bytes, rail 10.0.0.0/16: ETIMEDOUT: nothing happened for 10000 ms" \
			in details, details
		assert found.value("document.querySelectorAll('#details svg').length") == 0
		click(found, 7, 3, 8)
		assert "h7: cannot be reached: ssh: connect to host h7: No route to host" \
			in found.text("#details"), found.text("#details")
		# Keys move by one.
		found.press("ArrowLeft")
		assert found.text("#pair") == "h7 to h2", found.text("#pair")
		fine(found)


@suite.test("an address chooses a pair, and what is chosen is in the address")
def addresses():
	with opened() as (found, path):
		play("--html", "x.html", "--json", "x", "--test", "wlat,bw", "--sizes", "64,4K",
		     slow={"h4": 5}, passing={("h0", "h3"): (20, 56)})
		found.open(f"{path}/x.html#h4,h2,bw,4096")
		assert found.text("#pair") == "h4 to h2"
		assert found.value("document.getElementById('figure').value") == "bytes_per_s"
		# The page and the table have the same unit.
		with open("x", encoding="utf-8") as file:
			value = json.load(file)["matrices"][3]["figures"]["bytes_per_s"][4][2]
		assert found.text("#cell") == f"h4 to h2: {figures.sentence('bytes_per_s', value)}"
		assert found.text("#cell").endswith(" MiB/s"), found.text("#cell")
		assert found.value("document.getElementById('matrix').value") == "3"
		click(found, 3, 5, 8)
		assert found.value("location.hash") == "#h3,h5,bw,4096,10.0.0.0%2F16,bytes_per_s", \
			found.value("location.hash")
		address = found.value("location.href")
		found.open(f"{path}/x.html#h5,h6")
		assert found.text("#pair") == "h5 to h6"
		found.open(address)
		assert found.text("#pair") == "h3 to h5"
		# The lists lead to a pair, too.
		found.value("document.querySelector('#outliers button').click()")
		assert "h4" in found.text("#pair"), found.text("#pair")
		# So does that of those who stood out once.
		found.value("document.querySelector('#dismissed button').click()")
		assert found.text("#pair") == "h0 to h3", found.text("#pair")
		assert "h0" in found.text("#dismissed") and "h0" not in found.text("#outliers")
		# What is nobody's name chooses nothing.
		for address in ("#h99,h1", "#%", "#,,,", "#h1,h2,wlat,7,none,none"):
			found.open(f"{path}/x.html{address}")
			assert found.text("#pair") in ("h0 to h1", "h1 to h2"), address
		fine(found)


@suite.test("retransmits are a figure with a scale from 0, and accuse a pair")
def lost():
	with opened() as (found, path):
		play("--html", "x.html", "--json", "x", "--test", "wlat,bw", "--sizes", "64",
		     lossy={("h1", "h2"): 9})
		with open("x", encoding="utf-8") as file:
			counts = json.load(file)["matrices"][0]["figures"]["retransmits"]
		found.open(f"{path}/x.html#h1,h2,wlat,64,,retransmits")
		assert found.value("document.getElementById('figure').value") == "retransmits"
		assert found.text("#low") == "better 0", found.text("#low")
		assert found.text("#cell") == f"h1 to h2: {counts[1][2]}", found.text("#cell")
		assert "retransmits in a run" in found.text("#details")
		assert "pair h1 -> h2: up to" in found.text("#outliers"), found.text("#outliers")
		click(found, 5, 3, 8)
		assert found.text("#cell") == "h5 to h3: 0", found.text("#cell")
		fine(found)


@suite.test("what is not judged is listed with its noise, and is not put as none")
def not_judged():
	with opened() as (found, path):
		play("--html", "x.html", "--json", "x", "--test", "wlat", "--sizes", "64",
		     hosts="h[0-3]", spread=1.2)
		with open("x", encoding="utf-8") as file:
			sentences = [each["sentence"] for each in json.load(file)["unjudged"]]
		found.open(f"{path}/x.html#h1,h2")
		verdict = "no outliers by 1 of 3 figures, and the others not judged"
		assert found.text("#outliers") == verdict and verdict in found.text("#summary")
		listed = found.text("#unjudged")
		assert len(sentences) == 4 and all(each in listed for each in sentences), listed
		# A click shows its figure, of the pair that was chosen.
		found.value("document.querySelectorAll('#unjudged button')[2].click()")
		assert found.value("document.getElementById('figure').value") == "p99_ns"
		assert found.text("#pair") == "h1 to h2", found.text("#pair")
		fine(found)


@suite.test("light, dark, narrow, and with 64 hosts: the map fits, and is drawn")
def looks():
	with opened() as (found, path):
		play("--html", "few.html", slow={"h4": 5, ("h1", "h2"): 20}, faults={"h6": {"link": 0}},
		     status=1)
		play("--html", "many.html", hosts="node[00-63]", slow={"node17": 5})
		grounds = []
		for name, file, width, dark in (("light", "few", 1280, False), ("dark", "few", 1280, True),
						("many", "many", 1280, False),
						("narrow", "many", 420, False)):
			found.open(f"{path}/{file}.html", width=width, dark=dark)
			wide, high, pixels = picture(found, name)
			assert wide >= width - 20 and high > 500, (name, wide, high)
			grounds.append(found.value("getComputedStyle(document.body).backgroundColor"))
			# The page does not scroll sideways, nor does the map.
			for element in ("documentElement", "querySelector('#frame')"):
				assert found.value(f"document.{element}.scrollWidth"
						   f" <= document.{element}.clientWidth"), (name, element)
			# The map is no single colour.
			colours = found.value(
				"(() => { const map = document.getElementById('map');"
				"const data = map.getContext('2d')"
				".getImageData(0, 0, map.width, map.height);"
				"return new Set(new Uint32Array(data.data.buffer)).size; })()")
			assert colours > 20 and len(set(pixels[:1 << 20])) > 20, (name, colours)
		assert grounds[0] != grounds[1], grounds
		fine(found)


suite.main()
