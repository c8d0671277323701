// SPDX-License-Identifier: GPL-2.0

//! Memory that a device works on: protection domain, buffers, registrations.
//!
//! A [`Memory`] owns all that a queue pair may name in a work request, and the
//! queue pair owns the `Memory`. Work requests name buffers and regions by their
//! place in it, so none can refer to memory that is gone: the queue pair is
//! drained and destroyed first, then the regions, the mappings, the pages and
//! the protection domain, in the order of the fields here; a [`Domain`] may be that
//! of several, and goes with the last.
//!
//! A peer can change an exposed buffer at any time, so no reference to its bytes
//! exists: [`Memory::read`] and [`Memory::write`] copy, and [`Memory::fill`] and
//! [`Memory::inspect`] take it word by word.

mod budget;
mod buffer;
mod domain;
mod region;
mod request;
mod sink;
mod words;

pub(crate) use budget::Budget;
pub(crate) use domain::Domain;

use budget::Charge;
use buffer::Buffer;
use domain::ProtectionDomain;
use region::Cover;
pub(crate) use region::Region;

use crate::{
    bindings,
    cm::CmId,
    kernel_ext::pages::Contiguous,
    logic::{
        data::place::{
            Owner,
            Place, //
        },
        wire::Advertisement, //
    }, //
};
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

/// How many memories have been made, modulo 2^32.
static MEMORIES: Atomic<u32> = Atomic::new(0);

/// The number of a memory that is being made.
fn next_owner() -> Owner {
    Owner(MEMORIES.fetch_add(1, Relaxed))
}

/// What a peer may do with a registered buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing; this side reads from and writes to it.
    Local,
    /// RDMA READ.
    RemoteRead,
    /// RDMA WRITE.
    RemoteWrite,
    /// RDMA READ and RDMA WRITE.
    Remote,
}

impl Access {
    pub(crate) fn flags(self) -> bindings::ib_access_flags {
        match self {
            Self::Local => bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE,
            Self::RemoteRead => bindings::ib_access_flags_IB_ACCESS_REMOTE_READ,
            Self::RemoteWrite => {
                bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE
                    | bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE
            }
            Self::Remote => Self::RemoteRead.flags() | Self::RemoteWrite.flags(),
        }
    }
}

/// A buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferId(Place);

/// A memory region of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionId(Place);

/// All memory of one queue pair. Fields are in drop order.
pub(crate) struct Memory {
    regions: KVec<Region>,
    buffers: KVVec<Buffer>,
    pd: Arc<ProtectionDomain>,
    /// What its buffers are charged to.
    budget: Option<Arc<Budget>>,
    /// By which it tells its own buffers and regions from those of others.
    owner: Owner,
    /// On the device of the domain.
    id: Arc<CmId>,
}

// SAFETY: The verbs on these objects may be called from any task, one at a time
// for each object, which `&mut` ensures.
unsafe impl Send for Memory {}

impl Memory {
    /// Allocates a protection domain on the device of `id`. May sleep.
    ///
    /// With `unsafe_global_rkey` the domain has a key that opens all of this
    /// machine's memory to the peer.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; what the device says.
    pub(crate) fn new(id: &Arc<CmId>, unsafe_global_rkey: bool) -> Result<Self> {
        let flags = if unsafe_global_rkey {
            bindings::ib_pd_flags_IB_PD_UNSAFE_GLOBAL_RKEY
        } else {
            0
        };
        Ok(Self {
            regions: KVec::new(),
            buffers: KVVec::new(),
            pd: ProtectionDomain::new(id, flags)?,
            budget: None,
            owner: next_owner(),
            id: id.clone(),
        })
    }

    /// Makes a memory for a queue pair of `id` in a domain that there is already.
    ///
    /// # Errors
    ///
    /// `EXDEV` where `id` is bound to another device than the domain's.
    pub(crate) fn within(domain: &Domain, id: &Arc<CmId>) -> Result<Self> {
        if id.device()?.as_ptr() != domain.0.id.device()?.as_ptr() {
            return Err(EXDEV);
        }
        Ok(Self {
            regions: KVec::new(),
            buffers: KVVec::new(),
            pd: domain.0.clone(),
            budget: None,
            owner: next_owner(),
            id: id.clone(),
        })
    }

    /// Charges the buffers that are added from now on to `budget`.
    pub(crate) fn charge_to(&mut self, budget: Option<Arc<Budget>>) {
        self.budget = budget;
    }

    /// Adds a zeroed buffer of `size` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EDQUOT` where its budget does not have so much; `EINVAL` for a size of 0 or
    /// more than can be contiguous.
    pub(crate) fn add_buffer(&mut self, size: usize) -> Result<BufferId> {
        Ok(self.add_shared(size)?.0)
    }

