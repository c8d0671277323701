// SPDX-License-Identifier: GPL-2.0
/*
 * A peer of krping in user space that misbehaves as told.
 *
 * It plays the client or the server of one ping/pong and keeps to the protocol,
 * but for the options that say what to do wrong, and in which iteration. What it
 * sees it prints, a line for each event. It ends when its deed is done and the
 * connection is down, at the latest after limit= seconds.
 *
 * peer.py builds and runs it: gcc -O2 peer.c -lrdmacm -libverbs.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "say.h"

#define MESSAGE		16
#define RECEIVES	64
#define SENDS		1024
#define ROOM		4096

static const char usage[] =
"Usage: peer client|server ADDR PORT [OPTION=VALUE]...\n"
"\n"
"The ping/pong:\n"
"  count=N        a client's iterations (default 1; 0: until stopped)\n"
"  size=N         bytes in each (default 64), a server's buffer (default 4 MiB)\n"
"  private=HEX    private data of the connection request or of its acceptance\n"
"  reject=HEX     refuse the connection request with this private data\n"
"  ack=N          both sides repeat what has no answer after 4.096 us << N,\n"
"                 and only twice\n"
"  limit=S        give up after so many seconds (default 30)\n"
"\n"
"Where to do wrong:\n"
"  at=N           in this iteration (default 0)\n"
"  on=WHICH       with the message of the source or of the sink\n"
"\n"
"What to do wrong there:\n"
"  length=N       send a message of so many bytes\n"
"  times=N        send it so often\n"
"  claim=N        advertise so many bytes\n"
"  key=N          advertise the key XOR this\n"
"  shift=N        advertise the address plus this\n"
"  inv=WHAT       invalidate with the message: no key, the right, the other, or\n"
"                 a number\n"
"  skip=1         a server's go-ahead without READ or WRITE\n"
"  scribble=O:X:N a server's WRITE has N bytes from offset O XORed by X\n"
"  beyond=N       a server's READ or WRITE is of so many bytes more\n"
"  write=source   a server writes where it may only read\n"
"  read=sink      a server reads where it may only write\n"
"  first=N        a server's N go-aheads before anything was advertised\n"
"  norecv=1       have no receive posted\n"
"  rnr=N          as a client, say that a request shall be repeated so often\n"
"                 where no receive is posted (default 7: for ever)\n"
"  recv=N         receives are of so many bytes\n"
"  reads=N        as a client, allow so many READs at a time (default 4)\n"
"\n"
"How to end:\n"
"  stop=STEP      stop there: request, connected, source, read, sink, written\n"
"  how=HOW        and be silent, disconnect, exit, or kill oneself\n";

/* Where a run can be stopped: each is reached in this order. */
enum step { REQUEST, CONNECTED, SOURCE, READ, SINK, WRITTEN, NEVER };

static const char *const step_names[] = {
	"request", "connected", "source", "read", "sink", "written", NULL
};

enum how { SILENT, DISCONNECT, EXIT, KILL };

static const char *const how_names[] = {
	"silent", "disconnect", "exit", "kill", NULL
};

enum inv { AS_ASKED, INV_NONE, INV_RIGHT, INV_OTHER, INV_NUMBER };

/* krping's private data, as far as a server must know it. */
#define MAGIC		0x6b727067
#define FLAGS_OFFSET	8
#define SERVER_INV	1

struct advertisement {
	uint64_t addr;
	uint32_t rkey;
	uint32_t size;
};

struct blob {
	uint8_t bytes[255];
	size_t len;
	bool given;
};

