# SPDX-License-Identifier: GPL-2.0
"""What guests.py runs on another guest: it calls functions of krping.py, and those that this file
has, that lines of JSON on stdin name, and answers on stdout, until stdin ends."""

import json
import os
import sys

import block
import krping
from network import call

COMMANDS = []


def begin(text):
	"""Start the command TEXT, and return its number."""
	COMMANDS.append(krping.Command(text))
	return len(COMMANDS) - 1


def ended(number):
	"""The errno of a command, None while it runs."""
	command = COMMANDS[number]
	if command.is_alive():
		return None
	return command.wait() if command in krping.Command.running else command.errno


def interrupt(number):
	"""Interrupt a command, and return its errno."""
	return COMMANDS[number].interrupt()


def disk_keeps(text, length):
	"""Whether LENGTH bytes that are written to the disk of the command TEXT are there, once flushed."""
	data = os.urandom(length)
	with block.Disk(text) as disk, block.Raw(disk) as raw:
		raw.put(0, data)
		return raw.flush() == "ok" and raw.get(0, length) == data


OWN = {function.__name__: function for function in (begin, ended, interrupt, disk_keeps, call)}


def answer(line):
	"""What becomes of the call that LINE is."""
	name, *arguments = json.loads(line)
	function = OWN.get(name) or getattr(krping, name)
	try:
		return {"value": function(*arguments)}
	except Exception as error:
		return {"error": f"{name}: {type(error).__name__}: {error}"}


def main():
	"""Answer all lines; what is left of the commands ends with them."""
	for line in sys.stdin:
		print(json.dumps(answer(line)), flush=True)
	for command in krping.Command.running[:]:
		command.interrupt()


if __name__ == "__main__":
	main()
