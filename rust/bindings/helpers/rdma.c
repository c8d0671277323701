// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/irq_poll.h>
#include <linux/rcupdate.h>

#include "../helpers.h"

struct rdma_cm_id *rust_helper_rdma_create_id(struct net *net,
					      rdma_cm_event_handler handler,
					      void *context,
					      enum rdma_ucm_port_space ps,
					      enum ib_qp_type qp_type)
{
	return rdma_create_id(net, handler, context, ps, qp_type);
}

struct ib_pd *rust_helper_alloc_pd(struct ib_device *device, unsigned int flags)
{
	return ib_alloc_pd(device, flags);
}

void rust_helper_dealloc_pd(struct ib_pd *pd)
{
	ib_dealloc_pd(pd);
}

struct ib_cq *rust_helper_alloc_cq(struct ib_device *device, void *context, int cqe,
				   enum ib_poll_context poll)
{
	return ib_alloc_cq_any(device, context, cqe, poll);
}

/*
 * Wait until no softirq works on the completions that a queue has had so far. While the
 * poll is disabled, no softirq is pending and none can be scheduled; one that is past
 * irq_poll_complete() is an RCU reader.
 *
 * A poll that has used its budget gives up when it is disabled. Nobody frees a queue that
 * others share, and with it what is left there, so that is handled here, up to all that
 * the queue holds. Nor does an event schedule the poll meanwhile, so that is made up for.
 * One at a time: else the end of one would enable the poll for another, which a busy queue
 * would keep waiting.
 */
void rust_helper_settle_softirq_cq(struct ib_cq *cq)
{
	static DEFINE_MUTEX(one_at_a_time);

	mutex_lock(&one_at_a_time);
	irq_poll_disable(&cq->iop);
	synchronize_rcu_expedited();
	if (cq->shared) {
		local_bh_disable();
		ib_process_cq_direct(cq, cq->cqe);
		local_bh_enable();
	}
	irq_poll_enable(&cq->iop);
	if (cq->shared)
		irq_poll_sched(&cq->iop);
	mutex_unlock(&one_at_a_time);
}

int rust_helper_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return ib_req_notify_cq(cq, flags);
}

bool rust_helper_drains_itself(struct ib_qp *qp)
{
	return qp->device->ops.drain_sq || qp->device->ops.drain_rq;
}

struct ib_qp *rust_helper_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr)
{
	return ib_create_qp(pd, attr);
}

int rust_helper_dereg_mr(struct ib_mr *mr)
{
	return ib_dereg_mr(mr);
}

void rust_helper_update_fast_reg_key(struct ib_mr *mr, u8 key)
{
	ib_update_fast_reg_key(mr, key);
}

int rust_helper_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	return ib_post_send(qp, wr, bad);
}

int rust_helper_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr)
{
	return ib_post_recv(qp, wr, NULL);
}

struct ib_srq *rust_helper_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr)
{
	return ib_create_srq(pd, attr);
}

void rust_helper_destroy_srq(struct ib_srq *srq)
{
	ib_destroy_srq(srq);
}

int rust_helper_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr)
{
	return ib_post_srq_recv(srq, wr, NULL);
}

bool rust_helper_cap_read_inv(struct ib_device *device, u32 port)
{
	return rdma_cap_read_inv(device, port);
}

bool rust_helper_uses_virt_dma(struct ib_device *device)
{
	return ib_uses_virt_dma(device);
}

/* In units of 100 Mbit/s; 0 where the core does not know. */
unsigned int rust_helper_port_rate(struct ib_port_attr *attr)
{
#ifdef HAVE_PORT_SPEED_INFO
	struct ib_port_speed_info speed;

	if (!ib_port_attr_to_speed_info(attr, &speed))
		return speed.rate;
#endif
	return 0;
}

/* Returns 0 for InfiniBand, 1 for RoCE, 2 for iWARP, -1 for any other transport. */
int rust_helper_transport(struct ib_device *device, u32 port)
{
	if (rdma_protocol_ib(device, port))
		return 0;
	if (rdma_protocol_roce(device, port))
		return 1;
	return rdma_protocol_iwarp(device, port) ? 2 : -1;
}

u64 rust_helper_dma_map_single(struct ib_device *device, void *cpu, size_t size)
{
	return ib_dma_map_single(device, cpu, size, DMA_BIDIRECTIONAL);
}

int rust_helper_dma_mapping_error(struct ib_device *device, u64 addr)
{
	return ib_dma_mapping_error(device, addr);
}

void rust_helper_dma_unmap_single(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_unmap_single(device, addr, size, DMA_BIDIRECTIONAL);
}

void rust_helper_dma_sync_for_cpu(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_sync_single_for_cpu(device, addr, size, DMA_BIDIRECTIONAL);
}

void rust_helper_dma_sync_for_device(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_sync_single_for_device(device, addr, size, DMA_BIDIRECTIONAL);
}

int rust_helper_dma_map_sg(struct ib_device *device, struct scatterlist *sg,
			   int count, bool to_device)
{
	return ib_dma_map_sg(device, sg, count,
			     to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

void rust_helper_dma_unmap_sg(struct ib_device *device, struct scatterlist *sg,
			      int count, bool to_device)
{
	ib_dma_unmap_sg(device, sg, count,
			to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

int rust_helper_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int count)
{
	return ib_map_mr_sg(mr, sg, count, NULL, PAGE_SIZE);
}

unsigned int rust_helper_max_dma_segment(struct ib_device *device)
{
	return ib_dma_max_seg_size(device);
}

size_t rust_helper_max_dma_mapping(struct ib_device *device)
{
	return dma_max_mapping_size(device->dma_device);
}

int rust_helper_map_mr(struct ib_mr *mr, const struct ib_sge *parts,
		       unsigned int count, unsigned int page_size)
{
	struct scatterlist sg[RUST_HELPER_MR_PARTS];
	unsigned int i;

	if (!count || count > RUST_HELPER_MR_PARTS)
		return -EINVAL;
	/* Already mapped for DMA: only the address and the length are read. */
	sg_init_table(sg, count);
	for (i = 0; i < count; i++) {
		sg_dma_address(&sg[i]) = parts[i].addr;
		sg_dma_len(&sg[i]) = parts[i].length;
	}
	return ib_map_mr_sg(mr, sg, count, NULL, page_size);
}
