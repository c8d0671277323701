# SPDX-License-Identifier: GPL-2.0
"""The clocks of hosts: how far each is from the controller's, and whether it jumped.

Nothing here does I/O. All times are in ns; a host's offset is its clock less the controller's."""

import dataclasses

# The largest drift of a clock that is only slewed, as a share of the time that has passed.
DRIFT = 0.001
# The largest difference beside the drift, in ns, such as the time between two readings.
TOLERANCE = 20_000_000


@dataclasses.dataclass
class Clock:
	"""The known offset of one host's clock."""

	# None until there is an answer.
	offset: int | None = None
	# How far off the offset may be: half of the way there and back.
	error: int = 0
	# Its clock less its monotonic one, and when that was.
	base: int | None = None
	since: int = 0

	def answer(self, sent: int, now: int, mono: int, received: int) -> None:
		"""Take an answer to a question: SENT and RECEIVED are of the controller, and NOW and
		MONO are what the host's clocks said in between. The answer that was on its way for
		the shortest time says it best."""
		error = max(0, received - sent) // 2
		if self.offset is None or error < self.error:
			self.offset, self.error = now - (sent + received) // 2, error
		if self.base is None:
			self.base, self.since = now - mono, mono

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


def lead(clocks: list[Clock], least: int, most: int) -> int:
	"""How long before its start a round must be announced: four times the longest way there,
	so that each host has it in time."""
	return min(most, max([least] + [8 * clock.error for clock in clocks]))
