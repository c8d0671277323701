# SPDX-License-Identifier: GPL-2.0
"""krping caps: the command, its tables, and the exit status."""

import errno
import json

import canned
import front
from front import Module, krping
from ktap import Suite

suite = Suite(limit=60)


def found(**changes):
	"""A module's answer that is canned.caps() with CHANGES."""
	def answer(module, text):
		module.keep(canned.caps(module.next, tag=text.tag, options=text.text, **changes))
		return changes.get("errno_number", 0)
	return answer


def caps(answer, *words, status=0):
	"""Run krping caps WORDS with a Module that has ANSWER: the module, stdout, stderr."""
	with front.directory(), Module(answer) as module:
		ended, out, err = krping("caps", *words)
	assert ended == status, (ended, out, err)
	return module, out, err


@suite.test("what is written, for either family")
def written():
	for addr, option in (("192.0.2.1", "addr=192.0.2.1"), ("fe80::1%eth0", "addr6=fe80::1%eth0")):
		module, _, err = caps(found(), addr)
		text = module.commands[0]
		assert (text.text, err) == (f"caps,{option},tag={text.tag}", ""), (text.text, err)
	for addr in ("", "192.0.2.1,count=1"):
		with front.directory(), Module(found()) as module:
			status, _, err = krping("caps", addr)
		assert (status, module.commands) == (2, []) and "is no address" in err, err


EXPECTED = """\
# caps: what mlx5_0 (RoCE) can do

device
  firmware                   20.1.2
  node GUID                  0123:4567:89ab:cdef
  vendor                     0x2c9
  part                       4121
  version                    0
  ports                      1

port
  number                     1
  state                      ACTIVE
  link layer                 Ethernet
  MTU                        1 KiB
  largest MTU                4 KiB
  longest message            1 GiB
  rate                       100 Gbit/s
  connection management      answers

what it says
  max_qp                     131072
  max_qp_wr                  32768
  max_mr_size_bytes          no limit
  device_cap_flags           0x21361c36
  atomics                    hca
  features                   mem_mgt_extensions, send_with_inv

what it did
  item                  asked     made   status
  pd                        1        1       ok
  most_send_requests    32770    16384     less  ENOMEM

what commands can ask for
  size=                      4 MiB
  size= with mem_mode=reg    4 MiB
  size= with inline          828 bytes
  txdepth=                   16382
  qps=                       256
  sge=                       16
  sge= with rlat, rbw        16
  depth= of a disk           1024
  server_inv                 yes
  read_inv                   no (read_inv: only iWARP devices have it)
  imm                        yes
  alat, abw                  yes
  caslat, casbw              yes
  mtu=                       yes
  blk, tap=                  yes
"""


@suite.test("the tables, also those of run and report")
def tables():
	_, out, _ = caps(found(), "192.0.2.1")
	assert out == EXPECTED, out
	with front.directory(), Module(found()):
		assert krping("run", "caps,addr=192.0.2.1") == (0, EXPECTED, "")
		front.write("saved", canned.json_lines([canned.caps()]))
		assert krping("report", "saved") == (0, EXPECTED, "")
		assert krping("report", "saved", "--test", "wlat")[0] == 1
		# There is nothing to be drawn.
		status, _, err = krping("plot", "saved", "--kind", "bandwidth", "-o", "x.svg")
		assert status == 1 and err, (status, err)


@suite.test("--json prints the result")
def as_json():
	_, out, _ = caps(found(), "192.0.2.1", "--json")
	result = json.loads(out)
	assert result["caps"] == canned.caps()["caps"] and result["test"] == "caps", result


@suite.test("something that must work does not: as far as it went, and status 1")
def failed():
	values = canned.caps()["caps"]
	del values["limits"]
	values["preflight"] = [{"item": "pd", "status": "failed", "asked": 1, "made": 0,
				"errno": "ENOMEM", "errno_number": 12}]
	sentence = "allocating a protection domain failed with ENOMEM"
	_, out, err = caps(found(caps=values, status="failed", errno="ENOMEM",
				 errno_number=errno.ENOMEM, reason=sentence),
			   "192.0.2.1", status=1)
	assert out.splitlines()[-1].split() == ["pd", "1", "0", "failed", "ENOMEM"], out
	assert "commands can ask for" not in out, out
	assert err == f"krping: ENOMEM (12): {sentence}\n", err


def server(takes, path=4096, told=1024, lost=errno.ETIMEDOUT):
	"""A module's answer of a server to which packets of TAKES bytes get through, on a path of
	PATH, None for one of iWARP, and that has TOLD of its port's MTU."""
	def answer(module, text):
		if "caps" in text.options:
			return found(caps=dict(canned.caps()["caps"], port=PORT))(module, text)
		mtu = text.value("mtu", path or 1)
		size = text.value("size", 64)
		if min(size, mtu) > takes if path else size > 1 << 15 and not takes:
			return module.fail(text, lost, "nothing happened")
		tells = {"server_port": {"active_mtu_bytes": told, "max_mtu_bytes": 4096,
					 "rate_mbit_per_s": 25000}} if told else {}
		of_path = {"path_mtu_bytes": mtu, "gid": "::ffff:192.0.2.2",
			   "peer_gid": "::ffff:192.0.2.1"}
		module.result(text, **tells | (of_path if path else {}))
		return 0
	return answer


LONG = "messages of 4096 bytes"
PORT = {"number": 1, "state": "ACTIVE", "link_layer": "Ethernet", "max_mtu_bytes": 4096,
	"active_mtu_bytes": 4096, "max_message_bytes": 1 << 30, "rate_mbit_per_s": 100_000}


