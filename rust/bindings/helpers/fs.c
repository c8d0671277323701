// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/stat.h>
#include <linux/statfs.h>
#include <linux/uio.h>

#include "../helpers.h"

void *rust_helper_pde_data(const struct inode *inode)
{
	return pde_data(inode);
}

loff_t rust_helper_file_size(struct file *file)
{
	return i_size_read(file->f_mapping->host);
}

/*
 * Close @file, at the latest when the task returns to user space. In a kernel thread fput() would
 * leave it to a worker. Until that has run, the file system is busy, or the device claimed.
 */
void rust_helper_file_close(struct file *file)
{
	if (current->flags & PF_KTHREAD)
		__fput_sync(file);
	else
		fput(file);
}

struct block_device *rust_helper_file_bdev(const struct file *file)
{
	return I_BDEV(file->f_mapping->host);
}

unsigned int rust_helper_file_zeroes_sectors(struct file *file)
{
	return bdev_write_zeroes_sectors(rust_helper_file_bdev(file));
}

unsigned int rust_helper_file_block_size(struct file *file)
{
	return bdev_logical_block_size(rust_helper_file_bdev(file));
}

void rust_helper_file_io_limits(struct file *file, struct rust_helper_io_limits *to)
{
	struct block_device *bdev = rust_helper_file_bdev(file);

	to->physical = bdev_physical_block_size(bdev);
	to->minimum = bdev_io_min(bdev);
	to->optimal = bdev_io_opt(bdev);
	to->discard = bdev_discard_granularity(bdev);
}

/*
 * Make reads and writes bypass the page cache from now on. Nobody may have used the
 * file yet. Returns the required alignment of memory and of file positions in @memory
 * and @offset.
 */
int rust_helper_file_go_direct(struct file *file, u32 *memory, u32 *offset)
{
	struct kstat stat;
	int ret;

	if (!(file->f_mode & FMODE_CAN_ODIRECT))
		return -EOPNOTSUPP;
	ret = vfs_getattr(&file->f_path, &stat, STATX_DIOALIGN, AT_STATX_SYNC_AS_STAT);
	if (ret)
		return ret;
	/* Old kernels do not tell the kernel itself about devices. */
	if (S_ISBLK(stat.mode)) {
		*memory = bdev_dma_alignment(rust_helper_file_bdev(file)) + 1;
		*offset = bdev_logical_block_size(rust_helper_file_bdev(file));
	} else if (stat.result_mask & STATX_DIOALIGN) {
		*memory = stat.dio_mem_align;
		*offset = stat.dio_offset_align;
	} else {
		*memory = file_inode(file)->i_sb->s_blocksize;
		*offset = *memory;
	}
	/* The file has no direct I/O, although its file system has. */
	if (!*memory || !*offset)
		return -EOPNOTSUPP;
	spin_lock(&file->f_lock);
	file->f_flags |= O_DIRECT;
	file->f_iocb_flags = iocb_flags(file);
	spin_unlock(&file->f_lock);
	return 0;
}

bool rust_helper_file_has_cache(struct file *file)
{
	return bdev_write_cache(rust_helper_file_bdev(file));
}

/* @memory must suit devices, because direct I/O may pass it to one. */
ssize_t rust_helper_file_move(struct file *file, void *memory, size_t len, loff_t *at,
			      bool write)
{
	struct bio_vec vec;
	struct iov_iter iter;

	bvec_set_virt(&vec, memory, len);
	iov_iter_bvec(&iter, write ? ITER_SOURCE : ITER_DEST, &vec, 1, len);
	return write ? vfs_iter_write(file, &iter, at, 0) :
		       vfs_iter_read(file, &iter, at, 0);
}

int rust_helper_truncate(struct file *file, loff_t size)
{
	return vfs_truncate(&file->f_path, size);
}

bool rust_helper_file_bdev_is_there(const struct file *file)
{
	return !inode_unhashed(file->f_mapping->host);
}

int rust_helper_file_room(struct file *file, u64 *allocated, u64 *free)
{
	struct kstatfs stat;
	int ret;

	ret = vfs_statfs(&file->f_path, &stat);
	if (ret)
		return ret;
	*free = stat.f_bavail * stat.f_bsize;
	*allocated = file_inode(file)->i_blocks << SECTOR_SHIFT;
	return 0;
}

struct inode *rust_helper_file_real_inode(const struct file *file)
{
	return d_real_inode(file->f_path.dentry);
}

u64 rust_helper_inode_number(const struct inode *inode)
{
	return inode->i_ino;
}

/* 0 where the file system has no subvolumes. */
u64 rust_helper_file_subvolume(const struct file *file)
{
	struct kstat stat;

	if (vfs_getattr(&file->f_path, &stat, STATX_SUBVOL, AT_STATX_SYNC_AS_STAT))
		return 0;
	return krping_subvolume(&stat, file_inode(file)->i_sb);
}

/* Mount sysfs for the kernel alone, wherever else it is mounted. */
struct vfsmount *rust_helper_sysfs_mount(void)
{
	return kern_mount(get_fs_type("sysfs"));
}

/* Read an attribute, by its path below the root of sysfs. */
ssize_t rust_helper_sysfs_read(struct vfsmount *sysfs, const char *path, void *to, size_t len)
{
	struct file *file;
	loff_t at = 0;
	ssize_t ret;

	file = file_open_root_mnt(sysfs, path, O_RDONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, to, len, &at);
	fput(file);
	return ret;
}

/* Room for what most files hold: where it is too small, all of it is shown again. */
#define DEBUGFS_ROOM SZ_64K

static int debugfs_open(struct inode *inode, struct file *file)
{
	const struct rust_helper_debugfs_operations *ops = inode->i_private;

	return single_open_size(file, ops->show, ops->data, DEBUGFS_ROOM);
}

/* The owner keeps the module for as long as a file is open. */
static const struct file_operations debugfs_fops = {
	.owner = THIS_MODULE,
	.open = debugfs_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

struct dentry *rust_helper_debugfs_dir(const char *name)
{
	return debugfs_create_dir(name, NULL);
}

struct dentry *rust_helper_debugfs_file(const char *name, struct dentry *dir,
					const struct rust_helper_debugfs_operations *ops)
{
	return debugfs_create_file(name, 0400, dir, (void *)ops, &debugfs_fops);
}

void rust_helper_debugfs_remove(struct dentry *entry)
{
	debugfs_remove(entry);
}
