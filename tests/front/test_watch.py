# SPDX-License-Identifier: GPL-2.0
"""/proc/krping: its lines, what krping watch shows of them, and the progress of a run."""

import fcntl
import io
import os
import pty
import signal
import sys
import termios
import threading
import time

import front
from front import Module, krping
from krping_front import kmsg, openmetrics, paths, proc, progress, watch
from krping_front.command import Command, is_made_up, number, split, variant
from krping_front.errors import Quit
from krping_front.tables import BYTES, NO_UNITS, units_of
from ktap import Suite

suite = Suite(limit=60)


def line(thread, device="mlx5_0", **counters):
	"""A line that counts COUNTERS, else 0."""
	return proc.Line(thread, device, dict.fromkeys(proc.COUNTERS, 0) | counters
			 if device else {})


def disk(thread, name="krping0", device="mlx5_0", **figures):
	"""A line of a disk or tap with FIGURES."""
	return line(thread, device)._replace(name=name, figures=figures)


# Lines

@suite.test("lines of threads that move data, and of those that wait")
def lines():
	assert proc.parse_line("1-rxe0 10864 679 10848 678 5 6 7 8") == proc.Line(
		1, "rxe0", dict(zip(proc.COUNTERS, (10864, 679, 10848, 678, 5, 6, 7, 8))))
	assert proc.parse_line("12 listen") == proc.Line(12, None, {})
	assert proc.parse_line("3-a-b.c 0 0 0 0 0 0 0 0").device == "a-b.c"
	found = proc.parse_line("5-rxe0 1 2 3 4 5 6 7 8 krping12 requests=9 bytes=10 in_flight=11 "
				"errors=0 reconnects=1")
	assert (found.device, found.counters["read_msgs"], found.name) == ("rxe0", 8, "krping12")
	assert list(found.figures.items()) == [("requests", 9), ("bytes", 10), ("in_flight", 11),
					       ("errors", 0), ("reconnects", 1)], found
	found = proc.parse_line("5 listen tap=/dev/sda requests=0 dropped=3")
	assert found == proc.Line(5, None, {}, "/dev/sda", {"requests": 0, "dropped": 3}), found
	big = str((1 << 64) - 1)
	assert proc.parse_line(f"3-x {' '.join([big] * 8)}").counters["read_msgs"] == (1 << 64) - 1


@suite.test("other lines are refused, and shown")
def strange():
	for text in ("", "x", "1-rxe0", "1-rxe0 1 2 3 4 5 6 7", "1-rxe0 1 2 3 4 5 6 7 8 9",
		     "1-rxe0 1 2 3 4 5 6 7 -8", " 1 listen", "1 listens",
		     "1 listen krping0", "1 listen krping0 x=y",
		     "1-rxe0 1 2 3 4 5 6 7 8 requests=5",
		     "1-rxe0 1 2 3 4 5 6 7 8 krping0 requests=", "1-rxe0 krping0 requests=1",
		     "1-rxe0  0 0 0 0 0 0 0 0"):
		try:
			proc.parse_line(text)
		except Quit as ended:
			assert repr(text) in str(ended), ended
		else:
			raise AssertionError(f"taken: {text!r}")


@suite.test("lines of the kernel's log: only ours, unescaped, from now on")
def log():
	with front.directory(), Module() as module:
		module.log("before")
		with kmsg.Log() as found:
			module.log(r"a \x5c and \x22quotes\x22")
			front.say("kmsg", "rdma_rxe: not ours")
			assert found.lines() == ['a \\ and "quotes"'], found.lines()
			assert found.refusal() == 'a \\ and "quotes"'
			module.log("9: client,addr=::1,tag=t,expect=EIO: EPROTO (71): a: b (3): c")
			assert found.failure("t") == (9, "a: b (3): c"), found.lines()
			assert found.failure("x") is None
		assert kmsg.Log().lines() == []


# Commands

