// SPDX-License-Identifier: GPL-2.0
/* One connection at a time, over memory that all of them share. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "link.h"

#define REQUESTS	16
#define READS		16

uint8_t *memory;
uint32_t memory_key;
uint32_t stale_key;
uint8_t greeting[256];
unsigned int greeting_len;
unsigned int patience = 10000;

struct link conn;

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
/* Requests that have come, and wait for their turn. */
static struct {
	struct rdma_cm_id *id;
	uint8_t private[256];
	unsigned int len;
} requests[REQUESTS];
static unsigned int request_count;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static bool resolved;

bool link_is_iwarp(void)
{
	static int found = -1;
	struct ibv_device **devices;
	int count;

	if (found >= 0)
		return found;
	devices = ibv_get_device_list(&count);
	found = devices && count && devices[0]->transport_type == IBV_TRANSPORT_IWARP;
	if (devices)
		ibv_free_device_list(devices);
	return found;
}

uint64_t work_id(unsigned int what, unsigned int which)
{
	return (uint64_t)conn.number << 32 | what << 16 | which;
}

uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

void nap(void)
{
	const struct timespec time = { .tv_nsec = 50 * 1000 };

	nanosleep(&time, NULL);
}

static void open_channel(void)
{
	if (channel)
		return;
	channel = rdma_create_event_channel();
	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		die("get an event channel");
}

static void take_event(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (request_count == REQUESTS)
			return;
		requests[request_count].id = event->id;
		requests[request_count].len = event->param.conn.private_data_len;
		memcpy(requests[request_count].private, event->param.conn.private_data,
		       event->param.conn.private_data_len);
		request_count++;
		return;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		resolved = true;
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (event->id != conn.id)
			return;
		conn.up = true;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return;
	default:
		if (event->id != conn.id)
			return;
		conn.over = true;
		conn.rejected = event->event == RDMA_CM_EVENT_REJECTED;
		break;
	}
	/* Of the other side of a client. */
	if (!listener) {
		greeting_len = event->param.conn.private_data_len;
		memcpy(greeting, event->param.conn.private_data, greeting_len);
	}
}

static void take_completion(const struct ibv_wc *wc)
{
	const unsigned int what = wc->wr_id >> 16 & 0xffff;
	const unsigned int which = wc->wr_id & 0xffff;

	if (wc->wr_id >> 32 != conn.number)
		return;
	if (what == RECEIVE) {
		if (wc->status == IBV_WC_SUCCESS)
			conn.arrivals[(conn.first_arrival + conn.arrival_count++) % RECEIVES] = *wc;
		return;
	}
	conn.under_way--;
	/* What is refused has arrived, too. */
	count_sent(which, wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_REM_ACCESS_ERR ||
		   wc->status == IBV_WC_REM_INV_REQ_ERR || wc->status == IBV_WC_REM_OP_ERR);
	if (what == RDMA) {
		conn.rdma_done = true;
		conn.rdma_status = wc->status;
	}
}

bool look(void)
{
	struct rdma_cm_event *event;
	struct ibv_wc wc[16];
	bool any_came = false;
	int i, n;

	while (cq && (n = ibv_poll_cq(cq, 16, wc)) > 0) {
		for (i = 0; i < n; i++)
			take_completion(&wc[i]);
		any_came = true;
	}
	while (!rdma_get_cm_event(channel, &event)) {
		struct rdma_cm_id *lost = NULL;

		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && request_count == REQUESTS)
			lost = event->id;
		take_event(event);
		rdma_ack_cm_event(event);
		if (lost)
			rdma_destroy_id(lost);
		any_came = true;
	}
	return any_came;
}

void wait_for(const bool *done, const bool *also, unsigned int ms)
{
	const uint64_t end = now_ms() + ms;

	while (!*done && !*also && now_ms() < end)
		if (!look())
			nap();
}

void post_receive(unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)conn.messages + slot * MESSAGE,
		.length = MESSAGE,
		.lkey = conn.mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = work_id(RECEIVE, slot), .sg_list = &sge, .num_sge = 1,
	};
	struct ibv_recv_wr *unposted;

	ibv_post_recv(conn.id->qp, &wr, &unposted);
}

/* What every connection needs, once. */
static void make_memory(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;
	const size_t size = MEMORY + (RECEIVES + SENDS) * MESSAGE;
	struct ibv_mr *stale;

	pd = ibv_alloc_pd(conn.id->verbs);
	cq = ibv_create_cq(conn.id->verbs, 4 * (SENDS + RECEIVES), NULL, NULL, 0);
	memory = aligned_alloc(4096, size);
	if (!pd || !cq || !memory)
		die("get memory");
	memset(memory, 0, size);
	conn.messages = memory + MEMORY;
	stale = ibv_reg_mr(pd, memory, MEMORY, access);
	if (!stale)
		die("register memory");
	stale_key = stale->rkey;
	conn.mr = ibv_reg_mr(pd, memory, size, access);
	if (!conn.mr || ibv_dereg_mr(stale))
		die("register memory");
	memory_key = conn.mr->rkey;
}

