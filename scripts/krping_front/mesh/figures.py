# SPDX-License-Identifier: GPL-2.0
"""The figures of pairs, by the measure of their test."""

from krping_front.units import bandwidth

# The figure that is a count: of several runs of a pair it is the sum.
RETRANSMITS = "retransmits"
# The figures of each measure, and whether more of them is worse. The first one is what the page
# shows at first.
FIGURES = {
	"latency": {"p50_ns": True, "p99_ns": True, RETRANSMITS: True},
	"bandwidth": {"bytes_per_s": False, RETRANSMITS: True},
	"rate": {"rate": False, RETRANSMITS: True},
}


def label(name: str) -> str:
	"""The figure NAME for people."""
	return {"bytes_per_s": "bandwidth"}.get(name, name.removesuffix("_ns"))


def sentence(name: str, value: float | None) -> str:
	"""VALUE of the figure NAME, with its unit."""
	if value is None:
		return "-"
	if name == RETRANSMITS:
		return f"{value:.4g}"
	if name.endswith("_ns"):
		for unit, scale in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
			if value < 1000 * scale:
				return f"{value / scale:.4g} {unit}"
		return f"{value / 1e9:.4g} s"
	if name == "bytes_per_s":
		return bandwidth(value)
	units = ("/s", "k/s", "M/s", "G/s")
	for power, unit in enumerate(units[:-1]):
		if value < 1000 ** (power + 1):
			return f"{value / 1000 ** power:.4g} {unit}"
	return f"{value / 1e9:.4g} {units[-1]}"
