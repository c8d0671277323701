/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of krping that lies at random, but the same way for the same seed.
 *
 * main.c counts what is said and how it ends, link.c has the connection, and each of
 * the other files speaks a protocol, mostly rightly. What a connection does follows
 * from the seed and from its number alone, and from what the other side answers.
 */
#ifndef LIAR_H
#define LIAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../say.h"

#define fallthrough __attribute__((__fallthrough__))

/* What the other side may make of a lie. The worst of a connection's counts. */
enum verdict {
	HARMLESS,	/* it must go on as if nothing were wrong */
	MAYBE,		/* it may notice, or not */
	FATAL,		/* it must end the connection */
};

/* main.c: chance, and the books. */

uint64_t any(void);
/* From 0 to N - 1. */
uint32_t below(uint32_t n);
/* Once in N times. */
bool chance(uint32_t n);
/* A number that is likely to be wrong in an interesting way. */
uint32_t odd_number(void);

#define PICK(array) ((array)[below(sizeof(array) / sizeof((array)[0]))])

/*
 * From now on messages are lies of this kind, until truth(). WHAT must be one string
 * for each kind.
 */
void lie(const char *what, enum verdict verdict);
void truth(void);
/* The kind of what is being said; count_sent() says what became of it. */
unsigned int kind_now(void);
void count_sent(unsigned int kind, bool arrived);
/* The other side has done what it must not. */
void accuse(const char *format, ...);
/* How this connection ended. */
void ended(const char *how);

/* link.c: one connection. */

#define MEMORY		(4u << 20)
#define MESSAGE		8192
#define PRIVATE		56

struct arrival {
	uint32_t len;
	bool has_imm;
	bool has_key;
	/* The immediate, or the key that has been invalidated. */
	uint32_t number;
	uint8_t *bytes;
};

enum how_sent { PLAIN, IMMEDIATE, INVALIDATE };

/* What the other side may use, its key, and one that was good once. */
extern uint8_t *memory;
extern uint32_t memory_key;
extern uint32_t stale_key;
/* What the other side has said while connecting. */
extern uint8_t greeting[256];
extern unsigned int greeting_len;
/* How long the other side may take for whatever it has to do, in ms. */
extern unsigned int patience;

/*
 * Whether the devices are iWARP's. There a WRITE is done when it is with TCP, and a
 * message for which there is no receive ends the connection. soft-iWARP lets anyone READ
 * what was opened for WRITEs (docs/conformance.md).
 */
bool link_is_iwarp(void);
void link_listen(const char *addr, const char *port);
/* Wait for a request; false where the program is to end. */
bool link_wait_request(void);
/* Both return whether the connection is made. */
bool link_accept(const void *private, unsigned int len);
bool link_connect(const char *addr, const char *port, const void *private, unsigned int len);
void link_reject(const void *private, unsigned int len);
/* Whether it was refused, rather than anything else that ended it. */
bool link_rejected(void);
bool link_over(void);
/* What came first of what has not been taken; false where it is over, or after MS. */
bool link_receive(struct arrival *arrival, unsigned int ms);
/* Room for one message. */
uint8_t *link_room(void);
/* Where there are no immediates, one is an invalidation, and ends the connection as well. */
void link_send(const uint8_t *room, uint32_t len, enum how_sent how, uint32_t number);
/* RDMA between the memory at AT and that of the other side: whether it was done. */
bool link_read(uint32_t at, uint64_t addr, uint32_t key, uint32_t len);
bool link_write(uint32_t at, uint64_t addr, uint32_t key, uint32_t len);
bool link_write_number(uint32_t at, uint64_t addr, uint32_t key, uint32_t len, uint32_t number);
bool link_atomic(uint64_t addr, uint32_t key);
/* A WRITE that must fail: whether it is known to have been done. */
bool link_trespass(uint64_t addr, uint32_t key, uint32_t len);
/* Wait MS, or until it is over. */
bool link_wait_over(unsigned int ms);
/* The other side must end it, and in time. */
void link_expect_end(void);
/* Leave in one way or another. */
void link_leave(void);
/* Take all down. */
void link_close(void);

/* wire.c: what is the same in all protocols. */

void put16(uint8_t *at, uint16_t value);
void put32(uint8_t *at, uint32_t value);
void put64(uint8_t *at, uint64_t value);
uint16_t get16(const uint8_t *at);
uint32_t get32(const uint8_t *at);
uint64_t get64(const uint8_t *at);

enum { PINGPONG = 1, FASTREG, WLAT, RLAT, SLAT, BW, RBW, SBW, DISK, TAP };

/* What is said first, without which the rest has no meaning. */
void put_greeting(uint8_t *bytes, unsigned int role, unsigned int test);
bool is_greeting(const uint8_t *bytes, unsigned int len);
/* Make a lie of the LEN bytes of private data, of MOST at most. */
unsigned int mutate(uint8_t *bytes, unsigned int len, unsigned int most);
/* Access to memory of the other side that nobody has given; ends the connection. */
void trespass(uint64_t addr, uint32_t key);
/* Leave, or be silent: what any side may do at any time. */
void give_up(bool ends_well);

/* One connection in each protocol. The clients connect, the servers have a request. */
void pingpong_client(const char *addr, const char *port);
void pingpong_server(void);
void microbench_client(const char *addr, const char *port);
void microbench_server(void);
void block_client(const char *addr, const char *port, unsigned int test);
void block_server(void);

#endif
