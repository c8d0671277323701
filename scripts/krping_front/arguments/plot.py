# SPDX-License-Identifier: GPL-2.0
"""The arguments of krping plot."""

import argparse

from krping_front.plot import FORMATS, KINDS

from .report import add_sources

DESCRIPTION = """\
Draw results: the latency distribution of some runs, runs over time, bandwidth
or latency percentiles by size, latency by load, how rates scale, two files and
their difference, or the requests of disks. FILEs, and what of them is meant,
are as in 'krping report'. Below the picture stands where the results come from.
Needs matplotlib (python3-matplotlib).
"""
EXAMPLES = """\
kinds:
  cdf          which share of all iterations took at most how long: a curve for
               each run. From 0 over 50, 90, 99 to 99.99%, each of the last with
               the same room as the one before
  percentiles  50%, 99% and 99.9% by size
  bandwidth    bandwidth and message rate by size
  load         50%, 99% and 99.9% of the latency by the rate that was done, of
               runs with rate=
  series       rate, and latency if it was measured, over time, of runs, disks
               and taps with interval=; the ten longest operations are marked
  scaling      rate, and latency if it was measured, by an option: --x
  ab           one test of two files by size, and the difference in percent
  disk         50%, 99%, 99.9% and the longest of requests of disks and taps, in
               total and by the parts of their way
Curves of repetitions are medians, in a band from the least to the most. Where
bandwidths are near the link's rate, that is a line.

examples:
  krping plot a.json b.json --kind cdf --size 64 -o latency.svg
  krping plot sweep.json --kind percentiles --test wlat,rlat -o percentiles.png
  krping plot monday.json friday.json --kind bandwidth -o bandwidth.svg
  krping run loopback,addr=192.0.2.2,bw,duration=60,interval=500 --json >a.json
  krping plot a.json --kind series -o series.svg
  krping sweep 192.0.2.1 --test rlat --rates 1000..64000 --json load.json
  krping plot load.json --kind load -o load.svg
  krping sweep 192.0.2.1 --test bw --axis qps=1..16 --json qps.json
  krping plot qps.json --kind scaling --x qps -o scaling.svg
  krping plot monday.json friday.json --kind ab --test wlat -o ab.svg

exit status:
  0    written
  1    there are no such results; or of a FILE not all is drawn, as for
       'krping report'
  2    usage, a file that cannot be read, or that cannot be written
  4    matplotlib is not installed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	add_sources(parser)
	parser.add_argument("--kind", metavar="KIND", choices=tuple(KINDS), required=True,
			    help=f"what to draw: {', '.join(KINDS)}")
	parser.add_argument("-o", dest="output", metavar="OUT", required=True,
			    help=f"the picture to write; its name ends in {', '.join(FORMATS)}")
	parser.add_argument("--x", metavar="OPTION", default="qps",
			    help="the option on the x axis of scaling, such as threads (default qps)")
	parser.add_argument("--title", help="a line above it")
	parser.add_argument("--no-provenance", action="store_true",
			    help="do not print below it where the results come from")
