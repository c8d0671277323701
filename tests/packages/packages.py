# SPDX-License-Identifier: GPL-2.0
"""Check the packages, without installing them: packages.py FILE..."""

import contextlib
import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

from ktap import Suite

suite = Suite()
DEBS = {path.name.split("_", maxsplit=1)[0]: path
	for path in map(pathlib.Path, sys.argv[1:]) if path.suffix == ".deb"}
RPMS = {re.sub(r"-[0-9].*", "", path.name): path
	for path in map(pathlib.Path, sys.argv[1:]) if path.suffix == ".rpm"}
VERSION = pathlib.Path("VERSION").read_text(encoding="utf-8").strip()
SOURCES = f"/usr/src/krping-{VERSION}"
RELEASE = "7.2.99-test"
PROGRAM = "usr/share/krping/krping_front"
# Of sys/mount.h.
MS_BIND, MS_REC, MNT_DETACH = 4096, 16384, 2
COMPILER = "rustc 1.85.1 (made up)"


def run(*words, status=0, **environment):
	"""What WORDS print, if they exit with STATUS."""
	done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
			      env={**os.environ, **environment}, check=False)
	assert done.returncode == status, f"{words}: exit status {done.returncode}\n{done.stdout}"
	return done.stdout


def write(path, text="", mode=0o644):
	"""Make the file PATH, and its directories."""
	path.parent.mkdir(parents=True, exist_ok=True)
	path.write_text(text, encoding="utf-8")
	path.chmod(mode)


def headers(top, release=RELEASE, config="", metadata=False):
	"""Make a build directory of a kernel below TOP, and return it."""
	path = pathlib.Path(top, "lib/modules", release, "build")
	options = (f'CONFIG_RUST=y\nCONFIG_X86_64=y\nCONFIG_INFINIBAND=m\nCONFIG_INFINIBAND_ADDR_TRANS=y\n'
		   f'CONFIG_RUSTC_VERSION_TEXT="{COMPILER}"\n{config}')
	write(path / "Makefile", "all modules clean:\n\t@echo built here\n")
	write(path / ".config", options)
	write(path / "include/config/auto.conf", options)
	write(path / "include/generated/utsrelease.h", f'#define UTS_RELEASE "{release}"\n')
	if metadata:
		for name in ("rust/libkernel.rmeta", "rust/libmacros.so", "scripts/target.json"):
			write(path / name)
	return path


def contents(package):
	"""The files in the Debian package PACKAGE: by path, mode and where a link leads."""
	lines = run("dpkg-deb", "-c", str(DEBS[package])).splitlines()
	paths = (line.split(maxsplit=5) for line in lines)
	return {words[5].partition(" -> ")[0].removeprefix("."): (words[0], words[5].partition(" -> ")[2])
		for words in paths}


@suite.test("the packages are of the version that the sources have")
def versions():
	assert re.search(r'^PACKAGE_VERSION="(.*)"$', pathlib.Path("dkms.conf").read_text(encoding="utf-8"),
			 re.MULTILINE)[1] == VERSION
	for name in ("krping", "krping-dkms"):
		assert run("dpkg-deb", "-f", str(DEBS[name]), "Version").strip() == VERSION
		assert run("rpm", "-qp", "--qf", "%{VERSION}", str(RPMS[name])).strip() == VERSION


@suite.test("krping has the program and its pages")
def front():
	files = contents("krping")
	assert files["/usr/bin/krping"] == ("lrwxrwxrwx", "../share/krping/krping")
	assert files["/usr/share/krping/krping"][0] == "-rwxr-xr-x"
	for name in ("krping_front/run.py", "krping_front/options.json", "krping_front/mesh/page/page.html",
		     "known/rxe", "operation-cost.bt", "samples/lava/krping.yaml", "samples/ktap-cases",
		     "samples/tmt/acceptance.sh", "samples/kselftest/krping/krping.sh"):
		assert f"/usr/share/krping/{name}" in files, name
	assert "/etc/krping/disks.d/" in files
	with tempfile.TemporaryDirectory() as top:
		run("dpkg-deb", "-x", str(DEBS["krping"]), top)
		unit = pathlib.Path(top, "usr/lib/systemd/system/krping-disk@.service")
		assert "\nExecStart=/usr/bin/krping disk %i\n" in unit.read_text(encoding="utf-8")
	for page in pathlib.Path("docs").glob("*.md"):
		assert f"/usr/share/doc/krping/docs/{page.name}" in files, page
	assert not [name for name in files if "__pycache__" in name]


