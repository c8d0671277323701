// SPDX-License-Identifier: GPL-2.0
#include <linux/gfp.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../helpers.h"

void rust_helper_memcpy(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
}

void rust_helper_memmove(void *to, const void *from, size_t size)
{
	memmove(to, from, size);
}

void rust_helper_zero(void *to, size_t size)
{
	/*
	 * An architecture's own memset64() writes words. It is as fast as memset() on
	 * hardware, and eight times as fast on an emulated x86, where memset() writes
	 * bytes.
	 */
#ifdef __HAVE_ARCH_MEMSET64
	if (IS_ALIGNED((unsigned long)to | size, sizeof(u64))) {
		memset64(to, 0, size / sizeof(u64));
		return;
	}
#endif
	memset(to, 0, size);
}

unsigned int rust_helper_noio_save(void)
{
	return memalloc_noio_save();
}

void rust_helper_noio_restore(unsigned int flags)
{
	memalloc_noio_restore(flags);
}

void *rust_helper_alloc_pages_exact(size_t size)
{
	return alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
}

/* For sizes that may be too large: fails without invoking the OOM killer. */
void *rust_helper_vmalloc(size_t size)
{
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
			 __GFP_RETRY_MAYFAIL);
}

void rust_helper_vfree(const void *start)
{
	vfree(start);
}
