# SPDX-License-Identifier: GPL-2.0
"""krping mesh: tests between the pairs of many hosts. See docs/mesh.md.

The controller:

	command		the subcommand
	arguments	its arguments
	controller	leads the hosts through the rounds
	host		what it knows of a host
	rounds		what it knows of a round
	launch		how hosts are reached
	journal		what a mesh that was interrupted goes on from

On each host:

	node		does what the controller says
	part		its part in a round
	about		introduces the host
	jobs		commands that run at the same time
	retransmits	what the device says of packets that were lost

Without I/O:

	nodeset		names of hosts
	plan		patterns, rounds and pairs
	rails		which address of each host is used
	clock		offsets of clocks
	wire		the lines between controller and nodes
	matrix		what pairs measured
	apart		a matrix, taken apart
	power		how much worse somebody must be to be named
	outliers	who is worse than the others
	counts		who has more retransmits than the others
	outcome		all of it, with limits and the exit status
	table		it as text
	document	it as JSON
	html		it as a page
"""
