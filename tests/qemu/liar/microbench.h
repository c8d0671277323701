/* SPDX-License-Identifier: GPL-2.0 */
/* The control messages of microbenchmarks, right and wrong. */
#ifndef MICROBENCH_H
#define MICROBENCH_H

#include "liar.h"

#define LEN		24
/* When what was sent has certainly been looked at, in ms. */
#define MOMENT		20

/* Flags of the private data. */
#define VALIDATE	4
#define DUPLEX		16
#define IMM		32

enum { READY = 1, ALIVE, DONE };

/* What this connection is to do. */
struct bench {
	unsigned int test;
	uint32_t size;
	uint64_t count;
	bool imm;
	/* The buffer of the other side, where it has given one. */
	uint64_t peer_addr;
	uint32_t peer_key;
};

extern struct bench bench;

/* Another length than that of data. */
uint32_t control_len(void);
void put_control(uint8_t *room, unsigned int kind, uint64_t first, uint64_t second);
void send_control(unsigned int kind, uint64_t first, uint64_t second);
/* Where this side's data is, if the other one moves it. */
void send_ready(bool given);
/* The next control message that is no sign of life; 0 where none comes. */
unsigned int next_control(void);
/* A control message that has no meaning, or not now. READY: this side has said so. */
void wrong_control(bool ready);
/* Data where none is to come. */
void wrong_data(void);

#endif