static void make_queue_pair(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {
			.max_send_wr = SENDS, .max_recv_wr = RECEIVES,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	unsigned int slot;

	if (!pd)
		make_memory();
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(conn.id, pd, &attr))
		die("make a queue pair");
	for (slot = 0; slot < RECEIVES; slot++)
		post_receive(slot);
}

static void begin(void)
{
	conn.number++;
	conn.up = false;
	conn.over = false;
	conn.rejected = false;
	conn.arrival_count = 0;
	conn.under_way = 0;
}

static struct sockaddr_in to_address(const char *addr, const char *port)
{
	struct sockaddr_in found = { .sin_family = AF_INET };

	inet_pton(AF_INET, addr, &found.sin_addr);
	found.sin_port = htons(strtoul(port, NULL, 10));
	return found;
}

void link_listen(const char *addr, const char *port)
{
	struct sockaddr_in at = to_address(addr, port);

	open_channel();
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&at) || rdma_listen(listener, REQUESTS))
		die("listen");
	say("listening");
}

bool link_wait_request(void)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };

	while (!request_count) {
		look();
		if (!request_count && poll(&pollfd, 1, -1) < 0 && errno == EINTR)
			return false;
	}
	begin();
	conn.id = requests[0].id;
	greeting_len = requests[0].len;
	memcpy(greeting, requests[0].private, greeting_len);
	memmove(requests, requests + 1, --request_count * sizeof(requests[0]));
	return true;
}

bool link_accept(const void *private, unsigned int len)
{
	struct rdma_conn_param param = {
		.private_data = private, .private_data_len = len,
		.responder_resources = READS, .initiator_depth = READS, .rnr_retry_count = 7,
	};

	unsigned int kind;

	make_queue_pair();
	kind = kind_now();
	/* The other side may have taken its request back. */
	if (rdma_accept(conn.id, &param))
		conn.over = true;
	wait_for(&conn.up, &conn.over, patience);
	if (!conn.up && !conn.over)
		accuse("no answer to the acceptance");
	count_sent(kind, conn.up || conn.over);
	return conn.up && !conn.over;
}

void link_reject(const void *private, unsigned int len)
{
	count_sent(kind_now(), !rdma_reject(conn.id, private, len));
	conn.over = true;
}

bool link_rejected(void)
{
	return conn.rejected;
}

static bool find_way(const char *addr, const char *port)
{
	struct sockaddr_in to = to_address(addr, port);

	resolved = false;
	if (rdma_resolve_addr(conn.id, NULL, (struct sockaddr *)&to, 2000))
		die("look the address up");
	wait_for(&resolved, &conn.over, patience);
	if (!resolved)
		return false;
	resolved = false;
	if (rdma_resolve_route(conn.id, 2000))
		die("look the route up");
	wait_for(&resolved, &conn.over, patience);
	return resolved;
}

bool link_connect(const char *addr, const char *port, const void *private, unsigned int len)
{
	struct rdma_conn_param param = {
		.private_data = private, .private_data_len = len,
		.responder_resources = READS, .initiator_depth = READS,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	unsigned int kind;

	open_channel();
	begin();
	greeting_len = 0;
	if (rdma_create_id(channel, &conn.id, NULL, RDMA_PS_TCP))
		die("get an identifier");
	if (!find_way(addr, port)) {
		accuse("there is no way to the address");
		return false;
	}
	make_queue_pair();
	kind = kind_now();
	if (rdma_connect(conn.id, &param))
		die("connect");
	wait_for(&conn.up, &conn.over, patience);
	if (!conn.up && !conn.over)
		accuse("no answer to the request");
	count_sent(kind, conn.up || conn.rejected);
	return conn.up && !conn.over;
}

bool link_over(void)
{
	look();
	return conn.over;
}

bool link_wait_over(unsigned int ms)
{
	wait_for(&conn.over, &conn.over, ms);
	return conn.over;
}

void link_expect_end(void)
{
	if (!link_wait_over(patience))
		accuse("the connection goes on");
	ended("thrown out");
}

void link_leave(void)
{
	if (conn.up && !conn.over)
		rdma_disconnect(conn.id);
	if (!link_wait_over(patience))
		accuse("no answer to the disconnect");
}

void link_close(void)
{
	const bool had_pair = conn.id->qp;
	const uint64_t end = now_ms() + FLUSH;

	if (had_pair) {
		rdma_disconnect(conn.id);
		/* All is flushed, and what has arrived is known. */
		while (conn.under_way && now_ms() < end)
			if (!look())
				nap();
		rdma_destroy_qp(conn.id);
	}
	rdma_destroy_id(conn.id);
	conn.id = NULL;
}
