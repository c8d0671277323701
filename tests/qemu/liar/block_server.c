// SPDX-License-Identifier: GPL-2.0
/* A server that a disk or a tap has been told is one: of zeroes, until it lies. */
#include "liar.h"

#define LEN		32
#define SIZE		0x100000u
#define MOMENT		20

enum { READ = 1, PING = 6 };
enum { DATA = 2, KEEP = 4 };

/* What was asked for last, and before that. */
struct asked {
	unsigned int action, flags, tag;
	uint32_t seq, key, size;
	uint64_t addr;
};

static struct asked given_back;

static bool answer_hello(void)
{
	uint8_t private[256] = {};
	unsigned int len = PRIVATE;
	bool connected;

	put_greeting(private, 2, greeting[6]);
	put64(private + 12, SIZE);
	put64(private + 20, 0x5678);
	put32(private + 28, 512);
	/* No more than was asked for. */
	put32(private + 32, get32(greeting + 32));
	put32(private + 36, 1 << 20);
	put16(private + 40, 128);
	put32(private + 44, chance(2) ? 4096 : 0);
	put32(private + 48, 300);
	if (chance(6)) {
		lie("geometry", MAYBE);
		len = mutate(private, PRIVATE, 196);
	}
	connected = link_accept(private, len);
	truth();
	if (!connected)
		ended("not connected");
	return connected;
}

static void put_answer(uint8_t *room, const struct asked *a, unsigned int status)
{
	memset(room, 0, 16);
	room[0] = 0x81;
	room[1] = status;
	put16(room + 2, a->tag);
	put32(room + 4, a->seq);
}

static void send_answer(const struct asked *a, const uint8_t *room, uint32_t len)
{
	const bool invalidates = a->key && !(a->flags & KEEP);

	link_send(room, len, invalidates ? INVALIDATE : PLAIN, a->key);
}

/* The truth, or that it has failed. */
static void answer(const struct asked *a, unsigned int status)
{
	uint8_t *room = link_room();

	if (a->action == READ && !status && a->flags & DATA) {
		memset(room, 0, a->size);
		link_send(room, a->size, IMMEDIATE, a->tag << 16 | (a->seq & 0xffff));
		return;
	}
	if (a->action == READ && !status && !link_write(0, a->addr, a->key, a->size)) {
		if (!link_over())
			accuse("memory that was given is not open");
		return;
	}
	put_answer(room, a, status);
	send_answer(a, room, 16);
	if (a->key && !(a->flags & KEEP))
		given_back = *a;
}

static void wrong_answer(const struct asked *a)
{
	static const uint32_t lengths[] = { 0, 1, 8, 15, 17, 31, 33, 129, 144, 512, 4096, 8192 };
	const bool with_data = a->action == READ && a->flags & DATA;
	const bool has_key = a->key && !(a->flags & KEEP);
	uint8_t *room = link_room();
	uint32_t len = 16;

	put_answer(room, a, 0);
	switch (below(8)) {
	case 0:
		lie("answer of a wrong length", FATAL);
		len = PICK(lengths);
		break;
	case 7:
		lie("answers of which the last is none", FATAL);
		put_answer(room, a, 1);
		len = 16 * (2 + below(7));
		memset(room + 16, 0xff, len - 16);
		break;
	case 1:
		lie("answer to nothing", FATAL);
		if (chance(2))
			put16(room + 2, a->tag ^ 1 << (8 + below(8)));
		else
			put32(room + 4, a->seq + 1 + below(1000));
		break;
	case 2:
		lie("answer of no kind", FATAL);
		room[0] ^= 1 << below(8);
		break;
	case 3:
		lie("answer of no status", FATAL);
		room[1] = 7 + below(249);
		break;
	case 4:
		lie("answer with what should be zero", FATAL);
		room[8 + below(8)] = 1 + below(255);
		break;
	case 5:
		if (with_data) {
			lie("data of a wrong length", FATAL);
			link_send(room, chance(2) ? a->size - 1 : a->size + 1, IMMEDIATE,
				  a->tag << 16 | (a->seq & 0xffff));
		} else {
			lie("data that was not asked for", FATAL);
			link_send(room, 512, IMMEDIATE, a->tag << 16 | (a->seq & 0xffff));
		}
		link_expect_end();
		return;
	default:
		lie("answer that invalidates wrongly", FATAL);
		if (has_key && chance(2))
			link_send(room, 16, PLAIN, 0);
		else
			link_send(room, 16, INVALIDATE, a->key ^ 1 << below(32));
		link_expect_end();
		return;
	}
	send_answer(a, room, len);
	link_expect_end();
}

/* Use of memory of a request that it was not given for, or that is given back. */
static void misuse(const struct asked *a)
{
	/* The wrong way is a READ. */
	const bool unchecked = a->action == READ && link_is_iwarp();
	bool done = false;

	if (a->key && a->flags & KEEP && chance(2)) {
		lie("RDMA the wrong way to a tap's memory", FATAL);
		done = link_trespass(a->addr, a->key, 1);
	} else if (given_back.key && chance(2)) {
		lie("RDMA with a key that was given back", FATAL);
		done = chance(2) ? link_read(0, given_back.addr, given_back.key, 1) :
				   link_trespass(given_back.addr, given_back.key, 1);
	} else if (a->key && !(a->flags & KEEP) && (unchecked || chance(2))) {
		lie("RDMA beyond a request's memory", FATAL);
		done = a->action == READ ? link_trespass(a->addr, a->key, a->size + 1) :
					   link_read(0, a->addr, a->key, a->size + 1);
	} else if (a->key && !(a->flags & KEEP)) {
		lie("RDMA the wrong way to a request's memory", FATAL);
		done = a->action == READ ? link_read(0, a->addr, a->key, 1) :
					   link_trespass(a->addr, a->key, 1);
	} else {
		lie("RDMA to a disk's memory", FATAL);
		trespass(any(), any());
		return;
	}
	if (done)
		accuse("memory of a request is open beyond what was given");
	link_expect_end();
}

/* Whether it goes on. */
static bool deed(const struct asked *a)
{
	bool goes_on = false;

	switch (below(6)) {
	case 0:
		lie("a failure that was none", MAYBE);
		answer(a, 1 + below(6));
		goes_on = true;
		break;
	case 1:
		lie("an answer twice", FATAL);
		answer(a, 1);
		answer(a, 1);
		link_expect_end();
		break;
	case 2:
		misuse(a);
		break;
	case 3:
		give_up(false);
		break;
	default:
		wrong_answer(a);
	}
	truth();
	return goes_on;
}

void block_server(void)
{
	unsigned int fuse = 1 + below(8);
	struct arrival arrival;

	if (!answer_hello())
		return;
	memset(memory, 0, SIZE);
	given_back.key = 0;
	while (link_receive(&arrival, patience)) {
		const uint8_t *bytes = arrival.bytes;
		struct asked a = {
			.action = bytes[0], .flags = bytes[1], .tag = get16(bytes + 2),
			.seq = get32(bytes + 4), .addr = get64(bytes + 16),
			.key = get32(bytes + 24), .size = get32(bytes + 28),
		};

		if (arrival.has_imm || arrival.len < LEN || a.size > SIZE) {
			accuse("a strange request of %u bytes", arrival.len);
			return;
		}
		if (--fuse) {
			answer(&a, 0);
			continue;
		}
		fuse = 1 + below(4);
		if (!deed(&a))
			return;
	}
	if (!link_over())
		accuse("a client that says nothing");
	ended("thrown out");
}
