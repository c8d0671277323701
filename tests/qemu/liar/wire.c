// SPDX-License-Identifier: GPL-2.0
/* Numbers on the wire, and lies that any protocol can be told. */
#include "liar.h"

void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

void put64(uint8_t *at, uint64_t value)
{
	put32(at, value >> 32);
	put32(at + 4, value);
}

uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

void put_greeting(uint8_t *bytes, unsigned int role, unsigned int test)
{
	memcpy(bytes, "krpg", 4);
	bytes[4] = 1;
	bytes[5] = role;
	bytes[6] = test;
}

bool is_greeting(const uint8_t *bytes, unsigned int len)
{
	return len >= 7 && !memcmp(bytes, "krpg", 4);
}

unsigned int mutate(uint8_t *bytes, unsigned int len, unsigned int most)
{
	unsigned int at, i;

	switch (below(5)) {
	case 0:
		/* Any length; what is new is noise. */
		at = below(most + 1);
		for (i = len; i < at; i++)
			bytes[i] = any();
		return at;
	case 1:
		for (i = 0; i < most; i++)
			bytes[i] = any();
		return below(most + 1);
	case 2:
		/* A field. */
		put32(bytes + 4 * (1 + below(len / 4 - 1)), odd_number());
		return len;
	case 3:
		/* One of the small fields. */
		bytes[4 + below(4)] = chance(2) ? below(16) : any();
		return len;
	default:
		for (i = 0; i < 1 + below(4); i++)
			bytes[below(len)] ^= 1u << below(8);
		return len;
	}
}

void trespass(uint64_t addr, uint32_t key)
{
	const uint32_t len = 1 + below(4096);
	bool done;

	switch (below(link_is_iwarp() ? 3 : 4)) {
	case 0:
		done = link_read(0, addr, key, len);
		break;
	case 1:
		done = link_trespass(addr, key, len);
		break;
	case 2:
		done = link_write_number(0, addr, key, len, any());
		break;
	default:
		done = link_atomic(addr, key);
		break;
	}
	if (done)
		accuse("memory that was not given is open: address %llx, key %x, %u bytes",
		       (unsigned long long)addr, key, len);
	link_expect_end();
}

void give_up(bool ends_well)
{
	if (chance(40)) {
		lie("silence", ends_well ? MAYBE : FATAL);
		count_sent(kind_now(), true);
		link_expect_end();
		return;
	}
	lie("leave early", ends_well ? MAYBE : FATAL);
	count_sent(kind_now(), true);
	ended("left early");
	/* As a process does that is killed. */
	if (chance(2))
		return;
	link_leave();
}
