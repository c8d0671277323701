# SPDX-License-Identifier: GPL-2.0
# oldest: yes
"""caps: what the module says of a device, against what others say of it, and against
what commands then can ask for."""

import errno
import json
import os
import re
import subprocess
import threading

import age
import krping
import network
from krping import ADDR, ADDR6, DEVICE, Command, Log, new_tag, wait_for
from ktap import Suite, diag
from program import in_process, load

suite = Suite(check=krping.check)

SYSFS = f"/sys/class/infiniband/{DEVICE}"
program = load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts",
			    "krping"))
# What is said of an address that has no device.
NO_DEVICE = ("resolving the (address|route) failed with ENODEV: "
	     "no RDMA device has the address or leads to it")
# How much larger than a limit what is refused must be, in doubt.
BEYOND = 1


def caps(text=f"caps,addr={ADDR}", number=0):
	"""The result of the command TEXT, which ends with errno NUMBER."""
	tag, log = new_tag(), Log()
	found = krping.run(f"{text},tag={tag}")
	assert found == number, f"{krping.name(found)}: {log.text()}"
	return krping.result(tag, "client")


def sysfs(name):
	"""What sysfs has of the device."""
	with open(f"{SYSFS}/{name}", encoding="ascii") as file:
		return file.read().strip()


def devinfo():
	"""What ibv_devinfo says of the device: the first word of each value, by name."""
	done = subprocess.run(("ibv_devinfo", "-v", "-d", DEVICE), check=True, text=True,
			      stdin=subprocess.DEVNULL, capture_output=True)
	return dict(re.findall(r"^\s*([a-z_]+):[ \t]+(\S+)", done.stdout, re.MULTILINE))


@suite.test("what the device says is what ibv_devinfo says")
def claims():
	found, said = caps(), devinfo()
	claims, device = found["caps"]["claims"], found["caps"]["device"]
	assert (found["device"], found["transport"]) == (DEVICE, "RoCE"), found
	for name in ("max_qp", "max_qp_wr", "max_cq", "max_cqe", "max_mr", "max_pd", "max_srq",
		     "max_sge_rd", "max_qp_rd_atom", "max_qp_init_rd_atom", "max_mcast_grp",
		     "max_mcast_qp_attach"):
		assert claims[name] == int(said[name], 0) > 0, (name, claims[name], said)
	assert claims["max_send_sge"] == claims["max_recv_sge"] == int(said["max_sge"]), claims
	assert claims["max_mr_size_bytes"] == int(said["max_mr_size"], 0), claims
	assert claims["page_size_cap"] == said["page_size_cap"], claims
	assert said["atomic_cap"] == "ATOMIC_HCA" and claims["atomics"] == "hca", claims
	# ibv_devinfo shows the lower half.
	flags = int(claims["device_cap_flags"], 0)
	assert flags & 0xffffffff == int(said["device_cap_flags"], 0), claims
	for name in ("vendor_id", "vendor_part_id", "hw_ver"):
		assert device[name] == int(said[name], 0), (name, device)
	assert device["ports"] == int(said["phys_port_cnt"]), device
	assert device["node_guid"] == said["node_guid"], device


@suite.test("features are those of rdma dev, and of what soft-RoCE is known to be")
def features():
	names = caps()["caps"]["claims"]["features"]
	known, = krping.rdma("-d", "dev", "show", DEVICE)
	for flag in ("MEM_WINDOW", "MEM_MGT_EXTENSIONS", "MEM_WINDOW_TYPE_2A", "MEM_WINDOW_TYPE_2B",
		     "RC_RNR_NAK_GEN", "AUTO_PATH_MIG", "SRQ_RESIZE", "XRC"):
		assert (flag in known["caps"]) == (flag.lower() in names), (flag, known, names)
	assert {"send_with_inv", "virt_dma"} <= set(names), names
	assert ({"flush_global", "atomic_write"} <= set(names)) == age.has("flush_opcode"), names
	assert not {"read_with_inv", "sg_gaps", "xrc"} & set(names), names


