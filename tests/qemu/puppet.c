// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a connection in user space that does what it is told, and nothing else.
 *
 * It knows the RDMA CM and verbs, but no protocol: a test says on its standard
 * input, line by line, what to send, and reads what has come from its standard
 * output. It has one connection at a time, and memory that the other side may read
 * and write. Numbers are hexadecimal, and so are bytes.
 *
 * puppet.py builds, runs and plays it: gcc -O2 puppet.c -lrdmacm -libverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "say.h"

#define MEMORY		(2 << 20)
#define MESSAGE		8192
#define RECEIVES	256
#define SENDS		512
#define PRIVATE		255
#define LINE		(4 * MESSAGE)

static const char usage[] =
"Usage: puppet client ADDR PORT PRIVATE [RECEIVES]\n"
"       puppet server ADDR PORT\n"
"\n"
"PRIVATE is the private data of the connection request, - where it is told later,\n"
"RECEIVES how many receives there are at first, in place of 100. What it is told:\n"
"  connect PRIVATE     ask for the connection\n"
"  prepare             get ready for a connection request: memory and a queue pair\n"
"  accept PRIVATE      take it, and get ready before, unless that is done\n"
"  reject PRIVATE      or not\n"
"  send BYTES          send a message\n"
"  solicit BYTES       send it with the solicited event\n"
"  repeat N BYTES      send it N times, as fast as it goes\n"
"  number N BYTES      send it with immediate data\n"
"  invalidate N BYTES  send it, and have a key invalidated\n"
"  read ADDR KEY N     RDMA READ to the start of the memory\n"
"  write ADDR KEY N    RDMA WRITE from there\n"
"  put AT BYTES        have the memory hold BYTES\n"
"  get AT N            say what it holds\n"
"  disconnect\n"
"What it says:\n"
"  memory ADDR KEY\n"
"  listening | request PRIVATE | connected PRIVATE | rejected STATUS PRIVATE\n"
"  received BYTES | received BYTES invalidated KEY | received BYTES immediate N\n"
"  done STATUS         an RDMA READ or WRITE, or a message, in their order\n"
"  failed STATUS       a receive\n"
"  memory: BYTES       what was asked for by get\n"
"  event NAME STATUS\n";

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct rdma_cm_id *id;
static struct ibv_pd *pd;
static struct ibv_comp_channel *completions;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
/* What the other side may use; behind it, receives, then what is sent. */
static uint8_t *memory;
static unsigned int receives = 0x100;
static unsigned int next_send;

static void put_bytes(const uint8_t *bytes, size_t len)
{
	while (len--)
		printf("%02x", *bytes++);
}

/* The bytes of TEXT, at most MOST of them. */
static size_t get_bytes(const char *text, uint8_t *bytes, size_t most)
{
	size_t len = 0;

	for (; text[0] && text[1] && len < most; text += 2)
		if (sscanf(text, "%2hhx", &bytes[len++]) != 1)
			break;
	if (*text) {
		errno = EINVAL;
		die("read bytes");
	}
	return len;
}

static void post_receive(uint64_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory + MEMORY + slot * MESSAGE,
		.length = MESSAGE,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	/* There is none any more where the connection has just gone, or is another one by now. */
	if (id->qp)
		ibv_post_recv(id->qp, &wr, &bad);
}

/* What every connection needs, made once, and its queue pair. */
static void prepare(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {
			.max_send_wr = SENDS, .max_recv_wr = RECEIVES,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	size_t size = MEMORY + (RECEIVES + SENDS) * MESSAGE;
	unsigned int i;

	if (!pd) {
		pd = ibv_alloc_pd(id->verbs);
		completions = ibv_create_comp_channel(id->verbs);
		if (!completions)
			die("get a completion channel");
		cq = ibv_create_cq(id->verbs, SENDS + RECEIVES, NULL, completions, 0);
		memory = aligned_alloc(4096, size);
		if (!pd || !cq || !memory || ibv_req_notify_cq(cq, 0))
			die("get memory");
		memset(memory, 0, size);
		mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
		if (!mr)
			die("register memory");
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		die("make a queue pair");
	for (i = 0; i < receives; i++)
		post_receive(i);
	say("memory %" PRIx64 " %" PRIx32, (uint64_t)(uintptr_t)memory, mr->rkey);
}

static void post(struct ibv_send_wr wr, size_t len, const uint8_t *from)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)from,
		.length = len,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr *bad;

	wr.wr_id = RECEIVES;
	wr.sg_list = &sge;
	wr.num_sge = len ? 1 : 0;
	if (ibv_post_send(id->qp, &wr, &bad))
		die("post");
}

