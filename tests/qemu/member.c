// SPDX-License-Identifier: GPL-2.0
/*
 * A member of a multicast group that is none of krping's, by librdmacm.
 *
 * Usage: member ADDR GROUP BYTES [COUNT [QUEUE_PAIR]]
 *
 * Joins GROUP with the RDMA device of ADDR, both of IPv4, and says "joined". With COUNT it
 * then sends so many datagrams of BYTES bytes there, a millisecond apart, with their
 * numbers as immediate data; if told so, from a queue pair with the number QUEUE_PAIR.
 * Without, it receives such until SIGTERM: it says "receives" with the first one, and in the
 * end of each queue pair that has sent some: "from QUEUE_PAIR messages N different N alike N".
 * Different are numbers that have not come before, and alike is data that begins as krping's
 * text. test_multicast.py builds it.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "say.h"

/* The global routing header. */
#define HEADER 40
#define RECEIVES 2048
#define ROOM 2048
#define SENDERS 16
#define NUMBERS 65536

static const char text[] = "rdma-ping-0: A";
static uint8_t memory[RECEIVES][ROOM];
static atomic_bool ended;

static struct sender {
	uint32_t queue_pair;
	unsigned int messages, different, alike;
	uint8_t seen[NUMBERS];
} senders[SENDERS];

static void end(int number)
{
	(void)number;
	atomic_store(&ended, true);
}

static struct sender *sender_of(uint32_t queue_pair)
{
	for (int i = 0; i < SENDERS; i++) {
		if (!senders[i].messages)
			senders[i].queue_pair = queue_pair;
		if (senders[i].queue_pair == queue_pair)
			return &senders[i];
	}
	errno = ENOSPC;
	die("remember another sender");
}

static void note(const struct ibv_wc *wc, uint32_t bytes)
{
	struct sender *sender = sender_of(wc->src_qp);
	uint32_t number = ntohl(wc->imm_data);

	sender->messages++;
	if (wc->byte_len != bytes + HEADER || !(wc->wc_flags & IBV_WC_WITH_IMM) ||
	    number >= NUMBERS)
		return;
	sender->different += !sender->seen[number];
	sender->seen[number] = 1;
	sender->alike += !memcmp(memory[wc->wr_id] + HEADER, text, strlen(text));
}

static void post_receive(struct rdma_cm_id *id, struct ibv_mr *mr, int index, uint32_t bytes)
{
	if (rdma_post_recv(id, (void *)(uintptr_t)index, memory[index], bytes + HEADER, mr))
		die("post a receive");
}

static void receive(struct rdma_cm_id *id, struct ibv_mr *mr, uint32_t bytes)
{
	struct ibv_wc wc;

	while (!atomic_load(&ended)) {
		int found = ibv_poll_cq(id->recv_cq, 1, &wc);

		if (found < 0 || (found && wc.status))
			die("receive");
		if (found) {
			if (!senders[0].messages)
				say("receives");
			note(&wc, bytes);
			post_receive(id, mr, wc.wr_id, bytes);
		} else {
			usleep(100);
		}
	}
	for (int i = 0; i < SENDERS && senders[i].messages; i++)
		say("from %u messages %u different %u alike %u", senders[i].queue_pair,
		    senders[i].messages, senders[i].different, senders[i].alike);
}

static void send_all(struct rdma_cm_id *id, struct ibv_mr *mr, const struct rdma_ud_param *group,
		     uint32_t bytes, uint32_t count)
{
	struct ibv_ah_attr attr = group->ah_attr;
	struct ibv_ah *ah = ibv_create_ah(id->pd, &attr);
	struct ibv_sge sge = { .addr = (uintptr_t)memory[0], .length = bytes, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	if (!ah)
		die("create an address handle");
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = group->qp_num;
	wr.wr.ud.remote_qkey = group->qkey;
	for (uint32_t i = 0; i < count; i++) {
		wr.imm_data = htonl(i);
		if (ibv_post_send(id->qp, &wr, &bad))
			die("post a SEND");
		while (!ibv_poll_cq(id->send_cq, 1, &wc))
			;
		if (wc.status)
			die("send");
		usleep(1000);
	}
	ibv_destroy_ah(ah);
}

static struct sockaddr_in parse(const char *from)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, from, &addr.sin_addr) != 1) {
		errno = EINVAL;
		die("read the arguments");
	}
	return addr;
}

/* Numbers are given one after the other. */
static void find_queue_pair(struct rdma_cm_id *id, struct ibv_qp_init_attr *init, uint32_t number)
{
	while (id->qp->qp_num != number) {
		if (id->qp->qp_num > number) {
			errno = EEXIST;
			die("get a queue pair of that number");
		}
		/* Takes the completion queues along. */
		rdma_destroy_qp(id);
		init->send_cq = NULL;
		init->recv_cq = NULL;
		if (rdma_create_qp(id, NULL, init))
			die("create another queue pair");
	}
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = RECEIVES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (argc < 4) {
		errno = EINVAL;
		die("read the arguments");
	}
	struct sockaddr_in addr = parse(argv[1]), group = parse(argv[2]);
	uint32_t bytes = strtoul(argv[3], NULL, 0);
	struct rdma_event_channel *channel = rdma_create_event_channel();

	signal(SIGTERM, end);
	if (bytes > ROOM - HEADER || !channel ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_create_qp(id, NULL, &init))
		die("create a queue pair");
	if (argc > 5)
		find_queue_pair(id, &init, strtoul(argv[5], NULL, 0));
	struct ibv_mr *mr = rdma_reg_msgs(id, memory, sizeof(memory));

	if (!mr)
		die("register memory");
	for (int i = 0; i < RECEIVES; i++)
		post_receive(id, mr, i, bytes);
	if (rdma_join_multicast(id, (struct sockaddr *)&group, NULL) ||
	    rdma_get_cm_event(channel, &event) || event->event != RDMA_CM_EVENT_MULTICAST_JOIN)
		die("join the group");
	say("joined");
	if (argc > 4)
		send_all(id, mr, &event->param.ud, bytes, strtoul(argv[4], NULL, 0));
	else
		receive(id, mr, bytes);
	rdma_ack_cm_event(event);
	rdma_leave_multicast(id, (struct sockaddr *)&group);
	rdma_destroy_qp(id);
	rdma_dereg_mr(mr);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}
