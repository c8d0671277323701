#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Inputs that a fuzz target has found to be of interest, as one file of text for all of a
target's: an input a line, in hexadecimal.

	corpus.py unpack FILE DIRECTORY
	corpus.py pack DIRECTORY FILE
"""

import hashlib
import os
import sys


def unpack(path, directory):
	"""Make a file in DIRECTORY of each line of PATH."""
	os.makedirs(directory, exist_ok=True)
	with open(path, encoding="ascii") as file:
		for line in file:
			data = bytes.fromhex(line)
			name = hashlib.sha1(data).hexdigest()
			with open(os.path.join(directory, name), "wb") as found:
				found.write(data)


def pack(directory, path):
	"""Make a line of PATH of each file in DIRECTORY, in an order that does not change."""
	inputs = []
	for name in os.listdir(directory):
		with open(os.path.join(directory, name), "rb") as file:
			inputs.append(file.read())
	with open(path, "w", encoding="ascii") as file:
		file.writelines(f"{data.hex()}\n" for data in sorted(inputs, key=lambda d: (len(d), d)))


{"unpack": unpack, "pack": pack}[sys.argv[1]](*sys.argv[2:])
