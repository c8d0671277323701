# SPDX-License-Identifier: GPL-2.0
"""A launcher with one srun for all hosts, within a Slurm job."""

import collections
import os
import re
import shutil

from krping_front.errors import Quit
from krping_front.mesh import nodeset

from .base import PATIENCE, Audience, Launcher
from .child import Child, end

# Lines of srun's stderr about tasks that are gone while others go on: their hosts, and the reason.
GONE = re.compile(
	r"srun: error: (?:(?P<hosts>\S+): tasks? [^:]+: (?P<why>.*)"
	r"|Task launch for .* failed on node (?P<node>[^:\s]+): (?P<reason>.*)"
	r"|(?P<what>Node failure) on (?P<where>\S+))")
# So many lines before that may say more.
LINES = 3


class Srun(Launcher):
	"""Runs one task on each host of the job. srun copies its stdin to all of them, and each
	line says which host it is of."""

	NEEDS = "this is no Slurm job, or there is no srun; start it with salloc or sbatch"
	OPTIONS = ("--ntasks-per-node=1", "--input=all", "--overlap", "--kill-on-bad-exit=0",
		   "--wait=0", "--no-kill")

	# Behind sudo the node could not see what Slurm calls its host.
	NAMED = ("sh", "-c", 'exec "$@" --name "$SLURMD_NODENAME"', "sh")

	def __init__(self, words: list[str], audience: Audience) -> None:
		super().__init__(words, audience)
		self.child: Child | None = None
		self.hosts: list[str] = []
		# What stderr said last, such as tasks, whose lines have no names.
		self.last: collections.deque[str] = collections.deque(maxlen=LINES)

	@classmethod
	def usable(cls) -> bool:
		return "SLURM_JOB_ID" in os.environ and shutil.which("srun") is not None

	def start(self, hosts: list[str]) -> None:
		self.hosts = hosts
		count = str(len(hosts))
		self.child = Child(
			["srun", *self.OPTIONS, "--nodes", count, "--ntasks", count,
			 "--nodelist", ",".join(hosts), *self.NAMED, *self.words],
			lambda line: self.audience.said(None, line), self._ended, self._complained)

	def _complained(self, line: str) -> None:
		"""srun, or a task, has said LINE on stderr."""
		found = GONE.match(line)
		if not found:
			self.last.append(line)
			return
		try:
			gone = nodeset.expand(found["hosts"] or found["node"] or found["where"])
		except Quit:
			return
		reason = f"srun: {found['why'] or found['reason'] or found['what']}"
		if self.last:
			reason += f"; the last lines before were: {' '.join(self.last)}"
		for host in gone:
			if host in self.hosts:
				self.audience.ended(host, reason)

	def _ended(self, reason: str) -> None:
		for host in self.hosts:
			self.audience.ended(host, f"srun ended: {reason}")

	def send(self, line: str) -> None:
		if self.child:
			self.child.send(line.encode())

	async def stop(self) -> None:
		if self.child:
			await end([self.child], PATIENCE)