@suite.test("the port is that of sysfs, and follows its interface")
def port():
	found = caps(f"caps,addr6={ADDR6}")["caps"]
	assert found["device"]["node_guid"] == sysfs("node_guid"), found["device"]
	assert found["port"]["number"] == 1, found["port"]
	assert f": {found['port']['state']}" in sysfs("ports/1/state"), found["port"]
	assert found["port"]["link_layer"] == sysfs("ports/1/link_layer"), found["port"]
	rate = float(sysfs("ports/1/rate").split()[0])
	known = rate * 1000 if age.has("port_speed") else 0
	assert found["port"]["rate_mbit_per_s"] == known, found["port"]
	said = devinfo()
	for name, other in (("active_mtu_bytes", "active_mtu"), ("max_mtu_bytes", "max_mtu")):
		assert found["port"][name] == int(said[other]), (name, found["port"], said)
	assert found["port"]["max_message_bytes"] == int(said["max_msg_sz"], 0), found["port"]
	with network.mtu(krping.NETDEV, 9000):
		assert caps()["caps"]["port"]["active_mtu_bytes"] == 4096
	assert caps()["caps"]["port"]["active_mtu_bytes"] == found["port"]["active_mtu_bytes"]


@suite.test("what was tried, all of it")
def preflight():
	tried = {each["item"]: each for each in caps()["caps"]["preflight"]}
	assert list(tried) == ["pd", "cq_entries", "send_requests", "mr_bytes", "most_mr_bytes",
			       "most_send_requests", "most_send_sge", "most_inline_bytes",
			       "most_disk_requests"], tried
	for name, each in tried.items():
		assert 0 < each["made"] <= each["asked"], each
		if name == "most_inline_bytes":
			assert (each["status"], each["errno"]) == ("less", "EINVAL"), each
			assert each["errno_number"] == errno.EINVAL, each
		else:
			assert each["status"] == "ok" and each["made"] == each["asked"], each
			assert "errno" not in each, each


def works(text):
	"""The loopback with TEXT runs; what it logs."""
	log = Log()
	krping.run_ok(f"loopback,addr={ADDR},count=20,{text}")
	return log.text()


@suite.test("each limit can be asked for, and more than that cannot")
def limits():
	found = caps()["caps"]["limits"]
	for mode, name in (("dma", "size_dma_bytes"), ("reg", "size_reg_bytes")):
		size = found[name]
		works(f"mem_mode={mode},size={size}")
		krping.run_fails(f"loopback,addr={ADDR},count=1,mem_mode={mode},size={size + BEYOND}",
				 errno.ERANGE, f"size is above {size} bytes")
	inline = found["inline_bytes"]
	works(f"wlat,inline,size={inline}")
	krping.run_fails(f"loopback,addr={ADDR},count=1,wlat,inline,size={inline + BEYOND}",
			 errno.EINVAL, "creating the queue pair failed with EINVAL")
	for test in ("bw", "rbw"):
		works(f"{test},sge={found['sge'] if test == 'bw' else found['sge_read']},size=64")
	depth = found["txdepth"]
	assert "lowered" not in works(f"txdepth={depth}")
	assert f"lowered to {depth}, the device's limit" in works(f"txdepth={depth + BEYOND}")


