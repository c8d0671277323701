# SPDX-License-Identifier: GPL-2.0
"""krping sweep: tests over sizes, as perftest's -a has them."""

import argparse
import dataclasses
import datetime
import sys

from . import options, progress, provenance, results, rows, runner, table, tables
from .address import place
from .command import PLACE, Command, variant
from .errors import FAILED, INTERRUPTED, MISSED, OK, Quit, stdout_gone
from .kinds import SIZED, Kind
from .result import SWEEP, Result, Stopped
from .rows import Row
from .runner import Outcome

DESCRIPTION = """\
Run tests over sizes from 2 bytes to 8 MiB, or as far as the device goes, and
print a table with perftest's columns for each. With --client a server must run
at the address (krping run server,persist); with --loopback both sides are here.
"""
EXAMPLES = """\
examples:
  krping sweep --loopback --addr 192.0.2.2
  krping sweep --addr 192.0.2.1 --test wlat,rlat --option poll --json poll.json
  krping sweep --addr 192.0.2.1 --test bw --sizes 64..1M --duration 5
  krping sweep --addr 192.0.2.1 --test bw,rbw --option qps=4,postlist=8 --csv -
  krping sweep --addr 192.0.2.1 --test all --sizes 64,64K --count 1000
  krping sweep --addr 192.0.2.1 --test rlat,bw --rates 1000..64000

Tests whose operations have one size, such as alat, are run once, with that.

With --rates each run is an open loop (rate=): operations are due at so many per
second, and count from when they were. The size is then 64 without --sizes, and
a run takes 5 seconds without --count and --duration.

iterations of other runs, without --count and --duration:
  latency    1000, from 64 KiB on as many as move 64 MiB, at least 20
  bandwidth  5000, from 53 KiB on as many as move 256 MiB, at least 20
  fastreg    1000

exit status:
  0    all runs succeeded, but for sizes that the device does not take
  1    a run failed, and the sweep ended there
  2    nothing was run, or a run was refused: usage, the module is not loaded,
       not root, debugfs is not mounted
  3    a run missed a limit of --option max_p99=... or min_bw=...; all were run
  130  interrupted
What there is until then is printed, and written to --json and --csv.
"""

# Moved by each run at most, and how often at most and at least.
DEFAULTS = {"latency": (1000, 64 << 20), "bandwidth": (5000, 256 << 20), "rate": (1000, None)}
LEAST = 20
SIZES = options.sizes("2..8M")
# With --rates.
RATES_SIZES = [64]
RATES_SECONDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
	"""Add the arguments of this subcommand to PARSER."""
	parser.add_argument("--addr", metavar="A", required=True,
			    help="the server's address, IPv4 or IPv6")
	role = parser.add_mutually_exclusive_group()
	role.add_argument("--client", dest="role", action="store_const", const="client",
			  default="client", help="a server runs at the address (default)")
	role.add_argument("--loopback", dest="role", action="store_const", const="loopback",
			  help="the address is one of this host: run both sides")
	parser.add_argument("--port", metavar="P", type=options.number_of("port"),
			    help="the server's port")
	parser.add_argument("--test", metavar="TEST,...", type=options.kinds(SIZED),
			    default=[SIZED["wlat"], SIZED["bw"]],
			    help=f"{', '.join(SIZED)}, or all that one server "
				 "serves (default wlat,bw)")
	parser.add_argument("--sizes", metavar="SIZES", type=options.sizes,
			    help="2..8M doubles (default), 64,4K,1M is a list")
	parser.add_argument("--rates", metavar="RATES", type=options.rates,
			    help="operations per second: 1000..64000 doubles, 500,2000 is a list")
	parser.add_argument("--option", metavar="OPTION", action="append", default=[],
			    help="an option for each command, such as poll; may be repeated")
	parser.add_argument("--count", metavar="N", type=options.whole(1),
			    help="iterations of each run")
	parser.add_argument("--duration", metavar="S", type=options.number_of("duration"),
			    help="seconds of each run")
	parser.add_argument("--json", metavar="FILE",
			    help="write everything there; - is stdout, without tables")
	parser.add_argument("--csv", metavar="FILE",
			    help="write the tables' figures there; - is stdout, without tables")
	parser.add_argument("--quiet", action="store_true", help="show no progress")


@dataclasses.dataclass
class Sweep:
	"""What a sweep has come to so far."""

	rows: list[Row] = dataclasses.field(default_factory=list)
	results: list[Result] = dataclasses.field(default_factory=list)
	stopped: list[Stopped] = dataclasses.field(default_factory=list)
	status: int = OK


def main(arguments: argparse.Namespace) -> int:
	"""Run it, and return the exit status."""
	extra = extra_options(arguments.option)
	_complete(arguments, extra)
	# Of several addresses of a host the same for all runs.
	arguments.place = place(arguments.addr)
	files = [path for path in (arguments.json, arguments.csv) if path is not None]
	if files.count("-") > 1:
		raise Quit("--json - and --csv - are both given; stdout has room for one")
	for path in files:
		results.check_writable(path)
	# Fails early, where nothing could be shown of any run.
	results.kept()
	started = datetime.datetime.now(datetime.UTC)
	sweep = Sweep()
	try:
		for number, kind in enumerate(arguments.test):
			if not _test(kind, arguments, extra, sweep,
				     None if "-" in files else number):
				break
	except BrokenPipeError:
		stdout_gone()
		sweep.status = FAILED
	finally:
		# Also where a run was refused, or the module is gone.
		_save(arguments, extra, sweep, started)
	return sweep.status


