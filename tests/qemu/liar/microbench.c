// SPDX-License-Identifier: GPL-2.0
/* Microbenchmarks: what their clients and servers have in common. */
#include "microbench.h"

static const uint32_t lengths[] = { 0, 1, 8, 16, 23, 25, 26, 32, 64, 65, 4096 };

struct bench bench;

uint32_t control_len(void)
{
	return bench.size == LEN ? LEN + 1 : LEN;
}

void put_control(uint8_t *room, unsigned int kind, uint64_t first, uint64_t second)
{
	memset(room, 0, LEN + 1);
	memcpy(room, "krpc", 4);
	room[4] = kind;
	put64(room + 8, first);
	put64(room + 16, second);
}

void send_control(unsigned int kind, uint64_t first, uint64_t second)
{
	uint8_t *room = link_room();

	put_control(room, kind, first, second);
	link_send(room, control_len(), PLAIN, 0);
}

void send_ready(bool given)
{
	send_control(READY, given ? (uintptr_t)memory : 0,
		     given ? (uint64_t)memory_key << 32 | bench.size : 0);
}

unsigned int next_control(void)
{
	struct arrival arrival;

	while (link_receive(&arrival, patience)) {
		if (arrival.len != control_len() ||
		    memcmp(arrival.bytes, "krpc", 4) || arrival.has_imm)
			continue;
		if (arrival.bytes[4] == ALIVE)
			continue;
		if (arrival.bytes[4] == READY) {
			bench.peer_addr = get64(arrival.bytes + 8);
			bench.peer_key = get32(arrival.bytes + 16);
		}
		return arrival.bytes[4];
	}
	if (!link_over())
		accuse("no control message");
	return 0;
}

void wrong_control(bool ready)
{
	uint8_t *room = link_room();
	uint32_t len = control_len();

	put_control(room, READY, (uintptr_t)memory, (uint64_t)memory_key << 32 | bench.size);
	switch (below(7)) {
	case 0:
		lie("control message of a wrong length", FATAL);
		do
			len = PICK(lengths);
		while (len == bench.size || len == control_len());
		break;
	case 1:
		lie("control message of no kind", FATAL);
		room[4] = chance(2) ? 0 : 4 + below(252);
		break;
	case 2:
		lie("control message without its magic number", FATAL);
		room[below(4)] ^= 1 << below(8);
		break;
	case 3:
		lie("control message with reserved bytes", FATAL);
		if (chance(2)) {
			room[6 + below(2)] = 1 + below(255);
		} else {
			room[4] = ALIVE;
			memset(room + 8, 1 + below(255), 16);
		}
		break;
	case 4:
		lie("control message that invalidates", FATAL);
		link_send(room, len, INVALIDATE, any());
		link_expect_end();
		return;
	case 5:
		lie("control message with an immediate", FATAL);
		room[4] = ALIVE;
		memset(room + 8, 0, 16);
		link_send(room, len, IMMEDIATE, any());
		link_expect_end();
		return;
	default:
		if (ready) {
			lie("ready a second time", FATAL);
		} else {
			lie("done before ready", FATAL);
			room[4] = DONE;
			put64(room + 16, 0);
		}
		break;
	}
	link_send(room, len, PLAIN, 0);
	link_expect_end();
}

void wrong_data(void)
{
	uint32_t times = chance(4) ? 100 : 1;

	lie("data where none is due", FATAL);
	if (chance(4)) {
		lie("a number where none is due", FATAL);
		link_write_number(0, 0, 0, 0, any());
	} else {
		while (times--)
			link_send(link_room(), bench.size, chance(2) ? PLAIN : IMMEDIATE, any());
	}
	link_expect_end();
}
