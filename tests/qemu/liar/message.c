// SPDX-License-Identifier: GPL-2.0
/* What goes over a connection: messages, and RDMA. */
#include <arpa/inet.h>

#include "link.h"

static unsigned int next_room;

bool link_receive(struct arrival *arrival, unsigned int ms)
{
	static int taken = -1;
	static uint32_t taken_of;
	const uint64_t end = now_ms() + ms;
	const struct ibv_wc *wc;

	/* What was taken last has been looked at. */
	if (taken >= 0 && taken_of == conn.number)
		post_receive(taken);
	taken = -1;
	while (!conn.arrival_count && !conn.over && now_ms() < end)
		if (!look())
			nap();
	if (!conn.arrival_count)
		return false;
	wc = &conn.arrivals[conn.first_arrival];
	conn.first_arrival = (conn.first_arrival + 1) % RECEIVES;
	conn.arrival_count--;
	taken = wc->wr_id & 0xffff;
	taken_of = conn.number;
	arrival->len = wc->byte_len;
	arrival->has_imm = wc->wc_flags & IBV_WC_WITH_IMM;
	arrival->has_key = wc->wc_flags & IBV_WC_WITH_INV;
	arrival->number = arrival->has_imm ? ntohl(wc->imm_data) : wc->invalidated_rkey;
	arrival->bytes = conn.messages + taken * MESSAGE;
	return true;
}

static bool post(struct ibv_send_wr wr, const uint8_t *from, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)from,
		.length = len,
		.lkey = conn.mr->lkey,
	};
	const uint64_t end = now_ms() + patience;
	struct ibv_send_wr *unposted;

	while (conn.under_way >= SENDS && !conn.over && now_ms() < end)
		if (!look())
			nap();
	if (conn.under_way >= SENDS)
		return false;
	wr.sg_list = &sge;
	wr.num_sge = len ? 1 : 0;
	if (ibv_post_send(conn.id->qp, &wr, &unposted))
		return false;
	conn.under_way++;
	return true;
}

uint8_t *link_room(void)
{
	return conn.messages + (RECEIVES + next_room++ % SENDS) * MESSAGE;
}

void link_send(const uint8_t *room, uint32_t len, enum how_sent how, uint32_t number)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[PLAIN] = IBV_WR_SEND,
		[IMMEDIATE] = IBV_WR_SEND_WITH_IMM,
		[INVALIDATE] = IBV_WR_SEND_WITH_INV,
	};
	struct ibv_send_wr wr = {};

	if (how == IMMEDIATE && link_is_iwarp()) {
		lie("invalidation where RoCE has an immediate", FATAL);
		how = INVALIDATE;
	}
	wr.wr_id = work_id(SEND, kind_now());
	wr.opcode = opcodes[how];
	if (how == IMMEDIATE) {
		wr.imm_data = htonl(number);
	} else if (how == INVALIDATE) {
		wr.invalidate_rkey = number;
		/* Where the provider of soft-iWARP looks for it. */
		wr.wr.rdma.rkey = number;
	}
	post(wr, room, len);
}

static bool move(struct ibv_send_wr wr, const uint8_t *at, uint32_t len)
{
	wr.wr_id = work_id(RDMA, kind_now());
	conn.rdma_done = false;
	if (!post(wr, at, len))
		return false;
	wait_for(&conn.rdma_done, &conn.over, patience);
	if (!conn.rdma_done)
		wait_for(&conn.rdma_done, &conn.rdma_done, FLUSH);
	return conn.rdma_done && conn.rdma_status == IBV_WC_SUCCESS;
}

bool link_read(uint32_t at, uint64_t addr, uint32_t key, uint32_t len)
{
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ, .wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	return move(wr, memory + at, len);
}

bool link_write(uint32_t at, uint64_t addr, uint32_t key, uint32_t len)
{
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	return move(wr, memory + at, len);
}

bool link_trespass(uint64_t addr, uint32_t key, uint32_t len)
{
	return link_write(0, addr, key, len) && !link_is_iwarp();
}

bool link_write_number(uint32_t at, uint64_t addr, uint32_t key, uint32_t len, uint32_t number)
{
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(number),
		.wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	if (link_is_iwarp()) {
		link_send(link_room(), len, IMMEDIATE, number);
		return false;
	}
	return move(wr, memory + at, len);
}

bool link_atomic(uint64_t addr, uint32_t key)
{
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { .remote_addr = addr & ~7ull, .rkey = key, .compare_add = 1 },
	};

	return move(wr, memory, 8);
}
