/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C functions for the kernel's static inlines and macros, which Rust cannot
 * call, and for what must be done in C. One call each, no logic.
 */
#ifndef KRPING_HELPERS_H
#define KRPING_HELPERS_H

#include <linux/blk-mq.h>
#include <linux/kthread.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

struct rdma_cm_id *krping_rdma_create_id(struct net *net,
					 rdma_cm_event_handler handler,
					 void *context);
struct net *krping_get_current_net(void);
void krping_put_net(struct net *net);
const struct cred *krping_get_current_cred(void);
void krping_put_cred(const struct cred *cred);
const struct cred *krping_override_creds(const struct cred *cred);
void krping_revert_creds(const struct cred *cred);
unsigned int krping_ifindex(struct net *net, const char *name);

struct ib_pd *krping_alloc_pd(struct ib_device *device, unsigned int flags);
void krping_dealloc_pd(struct ib_pd *pd);
struct ib_cq *krping_alloc_cq(struct ib_device *device, void *context, int cqe,
			      enum ib_poll_context poll);
void krping_settle_softirq_cq(struct ib_cq *cq);
bool krping_drains_itself(struct ib_qp *qp);
int krping_dereg_mr(struct ib_mr *mr);
void krping_update_fast_reg_key(struct ib_mr *mr, u8 key);
int krping_post_send(struct ib_qp *qp, const struct ib_send_wr *wr);
int krping_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr);
bool krping_cap_read_inv(struct ib_device *device, u32 port);
bool krping_uses_virt_dma(struct ib_device *device);
int krping_transport(struct ib_device *device, u32 port);

u64 krping_dma_map_single(struct ib_device *device, void *cpu, size_t size);
int krping_dma_mapping_error(struct ib_device *device, u64 addr);
void krping_dma_unmap_single(struct ib_device *device, u64 addr, size_t size);
void krping_dma_sync_for_cpu(struct ib_device *device, u64 addr, size_t size);
void krping_dma_sync_for_device(struct ib_device *device, u64 addr,
				size_t size);
void krping_memcpy(void *to, const void *from, size_t size);
void krping_memmove(void *to, const void *from, size_t size);
void krping_zero(void *to, size_t size);
int krping_dma_map_sg(struct ib_device *device, struct scatterlist *sg,
		      int count, bool to_device);
void krping_dma_unmap_sg(struct ib_device *device, struct scatterlist *sg,
			 int count, bool to_device);
int krping_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int count);
unsigned int krping_max_dma_segment(struct ib_device *device);
size_t krping_max_dma_mapping(struct ib_device *device);

/* Parts of memory that one region can be made of. */
enum krping_mr {
	KRPING_MR_PARTS = 8,
};

int krping_map_mr(struct ib_mr *mr, const struct ib_sge *parts,
		  unsigned int count);

/* Features of a queue: it has a volatile cache, and can write past it; memory must not
 * change while it is written.
 */
enum krping_block {
	KRPING_BLOCK_CACHE = (__force unsigned int)(BLK_FEAT_WRITE_CACHE |
						     BLK_FEAT_FUA),
	KRPING_BLOCK_STABLE = (__force unsigned int)BLK_FEAT_STABLE_WRITES,
};

extern const struct block_device_operations krping_disk_operations;
/* The private data of a disk begins with this. */
struct krping_disk {
	/* What /sys/block/DISK/serial has. */
	const char *serial;
};

int krping_add_disk(struct gendisk *disk);
void krping_name_disk(struct gendisk *disk, unsigned int number);
unsigned int krping_disk_openers(struct gendisk *disk);
int krping_disk_lock(struct gendisk *disk);
void krping_disk_unlock(struct gendisk *disk);
unsigned int krping_possible_cpus(void);
unsigned int krping_noio_save(void);
void krping_noio_restore(unsigned int flags);
bool krping_request_is_timed(struct request *rq);
bool krping_request_is_repeated(struct request *rq);
void krping_mark_repeated(struct request *rq);
void *krping_request_data(struct request *rq);
void krping_copy_request(struct request *rq, char *to);
void krping_fill_request(struct request *rq, const char *from);

void krping_spin_lock_bh(spinlock_t *lock);
void krping_spin_unlock_bh(spinlock_t *lock);
int krping_spin_trylock_bh(spinlock_t *lock);
unsigned long krping_spin_lock_irqsave(spinlock_t *lock);
void krping_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);
int krping_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags);

struct task_struct *krping_kthread_run(int (*fn)(void *data), void *data,
				       const char *name);
void krping_put_task(struct task_struct *task);
int krping_run_on(unsigned int cpu);
bool krping_cpu_online(unsigned int cpu);
void *krping_alloc_pages(size_t size);
void *krping_pde_data(const struct inode *inode);
void krping_init_completion(struct completion *done);
bool krping_capable_net_admin(void);
bool krping_capable_sys_admin(void);
int krping_memory_locked_down(void);
bool krping_task_frozen(struct task_struct *task);
unsigned long krping_jiffies(void);
void krping_cond_resched(void);
bool krping_single_task_running(void);

loff_t krping_file_size(struct file *file);
unsigned int krping_file_zeroes_sectors(struct file *file);
unsigned int krping_file_block_size(struct file *file);
int krping_file_go_direct(struct file *file, u32 *memory, u32 *offset);
bool krping_file_has_cache(struct file *file);
ssize_t krping_file_move(struct file *file, void *memory, size_t len, loff_t *at,
			 bool write);
int krping_truncate(struct file *file, loff_t size);
void krping_throttle_locally(void);

/* Disks that are tapped, and the tracepoints for it. */
void krping_settle_tracepoints(void);
void *krping_vmalloc(size_t size);
void krping_vfree(const void *start);
void krping_current_comm(char *to);
struct block_device *krping_file_bdev(const struct file *file);
bool krping_file_bdev_is_there(const struct file *file);
bool krping_bdev_has_requests(struct block_device *bdev);
struct request_queue *krping_bdev_queue(struct block_device *bdev);
u64 krping_bdev_start(struct block_device *bdev);
u64 krping_bdev_size(struct block_device *bdev);
unsigned int krping_bdev_block(struct block_device *bdev);
u32 krping_rq_op(const struct request *rq);
bool krping_rq_is_fua(const struct request *rq);
u64 krping_rq_offset(const struct request *rq);
unsigned int krping_rq_bytes(const struct request *rq);
size_t krping_rq_copy(struct request *rq, size_t skip, void *to, size_t len);
#endif