@suite.test("--client: both ends, and how large packets get through; 1 where the path's do not")
def pair():
	_, out, err = caps(server(4096, told=4096), "192.0.2.1", "--client")
	table = out.partition("the pair\n")[2]
	assert [line.split() for line in table.splitlines()] == [
		["here", "at", "the", "server"], ["MTU", "4", "KiB", "4", "KiB"],
		["largest", "MTU", "4", "KiB", "4", "KiB"],
		["MTU", "of", "the", "interface", "unknown", "not", "told"],
		["rate", "100", "Gbit/s", "25", "Gbit/s"], ["GID", "::ffff:192.0.2.2", "::ffff:192.0.2.1"],
		["MTU", "of", "the", "path", "4", "KiB"],
		["messages", "get", "through", "4096", "bytes"]] and err == "", (table, err)
	module, out, err = caps(server(1024), "192.0.2.1", "--client", "--port", 7, status=1)
	assert "  messages get through       1024 bytes\n" in out, out
	assert err == (f"krping: {LONG} do not get through, and those of 1024 do: the server's port takes "
		       "packets of 1024. Give all interfaces on the way the same MTU, or commands "
		       "mtu=1024\n"), err
	assert [(text.value("size", 0), text.value("mtu", 0)) for text in module.commands[1:]] == [
		(64, 0), (4096, 0), (2048, 2048), (1024, 1024)], module.commands
	assert not any("" in text.options for text in module.commands), module.commands
	assert all(text.text.startswith("client,addr=192.0.2.1,port=7,") for text in module.commands[1:])
	# A switch between ports that are alike, or nothing is known of the other.
	for told in (4096, None):
		_, _, err = caps(server(2048, told=told, lost=errno.ECONNRESET), "192.0.2.1", "--client",
				 status=1)
		assert "and those of 2048 do: the path's MTU is smaller than the ports'. Give" in err, err
	_, _, err = caps(server(64), "192.0.2.1", "--client", status=1)
	assert err == (f"krping: {LONG} do not get through, with any MTU: are packets lost on the "
		       "way?\n"), err


@suite.test("--client: JSON, iWARP, no server, and --port without it")
def pair_else():
	_, out, _ = caps(server(1024), "192.0.2.1", "--client", "--json", status=1)
	said = json.loads(out)["pair"]
	assert said["gets_through_bytes"] == 1024 and "1024 do" in said["reason"], said
	assert (said["own_port"], said["server_port"]["active_mtu_bytes"]) == (PORT, 1024), said
	_, out, _ = caps(server(1, path=None), "192.0.2.1", "--client", "--json")
	said = json.loads(out)["pair"]
	assert said["gets_through_bytes"] == 65536 and "reason" not in said, said
	_, _, err = caps(server(0, path=None), "192.0.2.1", "--client", status=1)
	assert "messages of 65536 bytes do not get through" in err, err

	def nobody(module, text):
		if "caps" in text.options:
			return found()(module, text)
		return module.fail(text, errno.ECONNREFUSED, "nothing listens on that port")

	_, out, err = caps(nobody, "192.0.2.1", "--client", status=1)
	assert "commands can ask for" in out and "the pair" not in out, out
	assert err.startswith("krping: the pair cannot be checked: ECONNREFUSED (111): "), err
	assert err.endswith("; it takes a server there, such as 'krping run server,persist'\n"), err
	_, _, err = caps(found(), "192.0.2.1", "--port", "7", status=2)
	assert err == "krping: --port is for --client\n", err


@suite.test("--src and --device: caps and all runs with a server connect from there")
def source():
	for words, option in ((("--device", "mlx5_1"), "dev=mlx5_1"), (("--dev", "mlx5_1"), "dev=mlx5_1"),
			      (("--src", "2001:db8::7"), "src=2001:db8::7")):
		module, _, _ = caps(server(1024), "192.0.2.1", "--client", "--port", 7, *words, status=1)
		assert len(module.commands) == 5, module.commands
		start = f"client,addr=192.0.2.1,{option},port=7,count=2,"
		assert module.commands[0].text.startswith(f"caps,addr=192.0.2.1,{option},tag="), words
		assert all(text.text.startswith(start) for text in module.commands[1:]), words
		module, _, _ = caps(found(), "192.0.2.1", *words)
		text, = module.commands
		assert text.text == f"caps,addr=192.0.2.1,{option},tag={text.tag}", text.text
	refused = ((("--device", "a,b"), "'a,b' is no RDMA device"),
		   (("--src", ""), "'' is no address"),
		   (("--src", "192.0.2.7", "--device", "mlx5_1"), "not allowed with argument"))
	for given, sentence in refused:
		with front.directory(), Module(found()) as module:
			status, _, err = krping("caps", "192.0.2.1", *given)
		assert (status, module.commands) == (2, []) and sentence in err, (given, err)


@suite.test("no device, a refused command, an interrupt, no module")
def amiss():
	def nowhere(module, text):
		return module.fail(text, errno.ENODEV, "no device leads there")

	_, out, err = caps(nowhere, "192.0.2.1", status=1)
	assert (out, err) == ("", "krping: ENODEV (19): no device leads there\n"), (out, err)
	sentence = "addr=192.0.2: must be an IPv4 address such as 192.0.2.1"
	_, out, err = caps(lambda module, _text: module.refuse(errno.EINVAL, sentence), "192.0.2",
			   status=2)
	assert (out, err) == ("", f"krping: EINVAL (22): {sentence}\n"), (out, err)
	_, out, err = caps(lambda _module, _text: errno.EINTR, "192.0.2.1", status=130)
	assert (out, err) == ("", "krping: interrupted\n"), (out, err)
	with front.directory(), front.patched(front.paths, PROC="nothing"):
		status, out, err = krping("caps", "192.0.2.1")
	assert (status, out) == (2, "") and "not loaded" in err, err


suite.main()
