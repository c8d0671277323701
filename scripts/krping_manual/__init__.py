# SPDX-License-Identifier: GPL-2.0
"""Man pages and completions of krping: scripts/manual. Nothing here knows an option or an
argument by name: all come from the tables and from argparse.

	facts	the options of commands, and the arguments of each subcommand
	roff	text for man
	pages	krping(8) and krping-commands(7)
	shell	text for shells
	bash	completion for bash
	zsh	completion for zsh
"""
