# SPDX-License-Identifier: GPL-2.0
"""What a bug report must say of a failed test, in one line."""

import shlex

from . import provenance, version
from .result import Result


def line(result: Result, command: str) -> str:
	"""Where COMMAND, whose RESULT this is or one of the same device, has failed, and how it is
	repeated."""
	device = result.get("device", "no device")
	host = provenance.host()
	firmware = provenance.device(result.get("device", ""), result.get("port", 1),
				     result.get("gid", "")).get("firmware")
	driver = ", ".join(filter(None, [result.get("driver"), firmware and f"firmware {firmware}"]))
	about = f"{device} ({driver})" if driver else device
	return (f"krping {version.of_module() or host['front']}, Linux {host['kernel']} "
		f"{host['machine']}, {about}: echo {shlex.quote(command)} >/proc/krping")
