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
//! A peer can change an exposed buffer at any time, so no reference into one
//! exists: [`Memory::read`] and [`Memory::write`] copy.

mod buffer;
mod domain;
mod request;
mod sink;

pub(crate) use domain::Domain;

use buffer::Buffer;
use domain::ProtectionDomain;
use request::Segments;

use crate::{bindings, cm::CmId, kernel_ext::pages::Contiguous, logic::wire::Advertisement};
use core::ptr::NonNull;
use kernel::{error::from_err_ptr, page::PAGE_SIZE, prelude::*, sync::Arc};

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
pub(crate) struct BufferId(usize);

/// A memory region of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionId(usize);

impl RegionId {
    /// No region of any memory.
    pub(crate) const NONE: Self = Self(usize::MAX);
}

/// A fast-registration memory region, over one buffer or parts of several, or one request.
///
/// # Invariants
///
/// `raw` was allocated in the domain of the `Memory` that holds this, and is freed
/// by this object alone. It is mapped over parts of buffers of that `Memory`, or over
/// `segments`. What it is mapped over only changes while it is not valid.
struct Region {
    raw: NonNull<bindings::ib_mr>,
    /// The memory of a request, where it is not over a buffer.
    segments: Option<Segments>,
    /// The variable byte of the key, changed by each registration.
    key: u8,
    /// Whether the device takes the key as valid once it has worked off what
    /// has been posted.
    valid: bool,
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the queue pair is gone before it. What it
        // covers is unmapped after it.
        unsafe { bindings::krping_dereg_mr(self.raw.as_ptr()) };
    }
}

