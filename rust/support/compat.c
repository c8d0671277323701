// SPDX-License-Identifier: GPL-2.0
/* Functions that the kernel crate calls, where they are inline: see compat.h. */
#include "compat.h"

#ifndef HAVE_HRTIMER_SETUP
__rust_helper void rust_helper_hrtimer_setup(struct hrtimer *timer,
					     enum hrtimer_restart (*function)(struct hrtimer *),
					     clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_setup(timer, function, clock, mode);
}
#endif
