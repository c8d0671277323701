# SPDX-License-Identifier: GPL-2.0
"""Random faults at random moments of random work, between two hosts.

Each round does something (workloads.py), breaks something below it, mends that, and then wants:
the errnos to be those that the fault may have, all data to be right that was taken as such,
nothing to hang, nothing to be left, and the next run on the same hosts to work.

A round repeats by its seed and number, as far as the kernel's timing does: --seed S --only N.
"""

import collections
import errno
import os

import block
import krping
import network
import soak
import tap
import workloads
from krping import Log, new_port, wait_for
from ktap import Suite, diag
from writing import check_writers

# What a side may say of a connection that is lost, or cannot be made. One whose CM gives up,
# or has nobody for a request, rejects it.
LOST = {0, errno.ECONNRESET, errno.ETIMEDOUT, errno.ECONNREFUSED}
# Of a device or an address of its own which is gone.
GONE = LOST | {errno.ENODEV, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL,
	       errno.ENETDOWN}

# A fault: what breaks, how that is mended, and the errnos of both sides.
Fault = collections.namedtuple("Fault", ("name", "do", "undo", "client", "server"))


def check():
	"""Nothing is left."""
	check_writers()
	if os.path.exists(workloads.STORE):
		os.unlink(workloads.STORE)
	block.check()
	tap.check()


suite = Suite(check=check, limit=120 + 4 * workloads.LATEST)


def netem(name, choose):
	"""A fault of the link that netem makes, of what CHOOSE says."""
	def make(lab, rng, _work):
		text = choose(rng)
		return Fault(f"{name}: {text}", lambda: lab.disturb(text), lab.calm, LOST, LOST)
	return make


def cable(lab, _rng, _work):
	"""The cable is cut."""
	return Fault("the cable is cut", lab.cut, lab.mend, LOST, LOST)


def near_device(lab, _rng, _work):
	"""This end's device is removed."""
	return Fault("the client's device is removed", lab.unplug_near, lab.plug_near, GONE, LOST)


def far_device(lab, _rng, _work):
	"""The far one is."""
	return Fault("the server's device is removed", lab.unplug_far, lab.plug_far, LOST, GONE)


def link(lab, _rng, _work):
	"""The link goes down."""
	return Fault("the link is down", lab.link_down, lab.link_up, GONE, GONE)


def address(lab, _rng, _work):
	"""The client's address goes."""
	return Fault("the client's address is removed", lab.remove_address, lab.add_address,
		     GONE, LOST)


def client_killed(_lab, _rng, work):
	"""The client's writer is killed."""
	return Fault("the client is killed", work.kill_client, lambda: None, {0}, LOST)


def server_killed(_lab, _rng, work):
	"""The server's writer is killed."""
	return Fault("the server is killed", work.kill_server, lambda: None, LOST, {0})


def nothing(_lab, _rng, _work):
	"""Nothing happens."""
	return Fault("nothing", lambda: None, lambda: None, {0}, {0})


FAULTS = {
	"loss": netem("packets are lost", lambda rng: f"loss {rng.randint(1, 30)}%"),
	"duplicate": netem("packets come twice", lambda rng: f"duplicate {rng.randint(1, 30)}%"),
	"reorder": netem("packets come out of order", lambda rng:
			 f"delay {rng.randint(1, 3)}ms reorder {rng.randint(75, 99)}%"),
	"corrupt": netem("packets are corrupted", lambda rng: f"corrupt {rng.randint(1, 10)}%"),
	"cable": cable,
	"near_device": near_device,
	"far_device": far_device,
	"link": link,
	"address": address,
	"client_killed": client_killed,
	"server_killed": server_killed,
	"nothing": nothing,
}


# Those by which soft-RoCE may come to have wrong data, which validate then finds.
DISTURBED = ("loss", "duplicate", "reorder", "corrupt")


def reads_too_early():
	"""Whether soft-RoCE has shown in this boot that it completes READs before their data is
	there, when packets are lost or late (docs/failures.md). It warns of that once."""
	return "rxe_completer" in network.call("dmesg")


def runs_again(lab):
	"""On the same hosts, when all is whole."""
	port, log = new_port(), Log()
	server = lab.command(f"server,port={port}")
	wait_for(krping.lines)
	client = krping.run(f"client,addr={lab.FAR},port={port},count=3,validate,size=4096")
	# Without a client it would wait for ever.
	status = server.interrupt() if client else server.wait()
	both = [krping.name(each) for each in (client, status)]
	assert (client, status) == (0, 0), f"the next run: {both}: {log.text()}"


def play(options, what, which, rng):
	"""A round."""
	log = Log()
	with network.Lab() as lab:
		work = workloads.ALL[what](lab, rng)
		fault = FAULTS[which](lab, rng, work)
		# Most of what connects and ends does so early.
		delay = rng.choice((0.02, 0.2, 1)) * rng.random() * soak.SLOW
		hold = rng.choice((0.1, 1)) * rng.random() * soak.SLOW
		told = f"{work}: {fault.name} after {delay:.3f} s for {hold:.3f} s"
		try:
			work.start()
			krping.pass_time(delay, "the fault comes at any moment")
			fault.do()
			try:
				krping.pass_time(hold, "it lasts")
			finally:
				fault.undo()
			work.mended()
			found = work.finish()
		except BaseException:
			diag(told)
			diag("\n".join(log.lines()[-40:]))
			work.give_up()
			raise
		names = {side: krping.name(status) for side, status in found.items()}
		allowed = {"client": fault.client, "server": fault.server}
		for side, status in found.items():
			seen = status == errno.EBADMSG and which in DISTURBED and reads_too_early()
			assert status in allowed[side] or seen, f"{told}: {names}: {log.text()}"
		diag(f"{told}: {names}")
		for side in (work.client, work.server):
			for result in krping.results(side.tag) if side else ():
				if result["status"] != "ok":
					diag(f"{result['role']}: {result['reason']}")
		runs_again(lab)
	options.counts[f"work.{what}"] += 1
	options.counts[f"fault.{which}"] += 1
	for name in names.values():
		options.counts[f"errno.{name}"] += 1


def add_round(options, number):
	"""The test of round NUMBER."""
	rng = options.rng(number)
	what, which = options.deal(workloads.ALL, number), options.deal(FAULTS, number)
	suite.test(f"round {number}: {what}, {which}")(
		lambda: play(options, what, which, rng))


def main(argv=None):
	"""Run the rounds, or what ARGV says."""
	options = soak.options(__doc__, rounds=20, argv=argv)
	for number in options.numbers():
		add_round(options, number)
	soak.main(suite, options)


if __name__ == "__main__":
	main()
