/* SPDX-License-Identifier: GPL-2.0 */
/* What clients of disks and taps ask for, and what they must be answered. */
#ifndef BLOCK_H
#define BLOCK_H

#include "liar.h"

#define LEN		32
#define ANSWER		16
/* Answers in a message. */
#define JOINED		8
#define INLINE		4096
#define DEPTH		16
/* The most that it reads or writes. */
#define MOST		65536
#define BLOCK		512
/* All that it ever writes. */
#define MARK		'L'

enum { READ = 1, WRITE, FLUSH, DISCARD, ZEROES, PING, CLOSE, NOTE };
enum { FUA = 1, DATA = 2, KEEP = 4 };

struct request {
	uint8_t action, flags;
	uint16_t tag;
	uint32_t seq;
	uint64_t offset;
	uint64_t addr;
	uint32_t key;
	uint32_t size;
};

struct store {
	bool tap, read_only;
	uint64_t size;
	uint32_t block, most, most_discard;
};

/* As the server has described it. */
extern struct store store;
/* Requests that have not been answered. */
extern unsigned int busy;

/* Forget all requests. */
void forget_asked(void);
bool is_asked(unsigned int tag);
/* Where the data goes that a request of TAG reads, in the memory. */
uint32_t reads_at(unsigned int tag);
bool has_data(const struct request *r);
void put_request(uint8_t *room, const struct request *r);
/* Send it, and note how it must be answered. */
void ask(const struct request *r);
/* The same without a header, for a write of INLINE bytes. */
void ask_by_number(unsigned int tag, uint32_t place);
/* Take one message of answers, which must be right; false where none comes. */
bool take_answers(void);
/* Take all that are due. */
bool take_all(void);

#endif