    /// As [`add_buffer`](Self::add_buffer), and returns the memory for others to hold, too.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn add_shared(&mut self, size: usize) -> Result<(BufferId, Arc<Contiguous>)> {
        // Before there is anything to charge for.
        let charge = match &self.budget {
            Some(budget) => Some(budget.charge(size)?),
            None => None,
        };
        let memory = Arc::new(Contiguous::new(size)?, GFP_KERNEL)?;
        Ok((self.push_buffer(memory.clone(), charge)?, memory))
    }

    /// Adds memory of somebody else's, which is charged to no budget. May sleep.
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

    fn buffer(&self, id: BufferId) -> Result<&Buffer> {
        self.owner.get(&self.buffers, id.0).ok_or(EINVAL)
    }

    /// Adds a region over exactly `buffer`, not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the device cannot cover the buffer.
    pub(crate) fn add_region(&mut self, buffer: BufferId) -> Result<RegionId> {
        let size = self.buffer(buffer)?.size;
        self.add_region_over(buffer, size)
    }

    /// As [`Self::add_region`], over no more than the first `size` bytes of `buffer`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the buffer has less, or the device cannot cover it.
    pub(crate) fn add_region_over(&mut self, buffer: BufferId, size: usize) -> Result<RegionId> {
        let buffer = self.buffer(buffer)?;
        buffer.check(0, size)?;
        let part = bindings::ib_sge {
            addr: buffer.dma,
            length: size as u32,
            lkey: 0,
        };
        let region = self.allocate_region(size.div_ceil(PAGE_SIZE) as u32, Cover::Buffer)?;
        // SAFETY: The region is ours and not in use; the buffer is mapped.
        if unsafe { bindings::krping_map_mr(region.registration.as_ptr(), &part, 1) } != 1 {
            return Err(EINVAL);
        }
        self.push_region(region)
    }

    /// The raw domain, valid while `self` lives.
    pub(super) fn pd(&self) -> *mut bindings::ib_pd {
        self.pd.raw.as_ptr()
    }

    /// The identifier through which all this was made.
    pub(super) fn id(&self) -> &Arc<CmId> {
        &self.id
    }

    /// The key by which this side names memory of `region`; without one the local
    /// DMA lkey, good for all buffers.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(super) fn lkey(&self, region: Option<RegionId>) -> Result<u32> {
        Ok(match region {
            // SAFETY: The domain is alive, and its keys do not change.
            None => unsafe { (*self.pd()).local_dma_lkey },
            // SAFETY: The region is alive; its keys change under `&mut` only.
            Some(region) => unsafe { (*self.mr(region)?).lkey },
        })
    }

    /// The DMA address of `len` bytes at `offset` of `buffer`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within it.
    pub(super) fn dma(&self, buffer: BufferId, offset: usize, len: usize) -> Result<u64> {
        let buffer = self.buffer(buffer)?;
        buffer.check(offset, len)?;
        Ok(buffer.dma.wrapping_add(offset as u64))
    }

    /// The address of the first `len` bytes of `buffer` as the CPU sees them, for
    /// requests that hold their data themselves.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within it.
    pub(super) fn cpu_address(&self, buffer: BufferId, len: usize) -> Result<u64> {
        let buffer = self.buffer(buffer)?;
        buffer.check(0, len)?;
        Ok(buffer.memory.as_ptr() as u64)
    }

    /// Whether the sink of an RDMA READ must be a region of its own. Where not, the local
    /// DMA lkey does as well.
    pub(crate) fn sink_needs_region(&self) -> bool {
        self.id()
            .device()
            .is_ok_and(|device| device.read_needs_rkey())
    }

    /// Whether what the device sends must not change until the peer has it.
    pub(crate) fn checksums_in_place(&self) -> bool {
        self.id()
            .device()
            .is_ok_and(|device| device.checksums_in_place())
    }

    /// What a region must be registered for, to be the sink of an RDMA READ: nothing but
    /// [`Access::Local`], or as if the peer were to write there.
    pub(crate) fn sink_access(&self) -> Access {
        if self.sink_needs_region() {
            Access::RemoteWrite
        } else {
            Access::Local
        }
    }

    /// The raw region, valid while `self` lives.
    pub(super) fn mr(&self, region: RegionId) -> Result<*mut bindings::ib_mr> {
        Ok(self.region(region)?.registration.as_ptr())
    }

    /// The key by which a peer, or this side, names `region`.
    pub(crate) fn key(&self, region: RegionId) -> Result<u32> {
        // SAFETY: The region is alive; its key changes only under `&mut self`.
        Ok(unsafe { (*self.region(region)?.registration.as_ptr()).rkey })
    }

    /// What to tell the peer of `region`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(crate) fn advertise(&self, region: RegionId) -> Result<Advertisement> {
        Ok(self.region(region)?.registration.advertisement())
    }

    /// What to tell the peer of `buffer` with the unsafe global rkey.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer of another memory.
    pub(crate) fn advertise_global(&self, buffer: BufferId) -> Result<Advertisement> {
        let buffer = self.buffer(buffer)?;
        Ok(Advertisement {
            addr: buffer.dma,
            // SAFETY: The domain is alive, and its keys do not change.
            rkey: unsafe { (*self.pd()).unsafe_global_rkey },
            size: buffer.size as u32,
        })
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

    /// Lets the CPU see what the device has put into a buffer that others hold too.
    /// Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn sync_for_cpu(&self, buffer: BufferId, offset: usize, len: usize) -> Result {
        let buffer = self.buffer(buffer)?;
        buffer.sync_for_cpu(offset, len)
    }

    /// Lets the device see what was put into a buffer that others hold too. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn sync_for_device(&self, buffer: BufferId, offset: usize, len: usize) -> Result {
        let buffer = self.buffer(buffer)?;
        buffer.sync_for_device(offset, len)
    }
}
