// SPDX-License-Identifier: GPL-2.0
/* See helpers.h. */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/irq_poll.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/security.h>
#include <linux/spinlock.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/tracepoint.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>

#include "helpers.h"

struct rdma_cm_id *krping_rdma_create_id(struct net *net,
					 rdma_cm_event_handler handler,
					 void *context)
{
	return rdma_create_id(net, handler, context, RDMA_PS_TCP, IB_QPT_RC);
}

struct net *krping_get_current_net(void)
{
	return current->nsproxy ? get_net(current->nsproxy->net_ns) : NULL;
}

void krping_put_net(struct net *net)
{
	put_net(net);
}

const struct cred *krping_get_current_cred(void)
{
	return get_current_cred();
}

void krping_put_cred(const struct cred *cred)
{
	put_cred(cred);
}

const struct cred *krping_override_creds(const struct cred *cred)
{
	return override_creds(cred);
}

void krping_revert_creds(const struct cred *cred)
{
	revert_creds(cred);
}

unsigned int krping_ifindex(struct net *net, const char *name)
{
	struct net_device *dev = dev_get_by_name(net, name);
	unsigned int index = dev ? dev->ifindex : 0;

	dev_put(dev);
	return index;
}

struct ib_pd *krping_alloc_pd(struct ib_device *device, unsigned int flags)
{
	return ib_alloc_pd(device, flags);
}

void krping_dealloc_pd(struct ib_pd *pd)
{
	ib_dealloc_pd(pd);
}

struct ib_cq *krping_alloc_cq(struct ib_device *device, void *context, int cqe,
			      enum ib_poll_context poll)
{
	return ib_alloc_cq_any(device, context, cqe, poll);
}

/*
 * Wait until no softirq works on a queue that nothing adds to any more. While the
 * poll is disabled, none is pending and none can be scheduled; one that is past
 * irq_poll_complete() is a reader of RCU.
 */
void krping_settle_softirq_cq(struct ib_cq *cq)
{
	irq_poll_disable(&cq->iop);
	synchronize_rcu_expedited();
	irq_poll_enable(&cq->iop);
}

bool krping_drains_itself(struct ib_qp *qp)
{
	return qp->device->ops.drain_sq || qp->device->ops.drain_rq;
}

int krping_dereg_mr(struct ib_mr *mr)
{
	return ib_dereg_mr(mr);
}

void krping_update_fast_reg_key(struct ib_mr *mr, u8 key)
{
	ib_update_fast_reg_key(mr, key);
}

int krping_post_send(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	return ib_post_send(qp, wr, NULL);
}

int krping_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr)
{
	return ib_post_recv(qp, wr, NULL);
}

bool krping_cap_read_inv(struct ib_device *device, u32 port)
{
	return rdma_cap_read_inv(device, port);
}

bool krping_uses_virt_dma(struct ib_device *device)
{
	return ib_uses_virt_dma(device);
}

/* 0 InfiniBand, 1 RoCE, 2 iWARP, -1 another */
int krping_transport(struct ib_device *device, u32 port)
{
	if (rdma_protocol_ib(device, port))
		return 0;
	if (rdma_protocol_roce(device, port))
		return 1;
	return rdma_protocol_iwarp(device, port) ? 2 : -1;
}

u64 krping_dma_map_single(struct ib_device *device, void *cpu, size_t size)
{
	return ib_dma_map_single(device, cpu, size, DMA_BIDIRECTIONAL);
}

int krping_dma_mapping_error(struct ib_device *device, u64 addr)
{
	return ib_dma_mapping_error(device, addr);
}

void krping_dma_unmap_single(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_unmap_single(device, addr, size, DMA_BIDIRECTIONAL);
}

void krping_dma_sync_for_cpu(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_sync_single_for_cpu(device, addr, size, DMA_BIDIRECTIONAL);
}

