// SPDX-License-Identifier: GPL-2.0

//! Lists of requests of one kind that are translated once and posted many times.
//!
//! A [`PreparedList`] holds as many requests as a list has, in the form that `ib_post_send()`
//! takes; each post only says how many of them, and which ask for a completion. Where they differ
//! in their memory, they can be a ring: a post takes those that follow the ones before.

use super::{
    atomic::AtomicOp,
    chain::{
        flag,
        header, //
    },
    Local, //
};
use crate::{
    bindings,
    rdma::{
        memory::{
            place::Owner,
            ForeignMemory,
            Memory, //
        },
        mr::Remote, //
        qp::unreliable::Datagram,
    }, //
};
use core::mem::{
    discriminant,
    ManuallyDrop, //
};
use kernel::prelude::*;

/// The operation of the requests of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum Operation {
    /// SEND.
    Send,
    /// RDMA WRITE to the peer's memory.
    Write(Remote),
    /// RDMA WRITE with immediate data, which raises a completion at the peer.
    WriteImmediate(Remote),
    /// RDMA READ of the peer's memory.
    Read(Remote),
    /// An atomic operation on the peer's memory.
    Atomic(Remote, AtomicOp),
    /// Atomic compare-and-swaps that count: each expects the number of those before it.
    CountingSwap(Remote),
}

impl Operation {
    fn opcode(self) -> bindings::ib_wr_opcode {
        match self {
            Self::Send => bindings::ib_wr_opcode_IB_WR_SEND,
            Self::Write(_) => bindings::ib_wr_opcode_IB_WR_RDMA_WRITE,
            Self::WriteImmediate(_) => bindings::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM,
            Self::Read(_) => bindings::ib_wr_opcode_IB_WR_RDMA_READ,
            Self::Atomic(_, op) => op.opcode(),
            Self::CountingSwap(_) => AtomicOp::CompareSwap(0, 1).opcode(),
        }
    }

    /// Returns the opcode of a request that carries immediate data.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an operation that has none.
    fn opcode_with_immediate(self) -> Result<bindings::ib_wr_opcode> {
        match self {
            Self::Send => Ok(bindings::ib_wr_opcode_IB_WR_SEND_WITH_IMM),
            Self::WriteImmediate(_) => Ok(self.opcode()),
            Self::Write(_) | Self::Read(_) | Self::Atomic(..) | Self::CountingSwap(_) => {
                Err(EINVAL)
            }
        }
    }

    /// Returns the request, for the queue pair of `datagram` where there is one, in C's form.
    fn request(self, wr: bindings::ib_send_wr, datagram: Option<Datagram>) -> Result<Raw> {
        if let Some(datagram) = datagram {
            if self != Self::Send {
                return Err(EINVAL);
            }
            let mut request = bindings::ib_ud_wr {
                wr,
                ..Default::default()
            };
            datagram.address(&mut request);
            return Ok(Raw {
                datagram: ManuallyDrop::new(request),
            });
        }
        let (remote_addr, rkey) = match self {
            Self::Send => (0, 0),
            // The device checks what the peer has said.
            Self::Write(remote) | Self::WriteImmediate(remote) | Self::Read(remote) => {
                (remote.addr, remote.rkey)
            }
            Self::Atomic(remote, op) => return Ok(Raw::atomic(op.request(wr, &remote))),
            Self::CountingSwap(remote) => {
                let swap = AtomicOp::CompareSwap(0, 1);
                return Ok(Raw::atomic(swap.request(wr, &remote)));
            }
        };
        Ok(Raw {
            rdma: ManuallyDrop::new(bindings::ib_rdma_wr {
                wr,
                remote_addr,
                rkey,
            }),
        })
    }
}

/// A request of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The operation.
    pub(crate) operation: Operation,
    /// The local memory.
    pub(crate) local: Local,
}

/// The facts that the requests of a list have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    /// Copy the data into the request when it is posted.
    pub(crate) inline: bool,
    /// Carry the number of the request as immediate data: 0 in the first, and 0 again after the
    /// largest. For SENDs, and for WRITEs with immediate data.
    pub(crate) numbered: bool,
    /// A post takes the requests that follow those before, and the first again after the last;
    /// otherwise each begins with the first.
    pub(crate) ring: bool,
}

/// The notifications that one request of a list asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notify {
    /// A completion on this side, of success too.
    pub(crate) signaled: bool,
    /// An event on the peer's side, where it takes a receive.
    pub(crate) solicited: bool,
}

