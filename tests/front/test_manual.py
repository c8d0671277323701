# SPDX-License-Identifier: GPL-2.0
# needs: doc-tools
"""Man pages and completions: they have all that the tables and the arguments have, groff takes
them, and bash and zsh complete with them."""

import contextlib
import glob
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import front
from krping_front.tables import TABLES
from ktap import Skip, Suite

suite = Suite()

# Where zsh and groff are unpacked; "" for those of the machine.
TOOLS = os.environ.get("DOC_TOOLS", "")
LIBRARIES = f"{TOOLS}/usr/lib/x86_64-linux-gnu"
FILES = ("krping.8", "krping-commands.7", "krping.bash", "_krping")


@contextlib.contextmanager
def manual():
	"""The directory of the files, which are made."""
	with tempfile.TemporaryDirectory() as path:
		done = subprocess.run((sys.executable, f"{front.TOP}/scripts/manual", path), text=True,
				      stdin=subprocess.DEVNULL, capture_output=True, check=False)
		assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
		assert sorted(os.listdir(path)) == sorted(FILES), os.listdir(path)
		yield path


def text(path, name):
	"""The text of a file, without what roff escapes."""
	with open(os.path.join(path, name), encoding="utf-8") as file:
		return file.read().replace("\\-", "-")


def tool(name):
	"""The path of a tool, and the environment that it wants."""
	if not TOOLS:
		found = shutil.which(name)
		if found is None:
			raise Skip(f"{name} is not installed")
		return found, {}
	share, = glob.glob(f"{TOOLS}/usr/share/groff/[0-9]*")
	return f"{TOOLS}/usr/bin/{name}", {
		"PATH": f"{TOOLS}/usr/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": LIBRARIES,
		"GROFF_BIN_PATH": f"{TOOLS}/usr/bin", "GROFF_FONT_PATH": f"{share}/font",
		"GROFF_TMAC_PATH": f"{share}/tmac"}


@suite.test("the pages have each option, test, subcommand and argument, and so have the completions")
def complete():
	with manual() as path:
		commands, program = text(path, "krping-commands.7"), text(path, "krping.8")
		bash, zsh = text(path, "krping.bash"), text(path, "_krping")
	for option in TABLES["options"]:
		name = option["name"]
		assert re.search(rf"^\\fB{name}[=\[\\]", commands, re.MULTILINE), name
		assert option["help"] in commands, option["help"]
		assert re.search(rf"[ ']{name}[= ']", bash) and f"'{name}[" in zsh, name
	for test in TABLES["tests"]:
		assert f"\\fB{test['name']}\\fR\n{test['title']}." in commands, test
	for name in front.program.SUBCOMMANDS:
		assert f"\n.SS {name}\n" in program and f"'{name}:" in zsh, name
		_, said, _ = front.krping(name, "--help")
		for flag in set(re.findall(r"--[a-z0-9-]+", said.split("examples:")[0])):
			assert flag in program and flag in bash and f"'{flag}[" in zsh, (name, flag)
	for page in (commands, program):
		assert f"krping {TABLES['version']}" in page.splitlines()[1], page[:200]


@suite.test("groff has no complaint, and renders them")
def rendered():
	groff, environment = tool("groff")
	with manual() as path:
		for name in FILES[:2]:
			done = subprocess.run((groff, "-man", "-Tutf8", "-P-cbou", "-ww", f"{path}/{name}"),
					      env=os.environ | environment, text=True, check=False,
					      stdin=subprocess.DEVNULL, capture_output=True)
			assert (done.returncode, done.stderr) == (0, ""), done.stderr
			assert "SEE ALSO" in done.stdout, done.stdout
			assert len(done.stdout.splitlines()) > 200, done.stdout


class Terminal:
	"""A program on a terminal."""

	def __init__(self, words, environment):
		self.text = ""
		self.pid, self.fd = pty.fork()
		if self.pid == 0:
			os.execvpe(words[0], words, os.environ | {"TERM": "dumb"} | environment)

	def read_until(self, mark, timeout=60):
		"""Read until MARK has been printed; return what was since the last one."""
		end = time.monotonic() + timeout
		while mark not in self.text:
			assert time.monotonic() < end, f"no {mark!r} in {self.text!r}"
			if select.select([self.fd], (), (), 0.1)[0]:
				self.text += os.read(self.fd, 4096).decode(errors="replace")
		found, _, self.text = self.text.partition(mark)
		return found

	def type(self, keys):
		"""Type KEYS."""
		os.write(self.fd, keys.encode())

	def close(self):
		"""End it."""
		os.close(self.fd)
		os.waitpid(self.pid, 0)


