# SPDX-License-Identifier: GPL-2.0
"""A Slurm partition in one guest: slurmctld and munged here, and a slurmd for each node in a
network namespace of its own.

	with hosts.Hosts(4) as net, slurm.Partition(net) as partition:
		partition.run("salloc", "-N", "4", ...)
"""

import os
import shutil
import subprocess

import krping
from krping import Program
from network import call, ip

HOME = "/tmp/slurm"
# The controller's place on the bridge of the hosts.
ADDRESS = "10.97.0.254"
CONF = """\
ClusterName=krping
SlurmctldHost={name}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/%n.log
{nodes}
PartitionName=rdma Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName=h{number} NodeHostname={name} NodeAddr={address} CPUs=1 State=UNKNOWN"


class Partition:
	"""Within, a partition with all of some hosts.Hosts as nodes."""

	def __init__(self, net):
		self.net = net
		self.daemons = {}

	def __enter__(self):
		# A daemon's runtime directories are made by systemd elsewhere.
		for path in (f"{HOME}/state", "/run/munge", "/etc/slurm"):
			os.makedirs(path, exist_ok=True)
		shutil.chown("/run/munge", "munge", "munge")
		name = os.uname().nodename
		nodes = "\n".join(NODE.format(number=number, name=name, address=self.net.address(number))
				  for number in self.net.numbers)
		self._write("slurm.conf", CONF.format(name=name, address=ADDRESS, home=HOME, nodes=nodes))
		self._write("cgroup.conf", "CgroupPlugin=disabled\n")
		ip(f"addr add {ADDRESS}/24 dev {self.net.bridge}")
		try:
			self.daemons["munged"] = Program("setpriv", "--reuid=munge", "--regid=munge",
							 "--clear-groups", "munged", "--foreground")
			krping.wait_for(lambda: os.path.exists("/run/munge/munge.socket.2"))
			self.daemons["slurmctld"] = Program("slurmctld", "-D", "-i")
			for number in self.net.numbers:
				self.start(number)
			krping.wait_for(self._idle, 120, "all nodes to be idle")
		except BaseException:
			print(self.log(), flush=True)
			self.__exit__()
			raise
		return self

	def start(self, number):
		"""Start the slurmd of a host."""
		self.daemons[f"h{number}"] = Program("ip", "netns", "exec", f"h{number}",
						     "slurmd", "-D", "-N", f"h{number}")

	def log(self):
		"""What the daemons have said."""
		return "\n".join(f"# {name}: {program.output()[-2000:]}"
				 for name, program in self.daemons.items())

	@staticmethod
	def _write(name, text):
		with open(f"/etc/slurm/{name}", "w", encoding="ascii") as file:
			file.write(text)

	def _idle(self):
		"""Whether all nodes wait for jobs."""
		done = subprocess.run(("sinfo", "-h", "-o", "%t %D"), stdin=subprocess.DEVNULL,
				      capture_output=True, text=True, check=False)
		return done.stdout.split() == ["idle", str(len(self.net.numbers))]

	def __exit__(self, *_):
		for name in reversed(self.daemons):
			self.daemons[name].stop()
		call("ip", "addr", "del", f"{ADDRESS}/24", "dev", self.net.bridge)
		shutil.rmtree(HOME)
