// SPDX-License-Identifier: GPL-2.0
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
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

bool rust_helper_node_has_memory(unsigned int node)
{
	return node < nr_node_ids && node_state(node, N_MEMORY);
}

/*
 * As alloc_pages_exact(), on a node that has memory, or has had some. The kernel's
 * own alloc_pages_exact_nid() is not for modules.
 */
void *rust_helper_alloc_pages_exact_on(int node, size_t size)
{
	gfp_t flags = GFP_KERNEL | __GFP_THISNODE | __GFP_ZERO | __GFP_NOWARN;
	unsigned int order = get_order(size);
	struct page *page;
	unsigned long i;

	/* The allocator would have a line in the log for each try. */
	if (!node_state(node, N_MEMORY))
		return NULL;
	page = alloc_pages_node(node, flags, order);
	if (!page)
		return NULL;
	split_page(page, order);
	for (i = DIV_ROUND_UP(size, PAGE_SIZE); i < 1UL << order; i++)
		__free_page(page + i);
	return page_address(page);
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
