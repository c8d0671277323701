// SPDX-License-Identifier: GPL-2.0
/* Functions that the kernel crate calls, and that the kernel has inline or not at all. */
#include "compat.h"

/* Not all kernels export errname(). Without a name an error is shown by its number. */
__rust_helper const char *rust_helper_errname(int err)
{
	return NULL;
}

#ifndef HAVE_HRTIMER_SETUP
__rust_helper void rust_helper_hrtimer_setup(struct hrtimer *timer,
					     enum hrtimer_restart (*function)(struct hrtimer *),
					     clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_setup(timer, function, clock, mode);
}
#endif
