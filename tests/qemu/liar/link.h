/* SPDX-License-Identifier: GPL-2.0 */
/* The connection as link.c and message.c see it. */
#ifndef LINK_H
#define LINK_H

#include <rdma/rdma_cma.h>

#include "liar.h"

#define RECEIVES	128
#define SENDS		256
/* What a flushed request may take, in ms. */
#define FLUSH		500

struct link {
	/* Counts connections: what an old one has left in the queue is not this one's. */
	uint32_t number;
	struct rdma_cm_id *id;
	bool up, over, rejected;
	/* The memory, and behind it room for receives and then for what is sent. */
	struct ibv_mr *mr;
	uint8_t *messages;
	/* A ring of receives that have come. */
	struct ibv_wc arrivals[RECEIVES];
	unsigned int first_arrival, arrival_count;
	/* Sends and RDMAs. */
	unsigned int under_way;
	/* What became of the last RDMA. */
	bool rdma_done;
	enum ibv_wc_status rdma_status;
};

extern struct link conn;

enum { SEND, RECEIVE, RDMA };

/* Which connection a completion is of, what it completes, and a slot or a kind of lie. */
uint64_t work_id(unsigned int what, unsigned int which);
uint64_t now_ms(void);
void nap(void);
/* Look for all that has come. Whether anything has. */
bool look(void);
/* Look until *DONE or *ALSO, for MS at most. */
void wait_for(const bool *done, const bool *also, unsigned int ms);
void post_receive(unsigned int slot);

#endif
