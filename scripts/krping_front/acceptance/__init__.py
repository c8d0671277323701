# SPDX-License-Identifier: GPL-2.0
"""krping test: a standard set of cases that a device must pass. See docs/ci.md.

	command		the subcommand
	cases		the set: a row for each case
	looks		what is checked of a device that was looked at (caps)
	figures		what is checked of a run
	limits		--max-p99 and --min-bw
	target		which device is tested, and by which address
	session		runs the cases, and judges them
	report		all that has ended, and as KTAP
	junit		it as JUnit XML
"""