def _complete(arguments: argparse.Namespace, extra: list[str]) -> None:
	"""Set what ARGUMENTS leave out and what depends on others of them, and see whether --rates
	goes with them and with the EXTRA options."""
	if arguments.sizes is None:
		arguments.sizes = RATES_SIZES if arguments.rates else SIZES
	if not arguments.rates:
		return
	if any(each.partition("=")[0] == "rate" for each in extra):
		raise Quit("--rates and --option rate= are both given")
	goes = tables.option("rate")["goes"]["client"]
	for kind in arguments.test:
		if kind.name not in goes:
			raise Quit(f"--rates is for {', '.join(goes)}; not for {kind.name}")
	if not arguments.count and not arguments.duration:
		arguments.duration = RATES_SECONDS


def extra_options(words: list[str]) -> list[str]:
	"""The options of --option WORDS as a list, none of which the sweep itself sets."""
	found = [option.strip() for word in words for option in word.split(",")]
	for option in found:
		name = option.partition("=")[0]
		if not name or name in PLACE - {"timeout", "max_p99", "min_bw", "rate"}:
			raise Quit(f"--option {option!r}: the sweep sets that itself" if name
				   else "--option: an option is empty")
	return found


def iterations(kind: Kind, size: int, arguments: argparse.Namespace) -> int:
	"""The count= of a run of KIND with SIZE; 0 is for no limit but time."""
	if arguments.count or arguments.duration:
		return arguments.count or 0
	most, amount = DEFAULTS[kind.measure]
	return most if amount is None else max(LEAST, min(most, amount // size))


def command(kind: Kind, size: int, rate: int | None, arguments: argparse.Namespace,
	    extra: list[str]) -> Command:
	"""The Command of a run, of an open loop with RATE."""
	count = iterations(kind, size, arguments)
	words = [arguments.role, arguments.place]
	words += [f"port={arguments.port}"] if arguments.port else []
	words += [kind.option] if kind.option else []
	words += [f"size={size}"] if kind.size is None else []
	words += [f"count={count}"] if count else []
	words += [f"duration={arguments.duration}"] if arguments.duration else []
	words += [f"rate={rate}"] if rate else []
	return Command(",".join(words + extra))


def _test(kind: Kind, arguments: argparse.Namespace, extra: list[str], sweep: Sweep,
	  place: int | None) -> bool:
	"""Run KIND over all sizes, and rates if there are any, and print its table unless PLACE is
	None (else it is the table's number). Return whether the next test is to be run."""
	shown = None
	sizes = arguments.sizes if kind.size is None else [kind.size]
	runs = [(size, rate) for size in sizes for rate in arguments.rates or [None]]
	for number, (size, rate) in enumerate(runs, 1):
		at = f" at {rate}/s" if rate else ""
		label = f"{kind.name} {size} bytes{at} ({number} of {len(runs)})"
		outcome = runner.run(command(kind, size, rate, arguments, extra),
				     progress.wanted(arguments.quiet), label)
		clients = [each for each in outcome.results if each["role"] == "client"]
		provenance.add(clients)
		sweep.results += clients
		row = rows.together([rows.of(each) for each in clients]) if clients else None
		if row and row.has_figures:
			sweep.rows.append(row)
			if shown is None and place is not None:
				shown = _begin(row, place)
			if shown:
				print(shown.line(row), flush=True)
		if outcome.missed:
			sweep.status = MISSED
			print(f"krping: {size} bytes{at}: {outcome.message}", file=sys.stderr)
		elif outcome.errno:
			return _stop(kind, size, outcome, sweep, place)
		if outcome.signal is not None:
			# It came when the run was over.
			sweep.status = INTERRUPTED
			return False
	return True


def _begin(row: Row, place: int) -> table.Table:
	"""Print what stands above the table of ROW and those after it."""
	if place:
		print()
	shown = table.Table(table.columns(row.measure))
	print(f"# {table.title(row)}")
	print(shown.heading(), flush=True)
	return shown


def _stop(kind: Kind, size: int, outcome: Outcome, sweep: Sweep, place: int | None) -> bool:
	"""The run of KIND with SIZE did not succeed: say so, and return whether the next
	test is to be run."""
	if outcome.status == INTERRUPTED:
		sweep.status = INTERRUPTED
		sweep.stopped.append({"test": kind.name, "size": size, "reason": "interrupted"})
		print(f"krping: interrupted, in {kind.name} of {size} bytes", file=sys.stderr)
		return False
	reason = outcome.sentence or outcome.message
	sweep.stopped.append({"test": kind.name, "size": size, "reason": reason})
	if outcome.above is not None:
		# For people; the files have it in another place.
		if place is not None:
			print(f"# ended before {size} bytes: {reason}", flush=True)
		return True
	sweep.status = outcome.status
	print(f"krping: {kind.name} of {size} bytes: {outcome.message}", file=sys.stderr)
	if outcome.status == FAILED and outcome.name.startswith("ECONNREFUSED"):
		print("krping: a server is started with 'krping run server,persist' there; "
		      "--loopback runs both sides here", file=sys.stderr)
	return False


def _save(arguments: argparse.Namespace, extra: list[str], sweep: Sweep,
	  started: datetime.datetime) -> None:
	"""Write the files that are wanted."""
	if arguments.csv is not None:
		results.save(arguments.csv, table.csv_text(sweep.rows))
	if arguments.json is None:
		return
	host, kernel = results.host()
	results.save(arguments.json, results.sweep_text({
		"krping_sweep": SWEEP,
		"started": started.isoformat(timespec="seconds"),
		"host": host, "kernel": kernel, "role": arguments.role, "addr": arguments.addr,
		"options": variant(",".join(extra)), "results": sweep.results,
		"stopped": sweep.stopped,
	}))