@suite.test("what is supported works, and what is not says the same reason")
def supported():
	found = caps()["caps"]["limits"]
	assert found["server_inv"] == {"supported": True}, found
	works("mem_mode=reg,server_inv,validate")
	assert not found["read_inv"]["supported"], found
	krping.run_fails(f"loopback,addr={ADDR},count=1,mem_mode=reg,read_inv", errno.EOPNOTSUPP,
			 re.escape(found["read_inv"]["reason"]))
	assert found["imm"]["supported"], found
	works("bw,imm")
	for name, options in (("fetch_add", "alat"), ("compare_swap", "casbw"), ("mtu", "mtu=256"),
			      ("qp_uc", "bw,qp=uc"), ("qp_ud", "slat,qp=ud"),
			      ("mcast", "sbw,qp=ud,mcast=239.9.0.1")):
		assert found[name]["supported"], found
		works(options)
	assert found["blk"]["supported"], found
	assert found["comm"]["supported"] == age.has("io_start"), found


@suite.test("the log has it too, in six lines")
def log():
	log, found = Log(), caps()
	lines = [line for line in log.lines() if f"krping: {found['id']}: " in line]
	assert len(lines) == 6, lines
	assert re.search(rf"caps: {DEVICE} is RoCE, firmware ''; port 1 is ACTIVE, Ethernet, MTU "
			 r"[0-9]+ of 4096$", lines[0]), lines[0]
	said = found["caps"]
	assert f"max_qp={said['claims']['max_qp']} " in lines[1], lines[1]
	assert "+".join(said["claims"]["features"]) in lines[1], lines[1]
	assert lines[2].endswith("caps: connection management: answers"), lines[2]
	assert said["connection_management"] == "answers", said
	assert " most_inline_bytes=512 (EINVAL for 4096) " in lines[3], lines[3]
	assert f"txdepth={said['limits']['txdepth']} " in lines[4], lines[4]
	assert lines[5].endswith(": done"), lines[5]


@suite.test("an address that leads to no device, and to nobody")
def nowhere():
	found = caps("caps,addr=127.0.0.1", errno.ENODEV)
	assert re.fullmatch(NO_DEVICE, found["reason"]) and "caps" not in found, found
	assert caps("caps,addr=192.0.2.1", errno.ENETUNREACH)["status"] == "failed"
	# Nobody answers there, so no device can be said to lead there.
	found = caps("caps,addr=10.99.0.77,timeout=300", errno.ETIMEDOUT)
	assert "caps" not in found, found
	krping.run_ok("caps,addr=127.0.0.1,expect=ENODEV")


@suite.test("what does not go with it: EINVAL, by name")
def refused():
	for option, name in (("server", "server"), ("loopback", "loopback"), ("count=1", "count"),
			     ("port=1", "port"), ("size=64", "size"), ("threads=2", "threads")):
		krping.run_fails(f"caps,addr={ADDR},{option}", errno.EINVAL,
				 f"krping: {name} does not go with caps; it is for the other tests")
	krping.run_fails("caps", errno.EINVAL, "krping: caps needs an address of the device")
	krping.run_ok(f"client,caps,addr={ADDR}")


@suite.test("many at once, beside a run; interrupted ones end")
def at_once():
	busy = Command(f"loopback,addr={ADDR},validate")
	wait_for(lambda: any(line.counters.get("send_msgs") for line in krping.lines()))
	many = [Command(f"caps,addr={ADDR}") for _ in range(8)]
	assert [each.wait() for each in many] == [0] * 8
	assert busy.interrupt() == errno.EINTR
	slow = Command("caps,addr=10.99.0.77")
	wait_for(krping.lines)
	assert slow.interrupt() == errno.EINTR


@suite.test("the device unplugged while it is examined: ENODEV, at once")
def unplugged():
	met = 0
	for _ in range(5):
		tag = new_tag()

		def examine(tag=tag):
			krping.block_signals()
			while not krping.run(f"caps,addr={ADDR},tag={tag}"):
				pass

		threads = [threading.Thread(target=examine, daemon=True) for _ in range(8)]
		for thread in threads:
			thread.start()
		try:
			wait_for(lambda tag=tag: len(krping.results(tag)) > 20)
			network.unplug(limit=15)
			for thread in threads:
				thread.join(15)
			assert not any(thread.is_alive() for thread in threads), "one goes on"
		finally:
			network.plug()
		ends = [each for each in krping.results(tag) if each["status"] != "ok"]
		assert [each["errno"] for each in ends] == ["ENODEV"] * 8, ends
		# The others found no device any more.
		met += sum(each["reason"] == "the RDMA device was removed" for each in ends)
		krping.run_ok(f"caps,addr={ADDR}")
	diag(f"{met} of 40 had the device")