static struct {
	bool server;
	uint64_t count;
	uint32_t size;
	struct blob private;
	struct blob reject;
	uint64_t at;
	bool on_source;
	bool on_sink;
	uint32_t length;
	uint32_t times;
	bool claims;
	uint32_t claim;
	uint32_t key;
	uint64_t shift;
	enum inv inv;
	uint32_t inv_key;
	bool skip;
	uint32_t scribble_at;
	uint32_t scribble_xor;
	uint32_t scribble_count;
	uint32_t beyond;
	bool write_source;
	bool read_sink;
	uint32_t first;
	bool norecv;
	uint8_t rnr;
	uint8_t reads;
	uint32_t receive;
	uint8_t ack;
	enum step stop;
	enum how how;
} option = {
	.count = 1,
	.length = MESSAGE,
	.times = 1,
	.rnr = 7,
	.reads = 4,
	.receive = MESSAGE,
	.stop = NEVER,
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct ibv_cq *cq;
static struct ibv_mr *buffer_mr;
static struct ibv_mr *room_mr;
static uint8_t *buffer;
/* The first ROOM bytes are for sending, the rest for receiving. */
static uint8_t *room;
static bool connected;
static bool asked_inv;

static void say_bytes(const char *what, const uint8_t *bytes, size_t len)
{
	size_t i;

	printf("%s", what);
	for (i = 0; i < len; i++)
		printf("%02x", bytes[i]);
	say("");
}

/*
 * Options
 */

static uint64_t to_number(const char *value)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (errno || end == value || *end) {
		fprintf(stderr, "'%s' is no number\n", value);
		exit(2);
	}
	return n;
}

static int word(const char *value, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	fprintf(stderr, "what is '%s'?\n", value);
	exit(2);
}

static void hex(const char *value, struct blob *blob)
{
	blob->given = true;
	for (; value[0] && value[1] && blob->len < sizeof(blob->bytes); value += 2)
		if (sscanf(value, "%2hhx", &blob->bytes[blob->len++]) != 1)
			break;
	if (*value) {
		fputs("bytes are hexadecimal, 255 at most\n", stderr);
		exit(2);
	}
}

static void inv(const char *value)
{
	static const char *const words[] = { "no", "right", "other", NULL };
	static const enum inv meanings[] = { INV_NONE, INV_RIGHT, INV_OTHER };

	if (value[0] >= '0' && value[0] <= '9') {
		option.inv = INV_NUMBER;
		option.inv_key = to_number(value);
	} else {
		option.inv = meanings[word(value, words)];
	}
}

static bool option_is(const char *text, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (strncmp(text, name, len) || text[len] != '=')
		return false;
	*value = text + len + 1;
	return true;
}

static void parse(const char *text)
{
	static const char *const sides[] = { "source", "sink", NULL };
	const char *value;

	if (option_is(text, "count", &value)) {
		option.count = to_number(value);
	} else if (option_is(text, "size", &value)) {
		option.size = to_number(value);
	} else if (option_is(text, "private", &value)) {
		hex(value, &option.private);
	} else if (option_is(text, "reject", &value)) {
		hex(value, &option.reject);
	} else if (option_is(text, "ack", &value)) {
		option.ack = to_number(value);
	} else if (option_is(text, "limit", &value)) {
		alarm(to_number(value));
	} else if (option_is(text, "at", &value)) {
		option.at = to_number(value);
	} else if (option_is(text, "on", &value)) {
		option.on_source = word(value, sides) == 0;
		option.on_sink = !option.on_source;
	} else if (option_is(text, "length", &value)) {
		option.length = to_number(value);
	} else if (option_is(text, "times", &value)) {
		option.times = to_number(value);
	} else if (option_is(text, "claim", &value)) {
		option.claim = to_number(value);
		option.claims = true;
	} else if (option_is(text, "key", &value)) {
		option.key = to_number(value);
	} else if (option_is(text, "shift", &value)) {
		option.shift = to_number(value);
	} else if (option_is(text, "inv", &value)) {
		inv(value);
	} else if (option_is(text, "skip", &value)) {
		option.skip = to_number(value);
	} else if (option_is(text, "scribble", &value)) {
		if (sscanf(value, "%" SCNu32 ":%" SCNu32 ":%" SCNu32, &option.scribble_at,
			   &option.scribble_xor, &option.scribble_count) != 3) {
			fputs("scribble=OFFSET:XOR:COUNT\n", stderr);
			exit(2);
		}
	} else if (option_is(text, "beyond", &value)) {
		option.beyond = to_number(value);
	} else if (!strcmp(text, "write=source")) {
		option.write_source = true;
	} else if (!strcmp(text, "read=sink")) {
		option.read_sink = true;
	} else if (option_is(text, "first", &value)) {
		option.first = to_number(value);
	} else if (option_is(text, "norecv", &value)) {
		option.norecv = to_number(value);
	} else if (option_is(text, "rnr", &value)) {
		option.rnr = to_number(value);
	} else if (option_is(text, "recv", &value)) {
		option.receive = to_number(value);
	} else if (option_is(text, "reads", &value)) {
		option.reads = to_number(value);
	} else if (option_is(text, "stop", &value)) {
		option.stop = word(value, step_names);
	} else if (option_is(text, "how", &value)) {
		option.how = word(value, how_names);
	} else {
		fprintf(stderr, "what is '%s'?\n\n%s", text, usage);
		exit(2);
	}
}