@suite.test("krping-dkms has all that the module is built from, and no more")
def sources():
	files = {name for name in contents("krping-dkms") if not name.endswith("/")}
	assert "/usr/lib/udev/rules.d/60-krping.rules" in files
	packed = {name.removeprefix(SOURCES + "/") for name in files if name.startswith(SOURCES)}
	kernel = {name for name in packed if name.startswith("rust-src/")}
	packed -= kernel
	assert {f"rust-src/{name}" for name in ("rust/kernel/lib.rs", "rust/macros/module.rs", "COPYING",
		"LICENSES/dual/Apache-2.0", "origin")} <= kernel, kernel
	wanted = {str(path) for path in pathlib.Path("rust").rglob("*") if path.is_file()}
	wanted |= {f"samples/{name}" for name in ("helpers.c", "rdma_echo.rs")}
	wanted |= {"Kbuild", "Makefile", "VERSION", "dkms.conf", "scripts/build-tools",
		   "scripts/check-kdir", "scripts/lib.sh", "scripts/rust-reduced", "scripts/rust-support"}
	assert packed == wanted, packed ^ wanted


@suite.test("the program runs from where the package has it")
def runs():
	with tempfile.TemporaryDirectory() as top:
		run("dpkg-deb", "-x", str(DEBS["krping"]), top)
		assert "usage: krping" in run(f"{top}/usr/bin/krping", "--help")
		# Which reads a table beside the program.
		assert "size=" in run(f"{top}/usr/bin/krping", "options", "size")


@contextlib.contextmanager
def machine():
	"""A root directory like this one, which what is installed there leaves as it is."""
	libc = ctypes.CDLL(None, use_errno=True)

	def mount(source, target, kind, flags=0, data=None):
		words = [word if word is None else str(word).encode() for word in (source, target, kind)]
		if libc.mount(*words, ctypes.c_ulong(flags), data):
			raise OSError(ctypes.get_errno(), f"mounting {source} on {target}")

	with tempfile.TemporaryDirectory() as top:
		upper, work, root = (pathlib.Path(top, name) for name in ("upper", "work", "root"))
		for path in (upper, work, root):
			path.mkdir()
		mount("overlay", root, "overlay", 0, f"lowerdir=/,upperdir={upper},workdir={work}".encode())
		try:
			mount("/dev", root / "dev", None, MS_BIND | MS_REC)
			yield root
		finally:
			libc.umount2(str(root).encode(), MNT_DETACH)


def compiled(root):
	"""Whether Python finds each module of the program below ROOT compiled, when it starts."""
	modules = list((root / PROGRAM).rglob("*.py"))
	assert root / PROGRAM / "option_help.py" in modules, modules
	found = {os.path.exists(importlib.util.cache_from_source(str(path))) for path in modules}
	said = run("chroot", str(root), "python3", "-v", "/usr/bin/krping", "options", "size")
	assert re.search(r"^import 'krping_front\.option_help' ", said, re.MULTILINE), said
	anew = re.search(r"^# code object from '?/usr/share/krping/\S+\.py'?$", said, re.MULTILINE)
	assert len(found) == 1 and (anew is None) in found, (found, anew)
	return anew is None


@suite.test("Debian compiles the program's modules where it is installed")
def compiled_deb():
	with tempfile.TemporaryDirectory() as top:
		run("dpkg-deb", "-e", str(DEBS["krping"]), top)
		for name, command in (("postinst", "py3compile -p krping /usr/share/krping"),
				      ("prerm", "py3clean -p krping")):
			assert command in pathlib.Path(top, name).read_text(encoding="utf-8"), name


PYTHON = f"""\
Name: python3
Version: {sys.version_info.major}
Release: 1
Summary: A Python that comes
License: none
BuildArch: noarch
%description
It has the name alone.
%install
mkdir -p %{{buildroot}}/usr/bin
ln -s python{sys.version_info.major}.{sys.version_info.minor} %{{buildroot}}/usr/bin/python3
%files
/usr/bin/python3
"""


@suite.test("RPM compiles them where it is installed, and when a Python comes, and removes all of it")
def compiled_rpm():
	with machine() as root, tempfile.TemporaryDirectory() as top:
		write(pathlib.Path(top, "python3.spec"), PYTHON)
		run("rpmbuild", "-bb", "--define", f"_topdir {top}", f"{top}/python3.spec")
		python, = pathlib.Path(top, "RPMS").rglob("*.rpm")
		rpm = ("rpm", "--root", str(root), "--nodeps")
		run(*rpm, "-i", "--noscripts", str(RPMS["krping"]))
		assert not compiled(root)
		run(*rpm, "-U", "--force", str(RPMS["krping"]))
		assert compiled(root)
		for path in list((root / PROGRAM).rglob("__pycache__")):
			shutil.rmtree(path)
		run(*rpm, "-i", "--replacefiles", str(python))
		assert compiled(root)
		run(*rpm, "-U", "--force", str(RPMS["krping"]))
		assert compiled(root)
		run(*rpm, "-e", "krping")
		assert not (root / "usr/share/krping").exists()