static void send_bytes(struct ibv_send_wr wr, const char *text)
{
	uint8_t *from = memory + MEMORY + (RECEIVES + next_send++ % SENDS) * MESSAGE;

	post(wr, get_bytes(text, from, MESSAGE), from);
}

static void rdma(enum ibv_wr_opcode opcode, const char *text)
{
	struct ibv_send_wr wr = { .opcode = opcode };
	uint32_t len;

	if (sscanf(text, "%" SCNx64 " %" SCNx32 " %" SCNx32, &wr.wr.rdma.remote_addr,
		   &wr.wr.rdma.rkey, &len) != 3 || len > MEMORY)
		die("read what to do");
	post(wr, len, memory);
}

static void memory_at(bool put, const char *text)
{
	unsigned int at, len;
	int rest = 0;

	if (sscanf(text, "%x %n", &at, &rest) != 1 || at > MEMORY)
		die("read a place");
	if (put) {
		get_bytes(text + rest, memory + at, MEMORY - at);
		return;
	}
	if (sscanf(text + rest, "%x", &len) != 1 || len > MEMORY - at)
		die("read a length");
	printf("memory: ");
	put_bytes(memory + at, len);
	say("");
}

/* Whether the word of WHAT begins TEXT; then REST is what follows it. */
static bool is(const char *text, const char *what, const char **rest)
{
	size_t len = strlen(what);

	if (strncmp(text, what, len) || (text[len] && text[len] != ' '))
		return false;
	*rest = text + len + (text[len] == ' ');
	return true;
}

