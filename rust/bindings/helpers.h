/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C functions for the kernel's static inlines and macros, which Rust cannot
 * call, and for what must be done in C. One call each, no logic.
 */
#ifndef KRPING_HELPERS_H
#define KRPING_HELPERS_H

#include <linux/kthread.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

struct rdma_cm_id *krping_rdma_create_id(struct net *net,
					 rdma_cm_event_handler handler,
					 void *context);
struct net *krping_get_current_net(void);
void krping_put_net(struct net *net);
unsigned int krping_ifindex(struct net *net, const char *name);

struct ib_pd *krping_alloc_pd(struct ib_device *device, unsigned int flags);
void krping_dealloc_pd(struct ib_pd *pd);
struct ib_cq *krping_alloc_cq(struct ib_device *device, void *context, int cqe,
			      enum ib_poll_context poll);
void krping_settle_softirq_cq(struct ib_cq *cq);
int krping_dereg_mr(struct ib_mr *mr);
void krping_update_fast_reg_key(struct ib_mr *mr, u8 key);
int krping_post_send(struct ib_qp *qp, const struct ib_send_wr *wr);
int krping_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr);
bool krping_cap_read_inv(struct ib_device *device, u32 port);
int krping_transport(struct ib_device *device, u32 port);

u64 krping_dma_map_single(struct ib_device *device, void *cpu, size_t size);
int krping_dma_mapping_error(struct ib_device *device, u64 addr);
void krping_dma_unmap_single(struct ib_device *device, u64 addr, size_t size);
void krping_dma_sync_for_cpu(struct ib_device *device, u64 addr, size_t size);
void krping_dma_sync_for_device(struct ib_device *device, u64 addr,
				size_t size);
void krping_memcpy(void *to, const void *from, size_t size);
int krping_map_mr(struct ib_mr *mr, u64 addr, unsigned int size);

void krping_spin_lock_bh(spinlock_t *lock);
void krping_spin_unlock_bh(spinlock_t *lock);
int krping_spin_trylock_bh(spinlock_t *lock);
unsigned long krping_spin_lock_irqsave(spinlock_t *lock);
void krping_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);
int krping_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags);

struct task_struct *krping_kthread_run(int (*fn)(void *data), void *data,
				       unsigned int id);
void krping_put_task(struct task_struct *task);
int krping_run_on(unsigned int cpu);
bool krping_cpu_online(unsigned int cpu);
void *krping_alloc_pages(size_t size);
void *krping_pde_data(const struct inode *inode);
void krping_init_completion(struct completion *done);
bool krping_capable_net_admin(void);
unsigned long krping_jiffies(void);
void krping_cond_resched(void);
bool krping_single_task_running(void);
#endif
