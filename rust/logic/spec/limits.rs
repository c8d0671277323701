// SPDX-License-Identifier: GPL-2.0

//! Ranges and defaults of options that take a number.

use crate::logic::measure::sizes;
use core::ops::RangeInclusive;

/// The port without `port=`.
pub(crate) const DEFAULT_PORT: u16 = 9999;
/// The port of a loopback without `port=`: the kernel picks a free one.
pub(crate) const ANY_PORT: u16 = 0;
/// The size of the data without `size=`, in bytes.
pub(crate) const DEFAULT_SIZE: u32 = 64;
/// The depth of the send queue without `txdepth=`.
pub(crate) const DEFAULT_TXDEPTH: u32 = 64;
/// The most that `txdepth=` takes.
pub(crate) const MOST_TXDEPTH: u32 = 65536;
/// The most that `sge=` takes.
pub(crate) const MOST_SGE: u32 = 16;
/// The most buffers of each side of a microbenchmark, and regions that these are in.
pub(crate) const MOST_BUFFERS: u16 = 4096;
/// The most that `qps=` takes.
pub(crate) const MOST_QPS: u32 = 256;
/// The most that `depth=` takes.
pub(crate) const MOST_DEPTH: u32 = 1024;

/// The most that `segs=` takes.
pub(crate) const MOST_SEGS: u32 = 16;
/// The bytes of a page, in which `segs=` and `offset=` count.
pub(crate) const RW_PAGE: u32 = 4096;
/// The most bytes of a transfer and of what is before it in its first page: one registration of
/// the kernel's rdma_rw contexts covers as much.
pub(crate) const MOST_RW: u32 = 256 * RW_PAGE;

pub(crate) const PORT: RangeInclusive<u64> = 1..=65535;
pub(crate) const COUNT: RangeInclusive<u64> = 0..=u64::MAX;
pub(crate) const SIZE: RangeInclusive<u64> = 1..=0xffff_ffff;
/// The size of a transfer.
pub(crate) const RW_SIZE: RangeInclusive<u64> = 1..=MOST_RW as u64;
pub(crate) const MAX_MEMORY: RangeInclusive<u64> = 4096..=u64::MAX;
pub(crate) const TOS: RangeInclusive<u64> = 0..=255;
/// The range of a flow label, of 20 bits; 0 is none.
pub(crate) const FLOW_LABEL: RangeInclusive<u64> = 1..=0xf_ffff;
/// The range of a time in the transport's encoding, of five bits.
pub(crate) const TRANSPORT_TIMER: RangeInclusive<u64> = 0..=31;
/// The range of a number of repetitions, of three bits.
pub(crate) const RETRIES: RangeInclusive<u64> = 0..=7;
pub(crate) const TXDEPTH: RangeInclusive<u64> = 1..=MOST_TXDEPTH as u64;
pub(crate) const THREADS: RangeInclusive<u64> = 1..=1024;
pub(crate) const TIMEOUT_MS: RangeInclusive<u64> = 1..=3_600_000;
pub(crate) const START_AT_NS: RangeInclusive<u64> = 1..=i64::MAX as u64;
pub(crate) const INTERVAL_MS: RangeInclusive<u64> = 1..=3_600_000;
/// The range of a keepalive interval: a third of a timeout.
pub(crate) const ALIVE_MS: RangeInclusive<u64> = 1..=1_200_000;
/// The seconds in which each queue pair must have an operation with `rate=`: no side is silent for
/// longer.
pub(crate) const MOST_PERIOD_S: u32 = 1_199;
pub(crate) const DURATION_S: RangeInclusive<u64> = 1..=86400;
pub(crate) const RATE: RangeInclusive<u64> = 1..=1_000_000_000;
pub(crate) const QPS: RangeInclusive<u64> = 1..=MOST_QPS as u64;
pub(crate) const POSTLIST: RangeInclusive<u64> = 1..=1024;
pub(crate) const SIGNAL_EVERY: RangeInclusive<u64> = 1..=1024;
pub(crate) const SGE: RangeInclusive<u64> = 1..=MOST_SGE as u64;
pub(crate) const WEIGHT: RangeInclusive<u64> = 1..=sizes::MOST_WEIGHT as u64;
pub(crate) const BUFFERS: RangeInclusive<u64> = 1..=MOST_BUFFERS as u64;
pub(crate) const SEGS: RangeInclusive<u64> = 1..=MOST_SEGS as u64;
pub(crate) const OFFSET: RangeInclusive<u64> = 0..=RW_PAGE as u64 - 1;
pub(crate) const MAX_P99_NS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// The number of a command.
pub(crate) const COMMAND: RangeInclusive<u64> = 1..=u32::MAX as u64;
/// The connections of a disk without `queues=`.
pub(crate) const DEFAULT_QUEUES: u16 = 1;
/// The requests on each connection of a disk without `depth=`.
pub(crate) const DEFAULT_DEPTH: u16 = 128;
/// The seconds for which a disk tries to reconnect without `reconnect=`.
pub(crate) const DEFAULT_RECONNECT_S: u32 = 30;
/// The bytes of a tap's ring without `size=`.
pub(crate) const DEFAULT_RING: u64 = 16 << 20;
/// The bytes of a sector, of which the size of a store is a multiple.
pub(crate) const SECTOR: u64 = 512;
/// The most bytes of a disk: the kernel has signed offsets.
pub(crate) const MOST_BYTES: u64 = (i64::MAX as u64) & !(SECTOR - 1);

