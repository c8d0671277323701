// SPDX-License-Identifier: GPL-2.0
/* A client of microbenchmarks. */
#include "microbench.h"

/* Operations, with the warm-up. */
static uint32_t total;

static uint32_t warmup(void)
{
	const uint32_t most = (1u << 20) / bench.size;

	return most < 2 ? 2 : most > 100 ? 100 : most;
}

static bool greet(const char *addr, const char *port)
{
	/* wlat, the last one, wants immediates. */
	static const unsigned int tests[] = { RLAT, SLAT, BW, RBW, SBW, WLAT };
	static const uint32_t sizes[] = { 1, 16, 23, 24, 25, 64, 64, 1000, 4096 };
	const bool mutated = chance(6);
	uint8_t private[256] = {};
	unsigned int len = PRIVATE;
	bool connected;

	bench.test = tests[below(link_is_iwarp() ? 5 : 6)];
	bench.size = PICK(sizes);
	bench.count = 1 + below(8);
	bench.imm = (bench.test == BW && chance(2) && !link_is_iwarp()) || bench.test == WLAT;
	total = warmup() + bench.count;
	put_greeting(private, 1, bench.test);
	private[7] = 1;
	put32(private + 8, bench.imm ? IMM : 0);
	put32(private + 12, bench.size);
	put64(private + 16, bench.count);
	put32(private + 28, bench.size);
	put16(private + 32, 1);
	put32(private + 36, 16);
	put16(private + 40, 1);
	put16(private + 42, 1);
	private[44] = 1;
	put32(private + 52, 300);
	if (mutated) {
		lie("private data of a microbenchmark", MAYBE);
		len = mutate(private, PRIVATE, PRIVATE);
	}
	connected = link_connect(addr, port, private, len);
	truth();
	if (!connected) {
		ended(link_rejected() ? "refused" : "not connected");
		if (!mutated)
			accuse("a good request is refused");
	}
	if (!connected || !mutated)
		return connected;
	lie("anything after mutated private data", MAYBE);
	send_ready(true);
	link_wait_over(MOMENT);
	ended("confused");
	link_leave();
	return false;
}

/* Done, with wrong numbers where the server can know. */
static void wrong_done(void)
{
	const bool counted = bench.test == SBW || (bench.test == BW && bench.imm);

	lie("done with a wrong count", counted ? FATAL : MAYBE);
	send_control(DONE, any(), any());
	if (counted) {
		link_expect_end();
	} else {
		link_wait_over(MOMENT);
		ended("confused");
		link_leave();
	}
}

/* More than was announced. */
static void flood(void)
{
	uint32_t i;

	lie("more data than announced", FATAL);
	for (i = 0; i < total + 1 + below(20); i++)
		link_send(link_room(), bench.size, PLAIN, 0);
	link_expect_end();
}

/* Use of the server's buffer that it was not given for. */
static void misuse(void)
{
	const bool writes = bench.test == BW || bench.test == WLAT;
	uint32_t kind = below(3);
	uint32_t len = bench.size;
	bool done;

	/* The wrong way is a READ. */
	if (writes && link_is_iwarp())
		kind = 0;
	switch (kind) {
	case 0:
		lie("RDMA beyond a server's buffer", FATAL);
		len = bench.size + 1 + below(4096);
		done = writes ? link_trespass(bench.peer_addr, bench.peer_key, len) :
				link_read(0, bench.peer_addr, bench.peer_key, len);
		break;
	case 1:
		lie("RDMA the wrong way to a server's buffer", FATAL);
		done = writes ? link_read(0, bench.peer_addr, bench.peer_key, len) :
				link_trespass(bench.peer_addr, bench.peer_key, len);
		break;
	default:
		lie("RDMA with another key than a server's", FATAL);
		trespass(bench.peer_addr, bench.peer_key ^ 1 << below(32));
		return;
	}
	if (done)
		accuse("a server's memory is open beyond what was given");
	link_expect_end();
}

/* All that was announced, and the end. */
static void keep_to_it(void)
{
	uint32_t i;

	for (i = 0; i < total && !link_over(); i++) {
		if (bench.test == SBW)
			link_send(link_room(), bench.size, PLAIN, 0);
		else if (bench.imm)
			link_write_number(0, bench.peer_addr, bench.peer_key, bench.size, i);
	}
	send_control(DONE, bench.count, 1000);
	if (next_control() != DONE)
		accuse("no done");
	ended("served");
	link_leave();
}

void microbench_client(const char *addr, const char *port)
{
	/* What finds no receive is sent again, or ends the connection. */
	uint32_t alive = chance(8) ? below(link_is_iwarp() ? 3 : 30) : 0;

	if (!greet(addr, port))
		return;
	if (chance(4)) {
		if (chance(2))
			wrong_control(false);
		else
			wrong_data();
		return;
	}
	/* Of wlat and slat the server moves data, too. */
	send_ready(bench.test == WLAT);
	if (next_control() != READY) {
		accuse("a server that is not ready");
		return;
	}
	if (alive) {
		lie("a flood of signs of life", MAYBE);
		while (alive-- && !link_over())
			send_control(ALIVE, 0, 0);
		truth();
	}
	switch (below(8)) {
	case 0:
	case 1:
		wrong_control(true);
		break;
	case 2:
		give_up(false);
		break;
	case 3:
		if (bench.test == WLAT || bench.test == SLAT)
			wrong_control(true);
		else
			wrong_done();
		break;
	case 4:
		if (bench.test == SBW)
			flood();
		else if (bench.test != SLAT && !bench.imm)
			wrong_data();
		else
			wrong_control(true);
		break;
	case 5:
	case 6:
		if (bench.peer_key)
			misuse();
		else
			wrong_control(true);
		break;
	default:
		if ((bench.test == SBW && !link_is_iwarp()) || bench.test == BW)
			keep_to_it();
		else
			give_up(false);
	}
}
