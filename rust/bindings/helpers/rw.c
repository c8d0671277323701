// SPDX-License-Identifier: GPL-2.0
#include <linux/bvec.h>
#include <linux/scatterlist.h>
#include <rdma/rw.h>

#include "../helpers.h"

void rust_helper_sg_set_buf(struct scatterlist *sg, const void *start, unsigned int len)
{
	sg_set_buf(sg, start, len);
}

void rust_helper_bvec_set_virt(struct bio_vec *bvec, void *start, unsigned int len)
{
	bvec_set_virt(bvec, start, len);
}

int rust_helper_rw_init(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			struct scatterlist *sg, u32 count, u64 addr, u32 rkey, bool write)
{
	return rdma_rw_ctx_init(ctx, qp, port, sg, count, 0, addr, rkey,
				write ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

int rust_helper_rw_init_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			     const struct bio_vec *bvecs, u32 count, u32 size, u64 addr,
			     u32 rkey, bool write)
{
	struct bvec_iter iter = { .bi_size = size };

	return rdma_rw_ctx_init_bvec(ctx, qp, port, bvecs, count, iter, addr, rkey,
				     write ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

void rust_helper_rw_destroy(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			    struct scatterlist *sg, u32 count, bool write)
{
	rdma_rw_ctx_destroy(ctx, qp, port, sg, count,
			    write ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

void rust_helper_rw_destroy_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
				 const struct bio_vec *bvecs, u32 count, bool write)
{
	rdma_rw_ctx_destroy_bvec(ctx, qp, port, bvecs, count,
				 write ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}