void krping_dma_sync_for_device(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_sync_single_for_device(device, addr, size, DMA_BIDIRECTIONAL);
}

void krping_memcpy(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
}

void krping_memmove(void *to, const void *from, size_t size)
{
	memmove(to, from, size);
}

void krping_zero(void *to, size_t size)
{
	/*
	 * Where an architecture has its own memset64() it takes words: as fast as
	 * memset() on hardware, and eight times as fast on an emulated x86, whose
	 * memset() takes bytes.
	 */
#ifdef __HAVE_ARCH_MEMSET64
	if (IS_ALIGNED((unsigned long)to | size, sizeof(u64))) {
		memset64(to, 0, size / sizeof(u64));
		return;
	}
#endif
	memset(to, 0, size);
}

int krping_dma_map_sg(struct ib_device *device, struct scatterlist *sg,
		      int count, bool to_device)
{
	return ib_dma_map_sg(device, sg, count,
			     to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

void krping_dma_unmap_sg(struct ib_device *device, struct scatterlist *sg,
			 int count, bool to_device)
{
	ib_dma_unmap_sg(device, sg, count,
			to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
}

int krping_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int count)
{
	return ib_map_mr_sg(mr, sg, count, NULL, PAGE_SIZE);
}

unsigned int krping_max_dma_segment(struct ib_device *device)
{
	return ib_dma_max_seg_size(device);
}

size_t krping_max_dma_mapping(struct ib_device *device)
{
	return dma_max_mapping_size(device->dma_device);
}

int krping_map_mr(struct ib_mr *mr, const struct ib_sge *parts,
		  unsigned int count)
{
	struct scatterlist sg[KRPING_MR_PARTS];
	unsigned int i;

	if (!count || count > KRPING_MR_PARTS)
		return -EINVAL;
	/* Already mapped for DMA: only the address and the length are read. */
	sg_init_table(sg, count);
	for (i = 0; i < count; i++) {
		sg_dma_address(&sg[i]) = parts[i].addr;
		sg_dma_len(&sg[i]) = parts[i].length;
	}
	return ib_map_mr_sg(mr, sg, count, NULL, PAGE_SIZE);
}

/* In rust/kernel_ext/blk/disk.rs. */
int krping_disk_open(struct gendisk *disk, blk_mode_t mode);

const struct block_device_operations krping_disk_operations = {
	.owner = THIS_MODULE,
	.open = krping_disk_open,
};

static ssize_t serial_show(struct device *dev, struct device_attribute *attr,
			   char *page)
{
	struct krping_disk *disk = dev_to_disk(dev)->private_data;

	return sysfs_emit(page, "%s\n", disk->serial);
}

static DEVICE_ATTR_RO(serial);

static struct attribute *krping_disk_attrs[] = {
	&dev_attr_serial.attr,
	NULL,
};

ATTRIBUTE_GROUPS(krping_disk);

int krping_add_disk(struct gendisk *disk)
{
	return device_add_disk(NULL, disk, krping_disk_groups);
}

int krping_disk_lock(struct gendisk *disk)
{
	return mutex_lock_killable(&disk->open_mutex);
}

void krping_disk_unlock(struct gendisk *disk)
{
	mutex_unlock(&disk->open_mutex);
}

void krping_name_disk(struct gendisk *disk, unsigned int number)
{
	snprintf(disk->disk_name, DISK_NAME_LEN, "krping%u", number);
}

unsigned int krping_disk_openers(struct gendisk *disk)
{
	return disk_openers(disk);
}

unsigned int krping_noio_save(void)
{
	return memalloc_noio_save();
}

void krping_noio_restore(unsigned int flags)
{
	memalloc_noio_restore(flags);
}

unsigned int krping_possible_cpus(void)
{
	return num_possible_cpus();
}

bool krping_request_is_timed(struct request *rq)
{
	return rq->rq_flags & RQF_IO_STAT;
}

bool krping_request_is_repeated(struct request *rq)
{
	return rq->rq_flags & RQF_DONTPREP;
}

void krping_mark_repeated(struct request *rq)
{
	rq->rq_flags |= RQF_DONTPREP;
}

void *krping_request_data(struct request *rq)
{
	return blk_mq_rq_to_pdu(rq);
}

void krping_copy_request(struct request *rq, char *to)
{
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		memcpy_from_bvec(to, &bvec);
		to += bvec.bv_len;
	}
}

void krping_fill_request(struct request *rq, const char *from)
{
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		memcpy_to_bvec(&bvec, from);
		from += bvec.bv_len;
	}
}