pub(crate) const STORE: RangeInclusive<u64> = 4096..=MOST_BYTES;
pub(crate) const RING: RangeInclusive<u64> = 1 << 20..=1 << 30;
pub(crate) const QUEUES: RangeInclusive<u64> = 1..=64;
pub(crate) const DEPTH: RangeInclusive<u64> = 1..=MOST_DEPTH as u64;
pub(crate) const RECONNECT_S: RangeInclusive<u64> = 0..=86400;
pub(crate) const REQUEST_TIMEOUT_S: RangeInclusive<u64> = 0..=86400;
pub(crate) const DISK: RangeInclusive<u64> = 0..=0xffff_ffff;
pub(crate) const SPIN_US: RangeInclusive<u64> = 1..=1_000_000;
/// The NUMA nodes that a kernel can be configured for.
pub(crate) const NODE: RangeInclusive<u64> = 0..=1023;
pub(crate) const RECVS: RangeInclusive<u64> = 1..=16384;
pub(crate) const SRQ: RangeInclusive<u64> = 2..=16384;
/// The bytes of a stream's ring and of its send buffer without `rbuf=` and `sbuf=`.
pub(crate) const DEFAULT_STREAM_BUFFER: u32 = 256 << 10;
/// The most bytes of a direct write of a stream, all of which are compared at once.
pub(crate) const MOST_DIRECT: u32 = 8 << 20;
/// The receives of a stream without `rqdepth=`: those of rsocket.
pub(crate) const DEFAULT_RQDEPTH: u16 = 384;
/// A ring has two halves.
pub(crate) const STREAM_BUFFER: RangeInclusive<u64> = 2..=1 << 30;
/// Credits are counted modulo 2^16.
pub(crate) const RQDEPTH: RangeInclusive<u64> = 1..=65534;
/// The messages under way on a connection without `inflight=`.
pub(crate) const DEFAULT_INFLIGHT: u16 = 4;
/// The bytes of a chunk of messages without `chunk=`.
pub(crate) const DEFAULT_CHUNK: u32 = 16 << 10;
/// The chunks of a pool without `chunks=`.
pub(crate) const DEFAULT_CHUNKS: u32 = 1024;
pub(crate) const CONNS: RangeInclusive<u64> = 1..=256;
pub(crate) const INFLIGHT: RangeInclusive<u64> = 1..=1024;
/// A chunk has more room than a header takes.
pub(crate) const CHUNK: RangeInclusive<u64> = 64..=1 << 20;
/// Some to receive with, and some to send.
pub(crate) const CHUNKS: RangeInclusive<u64> = 4..=16384;
pub(crate) const MIN_BW: RangeInclusive<u64> = 1..=u64::MAX;
