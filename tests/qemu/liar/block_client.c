// SPDX-License-Identifier: GPL-2.0
/*
 * A client of a server of disks or taps. The upper half of the store is somebody
 * else's, and nothing that it rightly asks for is there.
 */
#include "block.h"

/* When what was sent has certainly been looked at, in ms. */
#define MOMENT		20

static uint32_t next_seq;
/* To be asked again. */
static struct request last;

/* A request for what it may have. */
static struct request good(unsigned int tag)
{
	static const uint8_t actions[] = {
		READ, READ, READ, WRITE, WRITE, FLUSH, DISCARD, ZEROES, PING,
	};
	struct request r = { .action = PICK(actions), .tag = tag, .seq = next_seq++ };

	if (r.action == FLUSH || r.action == PING)
		return r;
	r.size = BLOCK * (1 + below(chance(4) ? MOST / BLOCK : 8));
	r.offset = BLOCK * (uint64_t)below((store.size / 2 - r.size) / BLOCK + 1);
	if (r.action == READ || r.action == WRITE) {
		if (r.size <= INLINE && chance(2) && !link_is_iwarp()) {
			r.flags = DATA;
		} else {
			r.flags = KEEP;
			r.addr = (uintptr_t)memory + (r.action == READ ? reads_at(tag) : 0);
			r.key = memory_key;
		}
	}
	if (r.action != READ && chance(8))
		r.flags |= FUA;
	return r;
}

/* A request that is one, for what there is not. */
static void ask_wrongly(unsigned int tag)
{
	static const uint32_t sizes[] = { 0, 0xfffffe00, 0xffffffff };
	struct request r = good(tag);
	/* Data in the message is of the size that is said. */
	const bool any_size = r.action != FLUSH && r.action != PING && !(r.flags & DATA);

	switch (below(link_is_iwarp() ? 6 : 7)) {
	case 0:
		if (r.size) {
			lie("request beyond the end", HARMLESS);
			r.offset = BLOCK * (store.size / BLOCK - (r.size / BLOCK - 1) +
					    (chance(2) ? below(1000) : any() >> 10));
			break;
		}
		fallthrough;
	case 1:
		if (any_size) {
			lie("request for too much, or nothing", HARMLESS);
			r.size = PICK(sizes);
			if (chance(2))
				r.size = (store.most > store.most_discard ? store.most :
					  store.most_discard) + BLOCK;
			break;
		}
		fallthrough;
	case 2:
		if (any_size) {
			lie("request for parts of blocks", HARMLESS);
			if (chance(2))
				r.offset += 1 + below(BLOCK - 1);
			else
				r.size += 1 + below(BLOCK - 1);
			break;
		}
		fallthrough;
	case 3:
		if (r.size) {
			lie("request that wraps around", HARMLESS);
			r.offset = -(uint64_t)BLOCK * (1 + below(r.size / BLOCK));
			break;
		}
		fallthrough;
	case 4:
		lie("note of anything", HARMLESS);
		r = (struct request){
			.action = NOTE, .tag = tag, .seq = r.seq, .offset = any(), .size = any(),
		};
		break;
	case 5:
		lie("request again", HARMLESS);
		if (last.action) {
			r = last;
			r.tag = tag;
			if (r.action == READ && r.key)
				r.addr = (uintptr_t)memory + reads_at(tag);
		}
		last = good(tag);
		break;
	default:
		lie("write by number beyond the end", HARMLESS);
		ask_by_number(tag, store.size / INLINE + below(1 << 20));
		truth();
		return;
	}
	ask(&r);
	truth();
}