void krping_spin_lock_bh(spinlock_t *lock)
{
	spin_lock_bh(lock);
}

void krping_spin_unlock_bh(spinlock_t *lock)
{
	spin_unlock_bh(lock);
}

int krping_spin_trylock_bh(spinlock_t *lock)
{
	return spin_trylock_bh(lock);
}

unsigned long krping_spin_lock_irqsave(spinlock_t *lock)
{
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	return flags;
}

void krping_spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	spin_unlock_irqrestore(lock, flags);
}

int krping_spin_trylock_irqsave(spinlock_t *lock, unsigned long *flags)
{
	return spin_trylock_irqsave(lock, *flags);
}

struct task_struct *krping_kthread_run(int (*fn)(void *data), void *data,
				       const char *name)
{
	struct task_struct *task = kthread_create(fn, data, "%s", name);

	/* Held until it is joined, however early the thread returns. */
	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
	}
	return task;
}

void krping_put_task(struct task_struct *task)
{
	put_task_struct(task);
}

bool krping_cpu_online(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

int krping_run_on(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids)
		return -EINVAL;
	return set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

void *krping_alloc_pages(size_t size)
{
	return alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
}

void *krping_pde_data(const struct inode *inode)
{
	return pde_data(inode);
}

void krping_init_completion(struct completion *done)
{
	init_completion(done);
}

bool krping_capable_net_admin(void)
{
	return capable(CAP_NET_ADMIN);
}

bool krping_capable_sys_admin(void)
{
	return capable(CAP_SYS_ADMIN);
}

int krping_memory_locked_down(void)
{
	return security_locked_down(LOCKDOWN_DEV_MEM);
}

/* By the freezer of control groups. */
bool krping_task_frozen(struct task_struct *task)
{
	return cgroup_task_frozen(task);
}

unsigned long krping_jiffies(void)
{
	return jiffies;
}

bool krping_single_task_running(void)
{
	return single_task_running();
}

void krping_cond_resched(void)
{
	cond_resched();
	cpu_relax();
}

loff_t krping_file_size(struct file *file)
{
	return i_size_read(file->f_mapping->host);
}

unsigned int krping_file_zeroes_sectors(struct file *file)
{
	return bdev_write_zeroes_sectors(file_bdev(file));
}

unsigned int krping_file_block_size(struct file *file)
{
	return bdev_logical_block_size(file_bdev(file));
}

/*
 * From now on what is read and written goes past the page cache. For a file that
 * nobody has used yet. @memory and @offset are what both must be aligned to.
 */
int krping_file_go_direct(struct file *file, u32 *memory, u32 *offset)
{
	struct kstat stat;
	int ret;

	if (!(file->f_mode & FMODE_CAN_ODIRECT))
		return -EOPNOTSUPP;
	ret = vfs_getattr(&file->f_path, &stat, STATX_DIOALIGN, AT_STATX_SYNC_AS_STAT);
	if (ret)
		return ret;
	if (stat.result_mask & STATX_DIOALIGN) {
		*memory = stat.dio_mem_align;
		*offset = stat.dio_offset_align;
	} else {
		*memory = file_inode(file)->i_sb->s_blocksize;
		*offset = *memory;
	}
	/* So a file says that has none, though its file system has. */
	if (!*memory || !*offset)
		return -EOPNOTSUPP;
	spin_lock(&file->f_lock);
	file->f_flags |= O_DIRECT;
	file->f_iocb_flags = iocb_flags(file);
	spin_unlock(&file->f_lock);
	return 0;
}

bool krping_file_has_cache(struct file *file)
{
	return bdev_write_cache(file_bdev(file));
}

/* Memory as a device wants it, which direct I/O may give it to. */
ssize_t krping_file_move(struct file *file, void *memory, size_t len, loff_t *at,
			 bool write)
{
	struct bio_vec vec;
	struct iov_iter iter;

	bvec_set_virt(&vec, memory, len);
	iov_iter_bvec(&iter, write ? ITER_SOURCE : ITER_DEST, &vec, 1, len);
	return write ? vfs_iter_write(file, &iter, at, 0) :
		       vfs_iter_read(file, &iter, at, 0);
}

int krping_truncate(struct file *file, loff_t size)
{
	return vfs_truncate(&file->f_path, size);
}

void krping_throttle_locally(void)
{
	current->flags |= PF_LOCAL_THROTTLE;
}

/* Returns when no probe runs any more that has been unregistered. */
void krping_settle_tracepoints(void)
{
	tracepoint_synchronize_unregister();
}

/* For what may be too large: then it fails, and nothing is killed for it. */
void *krping_vmalloc(size_t size)
{
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
			 __GFP_RETRY_MAYFAIL);
}

