# SPDX-License-Identifier: GPL-2.0
"""What perftest's programs print, as results: ib_write_lat, ib_read_bw and the like. Their JSON
of --out_json, too."""

import re
import typing
from typing import Any

from .errors import Quit
from .result import SCHEMA, Result

VERBS = {"Send": "s", "RDMA_Write": "w", "RDMA_Read": "r", "Atomic": "a"}
VERB = "|".join(VERBS)
# The line above all, such as "RDMA_Write Bidirectional BW Test".
TITLE = re.compile(rf"^[ \t]*({VERB})[ \t]([\w \t]*)(BW|Latency) Test[ \t]*$", re.MULTILINE)
# The same in JSON.
JSON_TITLE = re.compile(rf"({VERB})_(\w*?)(BW|Latency)_Test")
# Two of these stand in a line.
INFO = re.compile(r"(Device|Number of qps|Transport type|Connection type|TX depth|Post List|Mtu"
		  r"|Link type)[ \t]*:[ \t]*(\w+)")
HEADING = re.compile(r"#bytes|#iterations|(?:BW|MsgRate) Port\d\[[^]]*\]|BW (?:peak|average)\[[^]]*\]"
		     r"|MsgRate\[Mpps\]|t_\w+\[usec\]|99(?:\.9)?% percentile\[usec\]|tps average"
		     r"|\S+\[[^]]*\]|\S+")
ROW = re.compile(r"[ \t]*[0-9][0-9. \t]*")

LATENCIES = {"t_min[usec]": "min_ns", "t_max[usec]": "max_ns", "t_typical[usec]": "p50_ns",
	     "t_avg[usec]": "mean_ns", "t_stdev[usec]": "stddev_ns",
	     "99% percentile[usec]": "p99_ns", "99.9% percentile[usec]": "p99_9_ns"}
# The figures of JSON by their names in the text.
JSON_FIGURES = {"MsgSize": "#bytes", "n_iterations": "#iterations", "t_min": "t_min[usec]",
		"t_max": "t_max[usec]", "t_typical": "t_typical[usec]", "t_avg": "t_avg[usec]",
		"t_stdev": "t_stdev[usec]", "percentile_99": "99% percentile[usec]",
		"percentile_99.9": "99.9% percentile[usec]", "tps_average": "tps average",
		"MsgRate": "MsgRate[Mpps]"}
# Its MB are MiB, too.
UNITS = {"MiB/sec": 1 << 20, "MB/sec": 1 << 20, "Gb/sec": 1e9 / 8}
# perftest's names of the options of a run, and krping's.
OPTIONS = {"Number of qps": "qps", "TX depth": "txdepth", "Post List": "postlist"}


def is_output(text: str) -> bool:
	"""Whether TEXT is what one of these programs printed."""
	return TITLE.search(text) is not None


def results(text: str, name: str) -> list[Result]:
	"""The results of TEXT, which may be the output of several programs. NAME is what messages call
	it."""
	found: list[Result] = []
	titles = list(TITLE.finditer(text))
	ends = [title.start() for title in titles[1:]] + [len(text)]
	for title, end in zip(titles, ends):
		found += _of_test(title, text[title.end():end], name, len(found) + 1)
	if not found:
		raise Quit(f"{name}: perftest's output has no line of figures")
	return found


def of_document(document: dict[str, Any], name: str) -> Result:
	"""The result of DOCUMENT, JSON of --out_json that NAME is the file of."""
	about, said = document["test_info"], document.get("results")
	if not isinstance(about, dict) or not isinstance(said, dict):
		raise Quit(f"{name}: perftest's test_info and results are not objects")
	title = JSON_TITLE.fullmatch(str(about.get("test")))
	if title is None:
		raise Quit(f"{name}: perftest's test {about.get('test')!r} is not known")
	figures = {heading: float(said[key]) for key, heading in JSON_FIGURES.items()
		   if isinstance(said.get(key), (int, float))}
	if "#bytes" not in figures:
		raise Quit(f"{name}: perftest's results have no MsgSize")
	if "MsgRate[Mpps]" in figures:
		# Its BW_average does not say its unit.
		rate = figures["MsgRate[Mpps]"] * 1e6 * figures["#bytes"]
		figures["BW average[MiB/sec]"] = rate / UNITS["MiB/sec"]
	info = {key.replace("_", " "): str(value) for key, value in about.items()}
	return _result(title, info, figures, 1)


def _of_test(title: re.Match[str], text: str, name: str, number: int) -> list[Result]:
	"""The results of one test, by numbers from NUMBER on."""
	info = dict(INFO.findall(text))
	headings: list[str] = []
	found: list[Result] = []
	for line in text.split("\n"):
		if "#bytes" in line:
			headings = HEADING.findall(line[line.index("#bytes"):])
		elif headings and ROW.fullmatch(line):
			cells = line.split()
			if len(cells) != len(headings):
				raise Quit(f"{name}: perftest's line {line.strip()!r} has not the columns "
					   f"of its heading")
			try:
				figures = dict(zip(headings, map(float, cells)))
			except ValueError:
				raise Quit(f"{name}: perftest's line {line.strip()!r} is none of figures") \
					from None
			found.append(_result(title, info, figures, number + len(found)))
	return found


def _result(title: re.Match[str], info: dict[str, str], figures: dict[str, float],
	    number: int) -> Result:
	verb, how, measure = title[1], title[2], title[3]
	test = VERBS[verb] + ("bw" if measure == "BW" else "lat")
	size, iterations = int(figures["#bytes"]), int(figures.get("#iterations", 0))
	words = ["perftest"]
	words += [f"{option}={info[key]}" for key, option in OPTIONS.items() if key in info]
	service = info.get("Connection type", "RC").lower()
	words += [f"qp={service}"] if service != "rc" else []
	result: dict[str, Any] = {
		"schema": SCHEMA, "id": number, "thread": number, "tag": "", "role": "client",
		"test": "bw" if test == "wbw" else test, "options": ",".join(["client", *words]),
		"status": "ok", "size": size, "iterations": iterations}
	if "Device" in info:
		result |= {"device": info["Device"], "transport": _transport(info)}
	if info.get("Mtu", "").isdigit():
		result["path_mtu_bytes"] = int(info["Mtu"])
	if measure == "BW":
		bandwidth = _bandwidth(figures)
		rate = figures.get("MsgRate[Mpps]", 0) * 1e6 or (bandwidth / size if size else 0)
		# Of both directions, where both were used.
		result["total_bytes_per_s" if "Bidirectional" in how else "bytes_per_s"] = round(bandwidth)
	else:
		for heading, field in LATENCIES.items():
			if heading in figures:
				result[field] = round(figures[heading] * 1000)
		mean = figures.get("t_avg[usec]", 0) / 1e6
		rate = figures.get("tps average", 0) or (1 / mean if mean else 0)
	result["elapsed_ns"] = round(iterations / rate * 1e9) if rate else 0
	return typing.cast(Result, result)


def _bandwidth(figures: dict[str, float]) -> float:
	"""Bytes per second."""
	for heading, value in figures.items():
		unit = heading.removeprefix("BW average[").removesuffix("]")
		if heading.startswith("BW average[") and unit in UNITS:
			return value * UNITS[unit]
	return 0


def _transport(info: dict[str, str]) -> str:
	if info.get("Transport type") == "IW":
		return "iWARP"
	return {"Ethernet": "RoCE", "IB": "InfiniBand"}.get(info.get("Link type", ""), "unknown")
