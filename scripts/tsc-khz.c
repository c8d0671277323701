// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the rate of this machine's time stamp counter in kHz.
 *
 * An emulated CPU has the host's counter. Its kernel finds out the rate by timers that
 * the emulator drives, and finds a wrong one where the host is busy: its clock then runs
 * many times too fast. So scripts/guest measures it outside, and says it.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct moment {
	uint64_t ticks;
	int64_t ns;
};

/* Both clocks at once, as nearly as 100 tries have it. */
static struct moment now(void)
{
	struct moment best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;
	struct timespec time;

	for (int i = 0; i < 100; i++) {
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC_RAW, &time);
		after = __rdtsc();
		if (after - before < shortest) {
			shortest = after - before;
			best.ticks = before + shortest / 2;
			best.ns = time.tv_sec * 1000000000ll + time.tv_nsec;
		}
	}
	return best;
}

int main(void)
{
	struct timespec pause = { 0, 200000000 };
	struct moment start, end;

	start = now();
	nanosleep(&pause, NULL);
	end = now();
	printf("%.0f\n", (double)(end.ticks - start.ticks) * 1e6 / (double)(end.ns - start.ns));
	return 0;
}
