// SPDX-License-Identifier: GPL-2.0

//! The memory that a queue pair's requests name: buffers and regions over them.
//!
//! A [`Memory`] owns everything that work requests refer to, and a queue pair owns its `Memory`.
//! Requests name buffers and regions by ids, which name nothing in another memory. So none can
//! refer to memory that is gone: the queue pair is drained and destroyed first, then the
//! regions, the mappings, the pages and the protection domain, in the order of the fields here.
//!
//! A peer can change exposed memory at any time, so no reference to its bytes exists:
//! [`Memory::read`] and [`Memory::write`] copy.
//!
//! - [`buffer`], [`region`] - buffers mapped for DMA, and regions over them
//! - [`segments`], [`foreign`], [`sink`] - memory of others, regions over it, and over the
//!   destinations of READs
//! - [`shared`] - what its queue pair shares with others
//! - [`transfers`] - memory that the core's contexts move
//! - [`place`], [`account`] - ids, and what buffers are charged to

mod account;
mod buffer;
mod foreign;
pub(super) mod place;
mod region;
mod segments;
mod shared;
mod sink;
mod transfers;

pub(crate) use account::Account;
pub(super) use account::Charge;
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use segments::{
    DmaDirection,
    ForeignMemory,
    NoForeign, //
};

use super::{
    cm::Id,
    cq::CompletionQueue,
    mr::Access,
    pd::ProtectionDomain, //
};
use crate::{
    bindings,
    kernel_ext::pages::{
        Contiguous,
        Node, //
    },
    rdma::{
        mr::Remote,
        rw::Transfer,
        srq::SharedReceiveQueue, //
    }, //
};
use buffer::Buffer;
use core::ops::Range;
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};
use place::{
    Owner,
    Place, //
};
pub(super) use region::Key;
use region::{
    Cover,
    Region, //
};

/// Number of memories that there have been.
static OWNERS: Atomic<u64> = Atomic::new(0);

/// Returns an owner that no other memory has had. Any context.
///
/// # Errors
///
/// `EOVERFLOW` if there have been as many as there are numbers.
fn new_owner() -> Result<Owner> {
    // It counts on where there are no more, and does not get to its own end.
    Owner::of_number(OWNERS.fetch_add(1, Relaxed)).ok_or(EOVERFLOW)
}

/// A buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferId(Place);

/// A memory region of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionId(Place);

/// All memory of one queue pair. Fields are in drop order.
///
/// `F` is the memory of others that its regions can be mapped over.
pub(crate) struct Memory<F: ForeignMemory = NoForeign> {
    regions: KVVec<Region<F>>,
    /// `None` in the place of one that somebody has taken out for a moment.
    transfers: KVVec<Option<KBox<Transfer>>>,
    buffers: KVVec<Buffer>,
    /// The receives of the queue pair, if it has none of its own.
    shared: Option<Arc<SharedReceiveQueue>>,
    /// The completion queue of the queue pair, if it has none of its own.
    completions: Option<Arc<CompletionQueue>>,
    pd: Arc<ProtectionDomain>,
    account: Option<Arc<dyn Account>>,
    /// The node that its buffers are allocated on; `None` leaves that to the allocator.
    node: Option<Node>,
    /// Bytes that a request can hold itself; 0 before there is a queue pair.
    inline: u32,
    /// Tells its own buffers and regions from those of others.
    owner: Owner,
    /// On the device of the domain.
    id: Arc<Id>,
}

// SAFETY: The verbs on these objects may be called from any task, one at a time
// for each object, which `&mut` ensures.
unsafe impl<F: ForeignMemory> Send for Memory<F> {}

impl<F: ForeignMemory> Memory<F> {
    /// Makes an empty memory for a queue pair of `id` in the domain `pd`.
    ///
    /// # Errors
    ///
    /// `EXDEV` where `id` is bound to another device than the domain's, `ENODEV` where to none;
    /// `EOVERFLOW` where there have been as many memories as can be told apart.
    pub(crate) fn new(id: &Arc<Id>, pd: Arc<ProtectionDomain>) -> Result<Self> {
        if !id.device()?.is(&pd.id().device()?) {
            return Err(EXDEV);
        }
        Ok(Self {
            regions: KVVec::new(),
            transfers: KVVec::new(),
            buffers: KVVec::new(),
            shared: None,
            completions: None,
            pd,
            account: None,
            node: None,
            inline: 0,
            owner: new_owner()?,
            id: id.clone(),
        })
    }

    /// Charges the buffers that are added from now on to `account`.
    pub(crate) fn charge_to(&mut self, account: Arc<dyn Account>) {
        self.account = Some(account);
    }

    /// Allocates the buffers and the pieces of transfers that are added from now on, on `node`, and
    /// nowhere else.
    pub(crate) fn allocate_on(&mut self, node: Node) {
        self.node = Some(node);
    }

    /// Adds a zeroed buffer of `size` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the error of [`Account::charge`]; `EINVAL` for a size of 0 or more than can be
    /// contiguous.
    pub(crate) fn add_buffer(&mut self, size: usize) -> Result<BufferId> {
        Ok(self.add_shared(size)?.0)
    }