@suite.test("numbers, options and variants of commands")
def commands():
	for text, units, expected in (("0", NO_UNITS, 0), ("12", NO_UNITS, 12), ("0x1F", NO_UNITS, 31),
				      ("4K", BYTES, 4096), ("2m", BYTES, 2 << 20),
				      ("4K", NO_UNITS, None), ("012", NO_UNITS, None),
				      ("", NO_UNITS, None), ("-1", NO_UNITS, None),
				      ("1e3", NO_UNITS, None), ("1KB", BYTES, None),
				      ("4k", units_of("count"), 4000),
				      ("10m", units_of("duration"), 600),
				      ("5s", units_of("timeout"), 5000), ("7", units_of("timeout"), 7),
				      ("1500us", units_of("timeout"), None),
				      ("20us", units_of("max_p99"), 20_000),
				      ("1K", units_of("port"), None)):
		assert number(text, units) == expected, (text, units)
	assert Command("client,count=2k,threads=3").total() == 6000
	assert Command("client,duration=2m").value("duration", 0) == 120
	assert split(" client, addr=a ,poll,tag=a=b") == {"client": "", "addr": "a", "poll": "",
							  "tag": "a=b"}
	assert variant("client,addr=192.0.2.1,port=1,count=5,size=7,wlat,poll,imm,txdepth=9,tag=x,"
		       "max_p99=5,qps=2") == "poll,imm,txdepth=9,qps=2"
	server = Command("server,persist\n")
	assert server.text == f"server,persist,tag={server.tag}" and is_made_up(server.tag)
	assert not is_made_up("krping.x") and Command("server,tag=y").text == "server,tag=y"
	# It takes none.
	assert Command("stop=3,force").text == "stop=3,force"


@suite.test("operations of each test and side, from their counters")
def operations():
	for text, found, expected in (
			("client,wlat", [line(1, write_msgs=50)], 50),
			("client,rlat", [line(1, read_msgs=50, send_msgs=2)], 50),
			("client,slat", [line(1, send_msgs=50)], 50),
			("loopback,alat", [line(1, read_msgs=50, send_msgs=2), line(2)], 50),
			("loopback,wlat", [line(1, write_msgs=50), line(2, write_msgs=50)], 50),
			("loopback,bw", [line(0, None), line(1, write_msgs=50), line(2)], 50),
			("loopback,bw,duplex", [line(1, write_msgs=50), line(2, write_msgs=52)],
			 51),
			("client,sbw,threads=2", [line(1, send_msgs=50), line(2, send_msgs=8)], 58),
			# A server on the same machine.
			("client,wlat", [line(9, write_msgs=49), line(1, write_msgs=50)], 50),
			("client,count=5", [line(1, send_msgs=100)], 50),
			("loopback", [line(1, send_msgs=100), line(2, write_msgs=49)], 49),
			("client,fr", [line(1)], None),
			("client,blk", [disk(1, requests=70), line(2, send_msgs=80)], 70),
			("client,tap=sda,count=90", [disk(1, requests=70)], 70),
			("server,blk", [line(1, None), line(2, send_msgs=3)], 3),
			("server", [line(1, None), line(2, send_msgs=3, write_msgs=4, read_msgs=5)],
			 12)):
		assert Command(text).operations(found) == expected, text


@suite.test("how much is to be done")
def totals():
	for text, expected in (("client,count=100", 100), ("client", None),
			       ("client,count=0", None),
			       ("server,count=5", None), ("client,count=0x10,threads=3", 48),
			       ("client,bw,count=100,qps=4,threads=2", 800)):
		assert Command(text).total() == expected, text
	for text, expected in (("client,bw,size=4K", 4096), ("client", 128), ("server", None),
			       ("loopback,blk,size=1M", None),
			       ("client,alat", 8), ("client,bw,duplex,size=2", 4)):
		assert Command(text).bytes_each() == expected, text


# Progress

def shown(text, *samples):
	"""What is shown of the command TEXT after SAMPLES, (seconds, lines)."""
	with front.directory(), Module():
		meter = progress.Progress(Command(text))
		for now, found in samples:
			last = meter.text(found, now)
	return last


@suite.test("the progress line: operations, rates, a bar by count or by time")
def meter():
	assert shown("client,wlat", (0, [])) == "connecting"
	assert shown("client,wlat", (0, [line(1, None)])) == "connecting"
	assert shown("server", (0, [line(1, None)])) == "waiting for a client"
	assert shown("client,bw,size=1M", (10, [line(1, write_msgs=100)]),
		     (11, [line(1, write_msgs=1600)])) == \
		"1,600 operations  1.5 k/s  1.5 GiB/s  0:01"
	assert shown("client,wlat,count=1000", (10, [line(1, write_msgs=0)]),
		     (12, [line(1, write_msgs=500)])) == \
		"500 operations  250 /s  15.6 KiB/s  [############............]  50%  0:02"
	text = shown("client,wlat,count=1000,duration=4", (10, [line(1, write_msgs=0)]),
		     (13, [line(1, write_msgs=500)]))
	assert text.endswith("[##################......]  75%  0:03"), text
	# With the warm-up there is more than count=.
	assert shown("client,wlat,count=10", (0, [line(1, write_msgs=50)])).endswith("100%  0:00")
	assert shown("client,fr,duration=10", (0, [line(1)]), (5, [line(1)])) == \
		"[############............]  50%  0:05"
	assert shown("server,duration=10", (0, [line(1, read_msgs=5)])) == "5 messages  0:00"