/*
 * The connection
 */

static void rest(long us)
{
	const struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

/* Sleep until the CM says something. */
static void wait_channel(void)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };

	poll(&pollfd, 1, -1);
}

/* The connection is down, and the deed done. */
static noreturn void finish(void)
{
	say("end");
	exit(0);
}

static void note(const struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_REJECTED) {
		say("event %s %d", rdma_event_str(event->event), event->status);
		return;
	}
	printf("rejected %d ", event->status);
	say_bytes("", event->param.conn.private_data, event->param.conn.private_data_len);
}

static void wait_event(enum rdma_cm_event_type wanted)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	while (poll(&pollfd, 1, -1) < 0)
		;
	if (rdma_get_cm_event(channel, &event))
		die("get an event");
	type = event->event;
	if (type != wanted)
		note(event);
	rdma_ack_cm_event(event);
	if (type != wanted)
		finish();
}

/* Whether the other side has gone. */
static bool disconnected(void)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		return false;
	note(event);
	if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
	    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
	    event->event == RDMA_CM_EVENT_REJECTED ||
	    event->event == RDMA_CM_EVENT_UNREACHABLE)
		connected = false;
	rdma_ack_cm_event(event);
	return !connected;
}

static noreturn void leave(void)
{
	if (connected)
		rdma_disconnect(id);
	while (connected && !disconnected())
		wait_channel();
	finish();
}

/* Stop here, if that was asked for. */
static void reached(enum step step, uint64_t iteration)
{
	if (step != option.stop || (step > CONNECTED && iteration != option.at))
		return;
	say("stop %s", step_names[step]);
	switch (option.how) {
	case SILENT:
		/* Before the connection is up, not even the CM gets an answer. */
		while (step == REQUEST)
			pause();
		while (!disconnected())
			wait_channel();
		finish();
	case DISCONNECT:
		leave();
	case EXIT:
		_exit(0);
	case KILL:
		kill(getpid(), SIGKILL);
	}
}

static void post_receive(uint64_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)room + ROOM + slot * MESSAGE,
		.length = option.receive,
		.lkey = room_mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (!option.norecv && ibv_post_recv(id->qp, &wr, &bad))
		die("post a receive");
}

static void create_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = SENDS,
			.max_recv_wr = RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;
	struct ibv_pd *pd;
	int slot;

	pd = ibv_alloc_pd(id->verbs);
	if (!pd)
		die("allocate a protection domain");
	cq = ibv_create_cq(id->verbs, SENDS + RECEIVES, NULL, NULL, 0);
	if (!cq)
		die("create a completion queue");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		die("create a queue pair");
	buffer = calloc(1, option.size + option.beyond);
	room = calloc(1, ROOM + RECEIVES * MESSAGE);
	if (!buffer || !room)
		die("allocate memory");
	/* What is beyond the buffer is within the region: only the size lies. */
	buffer_mr = ibv_reg_mr(pd, buffer, option.size + option.beyond, access);
	room_mr = ibv_reg_mr(pd, room, ROOM + RECEIVES * MESSAGE, IBV_ACCESS_LOCAL_WRITE);
	if (!buffer_mr || !room_mr)
		die("register memory");
	for (slot = 0; slot < RECEIVES; slot++)
		post_receive(slot);
}

/* Waits for a completion of this kind; the end of the connection ends it. */
static void wait_completion(bool receive, struct ibv_wc *wc)
{
	/* To look costs more the longer that takes for which it waits. */
	const long longest_us = 5000;
	long us = 100;
	bool received;
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			die("poll");
		received = n && wc->wr_id < RECEIVES;
		if (n && wc->status != IBV_WC_SUCCESS) {
			say("status %d of %s: %s", wc->status,
			    received ? "receive" : "request",
			    ibv_wc_status_str(wc->status));
			/*
			 * The other side is to hear of this by its own device, which
			 * a message of the CM could overtake.
			 */
			rest(200000);
			leave();
		}
		if (n && received == receive)
			return;
		if (!n && disconnected())
			finish();
		if (!n) {
			us = us < longest_us / 2 ? 2 * us : longest_us;
			rest(us);
		}
	}
}

