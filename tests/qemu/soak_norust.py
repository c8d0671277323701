# SPDX-License-Identifier: GPL-2.0
"""On a kernel without Rust (scripts/guest --kernel norust): the module needs C only, and passes the
tests of the ping/pong, of the microbenchmarks and of disks, which are those of any kernel."""

import gzip
import pathlib
import re
import subprocess
import sys

import krping
import soak
from ktap import Suite

suite = Suite(check=krping.check, limit=1800)

FILES = ("test_pingpong.py", "test_microbench.py", "test_block.py")


def output(*words):
	"""What the program of WORDS prints."""
	return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@suite.test("the kernel was built without Rust")
def kernel():
	config = gzip.decompress(pathlib.Path("/proc/config.gz").read_bytes()).decode()
	assert "CONFIG_RUST=y" not in config, "CONFIG_RUST is set"
	assert not re.search(r" _R\w+$| rust_", "\n".join(
		line for line in pathlib.Path("/proc/kallsyms").read_text().splitlines()
		if not line.endswith("]"))), "the kernel has Rust symbols"


@suite.test("the module imports C symbols only, and exports none")
def symbols():
	imports = [line.split()[0] for line in output("nm", "-P", "-u", krping.MODULE).splitlines()]
	assert "_printk" in imports, imports
	assert not [name for name in imports if re.match(r"_R|rust_|__rust", name)], imports
	exports = re.search(r"__ksymtab|__export_symbol", output("nm", krping.MODULE))
	assert not exports, "it exports symbols"


def add(name, options):
	"""The tests of the file NAME."""
	def play():
		path = pathlib.Path(__file__).parent / name
		ran = subprocess.run((sys.executable, path), stdin=subprocess.DEVNULL, text=True,
				     stdout=subprocess.PIPE, check=False)
		print(re.sub("^", "    ", ran.stdout, flags=re.MULTILINE), flush=True)
		options.counts["tests"] += len(re.findall("^ok ", ran.stdout, re.MULTILINE))
		assert ran.returncode == 0, f"exit status {ran.returncode}"
	suite.test(name)(play)


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=1, argv=argv)
	for _ in options.numbers():
		for name in FILES:
			add(name, options)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
