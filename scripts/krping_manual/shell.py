# SPDX-License-Identifier: GPL-2.0
"""Text for shells."""


def quoted(text: str) -> str:
	"""TEXT as a word of a shell."""
	return "'" + text.replace("'", "'\\''") + "'"


def filled(template: str, parts: dict[str, str]) -> str:
	"""TEMPLATE with PARTS in place of their names, which stand between @ there."""
	for name, part in parts.items():
		template = template.replace(f"@{name}@", part)
	return template
