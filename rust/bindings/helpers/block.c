// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/device.h>
#include <linux/sysfs.h>
#include <linux/tracepoint.h>

#include "../helpers.h"

/* In rust/kernel_ext/blk/disk.rs. */
int rust_helper_disk_open(struct gendisk *disk);

static int disk_open(KRPING_OPENED *opened, blk_mode_t mode)
{
	return rust_helper_disk_open(KRPING_DISK(opened));
}

const struct block_device_operations rust_helper_disk_operations = {
	.owner = THIS_MODULE,
	.open = disk_open,
};

static ssize_t serial_show(struct device *dev, struct device_attribute *attr,
			   char *page)
{
	struct rust_helper_disk *disk = dev_to_disk(dev)->private_data;

	return sysfs_emit(page, "%s\n", disk->serial);
}

static DEVICE_ATTR_RO(serial);

static ssize_t tag_show(struct device *dev, struct device_attribute *attr,
			char *page)
{
	struct rust_helper_disk *disk = dev_to_disk(dev)->private_data;

	return sysfs_emit(page, "%s\n", disk->tag);
}

static DEVICE_ATTR_RO(tag);

static struct attribute *rust_helper_disk_attrs[] = {
	&dev_attr_serial.attr,
	&dev_attr_tag.attr,
	NULL,
};

ATTRIBUTE_GROUPS(rust_helper_disk);

struct gendisk *rust_helper_alloc_disk(struct blk_mq_tag_set *set, struct queue_limits *limits,
				       bool cache, bool stable, void *data,
				       struct lock_class_key *key)
{
	return krping_alloc_disk(set, limits, cache, stable, data, key);
}

int rust_helper_add_disk(struct gendisk *disk)
{
	return device_add_disk(NULL, disk, rust_helper_disk_groups);
}

int rust_helper_disk_lock(struct gendisk *disk)
{
	return mutex_lock_killable(&disk->open_mutex);
}

void rust_helper_disk_unlock(struct gendisk *disk)
{
	mutex_unlock(&disk->open_mutex);
}

unsigned int rust_helper_disk_openers(struct gendisk *disk)
{
	return disk_openers(disk);
}

bool rust_helper_request_is_timed(struct request *rq)
{
	return rq->rq_flags & RQF_IO_STAT;
}

bool rust_helper_request_is_repeated(struct request *rq)
{
	return rq->rq_flags & RQF_DONTPREP;
}

void rust_helper_mark_repeated(struct request *rq)
{
	rq->rq_flags |= RQF_DONTPREP;
}

void *rust_helper_request_data(struct request *rq)
{
	return blk_mq_rq_to_pdu(rq);
}

void rust_helper_copy_request(struct request *rq, char *to)
{
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		memcpy_from_bvec(to, &bvec);
		to += bvec.bv_len;
	}
}

void rust_helper_fill_request(struct request *rq, const char *from)
{
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		memcpy_to_bvec(&bvec, from);
		from += bvec.bv_len;
	}
}

/* Wait until no unregistered probe runs any more. */
void rust_helper_settle_tracepoints(void)
{
	tracepoint_synchronize_unregister();
}

/* Writes to zoned disks may leave their position to the disk. */
bool rust_helper_bdev_has_requests(struct block_device *bdev)
{
	return queue_is_mq(bdev_get_queue(bdev)) && !bdev_is_zoned(bdev);
}

struct request_queue *rust_helper_bdev_queue(struct block_device *bdev)
{
	return bdev_get_queue(bdev);
}

u64 rust_helper_bdev_start(struct block_device *bdev)
{
	return get_start_sect(bdev) << SECTOR_SHIFT;
}

u64 rust_helper_bdev_size(struct block_device *bdev)
{
	return bdev_nr_bytes(bdev);
}

unsigned int rust_helper_bdev_block(struct block_device *bdev)
{
	return bdev_logical_block_size(bdev);
}

unsigned int rust_helper_blk_rq_map_sg(struct request *rq, struct scatterlist *list)
{
	struct scatterlist *last = NULL;

	return krping_blk_rq_map_sg(rq, list, &last);
}

u32 rust_helper_rq_op(const struct request *rq)
{
	return (__force u32)req_op(rq);
}

bool rust_helper_rq_is_fua(const struct request *rq)
{
	return rq->cmd_flags & REQ_FUA;
}

u64 rust_helper_rq_offset(const struct request *rq)
{
	return blk_rq_pos(rq) << SECTOR_SHIFT;
}

unsigned int rust_helper_rq_bytes(const struct request *rq)
{
	return blk_rq_bytes(rq);
}

/* Copy LEN bytes of a write's data, starting at SKIP. Returns the number copied. */
size_t rust_helper_rq_copy(struct request *rq, size_t skip, void *to, size_t len)
{
	struct req_iterator iter;
	struct bio_vec bvec;
	size_t copied = 0;

	rq_for_each_segment(bvec, rq, iter) {
		/* The loop continues after bvec, so bvec must not change. */
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
