# SPDX-License-Identifier: GPL-2.0
"""Usage: make.py TREE RELEASE WORK OUT [NAME]...

Build drivers of the kernel whose prepared source is in TREE, in WORK: each as it is, and one for each
defect of table.py, or for those whose names have a NAME in them. Those that OUT does not have yet go
there, as NAME.ko. Print a line for each that OUT has then: its name, and its driver; and for each that
this kernel has no place for: "-", its name, and why. For a module of the core, OUT gets the driver of the
device that it is tried with, too."""

import hashlib
import pathlib
import re
import subprocess
import sys

from defect import FOLDERS, Defect, split
from table import TABLE


def build(tree: str, release: str, work: pathlib.Path) -> None:
	"""Build the drivers in WORK, whether Debian has them or not, without those for programs."""
	done = subprocess.run(("make", "-C", tree, f"M={work}", f"KERNELRELEASE={release}",
			       "CC=x86_64-linux-gnu-gcc-14", "CONFIG_RDMA_SIW=m",
			       "CONFIG_INFINIBAND_USER_MAD=", "CONFIG_INFINIBAND_USER_ACCESS=", "modules"),
			      capture_output=True, text=True, check=False)
	if done.returncode:
		sys.exit(f"{work} does not build:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def restore(work: pathlib.Path, source: pathlib.Path) -> None:
	"""Have WORK the files of SOURCE, whatever an earlier run that was ended has left. Those that are as
	they should be are not compiled again."""
	for file in source.iterdir():
		mine = work / file.name
		if not mine.exists() or mine.read_bytes() != file.read_bytes():
			mine.write_bytes(file.read_bytes())


def changed(defect: Defect, text: str) -> str:
	"""TEXT, the source, with DEFECT; "" where it has not one place for that."""
	pattern = re.compile(defect.at.replace(" ", r"\s+"))
	if len(pattern.findall(text)) != 1:
		return ""
	return pattern.sub(lambda found: found.expand(defect.instead), text)


def keep(work: pathlib.Path, driver: str, to: pathlib.Path) -> None:
	"""Have the driver that was built in WORK be the file TO, without what debuggers need."""
	new = to.with_suffix(".new")
	subprocess.run(("x86_64-linux-gnu-strip", "--strip-debug", "-o", new, work / f"{driver}.ko"),
		       check=True)
	new.rename(to)


def prepare(tree: str, release: str, work: pathlib.Path, out: pathlib.Path,
	    driver: str) -> tuple[pathlib.Path, pathlib.Path]:
	"""Have OUT the DRIVER as it is. Return the folder of its source, and where it is built."""
	source = pathlib.Path(tree, FOLDERS[driver])
	own = work / source.name
	own.mkdir(exist_ok=True)
	plain = out / f"{driver}.ko"
	if not plain.exists():
		restore(own, source)
		build(tree, release, own)
		keep(own, driver, plain)
	return source, own


def main() -> None:
	"""Do what the usage says."""
	tree, release, work, out = sys.argv[1], sys.argv[2], *map(pathlib.Path, sys.argv[3:5])
	chosen = [defect for defect in TABLE
		  if not sys.argv[5:] or any(name in defect.name for name in sys.argv[5:])]
	for driver in FOLDERS:
		mine = [defect for defect in chosen if defect.driver == driver]
		if not mine:
			continue
		for device in {split(driver)[1], *(defect.device for defect in mine)} - {""}:
			prepare(tree, release, work, out, device)
		source, own = prepare(tree, release, work, out, driver)
		print(driver, driver, flush=True)
		for defect in mine:
			text = changed(defect, (source / defect.file).read_text(encoding="utf-8"))
			if not text:
				print("-", defect.name, f"{defect.file} has not one place for it",
				      flush=True)
				continue
			digest = hashlib.sha256(text.encode()).hexdigest()[:8]
			made = out / f"{defect.name}-{digest}.ko"
			if not made.exists():
				restore(own, source)
				(own / defect.file).write_text(text, encoding="utf-8")
				build(tree, release, own)
				keep(own, driver, made)
			print(made.stem, f"{driver}@{defect.device}".removesuffix("@"), flush=True)


main()
