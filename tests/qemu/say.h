/* SPDX-License-Identifier: GPL-2.0 */
/* How the peers of krping in user space speak to the tests: in lines. */
#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>

static inline void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* What should not happen, whatever the other side does. */
static inline noreturn void die(const char *what)
{
	say("cannot %s: %s", what, strerror(errno));
	exit(1);
}

#endif