# What is typed before the tab, and what stands there afterwards.
TYPED = {
	"krping ru": "krping run ",
	"krping run --js": "krping run --json ",
	"krping run loopback,max_p": "krping run loopback,max_p99=",
	"krping run loopback,addr=::1,mem_mode=f": "krping run loopback,addr=::1,mem_mode=fastreg",
	"krping plot --kind perc": "krping plot --kind percentiles ",
	"krping options max_mem": "krping options max_memory ",
	# What goes with those that are there: no second test, and nothing of another test or role.
	"krping run loopback,wlat,rla": "krping run loopback,wlat,rla",
	"krping run loopback wlat rla": "krping run loopback wlat rla",
	"krping run loopback,rla": "krping run loopback,rlat",
	"krping run loopback,addr=::1,sto": "krping run loopback,addr=::1,sto",
	"krping run server,stor": "krping run server,store=",
	"krping run client,poll,spi": "krping run client,poll,spi",
	# Names of conformance tests, devices, interfaces, disks and drivers.
	"krping run neg=stale_r": "krping run neg=stale_rkey",
	"krping run neg=stale_rkey+port_d": "krping run neg=stale_rkey+port_down",
	"krping run client,dev=ml": "krping run client,dev=mlx5_0",
	"krping run client,tap=sd": "krping run client,tap=sda",
	"krping conform 192.0.2.1 stale_r": "krping conform 192.0.2.1 stale_rkey ",
	"krping conform --link et": "krping conform --link eth0 ",
	"krping conform --known si": "krping conform --known siw ",
	"krping test --device ml": "krping test --device mlx5_0 ",
	"krping test --only pingpong,caps.po": "krping test --only pingpong,caps.port",
	"krping sweep --test wlat,sl": "krping sweep --test wlat,slat",
}
# What is in a directory of the kernel's.
NAMES = "case $1 in */infiniband) echo mlx5_0 ;; */net) echo eth0 ;; */block) echo sda ;; esac"


def completes(terminal, typed):
	"""What the line of TYPED becomes after a tab, as the program itself is given it."""
	terminal.type(f"{typed}\t'|'\r")
	return terminal.read_until("|>").rpartition("<")[2]


def as_words(line):
	"""What a program called as LINE says that it is given."""
	return " ".join([*line.split(" ")[1:], ""]).rstrip(" ") + (" " if line.endswith(" ") else "")


@suite.test("bash completes subcommands, their options, and the options of commands")
def in_bash():
	with manual() as path:
		terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], {"PS1": "$ "})
		try:
			terminal.type(f"krping() {{ echo \"<$*>\"; }}; source {path}/krping.bash; "
				      f"_krping_names() {{ {NAMES}; }}; echo ready''.\r")
			terminal.read_until("ready.")
			check(terminal)
		finally:
			terminal.close()


@suite.test("zsh completes them, too")
def in_zsh():
	zsh, environment = tool("zsh")
	with manual() as path:
		terminal = Terminal([zsh, "-f", "-i"], environment | {"PS1": "$ ", "HOME": path})
		try:
			if TOOLS:
				functions = f"{TOOLS}/usr/share/zsh/functions"
				terminal.type(f"module_path=({LIBRARIES}/zsh/5.9); "
					      f"fpath=({functions}/*(/) {functions}/Completion/*(/))\r")
			terminal.type("unsetopt prompt_sp; unset zle_bracketed_paste; "
				      f"fpath=({path} $fpath); "
				      "autoload -Uz compinit && compinit -u -D; "
				      "krping() { echo \"<$*>\"; }; echo ready''.\r")
			terminal.read_until("ready.")
			# The first use loads all of its functions.
			completes(terminal, "krping ru")
			terminal.type(f"_krping_list() {{ {NAMES}; }}; echo again''.\r")
			terminal.read_until("again.")
			check(terminal)
		finally:
			terminal.close()


def check(terminal):
	"""What is typed becomes what it must."""
	for typed, expected in TYPED.items():
		found = completes(terminal, typed)
		# zsh goes on with a comma, which vanishes with a space behind it.
		assert found.rstrip(",") == as_words(expected), (typed, found, as_words(expected))


suite.main()