@suite.test("rates are those of the last seconds")
def window():
	samples = [(second, [line(1, write_msgs=1000 * second)]) for second in range(10)]
	samples += [(10 + second, [line(1, write_msgs=9000)]) for second in range(4)]
	assert "  0 /s  0 B/s  " in shown("client,wlat,size=1", *samples)


@suite.test("numbers with prefixes, and times")
def numbers():
	for value, unit, base, expected in ((0, "/s", 1000, "0 /s"), (999, "/s", 1000, "999 /s"),
					    (1000, "/s", 1000, "1.0 k/s"),
					    (12345678, "", 1000, "12.3 M"),
					    (1 << 30, "B/s", 1024, "1.0 GiB/s"),
					    (5e18, "B/s", 1024, "4547474 TiB/s")):
		assert progress.scaled(value, unit, base) == expected, value
	assert [progress.clock(seconds) for seconds in (0, 59.9, 61, 3600, 86399)] == [
		"0:00", "0:59", "1:01", "1:00:00", "23:59:59"]


@suite.test("only threads of this run count, and the line is cleared at its end")
def own():
	with front.directory(), Module() as module:
		module.show("7-mlx5_0 0 0 0 0 0 99 0 0\n")
		stream = io.StringIO()
		meter_ = progress.Progress(Command("client,wlat"), "label", stream)
		module.show("7-mlx5_0 0 0 0 0 0 99 0 0\n8-mlx5_0 0 0 0 0 0 5 0 0\n")
		meter_.tick()
		assert stream.getvalue() == "\rlabel  5 operations  0:00\x1b[K", stream.getvalue()
		# What cannot be read now is for the run to say.
		module.show("nonsense\n")
		meter_.tick()
		meter_.close()
		meter_.close()
		assert stream.getvalue().endswith("0:00\x1b[K\r\x1b[K"), stream.getvalue()


@suite.test("progress is only for terminals, and not with --quiet")
def quiet():
	class Terminal(io.StringIO):
		def isatty(self):
			return True

	with front.patched(sys, stderr=Terminal()):
		assert progress.wanted(False) and not progress.wanted(True)
	with front.patched(sys, stderr=io.StringIO()):
		assert not progress.wanted(False)


@suite.test("no progress of a process in the background of its terminal")
def background():
	leader, terminal = pty.openpty()

	def status(function):
		pid = os.fork()
		if pid == 0:
			found = 255
			try:
				found = function()
			finally:
				os._exit(found)
		return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

	def shown():
		with open(terminal, "w", encoding="ascii", closefd=False) as stream:
			return int(progress.in_foreground(stream))

	def as_job():
		os.setpgid(0, 0)
		return shown()

	def as_shell():
		os.setsid()
		fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
		return 10 * shown() + status(as_job)

	try:
		assert status(as_shell) == 10, "shell and job"
		# Not its own terminal, or none.
		assert shown() == 1 and progress.in_foreground(io.StringIO())
	finally:
		os.close(leader)
		os.close(terminal)


# krping watch

@suite.test("rates of each thread; one that is new began with nothing")
def rates():
	before = [line(1, write_msgs=100, write_bytes=1000), line(2), line(3, None)]
	after = [line(1, write_msgs=300, write_bytes=5000), line(3, send_msgs=8), line(4, None)]
	found = watch.rates(before, after, 2)
	assert [(each.thread, each.device) for each in found] == [
		(1, "mlx5_0"), (3, "mlx5_0"), (4, None)], found
	assert found[0].counters["write_msgs"] == 100 and found[0].counters["write_bytes"] == 2000
	assert found[1].counters["send_msgs"] == 4 and found[2].counters == {}


@suite.test("requests and bytes of disks and taps per second, other figures as they are")
def disk_rates():
	before = [disk(1, requests=100, bytes=4096, in_flight=3, errors=1), line(2)]
	after = [disk(1, requests=300, bytes=8192, in_flight=5, errors=2),
		 disk(2, "sda", requests=50, bytes=0, dropped=4), disk(3, device=None, requests=6)]
	found = watch.rates(before, after, 2)
	assert [each.name for each in found] == ["krping0", "sda", "krping0"], found
	assert found[0].figures == {"requests": 100, "bytes": 2048, "in_flight": 5, "errors": 2}
	assert found[1].figures == {"requests": 25, "bytes": 0, "dropped": 4}
	assert found[2].figures == {"requests": 3}, found


