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
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <rdma/rw.h>

/* Sizes that are powers of two are aligned to themselves. With 0 the memory is freed. */
static inline size_t krping_aligned_size(size_t size, unsigned long align)
{
	return size && align > ARCH_KMALLOC_MINALIGN ? roundup_pow_of_two(size) : size;
}

#ifndef HAVE_KREALLOC_NODE_ALIGN
static inline void *krealloc_node_align(const void *p, size_t size, unsigned long align,
					gfp_t flags, int node)
{
	return krealloc(p, krping_aligned_size(size, align), flags);
}
#endif

/* As kvrealloc(), or vrealloc() with @virtual, for kernels that ask for the size that was. */
static inline void *krping_kvrealloc(const void *p, size_t size, gfp_t flags, bool virtual)
{
	void *to = ZERO_SIZE_PTR;
	size_t old = 0;

	if (!is_vmalloc_addr(p))
		old = ksize(p);
	/* Behind what vmalloc() gives is a page that is not mapped. */
	else
		while (vmalloc_to_page(p + old))
			old += PAGE_SIZE;
	if (size && size <= old)
		return (void *)p;
	if (size) {
		to = virtual ? __vmalloc(size, flags) : kvmalloc(size, flags);
		if (!to)
			return NULL;
		memcpy(to, p, old);
	}
	kvfree(p);
	return to;
}

#ifndef HAVE_KVREALLOC_NODE_ALIGN
static inline void *kvrealloc_node_align(const void *p, size_t size, unsigned long align,
					 gfp_t flags, int node)
{
	size = krping_aligned_size(size, align);
#ifdef HAVE_KVREALLOC_WITHOUT_OLD_SIZE
	return kvrealloc(p, size, flags);
#else
	return krping_kvrealloc(p, size, flags, false);
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
	return krping_kvrealloc(p, size, flags, true);
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

/* What is opened where a disk is, and its disk. */
#ifdef HAVE_BLK_MODE_T
#define KRPING_OPENED struct gendisk
#define KRPING_DISK(opened) (opened)
#else
#define blk_mode_t fmode_t
#define KRPING_OPENED struct block_device
#define KRPING_DISK(opened) ((opened)->bd_disk)
#endif

/* See rust_helper_alloc_disk(). */
static inline struct gendisk *krping_alloc_disk(struct blk_mq_tag_set *set,
						struct queue_limits *limits, bool cache,
						bool stable, void *data,
						struct lock_class_key *key)
{
	struct gendisk *disk;

#ifdef HAVE_BLK_FEAT_WRITE_CACHE
	if (cache)
		limits->features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (stable)
		limits->features |= BLK_FEAT_STABLE_WRITES;
#endif
#ifdef HAVE_ALLOC_DISK_WITH_LIMITS
	disk = __blk_mq_alloc_disk(set, limits, data, key);
#else
	disk = __blk_mq_alloc_disk(set, data, key);
	if (!IS_ERR(disk)) {
		struct request_queue *q = disk->queue;

		blk_queue_logical_block_size(q, limits->logical_block_size);
		blk_queue_physical_block_size(q, limits->physical_block_size);
		blk_queue_io_min(q, limits->io_min);
		blk_queue_io_opt(q, limits->io_opt);
		blk_queue_max_hw_sectors(q, limits->max_hw_sectors);
		blk_queue_max_segments(q, limits->max_segments);
		blk_queue_max_discard_sectors(q, limits->max_hw_discard_sectors);
		blk_queue_max_write_zeroes_sectors(q, limits->max_write_zeroes_sectors);
		q->limits.discard_granularity = limits->discard_granularity;
		blk_queue_dma_alignment(q, limits->dma_alignment);
		blk_queue_virt_boundary(q, limits->virt_boundary_mask);
		blk_queue_segment_boundary(q, limits->seg_boundary_mask);
	}
#endif
#ifndef HAVE_BLK_FEAT_WRITE_CACHE
	if (!IS_ERR(disk)) {
		blk_queue_write_cache(disk->queue, cache, cache);
		if (stable)
			blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, disk->queue);
	}
#endif
	return disk;
}

static inline int krping_blk_rq_map_sg(struct request *rq, struct scatterlist *list,
				       struct scatterlist **last)
{
#ifdef HAVE_BLK_RQ_MAP_SG_OF_REQUEST
	return __blk_rq_map_sg(rq, list, last);
#else
	return __blk_rq_map_sg(rq->q, rq, list, last);
#endif
}

#ifndef HAVE_BVEC_SET_VIRT
static inline void bvec_set_virt(struct bio_vec *bvec, void *start, unsigned int len)
{
	*bvec = (struct bio_vec){ virt_to_page(start), len, offset_in_page(start) };
}
#endif

/* The subvolume of @stat, of a file of @sb; 0 where there is none. */
static inline u64 krping_subvolume(const struct kstat *stat, const struct super_block *sb)
{
#ifdef HAVE_STATX_SUBVOL
	return stat->result_mask & STATX_SUBVOL ? stat->subvol : 0;
#else
	/* Subvolumes show themselves by a device number each, which a reboot may change. */
	return stat->dev == sb->s_dev ? 0 : stat->dev;
#endif
}

#ifndef HAVE_STATX_SUBVOL
#define STATX_SUBVOL STATX_BASIC_STATS
#endif

#ifndef HAVE_SK_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	sk->sk_net_refcnt = 1;
	get_net_track(sock_net(sk), &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(sock_net(sk), 1);
}
#endif

#ifndef HAVE_USER_WORKERS
#define PF_USER_WORKER PF_IO_WORKER
#endif

/* By bindgen's names: no device has them. */
#ifndef HAVE_FLUSH_AND_ATOMIC_WRITE
#define ib_device_cap_flags_IB_DEVICE_ATOMIC_WRITE 0
#define ib_device_cap_flags_IB_DEVICE_FLUSH_GLOBAL 0
#define ib_device_cap_flags_IB_DEVICE_FLUSH_PERSISTENT 0
#endif

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
