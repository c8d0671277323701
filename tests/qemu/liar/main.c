// SPDX-License-Identifier: GPL-2.0
/*
 * The program: connections one after the other until enough lies have arrived, and
 * the books of what was said.
 *
 * liar.py builds and runs it: gcc -O2 *.c -lrdmacm -libverbs.
 */
#include <signal.h>
#include <unistd.h>

#include "liar.h"

#define KINDS	128
#define ENDS	32

static const char usage[] =
"Usage: liar client tests|disk|tap ADDR PORT SEED MESSAGES [FIRST [PATIENCE]]\n"
"       liar server ADDR PORT SEED MESSAGES [FIRST [PATIENCE]]\n"
"\n"
"Lie to a server, or to all clients that come, until MESSAGES lies have arrived, or a\n"
"SIGTERM comes. Connections count from FIRST (0): what one does depends on SEED and on\n"
"its number. The other side has PATIENCE milliseconds (10000) for whatever it does.\n"
"\n"
"Prints a line for each thing that the other side must not do, \"bad: ...\"; as a server\n"
"\"connection N fatal|maybe|harmless KIND\" at the end of each; and at the end the counts:\n"
"a JSON object.\n";

struct kind {
	const char *what;
	enum verdict verdict;
	unsigned long said;
	unsigned long arrived;
};

struct end {
	const char *how;
	unsigned long times;
};

/* The first is the truth. */
static struct kind kinds[KINDS] = { { .what = "truth" } };
static unsigned int kind_count = 1;
static unsigned int current;
static struct end ends[ENDS];
static unsigned int end_count;
static unsigned long lies, connections, bads, number;
static uint64_t seed, state;
/* Of this connection. */
static enum verdict worst;
static const char *worst_what;
/* By a signal. */
static bool stopped;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t any(void)
{
	state += 0x9e3779b97f4a7c15;
	return mix(state);
}

uint32_t below(uint32_t n)
{
	return any() % n;
}

bool chance(uint32_t n)
{
	return below(n) == 0;
}

uint32_t odd_number(void)
{
	static const uint32_t numbers[] = {
		0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 255, 256, 511, 512, 4095, 4096, 4097,
		0x7fff, 0x8000, 0xffff, 0x10000, 0x10001, 1 << 20, 1 << 21, 0x7fffffff,
		0x80000000, 0xfffffe00, 0xffffffff,
	};

	return chance(4) ? any() : PICK(numbers);
}

void lie(const char *what, enum verdict verdict)
{
	for (current = 1; current < kind_count; current++)
		if (!strcmp(kinds[current].what, what))
			break;
	if (current == KINDS) {
		errno = ENOSPC;
		die("tell so many lies");
	}
	if (current == kind_count)
		kinds[kind_count++].what = what;
	kinds[current].verdict = verdict;
	if (verdict >= worst) {
		worst = verdict;
		worst_what = what;
	}
}

void truth(void)
{
	current = 0;
}

unsigned int kind_now(void)
{
	kinds[current].said++;
	return current;
}

void count_sent(unsigned int kind, bool arrived)
{
	kinds[kind].arrived += arrived;
	lies += kind && arrived;
}

void accuse(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bads++;
	say("bad: seed %llu connection %lu (%s): %s", (unsigned long long)seed, number,
	    worst_what, text);
}

void ended(const char *how)
{
	unsigned int i;

	for (i = 0; i < end_count; i++)
		if (!strcmp(ends[i].how, how))
			break;
	if (i == ENDS)
		return;
	if (i == end_count)
		ends[end_count++].how = how;
	ends[i].times++;
}

static void begin(void)
{
	state = mix(seed ^ mix(number + 1));
	current = 0;
	worst = HARMLESS;
	worst_what = "truth";
}

static void report(void)
{
	unsigned int i;

	printf("{\"seed\":%llu,\"connections\":%lu,\"next\":%lu,\"messages\":%lu,\"bad\":%lu,",
	       (unsigned long long)seed, connections, number, lies, bads);
	printf("\"kinds\":{");
	for (i = 0; i < kind_count; i++)
		printf("%s\"%s\":[%lu,%lu]", i ? "," : "", kinds[i].what, kinds[i].said,
		       kinds[i].arrived);
	printf("},\"ends\":{");
	for (i = 0; i < end_count; i++)
		printf("%s\"%s\":%lu", i ? "," : "", ends[i].how, ends[i].times);
	say("}}");
}

static void stop(int signal_number)
{
	(void)signal_number;
	__atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
}

static bool is_stopped(void)
{
	return __atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

static void be_client(const char *protocol, const char *addr, const char *port)
{
	if (!strcmp(protocol, "disk"))
		block_client(addr, port, DISK);
	else if (!strcmp(protocol, "tap"))
		block_client(addr, port, TAP);
	else if (chance(2))
		pingpong_client(addr, port);
	else
		microbench_client(addr, port);
}

static void be_server(void)
{
	const char *const words[] = { "harmless", "maybe", "fatal" };
	const unsigned int test = is_greeting(greeting, greeting_len) ? greeting[6] : PINGPONG;

	if (test == DISK || test == TAP)
		block_server();
	else if (test >= WLAT && test <= SBW)
		microbench_server();
	else
		pingpong_server();
	link_close();
	say("connection %lu %s %s", number, words[worst], worst_what);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = stop };
	const bool server = argc > 1 && !strcmp(argv[1], "server");
	unsigned long messages;
	/* What follows the protocol, where there is one. */
	char **rest = argv + (server ? 2 : 3);
	const int left = argc - (server ? 2 : 3);

	if (left < 4) {
		fputs(usage, stderr);
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	seed = strtoull(rest[2], NULL, 0);
	messages = strtoul(rest[3], NULL, 0);
	number = left > 4 ? strtoul(rest[4], NULL, 0) : 0;
	if (left > 5)
		patience = strtoul(rest[5], NULL, 0);
	if (server)
		link_listen(rest[0], rest[1]);
	for (; !is_stopped() && lies < messages; number++, connections++) {
		if (server && !link_wait_request())
			break;
		begin();
		if (server) {
			be_server();
		} else {
			be_client(argv[2], rest[0], rest[1]);
			link_close();
		}
	}
	report();
	return bads ? 1 : 0;
}