static struct advertisement receive(void)
{
	struct advertisement adv;
	struct ibv_wc wc;

	wait_completion(true, &wc);
	memcpy(&adv, room + ROOM + wc.wr_id * MESSAGE, MESSAGE);
	adv.addr = be64toh(adv.addr);
	adv.rkey = be32toh(adv.rkey);
	adv.size = be32toh(adv.size);
	post_receive(wc.wr_id);
	return adv;
}

/* Post a list of requests, and wait for the end of the last if that is of interest. */
static void post_send(struct ibv_send_wr *list, uint32_t count, bool wait)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < count; i++) {
		list[i].wr_id = RECEIVES;
		list[i].next = i + 1 < count ? &list[i + 1] : NULL;
	}
	list[count - 1].send_flags = wait ? IBV_SEND_SIGNALED : 0;
	if (ibv_post_send(id->qp, list, &bad))
		die("post to the send queue");
	if (wait)
		wait_completion(false, &wc);
}

/* Send the first bytes of the room, so often in one go. */
static void send_bytes(uint32_t len, uint32_t times, bool invalidate, uint32_t key)
{
	static struct ibv_send_wr list[SENDS];
	struct ibv_sge sge = {
		.addr = (uintptr_t)room,
		.length = len,
		.lkey = room_mr->lkey,
	};
	const struct ibv_send_wr wr = {
		.opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.invalidate_rkey = key,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
	};
	uint32_t i;

	for (i = 0; i < times; i++)
		list[i] = wr;
	post_send(list, times, false);
}

/* Whether it is here that something is to be done wrong. */
static bool wrong(bool source, uint64_t iteration)
{
	if (iteration != option.at)
		return false;
	return source ? option.on_source : option.on_sink;
}

/*
 * The client
 */

static void advertise(bool source, uint64_t iteration)
{
	const bool bad = wrong(source, iteration);
	const bool invalidate = bad && option.inv == INV_NUMBER;
	const uint32_t size = bad && option.claims ? option.claim : option.size;
	const struct advertisement adv = {
		.addr = htobe64((uintptr_t)buffer + (bad ? option.shift : 0)),
		.rkey = htobe32(buffer_mr->rkey ^ (bad ? option.key : 0)),
		.size = htobe32(size),
	};

	memcpy(room, &adv, sizeof(adv));
	send_bytes(bad ? option.length : MESSAGE, bad ? option.times : 1, invalidate,
		   option.inv_key);
}

static void connect_to(struct sockaddr *addr)
{
	struct rdma_conn_param param = {
		.private_data = option.private.given ? option.private.bytes : NULL,
		.private_data_len = option.private.len,
		.responder_resources = option.reads,
		.initiator_depth = 4,
		/* Soft-RoCE takes 7 as for ever. */
		.retry_count = option.ack ? 2 : 7,
		.rnr_retry_count = option.rnr,
	};

	if (rdma_resolve_addr(id, NULL, addr, 2000))
		die("resolve the address");
	wait_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (option.ack && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					  &option.ack, sizeof(option.ack)))
		die("set the ACK timeout");
	if (rdma_resolve_route(id, 2000))
		die("resolve the route");
	wait_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_qp();
	if (rdma_connect(id, &param))
		die("connect");
	reached(REQUEST, 0);
	wait_event(RDMA_CM_EVENT_ESTABLISHED);
}

static void lead(void)
{
	uint64_t i;

	for (i = 0; !option.count || i < option.count; i++) {
		advertise(true, i);
		reached(SOURCE, i);
		receive();
		reached(READ, i);
		advertise(false, i);
		reached(SINK, i);
		receive();
		reached(WRITTEN, i);
	}
	leave();
}

/*
 * The server
 */

static void access_peer(bool read, const struct advertisement *adv, bool bad)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer,
		.length = adv->size + (bad ? option.beyond : 0),
		.lkey = buffer_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = adv->addr, .rkey = adv->rkey },
	};

	post_send(&wr, 1, true);
}

