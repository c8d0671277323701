# SPDX-License-Identifier: GPL-2.0
"""What the running threads have moved, as OpenMetrics text: for Prometheus, by the textfile
collector of its node exporter."""

import os
import tempfile
from collections.abc import Iterable

from .errors import Quit
from .proc import DIRECTIONS, Line

# Figures of a disk or a tap that do not count up.
GAUGES = ("in_flight",)


def text(lines: list[Line]) -> str:
	"""The metrics of LINES of /proc/krping."""
	busy = [line for line in lines if line.device is not None]
	out = []
	for name, help_text, unit in (
			("krping_messages", "Messages and operations of a thread.", "msgs"),
			("krping_bytes", "Bytes of these.", "bytes")):
		out += family(name, "counter", help_text, (
			({"thread": str(line.thread), "device": line.device or "",
			  "direction": direction}, line.counters[f"{direction}_{unit}"])
			for line in busy for direction in DIRECTIONS))
	out += family("krping_threads", "gauge", "Running threads.", (
		({"state": "busy"}, len(busy)), ({"state": "waiting"}, len(lines) - len(busy))))
	figures = sorted({name for line in lines for name in line.figures})
	for name in figures:
		out += family(f"krping_disk_{name}", "gauge" if name in GAUGES else "counter",
			      f"Of a disk or a tap: {name.replace('_', ' ')}.", (
			({"disk": line.name or "", "thread": str(line.thread)}, line.figures[name])
			for line in lines if name in line.figures))
	return "\n".join([*out, "# EOF", ""])


def family(name: str, kind: str, help_text: str,
	   samples: Iterable[tuple[dict[str, str], float]]) -> list[str]:
	"""The lines of a metric; none without SAMPLES, each its labels and its value."""
	suffix = "_total" if kind == "counter" else ""
	found = [f"{name}{suffix}{{{_labels(labels)}}} {value:.0f}" for labels, value in samples]
	return [f"# TYPE {name} {kind}", f"# HELP {name} {help_text}", *found] if found else []


def _labels(labels: dict[str, str]) -> str:
	return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
	return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write(path: str, lines: list[Line]) -> None:
	"""Have the file PATH hold the metrics of LINES, so that no reader sees a part of them."""
	directory = os.path.dirname(path) or "."
	try:
		with tempfile.NamedTemporaryFile("w", dir=directory, prefix=".krping-",
						 encoding="utf-8", delete=False) as file:
			try:
				file.write(text(lines))
				file.flush()
				# Whoever collects it need not be root.
				os.fchmod(file.fileno(), 0o644)
				os.replace(file.name, path)
			except BaseException:
				os.unlink(file.name)
				raise
	except OSError as error:
		raise Quit(f"{path}: {error.strerror}") from None
