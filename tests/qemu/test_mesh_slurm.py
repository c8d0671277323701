# SPDX-License-Identifier: GPL-2.0
"""krping mesh within jobs of Slurm, on a partition of four nodes."""

import json
import os
import subprocess
import sys

import hosts
import krping
import slurm
from krping import wait_for
from ktap import Suite
from meshes import PROGRAM, begin, cells

COUNT = 4
PAIRS = COUNT * (COUNT - 1)
PATH = "/tmp/slurm.json"
QUICK = ("--test", "wlat", "--sizes", "64", "--count", "50", "--json", PATH)

suite = Suite(check=krping.check)


def document():
	"""What the mesh wrote."""
	with open(PATH, encoding="utf-8") as file:
		return json.load(file)


def whole():
	"""The document is that of a mesh of all nodes, over srun."""
	found = document()
	assert found["launcher"] == "srun", found["launcher"]
	assert [host["name"] for host in found["hosts"]] == [f"h{n}" for n in range(1, COUNT + 1)], found
	assert all(host["ok"] for host in found["hosts"]), found["hosts"]
	values = cells(found, "p50_ns")
	assert len(values) == PAIRS and min(values.values()) > 0, values


@suite.test("a mesh within salloc and one within sbatch: all pairs of four nodes")
def jobs():
	with hosts.Hosts(COUNT) as net, slurm.Partition(net) as partition:
		# srun is the launcher within a job, and the job says which nodes it has.
		command = f'exec {sys.executable} {PROGRAM} mesh --hosts "$SLURM_JOB_NODELIST" ' \
			+ " ".join(("--connect-timeout", "120", *QUICK))
		done = subprocess.run(("salloc", "-N", str(COUNT), "sh", "-c", command), text=True,
				      stdin=subprocess.DEVNULL, capture_output=True, check=False)
		assert done.returncode == 0, (done.stdout, done.stderr, partition.log())
		assert f"{PAIRS} runs of {COUNT} of {COUNT} hosts; 0 failed" in done.stdout, done.stdout
		whole()
		os.unlink(PATH)
		done = subprocess.run(("sbatch", "--wait", "-N", str(COUNT), "-o", "/tmp/sbatch.out",
				       "--wrap", command), text=True, stdin=subprocess.DEVNULL,
				      capture_output=True, check=False)
		with open("/tmp/sbatch.out", encoding="utf-8", errors="replace") as file:
			said = (done.stdout, done.stderr, file.read(), partition.log())
		assert done.returncode == 0, said
		whole()


@suite.test("a node whose module has no device is a row; Ctrl-C ends the tasks on all nodes")
def faults():
	with hosts.Hosts(COUNT) as net, slurm.Partition(net):
		net.unplug(3)
		salloc = ("salloc", "-N", str(COUNT), "-Q")
		running = begin("h[1-4]", *QUICK, launcher="srun", before=salloc)
		out, err = running.communicate(timeout=200)
		assert running.returncode == 1, (out, err)
		reasons = {host["name"]: host["reason"] for host in document()["hosts"]}
		assert "no RDMA device" in reasons["h3"], reasons
		assert not reasons["h1"] and not reasons["h2"] and not reasons["h4"], reasons
		running = begin("h[1-4]", "--test", "wlat", "--duration", "600", launcher="srun",
				before=salloc)
		wait_for(lambda: any(line.counters.get("write_msgs", 0) > 1000
				     for line in krping.lines()), 120)
		# The mesh itself, as the terminal would do it.
		subprocess.run(("pkill", "-INT", "-f", "krping mesh"), check=True)
		out, err = running.communicate(timeout=100)
		assert running.returncode == 130, (running.returncode, out[-2000:], err[-2000:])
		assert not krping.lines(), krping.lines()


suite.main()
