# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping disk."""

import argparse

DESCRIPTION = """\
Attach the disk, or start the server of disks, of /etc/krping/disks.d/NAME.conf,
and keep it until SIGTERM or Ctrl-C. krping-disk@NAME.service runs this. The
file has the options of a command, one or more a line; lines that begin with #
are comments. blk and tag=NAME are added, and persist to a server without
threads=.
"""
EXAMPLES = """\
examples:
  echo client,addr=192.0.2.1,reconnect=86400 >/etc/krping/disks.d/data.conf
  krping disk data
  systemctl enable --now krping-disk@data
  mount /dev/disk/by-id/krping-data /mnt

exit status:
  0    it was stopped, and nothing is left of it
  1    it failed, or the disk is in use and stays; the reason is on stderr
  2    nothing was run: no such file, a mistake in it, the module is not loaded,
       or not root
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("name", metavar="NAME", help="the name of the file, without .conf")
