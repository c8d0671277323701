# SPDX-License-Identifier: GPL-2.0
"""The command-line front of krping: scripts/krping. See docs/front.md.

	errors		exit statuses, and what ends a subcommand early
	paths		the files that are read, and why one of them cannot be
	version		of this program, and of the module
	kinds		the tests, and what each measures
	arguments	the arguments and the help of each subcommand
	options		what the values of the program's own options may be
	address		addresses in commands, and names of hosts
	units		the unit of bandwidths
	command		a command's text: its options, its tag, its progress
	proc		/proc/krping: read its lines, write a command and interrupt it
	failed		the module's list of failed commands, with a sentence for each
	kmsg		the kernel log's sentence for a command
	runner		one command from its write to its results
	progress	the line on the terminal meanwhile
	shape		whether values that came from JSON are what type hints say
	result		the type hints of a result and of a sweep
	results		results as debugfs, files and sweeps have them
	perftest	what perftest prints, as results
	provenance	the host and the device that results come from
	stats		histograms: merged, percentiles, cumulative shares
	rows		a result, or several of one command, as a row of figures
	repeats		the rows of repetitions as one, of medians
	points		what a sweep runs; sweep_file and sweep_table: what it writes and prints
	table		rows as text and as CSV
	disks		the results of disks and taps as text
	devices		the RDMA devices of this host with their addresses
	device		what a device can do, as text
	cases		conformance, as text and as KTAP

and a file for each subcommand: run, option_help, sweep, report (with compare, and regression,
which goes by significance), plot (with curves and picture; drawings, over_time, scaling, ab and
stages: its pictures), watch, caps, conform. The folder acceptance has what test needs, and mesh
what mesh and node need.
"""
