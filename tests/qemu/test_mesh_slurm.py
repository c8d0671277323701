# SPDX-License-Identifier: GPL-2.0
"""krping mesh within jobs of Slurm, on a partition of three nodes."""

import json
import os
import subprocess
import sys

import hosts
import krping
import slurm
from ktap import Suite
from meshes import PROGRAM, begin, cells
from microbench import moving

COUNT = 3
PAIRS = COUNT * (COUNT - 1)
PATH = "/tmp/slurm.json"
QUICK = ("--test", "wlat", "--sizes", "64", "--count", "50", "--confirm", "0", "--json", PATH)

suite = Suite(check=krping.check)


def document():
	"""What the mesh wrote, which had all nodes, over srun. It is removed."""
	with open(PATH, encoding="utf-8") as file:
		found = json.load(file)
	os.unlink(PATH)
	assert found["launcher"] == "srun", found["launcher"]
	assert [host["name"] for host in found["hosts"]] == [f"h{n}" for n in range(1, COUNT + 1)], found
	return found


@suite.test("within salloc all pairs of three nodes, and within sbatch a node whose module has no device "
	    "is a row; Ctrl-C ends the tasks on all nodes")
def jobs():
	with hosts.Hosts(COUNT) as net, slurm.Partition(net) as partition:
		# srun is the launcher within a job, and the job says which nodes it has.
		command = f'exec {sys.executable} {PROGRAM} mesh --hosts "$SLURM_JOB_NODELIST" ' \
			+ " ".join(("--connect-timeout", "120", *QUICK))
		done = subprocess.run(("salloc", "-N", str(COUNT), "sh", "-c", command), text=True,
				      stdin=subprocess.DEVNULL, capture_output=True, check=False)
		assert done.returncode == 0, (done.stdout, done.stderr, partition.log())
		assert f"{PAIRS} runs of {COUNT} of {COUNT} hosts; 0 failed" in done.stdout, done.stdout
		found = document()
		assert all(host["ok"] for host in found["hosts"]), found["hosts"]
		values = cells(found, "p50_ns")
		assert len(values) == PAIRS and min(values.values()) > 0, values
		net.unplug(3)
		done = subprocess.run(("sbatch", "--wait", "-N", str(COUNT), "-o", "/tmp/sbatch.out",
				       "--wrap", command), text=True, stdin=subprocess.DEVNULL,
				      capture_output=True, check=False)
		with open("/tmp/sbatch.out", encoding="utf-8", errors="replace") as file:
			said = (done.stdout, done.stderr, file.read(), partition.log())
		assert done.returncode == 1, said
		reasons = {host["name"]: host["reason"] for host in document()["hosts"]}
		assert "no RDMA device" in reasons["h3"], reasons
		assert not reasons["h1"] and not reasons["h2"], reasons
		net.plug(3)
		interrupt(net)


def interrupt(net):
	"""Begin a mesh of all nodes, and end it by Ctrl-C."""
	running = begin(net.names, "--test", "wlat", "--duration", "600", launcher="srun",
			before=("salloc", "-N", str(COUNT), "-Q"))
	krping.wait_for(lambda: moving(1, 1000), 120)
	# The mesh itself, as the terminal would do it.
	subprocess.run(("pkill", "-INT", "-f", "krping mesh"), check=True)
	out, err = running.communicate(timeout=100)
	assert running.returncode == 130, (running.returncode, out[-2000:], err[-2000:])
	assert not krping.lines(), krping.lines()


suite.main()
