// SPDX-License-Identifier: GPL-2.0
/*
 * A program that writes data to a disk or file and says what it wrote, for a tap to
 * see: by its name, "write_data", a tap tells its requests from those of others.
 *
 * What it writes follows from the seed and from where on the disk it is, so that the
 * same command writes the same again.
 *
 * tap.py builds and runs it: gcc -O2 write_data.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SECTOR	512
/* Large writes are large requests where the memory is contiguous. */
#define HUGE	(2UL << 20)

static const char usage[] =
"Usage: write_data PATH [OPTION=VALUE]...\n"
"\n"
"  offset=N   where to begin (default 0)\n"
"  size=N     how many bytes of PATH to write to (default 1M)\n"
"  block=N    bytes of each write (default 4K)\n"
"  order=seq  one block after the other (default)\n"
"  order=random  each block once, in an order that follows from the seed\n"
"  order=overlap  writes of 512 bytes to a block, at random places, one over another\n"
"  count=N    how many writes where they overlap (default 1000)\n"
"  seed=N     of data and order (default 1)\n"
"  how=direct with O_DIRECT (default)\n"
"  how=sync   with O_SYNC\n"
"  how=dsync  with O_DIRECT and O_DSYNC\n"
"  flush=N    fdatasync() after every N writes (default 0: never)\n"
"  name=NAME  be called so, and not write_data\n"
"\n"
"N may end with K, M or G.\n";

struct options {
	const char *path;
	uint64_t offset, size, block, count, seed, flush;
	const char *order, *how, *name;
};

static noreturn void die(const char *what)
{
	fprintf(stderr, "write_data: %s: %s\n", what, strerror(errno));
	exit(1);
}

static noreturn void misused(const char *what)
{
	fprintf(stderr, "write_data: cannot understand '%s'\n\n%s", what, usage);
	exit(2);
}

/* splitmix64: a good number from any two. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15 + b;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t number(const char *word, const char *text)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (end == text)
		misused(word);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		value <<= 10 * (unit - units + 1);
		end++;
	}
	if (errno || *end)
		misused(word);
	return value;
}

static bool is(const char *text, const char *word)
{
	return !strcmp(text, word);
}

static void parse(struct options *options, int argc, char **argv)
{
	const struct {
		const char *name;
		uint64_t *number;
		const char **text;
	} known[] = {
		{ "offset", &options->offset, NULL },
		{ "size", &options->size, NULL },
		{ "block", &options->block, NULL },
		{ "count", &options->count, NULL },
		{ "seed", &options->seed, NULL },
		{ "flush", &options->flush, NULL },
		{ "order", NULL, &options->order },
		{ "how", NULL, &options->how },
		{ "name", NULL, &options->name },
	};
	const size_t kinds = sizeof(known) / sizeof(*known);
	const char *value;
	size_t kind;

	if (argc < 2)
		misused("");
	options->path = argv[1];
	for (int i = 2; i < argc; i++) {
		value = strchr(argv[i], '=');
		for (kind = 0; value && kind < kinds; kind++)
			if (strlen(known[kind].name) == (size_t)(value - argv[i]) &&
			    !strncmp(known[kind].name, argv[i], value - argv[i]))
				break;
		if (!value || kind == kinds)
			misused(argv[i]);
		if (known[kind].text)
			*known[kind].text = value + 1;
		else
			*known[kind].number = number(argv[i], value + 1);
	}
	if (options->block == 0 || options->block % SECTOR ||
	    options->size < options->block || options->offset % SECTOR)
		misused("sizes that are no multiples of 512, or do not fit");
}

/* What byte belongs where, in write number PASS. */
static void fill(uint8_t *data, uint64_t len, uint64_t at, uint64_t seed, uint64_t pass)
{
	uint64_t word;

	for (uint64_t i = 0; i < len; i += sizeof(word)) {
		word = mix(mix(seed, pass), at + i);
		memcpy(data + i, &word, sizeof(word));
	}
}

static void write_at(int fd, const uint8_t *data, uint64_t len, uint64_t at)
{
	ssize_t done = pwrite(fd, data, len, at);

	if (done < 0)
		die("pwrite");
	if ((uint64_t)done != len) {
		fprintf(stderr, "write_data: wrote %zd of %" PRIu64 " bytes\n", done, len);
		exit(1);
	}
}

/* The numbers below COUNT, in an order that follows from SEED. */
static uint64_t *shuffled(uint64_t count, uint64_t seed)
{
	uint64_t *all = calloc(count, sizeof(*all));

	if (!all)
		die("calloc");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t other = mix(seed, i) % (i + 1);

		all[i] = all[other];
		all[other] = i;
	}
	return all;
}

int main(int argc, char **argv)
{
	struct options options = {
		.size = 1 << 20, .block = 4096, .count = 1000, .seed = 1,
		.order = "seq", .how = "direct",
	};
	uint64_t count, bytes = 0, *order = NULL;
	bool overlap;
	void *data;
	int fd, flags;

	parse(&options, argc, argv);
	overlap = is(options.order, "overlap");
	if (is(options.order, "random"))
		order = shuffled(options.size / options.block, options.seed);
	else if (!overlap && !is(options.order, "seq"))
		misused(options.order);
	if (is(options.how, "direct"))
		flags = O_DIRECT;
	else if (is(options.how, "sync"))
		flags = O_SYNC;
	else if (is(options.how, "dsync"))
		flags = O_DIRECT | O_DSYNC;
	else
		misused(options.how);
	if (options.name && prctl(PR_SET_NAME, options.name))
		die("prctl");
	errno = posix_memalign(&data, options.block < HUGE ? 4096 : HUGE, options.block);
	if (errno)
		die("posix_memalign");
	if (options.block >= HUGE)
		madvise(data, options.block, MADV_HUGEPAGE);
	fd = open(options.path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		die(options.path);

	count = overlap ? options.count : options.size / options.block;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = options.offset, len = options.block;

		if (overlap) {
			uint64_t sectors = options.block / SECTOR;

			len = (1 + mix(options.seed + 1, i) % sectors) * SECTOR;
			sectors = (options.size - len) / SECTOR + 1;
			at += mix(options.seed + 2, i) % sectors * SECTOR;
		} else {
			at += (order ? order[i] : i) * options.block;
		}
		fill(data, len, at, options.seed, overlap ? i : 0);
		write_at(fd, data, len, at);
		bytes += len;
		if (options.flush && (i + 1) % options.flush == 0 && fdatasync(fd))
			die("fdatasync");
	}
	if (close(fd))
		die("close");
	printf("%" PRIu64 " writes of %" PRIu64 " bytes to %s from %" PRIu64 ", seed %" PRIu64 "\n",
	       count, bytes, options.path, options.offset, options.seed);
	return 0;
}
