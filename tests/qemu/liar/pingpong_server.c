// SPDX-License-Identifier: GPL-2.0
/* A server of the ping/pong. */
#include "liar.h"

#define LEN		16
#define REG		2
#define SERVER_INV	1
#define VALIDATE	4
#define MOST		0x100000u
/* When what was sent has certainly been looked at, in ms. */
#define MOMENT		20

static const uint32_t lengths[] = { 0, 1, 8, 15, 17, 24, 25, 32, 63, 64, 65, 100, 4096 };

/* Of this connection. */
static uint32_t size;
static bool reg, server_inv, validate;
/* The advertisement before this one, of the other buffer. */
static uint64_t last_addr;
static uint32_t last_key;

/* What was asked for is taken, or not. */
static bool accept_or_refuse(void)
{
	uint8_t private[256] = {};
	unsigned int len = PRIVATE;
	bool connected;

	if (chance(20)) {
		lie("refusal with anything", FATAL);
		put32(private, 0x6b727072);
		private[4] = 1;
		private[5] = below(8);
		link_reject(private, chance(2) ? 16 : mutate(private, 16, 148));
		ended("refused");
		return false;
	}
	memcpy(private, greeting, PRIVATE);
	private[5] = 2;
	put32(private + 24, 0);
	if (chance(8)) {
		lie("private data of a server", MAYBE);
		len = mutate(private, PRIVATE, 196);
	} else if (chance(16)) {
		lie("answer to another question", FATAL);
		if (chance(2))
			put32(private + 12, size + 1 + below(1000));
		else
			put32(private + 8, get32(private + 8) ^ 1 << below(4));
	}
	connected = link_accept(private, len);
	truth();
	if (!connected)
		ended("not connected");
	return connected;
}

static void send_go_ahead(uint32_t key)
{
	link_send(link_room(), LEN, server_inv ? INVALIDATE : PLAIN, key);
}

/* A go-ahead that ends it. */
static void server_lies(bool source, uint64_t addr, uint32_t key)
{
	uint32_t other = server_inv && chance(2) ? last_key ^ 0x100 : (uint32_t)any();

	switch (below(5)) {
	case 0:
		lie("immediate with a go-ahead", FATAL);
		link_send(link_room(), LEN, IMMEDIATE, any());
		break;
	case 1:
		lie("WRITE with a number for a go-ahead", FATAL);
		/* As long as a go-ahead, where that much is open. */
		link_write_number(0, addr, key, source || size < LEN ? 0 : LEN, any());
		break;
	case 2:
		lie("go-ahead of a wrong length", FATAL);
		link_send(link_room(), PICK(lengths), server_inv ? INVALIDATE : PLAIN, key);
		break;
	case 3:
		lie("go-ahead that invalidates wrongly", FATAL);
		if (server_inv)
			link_send(link_room(), LEN, PLAIN, 0);
		else
			link_send(link_room(), LEN, INVALIDATE, reg ? key : other);
		break;
	default:
		lie("go-ahead that invalidates another key", FATAL);
		link_send(link_room(), LEN, INVALIDATE, other == key ? key + 1 : other);
		break;
	}
	link_expect_end();
}

/* Access to memory that was given for something else, or is not given any more. */
static void server_trespasses(bool source, uint64_t addr, uint32_t key)
{
	uint32_t kind = below(4);
	bool done;

	/* The other way is a READ. */
	if (kind == 1 && !source && link_is_iwarp())
		kind = 0;
	switch (kind) {
	case 0:
		lie("RDMA beyond the end", FATAL);
		done = source ? link_read(0, addr, key, size + 1 + below(4096)) :
				link_trespass(addr, key, size + 1 + below(4096));
		break;
	case 1:
		lie("RDMA the other way", FATAL);
		done = source ? link_trespass(addr, key, size) : link_read(0, addr, key, size);
		break;
	case 2:
		if (reg && last_key) {
			lie("RDMA with the key before", FATAL);
			/* It was good for the other direction. */
			done = source ? link_trespass(last_addr, last_key, 1) :
					link_read(0, last_addr, last_key, 1);
			break;
		}
		fallthrough;
	default:
		lie("RDMA to a client's memory", FATAL);
		trespass(chance(2) ? addr : any(), chance(2) ? key ^ 1 << below(32) : any());
		return;
	}
	if (done)
		accuse("memory is open beyond what was given");
	link_expect_end();
}

/* What it may notice or not: then wait for what it does. */
static void server_confuses(bool source, uint64_t addr, uint32_t key)
{
	unsigned int times = chance(4) ? 100 : 2 + below(4);

	if (source || chance(2)) {
		lie("go-aheads out of turn", MAYBE);
		while (times--)
			send_go_ahead(key);
	} else {
		lie("data that changes while it is compared", MAYBE);
		link_write(0, addr, key, size);
		send_go_ahead(key);
		while (times-- && link_write(below(1000), addr, key, size))
			;
	}
	link_wait_over(MOMENT);
	ended("confused");
	link_leave();
}

/* Nothing is moved, or not what should be. Whether it goes on. */
static bool server_moves_wrongly(bool source, uint64_t addr, uint32_t key)
{
	if (source || chance(2)) {
		/* Shorter text is the same in each iteration. */
		lie("go-ahead without RDMA", validate && size >= 32 ? FATAL : MAYBE);
		if (source)
			memset(memory, 0, size);
	} else {
		lie("corrupt data", validate ? FATAL : MAYBE);
		memory[below(size)] ^= 1 << below(8);
		if (!link_write(0, addr, key, size))
			return false;
	}
	send_go_ahead(key);
	return true;
}

/* Whether it goes on after that. */
static bool server_deed(bool source, uint64_t addr, uint32_t key)
{
	bool goes_on = false;

	switch (below(6)) {
	case 0:
		server_lies(source, addr, key);
		break;
	case 1:
		server_trespasses(source, addr, key);
		break;
	case 2:
		server_confuses(source, addr, key);
		break;
	case 3:
		give_up(false);
		break;
	default:
		goes_on = server_moves_wrongly(source, addr, key);
	}
	truth();
	return goes_on;
}

void pingpong_server(void)
{
	unsigned int fuse = 1 + below(8);
	struct arrival arrival;
	bool source = true;
	uint64_t addr;
	uint32_t key;

	size = get32(greeting + 12);
	reg = greeting[7] == REG;
	server_inv = get32(greeting + 8) & SERVER_INV;
	validate = get32(greeting + 8) & VALIDATE;
	last_key = 0;
	if (!is_greeting(greeting, greeting_len) || size > MOST) {
		accuse("a strange request");
		link_reject(NULL, 0);
		return;
	}
	if (!accept_or_refuse())
		return;
	for (; link_receive(&arrival, patience); source = !source) {
		addr = get64(arrival.bytes);
		key = get32(arrival.bytes + 8);
		if (arrival.len != LEN || get32(arrival.bytes + 12) != size) {
			accuse("a strange advertisement of %u bytes", arrival.len);
			return;
		}
		if (!--fuse) {
			fuse = 1 + below(4);
			if (!server_deed(source, addr, key))
				return;
		} else if (source ? link_read(0, addr, key, size) :
				    link_write(0, addr, key, size)) {
			send_go_ahead(key);
		} else if (!link_over()) {
			accuse("memory that was given is not open");
		}
		last_addr = addr;
		last_key = key;
	}
	if (!link_over())
		accuse("a client that says nothing");
	ended("served");
}
