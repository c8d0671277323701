# SPDX-License-Identifier: GPL-2.0
"""Where results come from: what this host and sysfs say, in all that the front writes."""

import csv
import json
import os

import canned
import front
import schema
from front import Module, krping, write
from krping_front import paths, provenance
from ktap import Suite

suite = Suite()

GID = "0000:0000:0000:0000:0000:ffff:c000:0201"


def tree(files):
	"""The files FILES, texts by their paths, below the current directory."""
	for path, text in files.items():
		os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
		write(path, text + "\n")


def sysfs(**changes):
	"""A sysfs with a device on the second of two GIDs' interfaces, with CHANGES of its files."""
	base = "infiniband/mlx5_0"
	tree({f"{base}/fw_ver": "20.1.2", f"{base}/ports/1/rate": "100 Gb/sec (4X EDR)",
	      f"{base}/ports/1/link_layer": "Ethernet", f"{base}/device/numa_node": "1",
	      f"{base}/ports/1/gids/0": "fe80:" + ":".join(["0000"] * 7),
	      f"{base}/ports/1/gids/10": GID, f"{base}/ports/1/gid_attrs/ndevs/0": "eth0",
	      f"{base}/ports/1/gid_attrs/ndevs/10": "vlan5",
	      "net/vlan5/mtu": "9000", "cpuinfo": "processor : 0\nmodel name\t: Fast One\n"}
	     | {f"{base}/{path}": text for path, text in changes.items()})
	provenance.host.cache_clear()
	provenance.device.cache_clear()
	return front.patched(paths, INFINIBAND=os.path.abspath("infiniband"),
			     NET=os.path.abspath("net"), CPUINFO=os.path.abspath("cpuinfo"))


HERE = {"port": 1, "gid": "::ffff:192.0.2.1", "peer_gid": "::ffff:192.0.2.2",
	"driver": "mlx5_ib", "path_mtu_bytes": 4096, "ended_unix_ns": 1_800_000_000_250_000_000}


def answer(module, text):
	"""A module whose device is that of sysfs."""
	module.result(text, **HERE)
	return 0


@suite.test("run --json says of each result where it comes from")
def run_json():
	with front.directory(), sysfs():
		with Module(answer):
			status, out, err = krping("run", "client,addr=192.0.2.1,bw", "--json")
		found = json.loads(out)
	assert status == 0, err
	names = os.uname()
	expected = {"host": names.nodename, "kernel": names.release, "machine": names.machine,
		    "front": found["provenance"]["front"], "cpus": os.cpu_count(),
		    "cpu_model": "Fast One", "firmware": "20.1.2", "rate_mbit_per_s": 100_000,
		    "link_layer": "Ethernet", "interface": "vlan5", "interface_mtu_bytes": 9000,
		    "numa_node": 1}
	assert found["provenance"] == expected, found["provenance"]
	wrong = [line for line in schema.errors(found) if "is a dependency of" not in line]
	assert not wrong, wrong


@suite.test("what sysfs does not say is absent")
def absent():
	with front.directory(), sysfs(**{"device/numa_node": "-1", "fw_ver": "",
					 "ports/1/rate": "unknown"}):
		found = [canned.result(**HERE | {"gid": "::1"}), canned.result(device=None),
			 canned.result(device="rxe9")]
		provenance.add(found)
	names = [set(each["provenance"]) - set(provenance.host()) for each in found]
	assert names == [{"link_layer"}, set(), set()], names


@suite.test("each line of a sweep's CSV, and each result of its JSON, stands alone")
def sweep():
	with front.directory(), sysfs():
		with Module(answer):
			status, out, err = krping("sweep", "192.0.2.1", "--test", "bw",
						  "--sizes", "64,128", "--csv", "-", "--json", "x")
		assert status == 0, err
		whole = json.load(open("x", encoding="utf-8"))
	assert [each["provenance"]["firmware"] for each in whole["results"]] == ["20.1.2"] * 2
	lines = list(csv.DictReader(out.splitlines()))
	for line in lines:
		known = {name: line[name] for name in (
			"time", "host", "version", "device", "driver", "firmware",
			"rate_mbit_per_sec", "path_mtu_bytes", "gid", "numa_node")}
		assert known == {
			"time": "2027-01-15T08:00:00.250Z", "host": os.uname().nodename,
			"version": "0.1.0", "device": "mlx5_0", "driver": "mlx5_ib",
			"firmware": "20.1.2", "rate_mbit_per_sec": "100000",
			"path_mtu_bytes": "4096", "gid": "::ffff:192.0.2.1", "numa_node": "1"}, known
	assert [line["options"].count("size=") for line in lines] == [1, 1], lines


@suite.test("older results, which do not say, leave the columns empty")
def older():
	with front.directory(), sysfs():
		status, out, _ = krping("report", write("a", canned.json_lines([canned.result("bw")])))
	assert status == 0 and "1000" in out, out
	with front.directory():
		write("a", canned.json_lines([canned.result(provenance={"cpus": "many"})]))
		status, _, err = krping("report", "a")
	assert status == 2 and "provenance.cpus is 'many', which is no whole number" in err, err


suite.main()