static void go_ahead(bool bad, const struct advertisement *adv, uint32_t other)
{
	enum inv kind = bad && option.inv ? option.inv : AS_ASKED;
	uint32_t key = adv->rkey;

	if (kind == AS_ASKED)
		kind = asked_inv ? INV_RIGHT : INV_NONE;
	if (kind == INV_OTHER)
		key = other;
	if (kind == INV_NUMBER)
		key = option.inv_key;
	send_bytes(bad ? option.length : MESSAGE, bad ? option.times : 1, kind != INV_NONE, key);
}

static void scribble(uint32_t size)
{
	uint32_t i;

	for (i = 0; i < option.scribble_count; i++)
		if (option.scribble_at + i < size)
			buffer[option.scribble_at + i] ^= option.scribble_xor;
}

static void serve(void)
{
	struct advertisement source = {0};
	struct advertisement sink = {0};
	uint64_t i;
	bool bad;

	for (i = 0; i < option.first; i++)
		go_ahead(false, &source, 0);
	for (i = 0;; i++) {
		source = receive();
		if (source.size > option.size) {
			say("a source of %u bytes", source.size);
			leave();
		}
		bad = wrong(true, i);
		reached(SOURCE, i);
		if (!bad || !option.skip)
			access_peer(!bad || !option.write_source, &source, bad);
		reached(READ, i);
		go_ahead(bad, &source, sink.rkey);

		sink = receive();
		bad = wrong(false, i);
		reached(SINK, i);
		if (bad)
			scribble(sink.size);
		if (!bad || !option.skip)
			access_peer(bad && option.read_sink, &sink, bad);
		reached(WRITTEN, i);
		go_ahead(bad, &sink, source.rkey);
	}
}

static void listen_on(struct sockaddr *addr)
{
	struct rdma_cm_id *listener = id;
	struct rdma_cm_event *event;

	if (rdma_bind_addr(listener, addr))
		die("bind");
	if (rdma_listen(listener, 8))
		die("listen");
	say("listening");

	while (rdma_get_cm_event(channel, &event))
		wait_channel();
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		note(event);
		exit(1);
	}
	id = event->id;
	say_bytes("request ", event->param.conn.private_data,
		  event->param.conn.private_data_len);
	if (event->param.conn.private_data_len >= FLAGS_OFFSET + 4) {
		const uint8_t *data = event->param.conn.private_data;
		uint32_t magic, flags;

		memcpy(&magic, data, sizeof(magic));
		memcpy(&flags, data + FLAGS_OFFSET, sizeof(flags));
		asked_inv = be32toh(magic) == MAGIC && (be32toh(flags) & SERVER_INV);
	}
	rdma_ack_cm_event(event);
}

static void accept_it(void)
{
	struct rdma_conn_param param = {
		.private_data = option.private.given ? option.private.bytes : NULL,
		.private_data_len = option.private.len,
		.responder_resources = 4,
		.initiator_depth = 4,
		.rnr_retry_count = 7,
	};

	if (option.reject.given) {
		if (rdma_reject(id, option.reject.bytes, option.reject.len))
			die("reject");
		finish();
	}
	create_qp();
	if (rdma_accept(id, &param))
		die("accept");
	if (!option.first)
		wait_event(RDMA_CM_EVENT_ESTABLISHED);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int i;

	if (argc < 4 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1) {
		fputs(usage, stderr);
		return 2;
	}
	alarm(30);
	option.server = !strcmp(argv[1], "server");
	option.size = option.server ? 4 << 20 : 64;
	addr.sin_port = htons(to_number(argv[3]));
	for (i = 4; i < argc; i++)
		parse(argv[i]);
	if (option.length > ROOM || option.receive > MESSAGE || !option.times ||
	    option.times > SENDS) {
		fprintf(stderr, "length= is %d at most, recv= %d, times= %d\n", ROOM, MESSAGE,
			SENDS);
		return 2;
	}

	channel = rdma_create_event_channel();
	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		die("create an event channel");
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		die("create an identifier");
	if (option.server) {
		listen_on((struct sockaddr *)&addr);
		reached(REQUEST, 0);
		accept_it();
	} else {
		connect_to((struct sockaddr *)&addr);
	}
	connected = true;
	say("connected");
	reached(CONNECTED, 0);
	if (option.server)
		serve();
	else
		lead();
}
