/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C functions for the kernel's static inlines and macros, which Rust cannot
 * call, and for what must be done in C. One call each, no logic.
 */
#ifndef RUST_HELPERS_H
#define RUST_HELPERS_H

#include <linux/blk-mq.h>
#include <linux/kthread.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include "compat.h"

struct rdma_cm_id *rust_helper_rdma_create_id(struct net *net,
					      rdma_cm_event_handler handler,
					      void *context,
					      enum rdma_ucm_port_space ps,
					      enum ib_qp_type qp_type);
struct net *rust_helper_get_current_net(void);
bool rust_helper_net_is_in_use(struct net *net);
void rust_helper_put_net(struct net *net);
const struct cred *rust_helper_get_current_cred(void);
const struct cred *rust_helper_override_creds(const struct cred *cred);
void rust_helper_revert_creds(const struct cred *cred);
unsigned int rust_helper_ifindex(struct net *net, const char *name);
unsigned int rust_helper_addresses(struct net *net, struct __kernel_sockaddr_storage *to,
				   unsigned int room);

int rust_helper_tcp_create(struct net *net, int family, struct socket **sock);
void rust_helper_sock_reuse_address(struct socket *sock);
int rust_helper_sock_connect(struct socket *sock, void *addr, int len, long timeout);
int rust_helper_sock_accept(struct socket *sock, struct socket **accepted, long timeout);
int rust_helper_sock_send(struct socket *sock, const void *from, size_t len, long timeout);
int rust_helper_sock_receive(struct socket *sock, void *to, size_t len, long timeout);
void rust_helper_sock_end_sending(struct socket *sock);

struct ib_pd *rust_helper_alloc_pd(struct ib_device *device, unsigned int flags);
void rust_helper_dealloc_pd(struct ib_pd *pd);
struct ib_cq *rust_helper_alloc_cq(struct ib_device *device, void *context, int cqe,
				   enum ib_poll_context poll);
void rust_helper_settle_softirq_cq(struct ib_cq *cq);
int rust_helper_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);
bool rust_helper_drains_itself(struct ib_qp *qp);
struct ib_qp *rust_helper_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr);
int rust_helper_dereg_mr(struct ib_mr *mr);
void rust_helper_update_fast_reg_key(struct ib_mr *mr, u8 key);
int rust_helper_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad);
int rust_helper_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr);
struct ib_srq *rust_helper_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr);
void rust_helper_destroy_srq(struct ib_srq *srq);
int rust_helper_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr);
bool rust_helper_cap_read_inv(struct ib_device *device, u32 port);
bool rust_helper_uses_virt_dma(struct ib_device *device);
unsigned int rust_helper_port_rate(struct ib_port_attr *attr);
int rust_helper_transport(struct ib_device *device, u32 port);

u64 rust_helper_dma_map_single(struct ib_device *device, void *cpu, size_t size);
int rust_helper_dma_mapping_error(struct ib_device *device, u64 addr);
void rust_helper_dma_unmap_single(struct ib_device *device, u64 addr, size_t size);
void rust_helper_dma_sync_for_cpu(struct ib_device *device, u64 addr, size_t size);
void rust_helper_dma_sync_for_device(struct ib_device *device, u64 addr,
				     size_t size);
void rust_helper_memcpy(void *to, const void *from, size_t size);
void rust_helper_memmove(void *to, const void *from, size_t size);
void rust_helper_zero(void *to, size_t size);
int rust_helper_dma_map_sg(struct ib_device *device, struct scatterlist *sg,
			   int count, bool to_device);
void rust_helper_dma_unmap_sg(struct ib_device *device, struct scatterlist *sg,
			      int count, bool to_device);
int rust_helper_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int count);
void rust_helper_sg_set_buf(struct scatterlist *sg, const void *start, unsigned int len);
void rust_helper_bvec_set_virt(struct bio_vec *bvec, void *start, unsigned int len);
/* Whether contexts for READ and WRITE take an array of struct bio_vec. */
enum rust_helper_rw {
	RUST_HELPER_RW_BIO_VECS = RDMA_RW_BIO_VECS,
};

int rust_helper_rw_init(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			struct scatterlist *sg, u32 count, u64 addr, u32 rkey, bool write);
int rust_helper_rw_init_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			     const struct bio_vec *bvecs, u32 count, u32 size, u64 addr,
			     u32 rkey, bool write);
void rust_helper_rw_destroy(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			    struct scatterlist *sg, u32 count, bool write);
void rust_helper_rw_destroy_bvec(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
				 const struct bio_vec *bvecs, u32 count, bool write);
unsigned int rust_helper_max_dma_segment(struct ib_device *device);
size_t rust_helper_max_dma_mapping(struct ib_device *device);

/* Maximum number of memory parts in one region. */
enum rust_helper_mr {
	RUST_HELPER_MR_PARTS = 8,
};

int rust_helper_map_mr(struct ib_mr *mr, const struct ib_sge *parts,
		       unsigned int count, unsigned int page_size);

/*
 * Create a disk, in a @set whose only disk it is. With @cache it has a volatile write cache with
 * FUA; with @stable memory must not change while it is written.
 */
struct gendisk *rust_helper_alloc_disk(struct blk_mq_tag_set *set, struct queue_limits *limits,
				       bool cache, bool stable, void *data,
				       struct lock_class_key *key);

extern const struct block_device_operations rust_helper_disk_operations;
/* The private data of a disk begins with this. */
struct rust_helper_disk {
	/* Text of /sys/block/DISK/serial. */
	const char *serial;
	/* Text of /sys/block/DISK/tag. */
	const char *tag;
};

