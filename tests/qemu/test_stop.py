# SPDX-License-Identifier: GPL-2.0
# time: real (stops race with what they stop)
"""stop= against a program that opens the disk at the same moment: one of them is refused."""

import errno
import os
import threading

import block
import krping
from ktap import Suite, diag

suite = Suite(check=block.check)


@suite.test("a disk that is opened while it is stopped: EBUSY, or it cannot be opened, 60 rounds")
def opened():
	busy = refused = 0
	with block.Server("size=4M,store=ram,persist") as server:
		text = f"client,blk,addr={server.addr},port={server.port},detach"
		for number in range(60):
			krping.run_ok(text)
			begin, found = threading.Barrier(2), {}

			def opener(number=number, begin=begin, found=found):
				krping.block_signals()
				begin.wait()
				krping.pass_time(number % 40 * 0.00005, "any moment of the stop")
				try:
					fd = os.open(block.node(0), os.O_RDWR | os.O_EXCL)
				except OSError as error:
					found["open"] = error.errno
					return
				try:
					os.pwrite(fd, b"x" * 4096, 0)
					os.fsync(fd)
				except OSError as error:
					found["write"] = error.errno
				found["fd"] = fd
			thread = threading.Thread(target=opener)
			thread.start()
			begin.wait()
			stopped = block.stop(0)
			thread.join()
			assert stopped in (0, errno.EBUSY), krping.name(stopped)
			if "fd" in found:
				os.close(found["fd"])
			if stopped:
				busy += 1
				assert "write" not in found, found
				assert block.stop(0) == 0
			else:
				refused += 1
				assert found.get("open") in (errno.ENXIO, errno.ENODEV, errno.ENOENT), found
			assert block.gone(0)
	diag(f"{busy} EBUSY, {refused} not opened")


if __name__ == "__main__":
	suite.main()