@suite.test("lintian has nothing to say")
def lintian():
	said = [line for line in run("lintian", "--allow-root", *map(str, DEBS.values())).splitlines()
		if re.match(r"[EW]:", line)]
	assert not said, "\n".join(said)


@suite.test("RPM packages have the same files as Debian's")
def rpm():
	own = re.compile(r"/usr/share/(doc|licenses|python3|lintian|man)/|/etc/kernel/|/usr/lib/\.build-id")
	for name, path in RPMS.items():
		deb = {file for file, (mode, _) in contents(name).items() if mode[0] != "d"}
		with tempfile.TemporaryDirectory() as top:
			run("rpm", "--root", top, "-i", "--nodeps", "--noscripts", "--ignorearch",
			    str(path))
			found = {str(file)[len(top):] for file in pathlib.Path(top, "usr").rglob("*")
				 if file.is_symlink() or file.is_file()}
		wrong = {file for file in deb ^ found if not own.match(file) and "/rpm/" not in file}
		assert not wrong, f"{name}: {sorted(wrong)}"


def dkms_build(top, kdir):
	"""What DKMS says about building krping for RELEASE, whose headers are KDIR, and its status."""
	trees = ("--dkmstree", f"{top}/dkms", "--sourcetree", f"{top}/usr/src", "--installtree",
		 f"{top}/lib/modules")
	if not os.path.exists(f"{top}/dkms"):
		run("dpkg-deb", "-x", str(DEBS["krping-dkms"]), top)
		os.mkdir(f"{top}/dkms")
		run("dkms", "add", f"krping/{VERSION}", *trees)
	done = subprocess.run(
		["dkms", "build", f"krping/{VERSION}", "-k", RELEASE, "--kernelsourcedir", kdir, *trees],
		text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
	return done.returncode, done.stdout


@suite.test("DKMS tries any kernel with InfiniBand, without Rust or with, and skips one without")
def tried():
	with tempfile.TemporaryDirectory() as top:
		kdir = headers(top)
		for rust in ("", "CONFIG_RUST=y\n"):
			write(kdir / "include/config/auto.conf",
			      f"{rust}CONFIG_X86_64=y\nCONFIG_INFINIBAND=m\nCONFIG_INFINIBAND_ADDR_TRANS=y\n")
			# It is not built there, as there is no compiler. But it is tried.
			status, said = dkms_build(top, kdir)
			log = pathlib.Path(top, "dkms/krping", VERSION, "build/make.log")
			assert status not in (0, 77), f"{status}: {said}"
			assert "this machine lacks" in log.read_text(encoding="utf-8"), said
		write(kdir / "include/config/auto.conf", "CONFIG_RUST=y\nCONFIG_X86_64=y\n")
		status, said = dkms_build(top, kdir)
		assert status == 77, f"{status}: {said}"


def check_kdir(top, kdir, *source, status=1):
	"""What scripts/check-kdir says about KDIR. What is in TOP/bin comes first in the path."""
	return run("scripts/check-kdir", str(kdir), *source, status=status,
		   PATH=f"{top}/bin:{os.environ['PATH']}")


def tools(top, compiler=COMPILER):
	"""Make programs below TOP that pass for those that are needed."""
	write(pathlib.Path(top, "lib/rustlib/src/rust/library/core/src/lib.rs"))
	write(pathlib.Path(top, "bin/rustc"),
	      f'#!/bin/sh\n[ "$1" = --print ] && echo {top} || echo "{compiler}"\n', 0o755)
	write(pathlib.Path(top, "bin/bindgen"), "#!/bin/sh\n", 0o755)


def source_tree(top):
	"""Make what passes for the source of a kernel below TOP, and return it."""
	write(pathlib.Path(top, "linux/rust/kernel/lib.rs"))
	return f"{top}/linux"


@suite.test("make names all that a machine lacks, on one line")
def lacks():
	with tempfile.TemporaryDirectory() as top:
		said = check_kdir(top, headers(top), source_tree(top))
		assert "lacks: rustc bindgen libclang-dev rust-src\n" in said, said
		assert f"apt-get install {said.splitlines()[0].partition('lacks: ')[2]}" in said, said
		# The kernel's own support needs the kernel's own compiler, and is there.
		said = check_kdir(top, headers(top, metadata=True))
		assert "this machine lacks: rustc bindgen libclang-dev\n" in said, said
		assert COMPILER in said, said


@suite.test("a kernel without Rust, with that of another age, or without metadata has it inside")
def inside():
	with tempfile.TemporaryDirectory() as top:
		tools(top)
		source = source_tree(top)
		rustless = headers(top, release="6.1.0-test")
		write(rustless / "include/config/auto.conf",
		      "CONFIG_X86_64=y\nCONFIG_INFINIBAND=m\nCONFIG_INFINIBAND_ADDR_TRANS=y\n")
		old = headers(top, release="7.1.12-test", metadata=True)
		for kdir, why in ((headers(top), "no Rust metadata in its headers (rust/libkernel.rmeta)"),
				  (rustless, "has no Rust support"), (old, "older than that of Linux 7.2")):
			assert check_kdir(top, kdir, source, status=0) == "inside\n", kdir
			said = check_kdir(top, kdir)
			assert why in said and "make RUST_SRC=" in said, said
			said = check_kdir(top, kdir, f"{top}/nothing")
			assert f"no Linux source tree at {top}/nothing" in said, said
		assert check_kdir(top, headers(top, metadata=True), source, status=0) == "own\n"


@suite.test("what the support inside cannot be built for is named")
def refused():
	with tempfile.TemporaryDirectory() as top:
		tools(top)
		source = source_tree(top)
		for option, named in (("CONFIG_RANDSTRUCT=y", "random layout"),
				      ("CONFIG_CFI=y", "indirect calls"),
				      ("CONFIG_CFI_CLANG=y", "indirect calls")):
			said = check_kdir(top, headers(top, config=option), source)
			assert named in said, said
		kdir = headers(top)
		config = (kdir / "include/config/auto.conf").read_text(encoding="utf-8")
		write(kdir / "include/config/auto.conf", config.replace("CONFIG_X86_64=y\n", ""))
		assert "not for x86-64" in check_kdir(top, kdir, source)
		tools(top, "rustc 1.78.0")
		said = check_kdir(top, headers(top), source)
		assert "rustc is too old: rustc 1.78.0" in said, said


HAVE = """\
# of the C library, in place of a kernel's
PUTS|stdio.h|puts("");
NO_FUNCTION|stdio.h|krping_has_none(1);
FEWER_ARGUMENTS|stdlib.h|abs(1, 2);
NO_HEADER|krping/none.h|;
*EXIT|stdlib.h|exit(0);
"""


@suite.test("what headers lack is told apart by the compiler, and named where krping needs it")
def have():
	script = ("sh", "rust/bindings/have.sh")
	cc = ("gcc", "-Werror=implicit-function-declaration")
	with tempfile.TemporaryDirectory() as top:
		table = pathlib.Path(top, "have")
		write(table, HAVE)
		done = subprocess.run((*script, table, *cc), text=True, capture_output=True, check=True)
		assert done.stdout == "#define HAVE_PUTS 1\n#define HAVE_EXIT 1\n", done.stdout
		assert done.stderr == "".join(f"  LACKS   {name}\n" for name in (
			"NO_FUNCTION", "FEWER_ARGUMENTS", "NO_HEADER")), done.stderr
		for row, named in (("*NO_FUNCTION", "NO_FUNCTION (stdio.h)"),
				   ("*NO_HEADER", "NO_HEADER (krping/none.h)")):
			write(table, HAVE.replace(f"\n{row[1:]}|", f"\n{row}|"))
			said = run(*script, str(table), *cc, status=1)
			assert "krping cannot be built: the headers of this kernel" in said, said
			assert f"have no {named}\n" in said, said


@suite.test("the source of another release is refused by what it lacks")
def other_release():
	with tempfile.TemporaryDirectory() as top:
		source = source_tree(top)
		write(pathlib.Path(source, "Makefile"))
		said = run("scripts/rust-reduced", source, f"{top}/out", status=1)
		assert re.search(rf"{source} has no \S+: it is the source of another release", said), said
		assert not os.path.exists(f"{top}/out")
		said = run("scripts/rust-reduced", f"{top}/nothing", f"{top}/out", status=1)
		assert f"there is no Linux source tree at {top}/nothing" in said, said


@suite.test("make asks for the compiler that built the kernel")
def compiler():
	with tempfile.TemporaryDirectory() as top:
		tools(top, "rustc 1.90.0")
		kdir = headers(top, metadata=True)
		said = check_kdir(top, kdir)
		assert "not the one that built the kernel" in said and COMPILER in said, said
		tools(top)
		check_kdir(top, kdir, status=0)


@suite.test("make says that libclang is missing where bindgen fails")
def libclang():
	with tempfile.TemporaryDirectory() as top:
		tools(top)
		write(pathlib.Path(top, "bin/bindgen"), "#!/bin/sh\nexit 101\n", stat.S_IRWXU)
		said = check_kdir(top, headers(top, metadata=True))
		assert "this machine lacks: libclang-dev\n" in said, said


suite.main([])