int rust_helper_add_disk(struct gendisk *disk);
unsigned int rust_helper_disk_openers(struct gendisk *disk);
int rust_helper_disk_lock(struct gendisk *disk);
void rust_helper_disk_unlock(struct gendisk *disk);
unsigned int rust_helper_possible_cpus(void);
unsigned int rust_helper_noio_save(void);
void rust_helper_noio_restore(unsigned int flags);
bool rust_helper_request_is_timed(struct request *rq);
bool rust_helper_request_is_repeated(struct request *rq);
void rust_helper_mark_repeated(struct request *rq);
void *rust_helper_request_data(struct request *rq);
void rust_helper_copy_request(struct request *rq, char *to);
void rust_helper_fill_request(struct request *rq, const char *from);

void rust_helper_spin_lock_bh(spinlock_t *lock);
void rust_helper_spin_unlock_bh(spinlock_t *lock);
int rust_helper_spin_trylock_bh(spinlock_t *lock);
unsigned long rust_helper_spin_lock_irqsave(spinlock_t *lock);
void rust_helper_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);
int rust_helper_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags);

struct task_struct *rust_helper_kthread_run(int (*fn)(void *data), void *data,
					    const char *name);
void rust_helper_put_task(struct task_struct *task);
int rust_helper_run_on(unsigned int cpu);
bool rust_helper_cpu_online(unsigned int cpu);
unsigned int rust_helper_online_cpus(void);
void rust_helper_nap(u64 ns);
u64 rust_helper_softirq_ns(unsigned int cpu);
u32 rust_helper_softirq_step_ns(void);
void *rust_helper_alloc_pages_exact(size_t size);
bool rust_helper_node_has_memory(unsigned int node);
void *rust_helper_alloc_pages_exact_on(int node, size_t size);
void *rust_helper_pde_data(const struct inode *inode);
bool rust_helper_capable_net_admin(void);
bool rust_helper_capable_sys_admin(void);
bool rust_helper_capable_sys_rawio(void);
int rust_helper_memory_locked_down(void);
bool rust_helper_task_frozen(struct task_struct *task);
unsigned long rust_helper_jiffies(void);
void rust_helper_cond_resched(void);
bool rust_helper_single_task_running(void);

loff_t rust_helper_file_size(struct file *file);
unsigned int rust_helper_file_zeroes_sectors(struct file *file);
unsigned int rust_helper_file_block_size(struct file *file);
int rust_helper_file_go_direct(struct file *file, u32 *memory, u32 *offset);
bool rust_helper_file_has_cache(struct file *file);
ssize_t rust_helper_file_move(struct file *file, void *memory, size_t len, loff_t *at,
			      bool write);

/* Sizes by which a block device does its work best, in bytes. */
struct rust_helper_io_limits {
	unsigned int physical;
	unsigned int minimum;
	unsigned int optimal;
	unsigned int discard;
};

void rust_helper_file_io_limits(struct file *file, struct rust_helper_io_limits *to);
int rust_helper_truncate(struct file *file, loff_t size);
int rust_helper_file_room(struct file *file, u64 *allocated, u64 *free);
struct inode *rust_helper_file_real_inode(const struct file *file);
u64 rust_helper_inode_number(const struct inode *inode);
u64 rust_helper_file_subvolume(const struct file *file);
struct vfsmount *rust_helper_sysfs_mount(void);
ssize_t rust_helper_sysfs_read(struct vfsmount *sysfs, const char *path, void *to, size_t len);

/* What prints a file of debugfs, and its argument: the private data of the seq_file. */
struct rust_helper_debugfs_operations {
	int (*show)(struct seq_file *seq, void *unused);
	void *data;
};

struct dentry *rust_helper_debugfs_dir(const char *name);
struct dentry *rust_helper_debugfs_file(const char *name, struct dentry *dir,
					const struct rust_helper_debugfs_operations *ops);
void rust_helper_debugfs_remove(struct dentry *entry);
void rust_helper_throttle_locally(void);

/* What records an event of krping_trace.h, where it is enabled. */
void rust_helper_trace_post(u32 qpn, u32 operation, u32 count);
void rust_helper_trace_posted(u32 qpn, u32 operation, u32 error);
void rust_helper_trace_completion(u32 qpn, u32 operation, u32 status);
void rust_helper_trace_callback(u32 qpn, u32 operation, u32 status);
void rust_helper_trace_connect(const void *connection, u32 milestone);

/* Tapped disks and their tracepoints. */
void rust_helper_settle_tracepoints(void);
void *rust_helper_vmalloc(size_t size);
void rust_helper_vfree(const void *start);
void rust_helper_current_comm(char *to);
void rust_helper_file_close(struct file *file);
struct block_device *rust_helper_file_bdev(const struct file *file);
bool rust_helper_file_bdev_is_there(const struct file *file);
bool rust_helper_bdev_has_requests(struct block_device *bdev);
struct request_queue *rust_helper_bdev_queue(struct block_device *bdev);
u64 rust_helper_bdev_start(struct block_device *bdev);
u64 rust_helper_bdev_size(struct block_device *bdev);
unsigned int rust_helper_bdev_block(struct block_device *bdev);
unsigned int rust_helper_blk_rq_map_sg(struct request *rq, struct scatterlist *list);
u32 rust_helper_rq_op(const struct request *rq);
bool rust_helper_rq_is_fua(const struct request *rq);
u64 rust_helper_rq_offset(const struct request *rq);
unsigned int rust_helper_rq_bytes(const struct request *rq);
size_t rust_helper_rq_copy(struct request *rq, size_t skip, void *to, size_t len);
#endif
