# SPDX-License-Identifier: GPL-2.0
"""The clocks of hosts: how far each is from the controller's, and whether it jumped.

All times are in ns; a host's offset is its clock less the controller's."""

import dataclasses
import time

# The largest drift of a clock that is only slewed, as a share of the time that has passed.
DRIFT = 0.001
# The largest difference beside the drift, in ns, such as the time between two readings.
TOLERANCE = 20_000_000
# How fast an offset that is not measured again gets worse, as a share of the time: crystals of
# two hosts differ by no more.
WANDER = 0.00005


class Steady:
	"""The time of day of this host as it was at first: whoever sets its clock does not set
	this one."""

	def __init__(self) -> None:
		self.base = time.time_ns() - time.monotonic_ns()

	def now(self) -> int:
		"""The time."""
		return self.base + time.monotonic_ns()


@dataclasses.dataclass
class Clock:
	"""The known offset of one host's clock."""

	# None until there is an answer.
	offset: int | None = None
	# How far off the offset was at most when it was measured: half of the way there and back.
	error: int = 0
	# When that was by the controller's clock, and whether the next answer begins anew.
	measured: int = 0
	fresh: bool = True
	# Its clock less its monotonic one, and when that was.
	base: int | None = None
	since: int = 0

	def answer(self, sent: int, now: int, received: int) -> None:
		"""Take an answer to a question: SENT and RECEIVED are of the controller, and NOW is
		what the host's clock said in between. The answer that was on its way for the
		shortest time says it best."""
		error = max(0, received - sent) // 2
		if self.fresh or error < self.error:
			self.offset, self.error = now - (sent + received) // 2, error
			self.measured, self.fresh = received, False

	def error_at(self, now: int) -> int:
		"""How far off the offset may be when the controller's clock is NOW."""
		return self.error + int(max(0, now - self.measured) * WANDER)

	def jump(self, now: int, mono: int) -> int:
		"""Take what the host's clocks said, and return by how much its clock has been set
		since the last time, 0 where it was not. The offset goes along."""
		if self.base is None:
			self.base, self.since = now - mono, mono
			return 0
		moved = now - mono - self.base
		allowed = TOLERANCE + int(max(0, mono - self.since) * DRIFT)
		self.base, self.since = now - mono, mono
		if self.offset is not None:
			self.offset += moved
		return moved if abs(moved) > allowed else 0


class Lead:
	"""How long before its start a round is announced, so that each host has it in time, and has
	made its connections. That time is lost, so it becomes shorter until a host was late, and
	longer then: about one round in eight begins late where hosts have no time to spare."""

	# By how much it becomes shorter after a round: fast until one was late for the first time.
	FAST, SLOW = 0.5, 0.9

	def __init__(self, first: int, least: int, most: int) -> None:
		"""It is FIRST for the first round, and then from LEAST up to FIRST. MOST is for clocks
		that are known badly only."""
		self.now = self.first = first
		self.least, self.most = least, most
		self.pace = self.FAST

	def ahead(self, clocks: list[Clock], now: int) -> int:
		"""For the next round, which is announced NOW: at least four times the longest way to
		one of CLOCKS."""
		return min(self.most, max([self.now] + [8 * clock.error_at(now) for clock in clocks]))

	def learn(self, late: bool) -> None:
		"""A round began LATE, or in time."""
		if late:
			self.pace = self.SLOW
			self.now = min(self.first, 2 * self.now)
		else:
			self.now = max(self.least, int(self.now * self.pace))
