# SPDX-License-Identifier: GPL-2.0
"""The unit of bandwidths: MiB/s, as perftest has it, in tables, sentences and pictures alike."""

MIB = 1 << 20


def bandwidth(bytes_per_s: float, digits: int | None = None) -> str:
	"""BYTES_PER_S with its unit: so many DIGITS behind the point, or four digits in all, or as many
	as there are before the point."""
	value = bytes_per_s / MIB
	if digits is not None:
		return f"{value:.{digits}f} MiB/s"
	return f"{value:.0f} MiB/s" if value >= 1000 else f"{value:.4g} MiB/s"