/* What is no request: it ends the connection. */
static void break_rules(void)
{
	static const uint32_t lengths[] = { 0, 1, 15, 16, 31, 33, 64, 4096, 8192 };
	struct request r = good(below(DEPTH));
	uint8_t *room = link_room();
	uint32_t len = LEN;

	r.flags &= ~FUA;
	switch (below(12)) {
	case 0:
		lie("request of a wrong length", FATAL);
		r = (struct request){ .action = FLUSH };
		len = PICK(lengths);
		break;
	case 1:
		lie("request for no action", FATAL);
		r.action = chance(2) ? 0 : 10 + below(246);
		break;
	case 2:
		lie("request with flags that mean nothing", FATAL);
		r.flags |= 16 << below(4);
		break;
	case 3:
		lie("request with what should be zero", FATAL);
		r = (struct request){ .action = chance(2) ? FLUSH : PING };
		if (chance(2))
			r.offset = 1 + any() % 1000000;
		else
			r.key = 1 + below(1000000);
		break;
	case 4:
		lie("request without a key", FATAL);
		r = (struct request){
			.action = chance(2) ? READ : WRITE, .flags = KEEP, .size = BLOCK,
		};
		break;
	case 5:
		lie("request of a tag out of range", FATAL);
		r.tag = chance(2) ? DEPTH + 1 : DEPTH + 1 + below(0xffff - DEPTH);
		break;
	case 6:
		lie("too much data in a message", FATAL);
		r = (struct request){
			.action = chance(2) ? READ : WRITE, .flags = DATA, .size = INLINE + BLOCK,
		};
		break;
	case 7:
		lie("other data in a message than it says", FATAL);
		r = (struct request){ .action = WRITE, .flags = DATA, .size = 2 * BLOCK };
		put_request(room, &r);
		link_send(room, LEN + BLOCK * (chance(2) ? 1 : 3), PLAIN, 0);
		link_expect_end();
		return;
	case 8:
		lie("number without a block of data", FATAL);
		link_send(room, chance(2) ? below(4096) : 4097, IMMEDIATE, any());
		link_expect_end();
		return;
	case 9:
		lie("request that invalidates", FATAL);
		put_request(room, &r);
		link_send(room, LEN, INVALIDATE, any());
		link_expect_end();
		return;
	case 10:
		lie("request with a key that is none", FATAL);
		r = (struct request){
			.action = chance(2) ? READ : WRITE, .flags = chance(2) ? KEEP : 0,
			.size = 8 * BLOCK, .addr = (uintptr_t)memory,
			.key = chance(2) ? stale_key : (uint32_t)any() | 1,
		};
		break;
	default:
		lie("RDMA to a server's memory", FATAL);
		trespass(chance(2) ? (uintptr_t)memory : any(), chance(2) ? memory_key : any());
		return;
	}
	put_request(room, &r);
	if (has_data(&r))
		len += r.size;
	link_send(room, len > MESSAGE ? MESSAGE : len, PLAIN, 0);
	link_expect_end();
}

/* More at once than was agreed upon, all of one tag, over the same blocks. */
static void ask_too_much(void)
{
	unsigned int times = DEPTH + 2 + below(100);
	uint8_t *room = link_room();
	const struct request r = {
		.action = chance(2) ? READ : WRITE, .flags = KEEP, .tag = below(DEPTH),
		.size = MOST, .addr = (uintptr_t)memory, .key = memory_key,
	};

	lie("flood of overlapping requests", MAYBE);
	put_request(room, &r);
	while (times-- && !link_over())
		link_send(room, LEN, PLAIN, 0);
	link_wait_over(MOMENT);
	ended("confused");
	link_leave();
	memset(memory, MARK, MOST);
}

static bool greet(const char *addr, const char *port, unsigned int test)
{
	const bool mutated = chance(4);
	uint8_t private[256] = {};
	unsigned int len = PRIVATE;
	bool connected;

	put_greeting(private, 1, test);
	put64(private + 12, any());
	put32(private + 20, 1);
	put16(private + 26, 1);
	put16(private + 28, DEPTH);
	put32(private + 32, 1 << 20);
	put32(private + 36, 300);
	if (mutated) {
		lie("hello", MAYBE);
		len = mutate(private, PRIVATE, PRIVATE);
	}
	connected = link_connect(addr, port, private, len);
	truth();
	if (!connected) {
		ended(link_rejected() ? "refused" : "not connected");
		if (!mutated)
			accuse("a good hello is refused");
		return false;
	}
	if (mutated) {
		if (len < 5 || memcmp(private, "krpg\1", 5))
			accuse("a hello that is none is taken");
		ended("confused");
		link_leave();
		return false;
	}
	store.tap = test == TAP;
	store.read_only = get32(greeting + 8) & 1;
	store.size = get64(greeting + 12);
	store.block = get32(greeting + 28);
	store.most = get32(greeting + 32);
	store.most_discard = get32(greeting + 36);
	if (greeting[6] != test || get16(greeting + 40) != DEPTH || store.size < 4 * MOST ||
	    store.block != BLOCK) {
		accuse("a strange geometry");
		return false;
	}
	return true;
}

static void say_goodbye(void)
{
	const struct request r = { .action = CLOSE, .tag = DEPTH, .seq = next_seq++ };

	ask(&r);
	if (!take_all())
		return;
	ended("served");
	link_leave();
}

void block_client(const char *addr, const char *port, unsigned int test)
{
	unsigned int requests = chance(8) ? below(400) : below(20);
	unsigned int tag;

	if (!greet(addr, port, test))
		return;
	memset(memory, MARK, MOST);
	memset(&last, 0, sizeof(last));
	forget_asked();
	next_seq = 1;
	while (requests--) {
		while (busy >= DEPTH || (busy && chance(3)))
			if (!take_answers())
				goto lost;
		for (tag = below(DEPTH); is_asked(tag); tag = (tag + 1) % DEPTH)
			;
		if (chance(3)) {
			const struct request r = good(tag);

			ask(&r);
		} else {
			ask_wrongly(tag);
		}
	}
	if (chance(3)) {
		if (!take_all())
			goto lost;
		say_goodbye();
	} else if (chance(4)) {
		if (!take_all())
			goto lost;
		ask_too_much();
	} else if (chance(8)) {
		give_up(false);
	} else {
		break_rules();
	}
	return;
lost:
	if (link_over())
		accuse("thrown out for what has a status");
}