def said(*words, status=0):
	"""What krping caps WORDS prints, which ends with STATUS: stdout, stderr."""
	found, out, err = in_process(program, "caps", *words)
	assert found == status, (found, out, err)
	return out, err


@suite.test("caps --client: MTU 9000 here and 1500 there is found, and runs say it, too")
def pair():
	with network.Lab() as lab:
		port = krping.new_port()
		server = krping.serve(f"server,addr={lab.FAR},port={port},persist", lab.command)
		words, client = (lab.FAR, "--client", "--port", port), f"client,addr={lab.FAR},port={port}"
		with network.mtu("near9", 9000):
			out, err = said(*words, status=1)
			assert re.search(r"^  MTU +4 KiB +1 KiB$", out, re.MULTILINE), out
			assert re.search(r"\n  MTU of the interface +9000 +not told\n", out), out
			assert "messages of 4096 bytes do not get through, and those of 1024 do: the " \
			       "server's port takes packets of 1024. Give all" in err, err
			# Small messages get through, and so do large ones in small packets.
			log = Log()
			krping.run_ok(f"{client},count=5,validate")
			packets = "packets of 4096 bytes are too long for {}, which takes 1024: give the " \
				  "client mtu=1024, or all interfaces the same MTU"
			for port_of in ("this port", "the server's port"):
				log.wait(f"krping: [0-9]+: {packets.format(port_of)}")
			log = Log()
			krping.run_ok(f"{client},size=64K,count=5,validate,mtu=1024")
			assert "too long" not in log.text(), log.text()
			for test in ("", ",rbw", ",slat"):
				log = Log()
				number = krping.run(f"{client},size=64K,count=5,timeout=2000{test}")
				assert number in (errno.ETIMEDOUT, errno.ECONNRESET), krping.name(number)
				log.wait(rf"size=65536.*: {krping.name(number)} \([0-9]+\): .*; "
					 + packets.format("the server's port"))
		out, _ = said(*words, "--json")
		found = json.loads(out)["pair"]
		assert found["gets_through_bytes"] == found["path_mtu_bytes"] == 1024, out
		assert found["server_port"]["max_mtu_bytes"] == 4096 and "reason" not in found, found
		assert server.interrupt() == errno.EINTR


@suite.test("scripts/krping caps: tables, JSON, and why there is none")
def front():
	out, err = said(ADDR)
	assert out.startswith(f"# caps: what {DEVICE} (RoCE) can do\n") and err == "", (out, err)
	found = caps()["caps"]
	for name, value in (("max_qp", found["claims"]["max_qp"]), ("txdepth=",
			    found["limits"]["txdepth"]), ("sge=", found["limits"]["sge"])):
		assert re.search(rf"^  {name} +{value}$", out, re.MULTILINE), (name, value, out)
	assert re.search(r"^  most_inline_bytes +4096 +512 +less  EINVAL$", out, re.MULTILINE), out
	assert re.search(r"^  read_inv +no \(.*only iWARP", out, re.MULTILINE), out
	out, err = said(ADDR6, "--json")
	assert json.loads(out)["caps"]["limits"] == found["limits"] and err == "", (out, err)
	out, err = said("127.0.0.1", status=1)
	assert out == "" and re.search(rf"ENODEV \(19\): {NO_DEVICE}", err), (out, err)
	out, err = said("192.0.2", status=2)
	assert out == "" and "EINVAL (22): addr=192.0.2: must be an IPv4 address" in err, (out, err)


suite.main()
