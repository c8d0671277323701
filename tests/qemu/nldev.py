# SPDX-License-Identifier: GPL-2.0
"""What RDMA devices have, as the kernel says over netlink: rdma/rdma_netlink.h. `rdma resource show`
says the same, but is a process for each look.

	nldev.summary()		# {"rxe0": {"pd": 1, "cq": 2, ...}}
	nldev.entries(nldev.CQ)	# all completion queues: (device, {attribute: bytes})
"""

import os
import socket
import struct

NETLINK_RDMA, CLIENT = 20, 5
REQUEST, DUMP = 0x1, 0x300
ERROR, DONE = 2, 3
HEADER = struct.Struct("IHHII")

# Commands, and the attribute of the table that they give where they give one.
DEVICES, SUMMARY = 1, 9
CM_ID, CQ = (11, 30), (12, 35)
# Attributes.
DEV_INDEX, DEV_NAME = 1, 2
SUMMARY_TABLE, SUMMARY_NAME, SUMMARY_COUNT = 15, 17, 18
STATE, KERNEL_NAME, SOURCE = 27, 29, 33
# A state of a CM identifier.
LISTEN = 8


def attributes(data):
	"""The attributes in DATA: kind and value of each."""
	while len(data) >= 4:
		length, kind = struct.unpack_from("HH", data)
		yield kind & 0x3fff, data[4:length]
		data = data[length + 3 & ~3:]


def dump(command, more=b""):
	"""The attributes of each message that answers COMMAND with the attributes MORE, as a dict."""
	with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as link:
		link.send(HEADER.pack(HEADER.size + len(more), CLIENT << 10 | command, REQUEST | DUMP, 0, 0)
			  + more)
		while True:
			data = link.recv(1 << 18)
			while data:
				length, kind, *_ = HEADER.unpack_from(data)
				body = data[HEADER.size:length]
				if kind == DONE:
					return
				if kind == ERROR:
					number = -struct.unpack_from("i", body)[0]
					raise OSError(number, os.strerror(number))
				yield dict(attributes(body))
				data = data[length + 3 & ~3:]


def text(value):
	"""The text that an attribute is."""
	return value.rstrip(b"\0").decode()


def summary():
	"""How many objects of each kind there are, by device."""
	return {text(each[DEV_NAME]): {
			text(entry[SUMMARY_NAME]): struct.unpack("Q", entry[SUMMARY_COUNT])[0]
			for entry in (dict(attributes(value))
				      for _, value in attributes(each[SUMMARY_TABLE]))}
		for each in dump(SUMMARY)}


def entries(what):
	"""All that there are of WHAT: the device, and its attributes."""
	command, table = what
	for device in list(dump(DEVICES)):
		index = struct.pack("HH", 8, DEV_INDEX) + device[DEV_INDEX]
		for message in dump(command, index):
			for _, value in attributes(message.get(table, b"")):
				yield text(device[DEV_NAME]), dict(attributes(value))


def port(entry):
	"""The port of a CM identifier's own address."""
	return struct.unpack_from(">H", entry[SOURCE], 2)[0] if SOURCE in entry else None