@suite.test("plain lines, one for each thread and sample")
def plain():
	found = [watch.Moved(1, "mlx5_0", dict.fromkeys(proc.COUNTERS, 2.4)),
		 watch.Moved(2, None, {}),
		 watch.Moved(3, "mlx5_0", dict.fromkeys(proc.COUNTERS, 1), "krping0",
			     {"requests": 7.2, "bytes": 9, "in_flight": 32, "errors": 0})]
	assert watch.plain(found, 1000.5) == (
		"1000.500 1 mlx5_0 2 2 2 2 2 2 2 2\n1000.500 2 - 0 0 0 0 0 0 0 0\n"
		"1000.500 3 mlx5_0 1 1 1 1 1 1 1 1 krping0 requests/s=7 bytes/s=9 in_flight=32 "
		"errors=0\n")
	assert watch.plain([], 1000.5) == "1000.500 -\n"


@suite.test("a picture for terminals, as high as they are")
def picture():
	moved = dict.fromkeys(proc.COUNTERS, 3 << 20)
	busy = [watch.Moved(n, "mlx5_0", moved) for n in range(1000)]
	text = watch.picture([busy[1], watch.Moved(2, None, {}), busy[3]], 0)
	assert text.startswith("\x1b[H\x1b[J"), text
	lines = text.splitlines()
	names = [each.split()[0] for each in lines[2:]]
	assert names == ["thread", "1-mlx5_0", "2", "3-mlx5_0", "all"], names
	assert lines[-1].split()[1:4] == ["6.3", "M", "6.0"], lines[-1]
	assert max(map(len, lines)) < 80, lines
	assert watch.picture([], 0).endswith("nothing runs\n")
	text = watch.picture(busy, 0, 24)
	assert text.count("\n") == 23 and "... and 982 more" in text, text


@suite.test("OpenMetrics: counters of threads, disks and taps, and nothing of others")
def metrics():
	counters = dict(zip(proc.COUNTERS, range(1, 9)))
	found = openmetrics.text([
		line(1, **counters), line(2, None), disk(3, "krping0", requests=9, in_flight=4),
		disk(4, 'a"b\\c', device=None, requests=7)])
	assert found == """\
# TYPE krping_messages counter
# HELP krping_messages Messages and operations of a thread.
krping_messages_total{thread="1",device="mlx5_0",direction="send"} 2
krping_messages_total{thread="1",device="mlx5_0",direction="recv"} 4
krping_messages_total{thread="1",device="mlx5_0",direction="write"} 6
krping_messages_total{thread="1",device="mlx5_0",direction="read"} 8
krping_messages_total{thread="3",device="mlx5_0",direction="send"} 0
krping_messages_total{thread="3",device="mlx5_0",direction="recv"} 0
krping_messages_total{thread="3",device="mlx5_0",direction="write"} 0
krping_messages_total{thread="3",device="mlx5_0",direction="read"} 0
# TYPE krping_bytes counter
# HELP krping_bytes Bytes of these.
krping_bytes_total{thread="1",device="mlx5_0",direction="send"} 1
krping_bytes_total{thread="1",device="mlx5_0",direction="recv"} 3
krping_bytes_total{thread="1",device="mlx5_0",direction="write"} 5
krping_bytes_total{thread="1",device="mlx5_0",direction="read"} 7
krping_bytes_total{thread="3",device="mlx5_0",direction="send"} 0
krping_bytes_total{thread="3",device="mlx5_0",direction="recv"} 0
krping_bytes_total{thread="3",device="mlx5_0",direction="write"} 0
krping_bytes_total{thread="3",device="mlx5_0",direction="read"} 0
# TYPE krping_threads gauge
# HELP krping_threads Running threads.
krping_threads{state="busy"} 2
krping_threads{state="waiting"} 2
# TYPE krping_disk_in_flight gauge
# HELP krping_disk_in_flight Of a disk or a tap: in flight.
krping_disk_in_flight{disk="krping0",thread="3"} 4
# TYPE krping_disk_requests counter
# HELP krping_disk_requests Of a disk or a tap: requests.
krping_disk_requests_total{disk="krping0",thread="3"} 9
krping_disk_requests_total{disk="a\\"b\\\\c",thread="4"} 7
# EOF
""", found


