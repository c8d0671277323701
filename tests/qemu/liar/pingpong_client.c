// SPDX-License-Identifier: GPL-2.0
/* A client of the ping/pong. */
#include "liar.h"

#define LEN		16
/* The buffer of a server for clients that say nothing of themselves. */
#define LEGACY		65536
/* Where the sink is in the memory; the source is at its start. */
#define SINK		0x100000u
/* When two messages have certainly arrived together, or not, in ms. */
#define MOMENT		20

static const uint32_t lengths[] = { 0, 1, 8, 15, 17, 24, 25, 32, 63, 64, 65, 100, 4096 };

/* Of this connection. */
static uint32_t size;
static uint64_t count;
static bool greeted;

static void put_advertisement(uint8_t *room, bool source, uint32_t bytes)
{
	put64(room, (uintptr_t)memory + (source ? 0 : SINK));
	put32(room + 8, memory_key);
	put32(room + 12, bytes);
}

static void advertise(bool source)
{
	uint8_t *room = link_room();

	put_advertisement(room, source, size);
	link_send(room, LEN, PLAIN, 0);
}

/* Whether the server has read or written. */
static bool go_ahead(void)
{
	struct arrival arrival;

	if (link_receive(&arrival, patience))
		return true;
	if (link_over())
		ended("thrown out");
	else
		accuse("no go-ahead");
	return false;
}

/* The server must have written what it has read here, and nothing else. */
static bool iterate(bool source)
{
	uint32_t i;

	for (i = 0; source && i < size; i++) {
		memory[i] = any();
		memory[SINK + i] = 0;
	}
	advertise(source);
	if (!go_ahead())
		return false;
	if (!source && memcmp(memory, memory + SINK, size))
		accuse("another's data came back");
	return true;
}

/* A message that ends it. */
static void client_lies(bool source)
{
	uint8_t *room = link_room();
	uint32_t len = LEN;

	put_advertisement(room, source, size);
	switch (below(9)) {
	case 0:
		len = PICK(lengths);
		lie("advertisement of a wrong length", FATAL);
		break;
	case 1:
		put32(room + 12, 0);
		lie("advertisement of nothing", FATAL);
		break;
	case 2:
		put32(room + 12, chance(2) ? 0xffffffff :
		      (greeted ? size : LEGACY) + 1 + below(1 << 30));
		lie("advertisement beyond the buffer", FATAL);
		break;
	case 3:
		put32(room + 8, chance(2) ? stale_key : any());
		lie("advertisement of a key that is none", FATAL);
		break;
	case 4:
		put64(room, chance(2) ? any() : get64(room) + 2 * MEMORY);
		lie("advertisement of an address that is none", FATAL);
		break;
	case 5:
		lie("SEND that invalidates", FATAL);
		link_send(room, LEN, INVALIDATE, any());
		link_expect_end();
		return;
	case 6:
		lie("immediate with an advertisement", FATAL);
		link_send(room, LEN, IMMEDIATE, any());
		link_expect_end();
		return;
	case 7:
		lie("WRITE of nothing with a number", FATAL);
		link_write_number(0, 0, 0, 0, any());
		link_expect_end();
		return;
	default:
		lie("RDMA to a server's memory", FATAL);
		trespass(chance(2) ? (uintptr_t)memory : any(), chance(2) ? memory_key : any());
		return;
	}
	link_send(room, len, PLAIN, 0);
	link_expect_end();
}

/* What the server may or may not take; then the connection is of no more use. */
static void client_confuses(bool source)
{
	unsigned int times = chance(4) ? 100 : 2 + below(4);
	uint8_t *room = link_room();
	unsigned int i;

	if (chance(3)) {
		lie("advertisement of anything", MAYBE);
		for (i = 0; i < LEN; i++)
			room[i] = any();
		link_send(room, LEN, PLAIN, 0);
	} else {
		lie("advertisements out of turn", MAYBE);
		while (times--)
			advertise(source);
	}
	link_wait_over(MOMENT);
	ended("confused");
	link_leave();
}

/* The end of the connection, one way or the other. */
static void client_deed(bool source)
{
	switch (below(5)) {
	case 0:
		client_confuses(source);
		break;
	case 1:
		give_up(false);
		break;
	default:
		client_lies(source);
	}
}

/* What the server must make of the private data. */
static bool greet(const char *addr, const char *port)
{
	static const uint32_t sizes[] = { 1, 2, 15, 16, 64, 64, 100, 1000, 4096, 65536, 131072 };
	uint8_t private[256] = {};
	unsigned int len = PRIVATE;
	bool connected, mutated;

	size = PICK(sizes);
	count = 1 + below(4);
	greeted = chance(2);
	mutated = chance(4);
	put_greeting(private, 1, PINGPONG);
	private[7] = 1 + below(2);
	put32(private + 12, size);
	put64(private + 16, count);
	put32(private + 28, size);
	if (mutated) {
		lie("private data of a client", MAYBE);
		len = mutate(private, PRIVATE, PRIVATE);
	} else if (!greeted) {
		len = 0;
		size = size > LEGACY ? LEGACY : size;
	}
	connected = link_connect(addr, port, private, len);
	truth();
	if (!connected) {
		ended(link_rejected() ? "refused" : "not connected");
		if (!mutated)
			accuse("a good request is refused");
		return false;
	}
	if (!mutated)
		return true;
	if (len >= 4 && !memcmp(private, "krpg", 4) && (len < 5 || private[4] != 1))
		accuse("another version is taken");
	/* Who knows what it was taken for. */
	client_confuses(true);
	return false;
}

void pingpong_client(const char *addr, const char *port)
{
	unsigned int fuse = 1 + below(6);
	unsigned int side;
	uint64_t i;

	if (!greet(addr, port))
		return;
	for (i = 0; i < count; i++) {
		for (side = 0; side < 2; side++) {
			if (!--fuse) {
				client_deed(side == 0);
				return;
			}
			if (!iterate(side == 0))
				return;
		}
	}
	if (greeted && chance(2)) {
		lie("an iteration too many", FATAL);
		advertise(true);
		link_expect_end();
		return;
	}
	ended("served");
	link_leave();
}