static void ask(const char *text)
{
	struct rdma_conn_param param = {
		.responder_resources = 16, .initiator_depth = 16,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	uint8_t private[PRIVATE];

	param.private_data = private;
	param.private_data_len = get_bytes(text, private, PRIVATE);
	if (rdma_connect(id, &param))
		die("connect");
}

static void obey(const char *text)
{
	struct rdma_conn_param param = {
		.responder_resources = 16, .initiator_depth = 16, .rnr_retry_count = 7,
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint8_t private[PRIVATE];
	const char *rest = NULL;
	unsigned int n;
	int skip = 0;

	if (is(text, "connect", &rest)) {
		ask(rest);
	} else if (!strcmp(text, "prepare")) {
		prepare();
	} else if (is(text, "accept", &rest)) {
		if (!id->qp)
			prepare();
		param.private_data = private;
		param.private_data_len = get_bytes(rest, private, PRIVATE);
		if (rdma_accept(id, &param))
			die("accept");
	} else if (is(text, "reject", &rest)) {
		if (rdma_reject(id, private, get_bytes(rest, private, PRIVATE)))
			die("reject");
	} else if (is(text, "send", &rest)) {
		send_bytes(wr, rest);
	} else if (is(text, "solicit", &rest)) {
		wr.send_flags = IBV_SEND_SOLICITED;
		send_bytes(wr, rest);
	} else if (is(text, "repeat", &rest)) {
		if (sscanf(rest, "%x %n", &n, &skip) != 1)
			die("read a number");
		while (n--)
			send_bytes(wr, rest + skip);
	} else if (is(text, "number", &rest)) {
		if (sscanf(rest, "%x %n", &n, &skip) != 1)
			die("read a number");
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl(n);
		send_bytes(wr, rest + skip);
	} else if (is(text, "invalidate", &rest)) {
		if (sscanf(rest, "%x %n", &n, &skip) != 1)
			die("read a key");
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = n;
		send_bytes(wr, rest + skip);
	} else if (is(text, "read", &rest)) {
		rdma(IBV_WR_RDMA_READ, rest);
	} else if (is(text, "write", &rest)) {
		rdma(IBV_WR_RDMA_WRITE, rest);
	} else if (is(text, "put", &rest)) {
		memory_at(true, rest);
	} else if (is(text, "get", &rest)) {
		memory_at(false, rest);
	} else if (!strcmp(text, "disconnect")) {
		rdma_disconnect(id);
	} else {
		say("what is '%s'?", text);
	}
}

static void look(void)
{
	struct ibv_wc wc;

	while (cq && ibv_poll_cq(cq, 1, &wc) > 0) {
		if (wc.wr_id == RECEIVES) {
			say("done %d", wc.status);
		} else if (wc.status) {
			if (wc.status != IBV_WC_WR_FLUSH_ERR)
				say("failed %d", wc.status);
		} else {
			printf("received ");
			put_bytes(memory + MEMORY + wc.wr_id * MESSAGE, wc.byte_len);
			if (wc.wc_flags & IBV_WC_WITH_INV)
				printf(" invalidated %x", wc.invalidated_rkey);
			if (wc.wc_flags & IBV_WC_WITH_IMM)
				printf(" immediate %x", ntohl(wc.imm_data));
			say("");
			post_receive(wc.wr_id);
		}
	}
}

/* Says what is there, and is told of what comes after that. */
static void handle_completions(void)
{
	struct ibv_cq *told;
	void *context;

	if (ibv_get_cq_event(completions, &told, &context) || ibv_req_notify_cq(cq, 0))
		die("get a completion");
	ibv_ack_cq_events(told, 1);
	look();
}

static void say_private(const char *what, const struct rdma_conn_param *param)
{
	printf("%s ", what);
	put_bytes(param->private_data, param->private_data_len);
	say("");
}

static void handle_event(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *old = NULL;

	if (rdma_get_cm_event(channel, &event))
		die("get an event");
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* The one before is over. */
		old = id;
		id = event->id;
		say_private("request", &event->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		say_private("connected", &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		printf("rejected %d ", event->status);
		say_private("", &event->param.conn);
		break;
	default:
		if (event->id == id)
			say("event %s %d", rdma_event_str(event->event), event->status);
	}
	rdma_ack_cm_event(event);
	if (old) {
		if (old->qp)
			rdma_destroy_qp(old);
		rdma_destroy_id(old);
		look();
	}
}

static void wait_event(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event) || event->event != wanted)
		die(rdma_event_str(wanted));
	rdma_ack_cm_event(event);
}

static void begin(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	inet_pton(AF_INET, argv[2], &addr.sin_addr);
	addr.sin_port = htons(atoi(argv[3]));
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		die("get an identifier");
	if (!strcmp(argv[1], "server")) {
		listener = id;
		id = NULL;
		if (rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 8))
			die("listen");
		say("listening");
		return;
	}
	if (argc > 5)
		receives = strtoul(argv[5], NULL, 16);
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000))
		die("resolve the address");
	wait_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 2000))
		die("resolve the route");
	wait_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	prepare();
	if (strcmp(argv[4], "-"))
		ask(argv[4]);
}

int main(int argc, char **argv)
{
	static char line[LINE];
	struct pollfd pollfds[] = {
		{ .events = POLLIN }, { .events = POLLIN }, { .fd = -1, .events = POLLIN },
	};
	size_t len = 0;

	if (argc < 4 || (strcmp(argv[1], "server") && argc < 5)) {
		fputs(usage, stderr);
		return 2;
	}
	alarm(120);
	begin(argc, argv);
	pollfds[1].fd = channel->fd;
	for (;;) {
		char *end;
		ssize_t got;

		if (completions)
			pollfds[2].fd = completions->fd;
		poll(pollfds, 3, -1);
		if (pollfds[1].revents & POLLIN)
			handle_event();
		if (pollfds[2].revents & POLLIN)
			handle_completions();
		if (!(pollfds[0].revents & (POLLIN | POLLHUP)))
			continue;
		got = read(0, line + len, sizeof(line) - 1 - len);
		if (got <= 0)
			return 0;
		len += got;
		line[len] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			obey(line);
			len -= end + 1 - line;
			memmove(line, end + 1, len + 1);
		}
	}
}
