// SPDX-License-Identifier: GPL-2.0
/*
 * A stranger who sends datagrams to queue pairs of others.
 *
 * Usage: stranger DEVICE ADDR COUNT BYTES QKEY QUEUE_PAIR ...
 *
 * Sends COUNT datagrams of BYTES bytes, a millisecond apart, from DEVICE to each of
 * the queue pairs with these numbers at ADDR, which is an IPv4 address of DEVICE. They
 * have the Q_Key QKEY, and immediate data. test_unreliable.py builds it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "say.h"

static uint8_t memory[4096];

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	return NULL;
}

/* The place of ADDR among the addresses of the device. */
static int find_gid(struct ibv_context *context, const union ibv_gid *addr)
{
	union ibv_gid gid;

	for (int i = 0; !ibv_query_gid(context, 1, i, &gid); i++)
		if (!memcmp(&gid, addr, sizeof(gid)))
			return i;
	errno = ENOENT;
	die("find the address");
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_ah_attr ah_attr = { .is_global = 1, .port_num = 1 };
	union ibv_gid addr = { .raw = { [10] = 0xff, [11] = 0xff } };
	struct ibv_context *context;
	struct ibv_sge sge = { .addr = (uintptr_t)memory };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (argc < 7 || inet_pton(AF_INET, argv[2], &addr.raw[12]) != 1) {
		errno = EINVAL;
		die("read the arguments");
	}
	context = open_device(argv[1]);
	pd = context ? ibv_alloc_pd(context) : NULL;
	mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), 0) : NULL;
	init.send_cq = mr ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
	init.recv_cq = init.send_cq;
	struct ibv_qp *qp = init.send_cq ? ibv_create_qp(pd, &init) : NULL;

	if (!qp)
		die("create a queue pair");
	attr.qkey = strtoul(argv[5], NULL, 0);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		die("modify the queue pair to INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		die("modify the queue pair to RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("modify the queue pair to RTS");
	ah_attr.grh.dgid = addr;
	ah_attr.grh.hop_limit = 64;
	ah_attr.grh.sgid_index = find_gid(context, &addr);
	wr.wr.ud.ah = ibv_create_ah(pd, &ah_attr);
	if (!wr.wr.ud.ah)
		die("create an address handle");
	wr.wr.ud.remote_qkey = attr.qkey;
	sge.lkey = mr->lkey;
	sge.length = strtoul(argv[4], NULL, 0);
	for (long i = strtol(argv[3], NULL, 0); i > 0; i--) {
		for (int peer = 6; peer < argc; peer++) {
			wr.wr.ud.remote_qpn = strtoul(argv[peer], NULL, 0);
			if (ibv_post_send(qp, &wr, &bad))
				die("post a SEND");
			while (!ibv_poll_cq(init.send_cq, 1, &wc))
				;
		}
		usleep(1000);
	}
	return 0;
}
