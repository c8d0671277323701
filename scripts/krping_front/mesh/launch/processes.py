# SPDX-License-Identifier: GPL-2.0
"""Launchers with a process for each host: ssh, and network namespaces of this host."""

import abc
import functools
import resource
import shlex
import shutil

from krping_front.errors import Quit

from .base import PATIENCE, Audience, Launcher
from .child import Child, end

# A process has three pipes; some files more are open.
PIPES = 3
FILES = 64


class Processes(Launcher):
	"""Runs a process for each host."""

	def __init__(self, words: list[str], audience: Audience) -> None:
		super().__init__(words, audience)
		self.children: dict[str, Child] = {}

	@abc.abstractmethod
	def command(self, host: str) -> list[str]:
		"""The command for HOST."""

	def start(self, hosts: list[str]) -> None:
		_raise_limit(PIPES * len(hosts) + FILES)
		for host in hosts:
			self.children[host] = Child(
				self.command(host), functools.partial(self.audience.said, host),
				functools.partial(self.audience.ended, host))

	def send(self, line: str) -> None:
		data = line.encode()
		for child in self.children.values():
			child.send(data)

	def drop(self, host: str) -> None:
		child = self.children.get(host)
		if child:
			child.finish()

	async def stop(self) -> None:
		await end(list(self.children.values()), PATIENCE)


def _raise_limit(files: int) -> None:
	"""Have this process may open FILES files."""
	soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
	if files <= soft or soft == resource.RLIM_INFINITY:
		return
	if hard != resource.RLIM_INFINITY and files > hard:
		raise Quit(f"so many hosts need {files} open files, and {hard} are allowed; see "
			   "'ulimit -Hn', or use --launcher clustershell or srun")
	resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))


class Ssh(Processes):
	"""Runs an ssh for each host."""

	NEEDS = "there is no ssh on this host"
	# Nobody is there to be asked, and a host that is gone is one soon.
	OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
		   "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")

	@classmethod
	def usable(cls) -> bool:
		return shutil.which("ssh") is not None

	def command(self, host: str) -> list[str]:
		return ["ssh", *self.OPTIONS, host, shlex.join(self.words + ["--name", host])]


class Netns(Processes):
	"""Runs a process in each network namespace that hosts are the names of."""

	NEEDS = "there is no ip on this host"

	@classmethod
	def usable(cls) -> bool:
		return shutil.which("ip") is not None

	def command(self, host: str) -> list[str]:
		return ["ip", "netns", "exec", host, *self.words, "--name", host]