    /// Adds a zeroed buffer of `size` bytes, and returns its pages for others to hold, too. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the error of [`Account::charge`]; `EINVAL` for a size of 0 or more than can be
    /// contiguous.
    pub(crate) fn add_shared(&mut self, size: usize) -> Result<(BufferId, Arc<Contiguous>)> {
        // Before there is anything to charge for.
        let charge = self.charge(size)?;
        let memory = Arc::new(Contiguous::new_on(size, self.node)?, GFP_KERNEL)?;
        Ok((self.push_buffer(memory.clone(), charge)?, memory))
    }

    /// Charges `size` bytes, if there is an account. May sleep.
    fn charge(&self, size: usize) -> Result<Option<Charge>> {
        let account = self.account.as_ref();
        account
            .map(|account| Charge::new(account, size))
            .transpose()
    }

    /// Adds a buffer of somebody else's, which is charged to no account. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn borrow(&mut self, memory: Arc<Contiguous>) -> Result<BufferId> {
        self.push_buffer(memory, None)
    }

    fn push_buffer(&mut self, memory: Arc<Contiguous>, charge: Option<Charge>) -> Result<BufferId> {
        let place = self.owner.place(self.buffers.len()).ok_or(ERANGE)?;
        self.buffers
            .push(Buffer::new(&self.id, memory, charge)?, GFP_KERNEL)?;
        Ok(BufferId(place))
    }

    /// Returns a buffer of its own, or of the shared receive queue.
    fn buffer(&self, id: BufferId) -> Result<&Buffer> {
        match self.owner.get(&self.buffers, id.0) {
            Some(buffer) => Ok(buffer),
            None => self.shared.as_ref().ok_or(EINVAL)?.memory().buffer(id),
        }
    }

    /// Returns true for a buffer of its own.
    pub(super) fn has(&self, id: BufferId) -> bool {
        self.owner.index(id.0).is_some()
    }

    /// Adds a region over exactly `buffer`, not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the device cannot cover the buffer.
    pub(crate) fn add_region(&mut self, buffer: BufferId) -> Result<RegionId> {
        let size = self.buffer(buffer)?.size;
        self.add_region_over(buffer, 0..size)
    }

    /// Adds a region over the bytes `range` of `buffer`, not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the buffer has less, or the device cannot cover it.
    pub(crate) fn add_region_over(
        &mut self,
        buffer: BufferId,
        range: Range<usize>,
    ) -> Result<RegionId> {
        let domain = self.pd.clone();
        self.map_region(domain, buffer, range, PAGE_SIZE)
    }

    /// Adds a region as [`add_region_over`](Self::add_region_over) does, of pages of `page_size`
    /// bytes, which the device must [have](crate::rdma::device::Device::has_pages_of). May sleep.
    ///
    /// # Errors
    ///
    /// As there; `EINVAL` for a size that is no power of 2.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn add_region_of_pages(
        &mut self,
        buffer: BufferId,
        range: Range<usize>,
        page_size: usize,
    ) -> Result<RegionId> {
        let domain = self.pd.clone();
        self.map_region(domain, buffer, range, page_size)
    }

    /// Adds a region as [`add_region_over`](Self::add_region_over) does, in the domain `pd` of the
    /// same device, which may be another than that of the memory. A device must refuse a request of
    /// the memory's queue pair that names it. May sleep.
    ///
    /// # Errors
    ///
    /// As there; `EXDEV` for a domain of another device.
    pub(crate) fn add_region_in(
        &mut self,
        pd: Arc<ProtectionDomain>,
        buffer: BufferId,
        range: Range<usize>,
    ) -> Result<RegionId> {
        if !self.id.device()?.is(&pd.id().device()?) {
            return Err(EXDEV);
        }
        self.map_region(pd, buffer, range, PAGE_SIZE)
    }

    /// Adds a region in the domain `pd` of the memory's device.
    #[inline(never)]
    fn map_region(
        &mut self,
        pd: Arc<ProtectionDomain>,
        buffer: BufferId,
        range: Range<usize>,
        page_size: usize,
    ) -> Result<RegionId> {
        if !page_size.is_power_of_two() {
            return Err(EINVAL);
        }
        let buffer = self.buffer(buffer)?;
        buffer.check(range.start, range.len())?;
        let part = bindings::ib_sge {
            addr: buffer.dma.wrapping_add(range.start as u64),
            length: range.len() as u32,
            lkey: 0,
        };
        // The first page begins where such pages do, at the buffer or in front of it.
        let skipped = buffer.dma as usize & (page_size - 1);
        let pages = skipped.saturating_add(range.end).div_ceil(page_size) as u32;
        let region = self.allocate_region(pd, pages, Cover::Buffer)?;
        let raw = region.mr.as_ptr();
        // SAFETY: The region is ours and not in use; the buffer is mapped. The device gives access
        // to the bytes of the part alone, whatever pages they are in.
        if unsafe { bindings::rust_helper_map_mr(raw, &part, 1, page_size as u32) } != 1 {
            return Err(EINVAL);
        }
        self.push_region(region)
    }

    /// Removes the last region, once the queue pair is gone; `None` where no region is left. Any
    /// context, but what is returned must be dropped, or turned into its object, where that may
    /// sleep.
    pub(super) fn pop_region(&mut self) -> Option<Region<F>> {
        self.regions.pop()
    }

    /// Returns the domain that the memory is in.
    pub(crate) fn pd(&self) -> &Arc<ProtectionDomain> {
        &self.pd
    }

    /// Returns the identifier that the memory is for.
    pub(crate) fn id(&self) -> &Arc<Id> {
        &self.id
    }

    /// Returns the number by which the memory's ids are told from others.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns the key by which this side names memory of `region`; without one the local
    /// DMA lkey, good for all buffers.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(super) fn lkey(&self, region: Option<RegionId>) -> Result<u32> {
        Ok(match region {
            None => self.pd.local_dma_lkey(),
            Some(region) => self.region(region)?.mr.lkey(),
        })
    }

    /// Returns the DMA address of `len` bytes at `offset` of `buffer`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within it.
    pub(super) fn dma(&self, buffer: BufferId, offset: usize, len: usize) -> Result<u64> {
        let buffer = self.buffer(buffer)?;
        buffer.check(offset, len)?;
        Ok(buffer.dma.wrapping_add(offset as u64))
    }

    /// Returns the address of `len` bytes at `offset` of `buffer` as the CPU sees them, for a
    /// request that holds its data itself.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within it, or a request cannot hold so many.
    pub(super) fn cpu_address(&self, buffer: BufferId, offset: usize, len: usize) -> Result<u64> {
        if len > self.inline as usize {
            return Err(EINVAL);
        }
        let buffer = self.buffer(buffer)?;
        buffer.check(offset, len)?;
        Ok((buffer.memory.as_ptr() as u64).wrapping_add(offset as u64))
    }

    /// Returns the raw region, valid while `self` lives.
    pub(super) fn mr(&self, region: RegionId) -> Result<*mut bindings::ib_mr> {
        Ok(self.region(region)?.mr.as_ptr())
    }

    /// Returns true where the sink of an RDMA READ must be a region of its own. Otherwise the
    /// local DMA lkey does as well.
    pub(crate) fn sink_needs_region(&self) -> bool {
        self.id
            .device()
            .is_ok_and(|device| device.read_sink_needs_remote_write())
    }

    /// Returns the access that a region must be registered for to be the sink of an RDMA READ.
    pub(crate) fn sink_access(&self) -> Access {
        if self.sink_needs_region() {
            Access::RemoteWrite
        } else {
            Access::Local
        }
    }

    /// Returns the key by which a peer, or this side, names `region`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(crate) fn rkey(&self, region: RegionId) -> Result<u32> {
        Ok(self.region(region)?.mr.rkey())
    }

    /// Returns the memory of `region` as a peer names it.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(crate) fn remote(&self, region: RegionId) -> Result<Remote> {
        Ok(self.region(region)?.mr.remote())
    }

    /// Returns `buffer` as a peer names it with the unsafe global rkey.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer of another memory.
    pub(crate) fn remote_global(&self, buffer: BufferId) -> Result<Remote> {
        let buffer = self.buffer(buffer)?;
        Ok(Remote {
            addr: buffer.dma,
            rkey: self.pd.unsafe_global_rkey(),
            len: buffer.size as u32,
        })
    }

    /// Returns the pages of a buffer. What the CPU reads or writes there must be
    /// [synchronised](Self::sync_for_cpu) with the device.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer of another memory.
    pub(crate) fn pages(&self, buffer: BufferId) -> Result<&Contiguous> {
        Ok(&self.buffer(buffer)?.memory)
    }

    /// Copies from a buffer what the device has put there. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer; nothing is copied.
    pub(crate) fn read(&self, buffer: BufferId, offset: usize, to: &mut [u8]) -> Result {
        let buffer = self.buffer(buffer)?;
        buffer.sync_for_cpu(offset, to.len())?;
        buffer.memory.read(offset, to)?;
        buffer.sync_for_device(offset, to.len())
    }

    /// Copies into a buffer, for the device to see. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer; nothing is copied.
    pub(crate) fn write(&mut self, buffer: BufferId, offset: usize, from: &[u8]) -> Result {
        let buffer = self.buffer(buffer)?;
        buffer.memory.write(offset, from)?;
        buffer.sync_for_device(offset, from.len())
    }

    /// Lets the CPU see what the device has put into a buffer. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn sync_for_cpu(&self, buffer: BufferId, offset: usize, len: usize) -> Result {
        self.buffer(buffer)?.sync_for_cpu(offset, len)
    }

    /// Lets the device see what the CPU has put into a buffer. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn sync_for_device(&self, buffer: BufferId, offset: usize, len: usize) -> Result {
        self.buffer(buffer)?.sync_for_device(offset, len)
    }
}