@suite.test("the file of metrics is replaced as a whole, and what cannot be written is said")
def metrics_file():
	with front.directory(), Module() as module:
		for shown, expected in (("", '{state="busy"} 0'),
					("7-mlx5_0 0 0 0 0 0 99 0 0\n", 'direction="write"} 99')):
			module.show(shown)
			words = ("watch", "--openmetrics", "krping.prom", "--count", 1)
			assert krping(*words) == (0, "", "")
			with open("krping.prom", encoding="utf-8") as file:
				text = file.read()
			assert expected in text and text.endswith("# EOF\n"), text
			assert os.stat("krping.prom").st_mode & 0o777 == 0o644
			assert os.listdir(".").count("krping.prom") == 1
			assert not [name for name in os.listdir(".") if name.startswith(".krping-")]
		os.mkdir("taken")
		for path, why in (("absent/x", "No such file or directory"),
				  ("taken", "Is a directory")):
			status, out, err = krping("watch", "--openmetrics", path, "--count", 1)
			assert (status, out) == (2, "") and f"{path}: {why}" in err, err
		assert not [name for name in os.listdir(".") if name.startswith(".krping-")]


@suite.test("a picture has a second line for a disk or a tap")
def disk_picture():
	moved = dict.fromkeys(proc.COUNTERS, 0)
	figures = {"requests": 15300.0, "bytes": 62 << 20, "in_flight": 128, "errors": 12345,
		   "reconnects": 99}
	disks = [watch.Moved(n, "mlx5_0", moved, f"krping{n}", figures) for n in range(100)]
	lines = watch.picture(disks[:1], 0).splitlines()
	assert lines[3].startswith("0-mlx5_0 "), lines
	assert lines[4] == ("  krping0: 15.3 k requests/s, 62.0 MiB/s, 128 in flight, "
			    "12345 errors, 99 reconnects"), lines
	away = disks[7]._replace(device=None, counters={})
	tap = watch.Moved(8, "mlx5_0", moved, "sda", {"requests": 2.0, "bytes": 0, "dropped": 4,
						      "errors": 1})
	lines = watch.picture([away, tap], 0).splitlines()
	assert lines[3] == "7 waits" and lines[4].startswith("  krping7: "), lines
	assert lines[6] == "  sda: 2 requests/s, 0.0 MiB/s, 4 dropped, 1 errors", lines
	# Both lines or none.
	text = watch.picture(disks, 0, 25)
	assert text.count("\n") <= 24 and "... and 91 more" in text, text


def after_a_sample(deed):
	"""Have DEED() done once the krping watch that this thread is about to run has printed a
	sample, under its heading."""
	def wait():
		front.wait_for(lambda: front.printed(sys.stdout).count("\n") >= 2)
		deed()
	threading.Thread(target=wait, daemon=True).start()


@suite.test("samples at an interval, as many as are wanted, and fewer if the module goes")
def samples():
	with front.directory(), Module() as module:
		module.show("1-mlx5_0 0 0 0 0 640 10 0 0\n")
		start = time.monotonic()
		status, out, err = krping("watch", "--interval", "0.1", "--count", "3")
		assert (status, err) == (0, ""), (status, err)
		assert 0.3 <= time.monotonic() - start < 10
		lines_ = out.splitlines()
		assert lines_[0].split()[:6] == ["#", "time", "thread", "device", "send_msgs/s",
						 "send_bytes/s"], out
		assert len(lines_) == 4, out
		assert {" ".join(each.split()[1:]) for each in lines_[1:]} == {
			"1 mlx5_0 0 0 0 0 0 0 0 0"}, out
		after_a_sample(lambda: os.unlink(paths.PROC))
		status, out, err = krping("watch", "--interval", "0.1")
		assert status == 2 and "not loaded" in err, (status, err)
		assert len(out.splitlines()) >= 2, out


@suite.test("Ctrl-C ends it well")
def ctrl_c():
	with front.directory(), Module():
		after_a_sample(lambda: os.kill(os.getpid(), signal.SIGINT))
		status, out, err = krping("watch", "--interval", "0.1")
	assert (status, err) == (0, "") and len(out.splitlines()) >= 2, (status, out, err)


@suite.test("comments are no threads")
def comments():
	with front.directory(), Module() as module:
		module.show("# krping 0.1.0: nothing runs.\n# Options: write help\n")
		assert proc.lines() == []
		module.show("7-mlx5_0 1 2 3 4 5 6 7 8\n# size=N: bytes\n")
		assert [line.thread for line in proc.lines()] == [7]


suite.main()