/// All memory of one queue pair. Fields are in drop order.
pub(crate) struct Memory {
    regions: KVec<Region>,
    buffers: KVVec<Buffer>,
    pd: Arc<ProtectionDomain>,
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
            id: id.clone(),
        })
    }

    /// Adds a zeroed buffer of `size` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a size of 0 or more than can be contiguous.
    pub(crate) fn add_buffer(&mut self, size: usize) -> Result<BufferId> {
        self.share(Arc::new(Contiguous::new(size)?, GFP_KERNEL)?)
    }

    /// Adds memory that others may hold too. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn share(&mut self, memory: Arc<Contiguous>) -> Result<BufferId> {
        self.buffers
            .push(Buffer::new(&self.id, memory)?, GFP_KERNEL)?;
        Ok(BufferId(self.buffers.len().saturating_sub(1)))
    }

    /// Adds a region over exactly `buffer`, not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the device cannot cover the buffer.
    pub(crate) fn add_region(&mut self, buffer: BufferId) -> Result<RegionId> {
        let size = self.buffers.get(buffer.0).ok_or(EINVAL)?.size;
        self.add_region_over(buffer, size)
    }

    /// As [`Self::add_region`], over no more than the first `size` bytes of `buffer`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` where the buffer has less, or the device cannot cover it.
    pub(crate) fn add_region_over(&mut self, buffer: BufferId, size: usize) -> Result<RegionId> {
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
        buffer.check(0, size)?;
        let part = bindings::ib_sge {
            addr: buffer.dma,
            length: size as u32,
            lkey: 0,
        };
        let region = self.allocate_region(size.div_ceil(PAGE_SIZE) as u32, None)?;
        // SAFETY: The region is ours and not in use; the buffer is mapped.
        if unsafe { bindings::krping_map_mr(region.raw.as_ptr(), &part, 1) } != 1 {
            return Err(EINVAL);
        }
        self.push_region(region)
    }

    /// Allocates a region for `pages` pages, mapped over nothing yet.
    fn allocate_region(&self, pages: u32, segments: Option<Segments>) -> Result<Region> {
        // SAFETY: The domain is alive.
        let raw = from_err_ptr(unsafe {
            bindings::ib_alloc_mr(
                self.pd.raw.as_ptr(),
                bindings::ib_mr_type_IB_MR_TYPE_MEM_REG,
                pages,
            )
        })?;
        // INVARIANT: Allocated just now; whoever adds it to `regions` has mapped it,
        // or maps it before it becomes valid.
        Ok(Region {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            segments,
            key: 0,
            valid: false,
        })
    }

    fn push_region(&mut self, region: Region) -> Result<RegionId> {
        self.regions.push(region, GFP_KERNEL)?;
        Ok(RegionId(self.regions.len().saturating_sub(1)))
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
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
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
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
        buffer.check(0, len)?;
        Ok(buffer.memory.as_ptr() as u64)
    }

    fn region(&self, region: RegionId) -> Result<&Region> {
        self.regions.get(region.0).ok_or(EINVAL)
    }

    /// Whether the sink of an RDMA READ must be a region of its own. Where not, the local
    /// DMA lkey does as well.
    pub(crate) fn sink_needs_region(&self) -> bool {
        self.id()
            .device()
            .is_ok_and(|device| device.read_needs_rkey())
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
        Ok(self.region(region)?.raw.as_ptr())
    }

    /// The key by which a peer, or this side, names `region`.
    pub(crate) fn key(&self, region: RegionId) -> Result<u32> {
        // SAFETY: The region is alive; its key changes only under `&mut self`.
        Ok(unsafe { (*self.region(region)?.raw.as_ptr()).rkey })
    }

    /// Whether `region` is valid once what has been posted is done.
    pub(crate) fn is_valid(&self, region: RegionId) -> bool {
        self.region(region).is_ok_and(|region| region.valid)
    }

    /// Gives `region` a new key, for its next registration.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        let region = self.regions.get_mut(region.0).ok_or(EINVAL)?;
        if region.valid {
            return Err(EINVAL);
        }
        region.key = region.key.wrapping_add(1);
        // SAFETY: The region is alive and invalid, so no device uses its key.
        unsafe { bindings::krping_update_fast_reg_key(region.raw.as_ptr(), region.key) };
        Ok(())
    }

    /// Notes that the registration of `region` is about to be posted, and
    /// returns the key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid.
    pub(super) fn registered(&mut self, region: RegionId) -> Result<u32> {
        let key = self.key(region)?;
        let region = self.regions.get_mut(region.0).ok_or(EINVAL)?;
        if region.valid {
            return Err(EINVAL);
        }
        region.valid = true;
        Ok(key)
    }

    /// Notes that a registration of `region` is about to be posted, whatever state it
    /// is in, and returns the key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(super) fn forced(&mut self, region: RegionId) -> Result<u32> {
        let key = self.key(region)?;
        if let Some(region) = self.regions.get_mut(region.0) {
            region.valid = true;
        }
        Ok(key)
    }

    /// Notes that `region` has been, or is about to be, invalidated.
    pub(crate) fn invalidated(&mut self, region: RegionId) {
        if let Some(region) = self.regions.get_mut(region.0) {
            region.valid = false;
        }
    }

    /// What to tell the peer of `region`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region of another memory.
    pub(crate) fn advertise(&self, region: RegionId) -> Result<Advertisement> {
        let mr = self.region(region)?.raw.as_ptr();
        // SAFETY: The region is alive; these change only under `&mut self`.
        unsafe {
            Ok(Advertisement {
                addr: (*mr).iova,
                rkey: (*mr).rkey,
                size: (*mr).length as u32,
            })
        }
    }

    /// What to tell the peer of `buffer` with the unsafe global rkey.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer of another memory.
    pub(crate) fn advertise_global(&self, buffer: BufferId) -> Result<Advertisement> {
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
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
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
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
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
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
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
        buffer.sync_for_cpu(offset, len)
    }

    /// Lets the device see what was put into a buffer that others hold too. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn sync_for_device(&self, buffer: BufferId, offset: usize, len: usize) -> Result {
        let buffer = self.buffers.get(buffer.0).ok_or(EINVAL)?;
        buffer.sync_for_device(offset, len)
    }
}
