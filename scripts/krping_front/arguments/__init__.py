# SPDX-License-Identifier: GPL-2.0
"""The arguments and the help of each subcommand, apart from what runs it: help needs no more."""