impl Notify {
    /// A completion.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) const SIGNALED: Self = Self {
        signaled: true,
        solicited: false,
    };

    fn flags(self) -> bindings::ib_send_flags {
        let signaled = flag(self.signaled, bindings::ib_send_flags_IB_SEND_SIGNALED);
        signaled | flag(self.solicited, bindings::ib_send_flags_IB_SEND_SOLICITED)
    }
}

/// A request in C's form. All variants begin with an `ib_send_wr`.
#[repr(C)]
union Raw {
    rdma: ManuallyDrop<bindings::ib_rdma_wr>,
    atomic: ManuallyDrop<bindings::ib_atomic_wr>,
    datagram: ManuallyDrop<bindings::ib_ud_wr>,
}

impl Raw {
    fn atomic(request: bindings::ib_atomic_wr) -> Self {
        Self {
            atomic: ManuallyDrop::new(request),
        }
    }
}

/// Requests of one list.
///
/// # Invariants
///
/// The requests and their elements are written in place by [`fill`](Self::fill) and never moved:
/// neither vector grows after [`new`](Self::new). The requests name completion entries and memory
/// of the queue pair whose memory is that of `owner`. Where there are `swaps`, the variant of all
/// is `atomic`.
pub(crate) struct PreparedList {
    requests: KVVec<Raw>,
    elements: KVVec<bindings::ib_sge>,
    capacity: usize,
    /// Scatter/gather elements of each request.
    sges: usize,
    owner: Option<Owner>,
    /// The compare-and-swaps that were linked, where the requests count.
    swaps: Option<u64>,
    /// The number of the next request that is linked, where they carry it.
    number: Option<u32>,
    /// The next request, where they are a ring; `None` where each list begins with the first.
    next: Option<usize>,
}

// SAFETY: The pointers in the requests are to what the list itself owns, and to completion
// entries, which are only followed by the queue pair that has them.
unsafe impl Send for PreparedList {}

impl PreparedList {
    /// Allocates room for `capacity` requests with `sges` scatter/gather elements each. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ERANGE` for more than can be counted.
    pub(crate) fn new(capacity: usize, sges: usize) -> Result<Self> {
        let elements = capacity.checked_mul(sges).ok_or(ERANGE)?;
        Ok(Self {
            requests: KVVec::with_capacity(capacity, GFP_KERNEL)?,
            elements: KVVec::with_capacity(elements, GFP_KERNEL)?,
            capacity,
            sges,
            owner: None,
            swaps: None,
            number: None,
            next: None,
        })
    }

    /// Writes the requests, of which `request` returns each by its number, from 0. Their
    /// completions find their callback by `cqe`, and they go to `datagram`, if that is given. Any
    /// context.
    ///
    /// # Errors
    ///
    /// The error of `request`; `EINVAL` where an operand is not within its buffer, the list has
    /// been filled before, the operations are of different kinds or have no such form, or a request
    /// cannot hold as much data itself.
    pub(in crate::rdma) fn fill<F: ForeignMemory>(
        &mut self,
        form: Form,
        memory: &Memory<F>,
        cqe: *mut bindings::ib_cqe,
        datagram: Option<Datagram>,
        request: impl Fn(usize) -> Result<Request>,
    ) -> Result {
        if self.owner.is_some() {
            return Err(EINVAL);
        }
        for number in 0..self.capacity {
            self.push_elements(form.inline, memory, &request(number)?.local)?;
        }
        let kind = request(0)?.operation;
        let opcode = match form.numbered {
            true => kind.opcode_with_immediate()?,
            false => kind.opcode(),
        };
        // All are there now, so that nothing moves or borrows them any more.
        let mut elements = self.elements.as_mut_ptr();
        for number in 0..self.capacity {
            let operation = request(number)?.operation;
            if discriminant(&operation) != discriminant(&kind) {
                return Err(EINVAL);
            }
            let mut wr = header(opcode, cqe, false, false);
            wr.sg_list = elements;
            wr.num_sge = i32::try_from(self.sges).map_err(|_| ERANGE)?;
            elements = elements.wrapping_add(self.sges);
            if form.inline {
                wr.send_flags |= bindings::ib_send_flags_IB_SEND_INLINE;
            }
            self.requests
                .push_within_capacity(operation.request(wr, datagram)?)
                .map_err(|_| EINVAL)?;
        }
        // INVARIANT: All of them were written for this memory, and as operations of this kind are.
        self.owner = Some(memory.owner());
        self.swaps = matches!(kind, Operation::CountingSwap(_)).then_some(0);
        self.number = form.numbered.then_some(0);
        self.next = form.ring.then_some(0);
        Ok(())
    }