void krping_vfree(const void *start)
{
	vfree(start);
}

void krping_current_comm(char *to)
{
	strscpy_pad(to, current->comm, TASK_COMM_LEN);
}

struct block_device *krping_file_bdev(const struct file *file)
{
	return I_BDEV(file->f_mapping->host);
}

bool krping_file_bdev_is_there(const struct file *file)
{
	return !inode_unhashed(file->f_mapping->host);
}

/* Those of zoned disks may leave it to the disk where they go. */
bool krping_bdev_has_requests(struct block_device *bdev)
{
	return queue_is_mq(bdev_get_queue(bdev)) && !bdev_is_zoned(bdev);
}

struct request_queue *krping_bdev_queue(struct block_device *bdev)
{
	return bdev_get_queue(bdev);
}

u64 krping_bdev_start(struct block_device *bdev)
{
	return get_start_sect(bdev) << SECTOR_SHIFT;
}

u64 krping_bdev_size(struct block_device *bdev)
{
	return bdev_nr_bytes(bdev);
}

unsigned int krping_bdev_block(struct block_device *bdev)
{
	return bdev_logical_block_size(bdev);
}

u32 krping_rq_op(const struct request *rq)
{
	return (__force u32)req_op(rq);
}

bool krping_rq_is_fua(const struct request *rq)
{
	return rq->cmd_flags & REQ_FUA;
}

u64 krping_rq_offset(const struct request *rq)
{
	return blk_rq_pos(rq) << SECTOR_SHIFT;
}

unsigned int krping_rq_bytes(const struct request *rq)
{
	return blk_rq_bytes(rq);
}

/* Copy LEN bytes of a write's data from SKIP on, and return how many there were. */
size_t krping_rq_copy(struct request *rq, size_t skip, void *to, size_t len)
{
	struct req_iterator iter;
	struct bio_vec bvec;
	size_t copied = 0;

	rq_for_each_segment(bvec, rq, iter) {
		/* The loop goes on behind bvec, which so must stay as it is. */
		struct bio_vec part = bvec;
		size_t over = min_t(size_t, skip, bvec.bv_len);

		skip -= over;
		part.bv_offset += over;
		part.bv_len = min_t(size_t, bvec.bv_len - over, len - copied);
		memcpy_from_bvec(to + copied, &part);
		copied += part.bv_len;
		if (copied == len)
			return copied;
	}
	return copied;
}
