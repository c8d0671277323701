// SPDX-License-Identifier: GPL-2.0
/* Requests to a server of disks or taps, with what each must be answered. */
#include "block.h"

enum { OK, IO, NO_SPACE, READ_ONLY, OUT_OF_RANGE, UNSUPPORTED, INVALID };

struct store store;
unsigned int busy;

/* By tag: what has not been answered, and with what it must be. */
static struct {
	bool busy;
	uint32_t seq;
	unsigned int status;
	/* Of a read that must succeed. */
	uint32_t bytes;
	bool with_answer;
} asked[DEPTH + 1];

void forget_asked(void)
{
	memset(asked, 0, sizeof(asked));
	busy = 0;
}

bool is_asked(unsigned int tag)
{
	return asked[tag].busy;
}

uint32_t reads_at(unsigned int tag)
{
	return MOST + tag * MOST;
}

/* As docs/protocol.md has it, in this order. */
static unsigned int right_status(const struct request *r)
{
	const bool changes = r->action == WRITE || r->action == DISCARD || r->action == ZEROES;
	const bool moves = r->action == READ || r->action == WRITE;
	const uint32_t most = moves ? store.most : store.most_discard;

	if (r->action == NOTE)
		return store.tap ? OK : UNSUPPORTED;
	if (!changes && !moves)
		return OK;
	if (changes && store.read_only)
		return READ_ONLY;
	if (!most)
		return UNSUPPORTED;
	if (!r->size || r->size > most || r->size % store.block || r->offset % store.block)
		return INVALID;
	if (r->offset > store.size || r->size > store.size - r->offset)
		return OUT_OF_RANGE;
	return OK;
}

void put_request(uint8_t *room, const struct request *r)
{
	room[0] = r->action;
	room[1] = r->flags;
	put16(room + 2, r->tag);
	put32(room + 4, r->seq);
	put64(room + 8, r->offset);
	put64(room + 16, r->addr);
	put32(room + 24, r->key);
	put32(room + 28, r->size);
}

bool has_data(const struct request *r)
{
	return r->action == WRITE && r->flags & DATA;
}

static void expect(const struct request *r)
{
	asked[r->tag].busy = true;
	asked[r->tag].seq = r->seq;
	asked[r->tag].status = right_status(r);
	asked[r->tag].bytes = r->action == READ && asked[r->tag].status == OK ? r->size : 0;
	asked[r->tag].with_answer = asked[r->tag].bytes && r->flags & DATA;
	if (asked[r->tag].bytes)
		memset(memory + reads_at(r->tag), 'x', r->size);
	busy++;
}

void ask(const struct request *r)
{
	uint8_t *room = link_room();

	put_request(room, r);
	if (has_data(r))
		memset(room + LEN, MARK, r->size);
	expect(r);
	link_send(room, LEN + (has_data(r) ? r->size : 0), PLAIN, 0);
}

void ask_by_number(unsigned int tag, uint32_t place)
{
	const struct request r = {
		.action = WRITE, .tag = tag, .offset = (uint64_t)place * INLINE, .size = INLINE,
	};
	uint8_t *room = link_room();

	memset(room, MARK, INLINE);
	expect(&r);
	/* As many bits for the tag as the largest needs. */
	link_send(room, INLINE, IMMEDIATE, place << 4 | tag);
}

/* Nothing is read but what has been written here, or nothing. */
static void check_data(const uint8_t *data, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		if (data[i] == MARK || !data[i])
			continue;
		accuse("a read brought another's data: byte %u of %u is %02x", i, bytes, data[i]);
		return;
	}
}

/* Whether it is one that is due. */
static bool judge(const uint8_t *answer, bool has_key)
{
	const unsigned int tag = get16(answer + 2);

	if (answer[0] != 0x81 || tag > DEPTH || !asked[tag].busy || has_key ||
	    asked[tag].seq != get32(answer + 4) || get64(answer + 8)) {
		accuse("a strange answer for tag %u", tag);
		return false;
	}
	if (asked[tag].status != answer[1] || asked[tag].with_answer)
		accuse("status %u, not %u", answer[1], asked[tag].status);
	else
		check_data(memory + reads_at(tag), asked[tag].bytes);
	asked[tag].busy = false;
	busy--;
	return true;
}

/* The same of data that is an answer. */
static bool judge_data(const struct arrival *arrival)
{
	const unsigned int tag = arrival->number >> 16;

	if (tag > DEPTH || !asked[tag].busy || !asked[tag].with_answer ||
	    (asked[tag].seq & 0xffff) != (arrival->number & 0xffff) ||
	    arrival->len != asked[tag].bytes) {
		accuse("data that was not asked for: %x, %u bytes", arrival->number, arrival->len);
		return false;
	}
	check_data(arrival->bytes, arrival->len);
	asked[tag].busy = false;
	busy--;
	return true;
}

bool take_answers(void)
{
	struct arrival arrival;
	uint32_t at;

	if (!link_receive(&arrival, patience)) {
		if (!link_over())
			accuse("no answer, with %u requests under way", busy);
		return false;
	}
	if (arrival.has_imm)
		return judge_data(&arrival);
	if (!arrival.len || arrival.len % ANSWER || arrival.len > JOINED * ANSWER) {
		accuse("a message of %u bytes, which is no answers", arrival.len);
		return false;
	}
	for (at = 0; at < arrival.len; at += ANSWER)
		if (!judge(arrival.bytes + at, arrival.has_key))
			return false;
	return true;
}

bool take_all(void)
{
	while (busy)
		if (!take_answers())
			return false;
	return true;
}
