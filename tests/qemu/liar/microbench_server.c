// SPDX-License-Identifier: GPL-2.0
/* A server of microbenchmarks. */
#include "microbench.h"

static bool accept_wrongly(void)
{
	uint8_t private[256];
	unsigned int len = PRIVATE;
	bool connected;

	memcpy(private, greeting, PRIVATE);
	private[5] = 2;
	if (chance(8)) {
		lie("private data of a microbenchmark's server", MAYBE);
		len = mutate(private, PRIVATE, 196);
	} else if (chance(16)) {
		lie("answer to another microbenchmark", FATAL);
		put32(private + 36, get32(private + 36) ^ 1);
	}
	connected = link_accept(private, len);
	truth();
	if (!connected)
		ended("not connected");
	return connected;
}

/* A ready that leads the client astray. */
static void wrong_ready(void)
{
	const bool used = bench.test != SLAT && bench.test != SBW;
	uint64_t addr = (uintptr_t)memory;
	uint32_t key = memory_key;
	uint32_t bytes = bench.size;

	switch (below(3)) {
	case 0:
		lie("ready with too small a buffer", used ? FATAL : MAYBE);
		bytes = below(bench.size);
		break;
	case 1:
		lie("ready with a key that is none", used ? FATAL : MAYBE);
		key = chance(2) ? stale_key : any();
		break;
	default:
		lie("ready with an address that is none", used ? FATAL : MAYBE);
		addr = any();
	}
	send_control(READY, addr, (uint64_t)key << 32 | bytes);
	if (used) {
		link_expect_end();
	} else {
		link_wait_over(MOMENT);
		ended("confused");
		link_leave();
	}
}

/* The client is done, or takes offence. */
static void expect_leave(void)
{
	if (!link_wait_over(patience))
		accuse("a client that stays");
	ended("served");
}

void microbench_server(void)
{
	const uint32_t flags = get32(greeting + 8);

	bench.test = greeting[6];
	bench.size = get32(greeting + 12);
	bench.count = get64(greeting + 16);
	bench.imm = flags & IMM;
	if (!accept_wrongly())
		return;
	/* The first message on iWARP's connection is the client's. */
	if (!link_is_iwarp() && chance(6)) {
		if (chance(2))
			wrong_control(false);
		else
			wrong_data();
		return;
	}
	if (next_control() != READY) {
		if (link_over())
			ended("thrown out");
		return;
	}
	if (chance(3)) {
		wrong_ready();
		return;
	}
	/* Not what an earlier client has written: it may be what this one looks for. */
	memset(memory, 0, MEMORY);
	send_ready(true);
	switch (below(6)) {
	case 0:
		/* Unless the client waits for this side's data, it may just be done. */
		if (bench.test != WLAT && bench.test != SLAT) {
			lie("done that may be early", MAYBE);
			send_control(DONE, bench.count, 1000);
			expect_leave();
			return;
		}
		lie("done before the client's", FATAL);
		send_control(DONE, bench.count, 1000);
		link_expect_end();
		return;
	case 1:
		wrong_control(true);
		return;
	case 2:
		give_up(false);
		return;
	case 3:
		if (bench.peer_key) {
			lie("RDMA with another key than a client's", FATAL);
			trespass(bench.peer_addr, bench.peer_key ^ 1 << below(32));
			return;
		}
		fallthrough;
	default:
		break;
	}
	/* What needs an answer to each operation gets none. */
	if (bench.test == WLAT || bench.test == SLAT || (flags & DUPLEX)) {
		give_up(false);
		return;
	}
	truth();
	/* It reads what is in the memory, which is not what it looks for. */
	if (bench.test == RBW && flags & VALIDATE)
		lie("other data than what is agreed upon", bench.size < 16 ? MAYBE : FATAL);
	if (next_control() == DONE) {
		if (flags & VALIDATE && chance(2)) {
			uint8_t *room = link_room();

			lie("done that claims corrupt data", FATAL);
			put_control(room, DONE, 0, 0);
			room[5] = 1;
			link_send(room, control_len(), PLAIN, 0);
		} else {
			send_control(DONE, 0, 0);
		}
	}
	expect_leave();
}
