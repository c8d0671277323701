# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping watch."""

import argparse

from krping_front import options

DESCRIPTION = """\
Show what each thread of krping moves per second, from /proc/krping: messages
and bytes sent, received, written and read, over each interval; and of a disk or
a tap its requests. On a terminal the picture is drawn anew each time; otherwise
each sample is a line for each thread. Ctrl-C ends it.

With --openmetrics nothing is shown: a file has the counters, as the textfile
collector of Prometheus's node exporter takes them, and is replaced each time.
"""
EXAMPLES = """\
examples:
  krping watch
  krping watch --interval 5
  krping watch --interval 1 --count 60 >rates.txt
  krping watch --interval 15 \\
      --openmetrics /var/lib/prometheus/node-exporter/krping.prom

exit status:
  0    ended by Ctrl-C, or after --count samples
  2    usage, the module is not loaded (any more), not root, or the file cannot
       be written
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("--interval", metavar="S", default=1.0,
			    type=options.seconds(0.1, 3600),
			    help="seconds between samples, 0.1 to 3600 (default 1)")
	parser.add_argument("--count", metavar="N", type=options.whole(1),
			    help="end after N samples (default: at Ctrl-C)")
	parser.add_argument("--openmetrics", metavar="FILE",
			    help="keep the counters in FILE, and show nothing")
