# SPDX-License-Identifier: GPL-2.0
"""How 'krping node' is started on each host, and spoken with.

	base		what a launcher is
	child		a process on this host, with lines in and out
	processes	a process for each host: ssh, and network namespaces of this host
	srun		one srun of Slurm for all hosts
	clustershell	ClusterShell's engine, with its groups and its tree
"""

from krping_front.errors import Quit

from .base import Audience, Launcher
from .clustershell import ClusterShell
from .processes import Netns, Ssh
from .srun import Srun

LAUNCHERS: dict[str, type[Launcher]] = {
	"clustershell": ClusterShell, "srun": Srun, "ssh": Ssh, "netns": Netns}


def usual() -> str:
	"""The name of the launcher where none is asked for."""
	for name in ("srun", "clustershell"):
		if LAUNCHERS[name].usable():
			return name
	return "ssh"


def named(name: str, words: list[str], audience: Audience) -> Launcher:
	"""The launcher NAME, which starts WORDS on each host and reports to AUDIENCE."""
	made = LAUNCHERS[name]
	if not made.usable():
		raise Quit(f"--launcher {name}: {made.NEEDS}")
	return made(words, audience)