    /// Writes the scatter/gather elements of the next request, whose data is `local`.
    fn push_elements<F: ForeignMemory>(
        &mut self,
        inline: bool,
        memory: &Memory<F>,
        local: &Local,
    ) -> Result {
        let (offset, len) = (local.offset as usize, local.len as usize);
        let start = if inline {
            memory.cpu_address(local.buffer, offset, len)?
        } else {
            memory.dma(local.buffer, offset, len)?
        };
        let lkey = memory.lkey(local.region)?;
        let sges = u32::try_from(self.sges).map_err(|_| ERANGE)?;
        let piece = local.len.checked_div(sges).ok_or(EINVAL)?;
        let last = local.len - piece * (sges - 1);
        for index in 0..sges {
            let element = bindings::ib_sge {
                addr: start.wrapping_add(u64::from(index) * u64::from(piece)),
                length: if index + 1 == sges { last } else { piece },
                lkey,
            };
            self.elements
                .push_within_capacity(element)
                .map_err(|_| EINVAL)?;
        }
        Ok(())
    }

    /// Links the first `count` requests, or the next ones of a ring, to a list, of which each asks
    /// for what `notify` says, and returns its head. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for no requests or more than there are, or where they were not written for the
    /// memory of `owner`.
    pub(in crate::rdma) fn link(
        &mut self,
        owner: Owner,
        count: usize,
        notify: impl Fn(u32) -> Notify,
    ) -> Result<*const bindings::ib_send_wr> {
        const EITHER: bindings::ib_send_flags =
            bindings::ib_send_flags_IB_SEND_SIGNALED | bindings::ib_send_flags_IB_SEND_SOLICITED;
        let capacity = self.requests.len();
        if self.owner != Some(owner) || count == 0 || count > capacity {
            return Err(EINVAL);
        }
        self.count_swaps(count);
        let number = self.number;
        let first = self.next.unwrap_or(0);
        // Up to the end of the ring, and then from its start.
        let whole = count.min(capacity - first);
        let (start, rest) = self.requests.split_at_mut(first);
        let mut next: *mut bindings::ib_send_wr = core::ptr::null_mut();
        let mut link = |index: usize, request: &mut Raw| {
            // SAFETY: Each variant begins with the common part, which has been written.
            let wr = unsafe { &mut request.rdma.wr };
            if let Some(number) = number {
                let immediate = number.wrapping_add(index as u32).to_be();
                // SAFETY: Every bit pattern is valid for either member of this union.
                *unsafe { wr.ex.imm_data.as_mut() } = immediate;
            }
            wr.send_flags = wr.send_flags & !EITHER | notify(index as u32).flags();
            wr.next = next;
            // From the request, of which the device's driver reads all.
            next = core::ptr::from_mut(request).cast();
        };
        let wrapped = start.iter_mut().take(count - whole).enumerate();
        wrapped
            .rev()
            .for_each(|(index, request)| link(whole + index, request));
        let ahead = rest.iter_mut().take(whole).enumerate();
        ahead
            .rev()
            .for_each(|(index, request)| link(index, request));
        self.number = number.map(|number| number.wrapping_add(count as u32));
        if self.next.is_some() {
            self.next = Some((first + count) % capacity);
        }
        Ok(next)
    }

    /// Returns the number of requests in front of `request` in a list that was linked last and that
    /// is no ring; `None` where it is not one of them.
    pub(in crate::rdma) fn before(&self, request: *const bindings::ib_send_wr) -> Option<usize> {
        let is_it = |each: &Raw| core::ptr::from_ref(each).cast() == request;
        self.requests.iter().position(is_it)
    }

    /// Has the next request carry `number`, where requests carry one.
    pub(crate) fn number_from(&mut self, number: u32) {
        if let Some(next) = &mut self.number {
            *next = number;
        }
    }

    /// Has each of the first `count` requests expect the number of compare-and-swaps before it, and
    /// count itself; does nothing where they do not count.
    fn count_swaps(&mut self, count: usize) {
        let Some(done) = &mut self.swaps else {
            return;
        };
        for request in self.requests.iter_mut().take(count) {
            // SAFETY: By the invariant it has been written in this variant.
            let swap = unsafe { &mut request.atomic };
            swap.compare_add = *done;
            *done = done.wrapping_add(1);
            swap.swap = *done;
        }
    }
}
