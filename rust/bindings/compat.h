/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KRPING_COMPAT_H
#define KRPING_COMPAT_H
#include "have.h"

/* bindgen takes an enumeration that is named before it is defined for a signed one. */
#if defined(__BINDGEN__) && !defined(HAVE_HRTIMER_TYPES)
#define hrtimer_restart hrtimer_restart_of_timer_h
#include <linux/timer.h>
#undef hrtimer_restart
#endif

#include <linux/blk-mq.h>
#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/rw.h>

#ifndef HAVE_KREALLOC_NODE_ALIGN
static inline void *krealloc_node_align(const void *p, size_t size, unsigned long align,
					gfp_t flags, int node)
{
	return krealloc(p, align > ARCH_KMALLOC_MINALIGN ? roundup_pow_of_two(size) : size, flags);
}
#endif
#ifndef HAVE_KVREALLOC_NODE_ALIGN
static inline void *kvrealloc_node_align(const void *p, size_t size, unsigned long align,
					 gfp_t flags, int node)
{
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(size);
#ifdef HAVE_KVREALLOC_WITHOUT_OLD_SIZE
	return kvrealloc(p, size, flags);
#else
	/* What vmalloc() gave has a size that modules cannot ask for: it does not grow. */
	if (!size || is_vmalloc_addr(p))
		return size ? NULL : krealloc(p, 0, flags);
	if (p)
		return krealloc(p, size, flags);
	return kvmalloc(size, flags);
#endif
}
#endif
#ifndef HAVE_VREALLOC_NODE_ALIGN
static inline void *vrealloc_node_align(const void *p, size_t size, unsigned long align,
					gfp_t flags, int node)
{
#ifdef HAVE_VREALLOC
	return vrealloc(p, size, flags);
#else
	return p ? NULL : __vmalloc(size, flags);
#endif
}
#endif
#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

static inline int krping_blk_rq_map_sg(struct request *rq, struct scatterlist *list,
				       struct scatterlist **last)
{
#ifdef HAVE_BLK_RQ_MAP_SG_OF_REQUEST
	return __blk_rq_map_sg(rq, list, last);
#else
	return __blk_rq_map_sg(rq->q, rq, list, last);
#endif
}

#ifndef HAVE_NS_REF_ACTIVE_READ
#define ns_ref_active_read(net) refcount_read(&(net)->ns.count)
#endif

#ifdef HAVE_RDMA_RW_BVEC
#define RDMA_RW_BIO_VECS 1
#else
#define RDMA_RW_BIO_VECS 0
static inline int rdma_rw_ctx_init_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
					const struct bio_vec *bvecs, u32 count,
					struct bvec_iter iter, u64 addr, u32 rkey,
					enum dma_data_direction direction)
{
	return -EOPNOTSUPP;
}

static inline void rdma_rw_ctx_destroy_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
					    const struct bio_vec *bvecs, u32 count,
					    enum dma_data_direction direction)
{
}
#endif

#ifndef ARCH_STATIC_BRANCH_ASM
#define ARCH_STATIC_BRANCH_ASM(key, label)			\
	"1: .byte " __stringify(BYTES_NOP5) "\n\t"		\
	".pushsection __jump_table, \"aw\"\n\t"		\
	".balign 8\n\t"					\
	".long 1b - .\n\t"					\
	".long " label " - .\n\t"				\
	".quad " key " - .\n\t"				\
	".popsection\n\t"
#endif

/* Of the kernel crate: as vsnprintf(), but returns the end, and writes no NUL. */
char *rust_fmt_argument(char *buf, char *end, const void *arguments);
#endif
