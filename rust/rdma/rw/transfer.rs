// SPDX-License-Identifier: GPL-2.0

//! One transfer: a context of the core's, the list of its memory, and the state that it is in.
//!
//! C header: `include/rdma/rw.h`

use super::pieces::Pieces;
use crate::{
    bindings,
    rdma::{
        memory::DmaDirection,
        mr::Remote,
        qp::entry::{
            Callback,
            Entry, //
        },
        wr::chain::{
            post_send,
            Refused, //
        }, //
    }, //
};
use core::{
    ptr::NonNull,
    result::Result as CoreResult, //
};
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::Arc,
    types::Opaque, //
};

/// The form in which the core is given the list of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// A scatterlist.
    Scatterlist,
    /// An array of `struct bio_vec`.
    BioVec,
}

/// The list of memory in C's form.
enum List {
    Scatterlist(KVec<bindings::scatterlist>),
    BioVec(KVec<bindings::bio_vec>),
}

impl List {
    /// Lists `pieces`. May sleep.
    fn new(kind: ListKind, pieces: &Pieces) -> Result<Self> {
        let parts = pieces.list();
        match kind {
            ListKind::Scatterlist => {
                let mut list = KVec::with_capacity(parts.len(), GFP_KERNEL)?;
                for _ in parts {
                    list.push_within_capacity(bindings::scatterlist::default())
                        .map_err(|_| ENOMEM)?;
                }
                let count = u32::try_from(parts.len()).map_err(|_| ERANGE)?;
                // SAFETY: There are so many entries.
                unsafe { bindings::sg_init_table(list.as_mut_ptr(), count) };
                for (entry, piece) in list.iter_mut().zip(parts) {
                    let start = piece.pages.as_ptr().wrapping_add(piece.offset);
                    let len = u32::try_from(piece.len).map_err(|_| ERANGE)?;
                    // SAFETY: The entry has been initialised, and the piece is of pages of the
                    // kernel's linear mapping.
                    unsafe { bindings::rust_helper_sg_set_buf(entry, start.cast(), len) };
                }
                Ok(Self::Scatterlist(list))
            }
            ListKind::BioVec => {
                let mut list = KVec::with_capacity(parts.len(), GFP_KERNEL)?;
                for piece in parts {
                    let mut entry = bindings::bio_vec::default();
                    let start = piece.pages.as_ptr().wrapping_add(piece.offset);
                    let len = u32::try_from(piece.len).map_err(|_| ERANGE)?;
                    // SAFETY: The piece is of pages of the kernel's linear mapping.
                    unsafe { bindings::rust_helper_bvec_set_virt(&mut entry, start.cast(), len) };
                    list.push_within_capacity(entry).map_err(|_| ENOMEM)?;
                }
                Ok(Self::BioVec(list))
            }
        }
    }
}

/// A queue pair and its port, whose contexts are meant.
#[derive(Clone, Copy)]
pub(in crate::rdma) struct Target {
    pub(in crate::rdma) qp: NonNull<bindings::ib_qp>,
    pub(in crate::rdma) port: u32,
}

/// A kind of request that a transfer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// REG_MR.
    Register,
    /// LOCAL_INV.
    Invalidate,
    /// RDMA READ.
    Read,
    /// RDMA WRITE.
    Write,
}

impl Part {
    /// Returns the kind of the requests that move data in `direction`.
    pub(in crate::rdma) fn moving(direction: DmaDirection) -> Self {
        match direction {
            DmaDirection::ToDevice => Self::Write,
            DmaDirection::FromDevice => Self::Read,
        }
    }

    /// Returns the kind of a request of a context.
    fn of(opcode: bindings::ib_wr_opcode) -> Self {
        match opcode {
            bindings::ib_wr_opcode_IB_WR_REG_MR => Self::Register,
            bindings::ib_wr_opcode_IB_WR_LOCAL_INV => Self::Invalidate,
            bindings::ib_wr_opcode_IB_WR_RDMA_WRITE => Self::Write,
            _ => Self::Read,
        }
    }
}

/// The completion entries of the requests of a transfer but the last.
pub(in crate::rdma) struct Entries {
    pub(in crate::rdma) register: *mut bindings::ib_cqe,
    pub(in crate::rdma) invalidate: *mut bindings::ib_cqe,
    pub(in crate::rdma) moving: *mut bindings::ib_cqe,
}

/// The state of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none.
    Idle,
    /// It has its requests, and has not been posted.
    Made,
    /// Its last request has not completed.
    Posted,
    /// All its requests have completed.
    Done,
}

/// One transfer.
///
/// # Invariants
///
/// - In any state but [`State::Idle`] `context` is one that the core has initialised, for the queue
///   pair whose memory has the transfer, with `list` and `direction`. It stays in its place.
/// - `list` is of `pieces`.
/// - `entry`, where there is one, is of the queue pair whose memory has the transfer. No request
///   but the last of a posted context has it, and only in state [`State::Made`] its tag changes.
pub(in crate::rdma) struct Transfer {
    context: Opaque<bindings::rdma_rw_ctx>,
    list: List,
    pieces: Arc<Pieces>,
    direction: DmaDirection,
    state: State,
    /// The completion entry of the last request. Its tag is the number of the entry that the owner
    /// of the queue pair tells it by.
    entry: Opaque<Option<Entry<u32>>>,
}

// SAFETY: The list and the context point to memory that has no owner among threads; the core
// takes both from any of them, one at a time, which `&mut` ensures.
unsafe impl Send for Transfer {}

impl Transfer {
    /// Makes the list of `pieces`, without a context. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(in crate::rdma) fn new(pieces: Arc<Pieces>, kind: ListKind) -> Result<KBox<Self>> {
        let this = Self {
            context: Opaque::uninit(),
            list: List::new(kind, &pieces)?,
            pieces,
            direction: DmaDirection::ToDevice,
            state: State::Idle,
            entry: Opaque::new(None),
        };
        // INVARIANT: There is no context yet. What is on the heap stays there.
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Gives the transfer, which is number `index` of its memory, the completion entry of its last
    /// request, of the queue pair at `owner`.
    pub(in crate::rdma) fn attach(&mut self, callback: Callback, owner: *const c_void, index: u32) {
        let entry = Entry::new(callback, owner, Entry::<u32>::TRANSFER | index, 0);
        // SAFETY: Nothing has been posted, as the queue pair is not made yet.
        unsafe { *self.entry.get() = Some(entry) };
    }

    /// Returns the completion entry of the last request, and its number. The owner is told of its
    /// completion as of one of entry `tag`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no context, or it has been posted.
    pub(in crate::rdma) fn last(&mut self, tag: u32) -> Result<(*mut bindings::ib_cqe, u32)> {
        if self.state != State::Made {
            return Err(EINVAL);
        }
        // SAFETY: By the type invariant no request that has the entry is under way.
        let entry = unsafe { &mut *self.entry.get() };
        let entry = entry.as_mut().ok_or(EINVAL)?;
        entry.tag = tag;
        Ok((entry.cqe(), entry.index))
    }

    /// Makes the context that moves all bytes to or from `remote`, and returns the number of its
    /// requests. May sleep.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where the queue pair has no registration left; `EINVAL` where there is a context
    /// already, `remote` has another size, or the device cannot register the memory; `ENOMEM`.
    ///
    /// # Safety
    ///
    /// The queue pair of `target` is alive, and is the one whose memory has the transfer.
    pub(in crate::rdma) unsafe fn make(
        &mut self,
        target: Target,
        remote: &Remote,
        direction: DmaDirection,
    ) -> Result<u32> {
        if self.state != State::Idle || remote.len as usize != self.pieces.len() {
            return Err(EINVAL);
        }
        let (context, qp, port) = (self.context.get(), target.qp.as_ptr(), target.port);
        let write = direction == DmaDirection::ToDevice;
        let (addr, key) = (remote.addr, remote.rkey);
        let made = match &mut self.list {
            List::Scatterlist(list) => {
                let count = list.len() as u32;
                let list = list.as_mut_ptr();
                // SAFETY: The queue pair is alive by the function's requirements. There is no
                // context in this place, and the list, which has so many entries, and its memory
                // live as long as the transfer.
                unsafe {
                    bindings::rust_helper_rw_init(context, qp, port, list, count, addr, key, write)
                }
            }
            List::BioVec(list) => {
                let count = list.len() as u32;
                let (list, size) = (list.as_ptr(), remote.len);
                // SAFETY: As above; the entries have so many bytes together.
                unsafe {
                    bindings::rust_helper_rw_init_bvec(
                        context, qp, port, list, count, size, addr, key, write,
                    )
                }
            }
        };
        to_result(made.min(0))?;
        // INVARIANT: Initialised just now.
        (self.state, self.direction) = (State::Made, direction);
        Ok(made.unsigned_abs())
    }

    /// Posts the requests of the context, and then `answer`, unless it is null. All of them have
    /// completed when the one with entry `last` has: the answer, or else the last that moves data.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no context, or it has been posted; the driver's error, after which
    /// some of them may be posted.
    ///
    /// # Safety
    ///
    /// The queue pair of `target` is alive, and is the one whose memory has the transfer. The
    /// entries live until it has been drained or destroyed. `last` is from [`last`](Self::last).
    /// The answer is a valid list of requests, of which the last has that entry.
    pub(in crate::rdma) unsafe fn post(
        &mut self,
        target: Target,
        entries: &Entries,
        answer: *const bindings::ib_send_wr,
        last: *mut bindings::ib_cqe,
    ) -> CoreResult<(), Refused> {
        if self.state != State::Made {
            return Err(Refused::all(EINVAL));
        }
        self.state = State::Posted;
        let qp = target.qp.as_ptr();
        // SAFETY: By the type invariant there is a context, of this queue pair. The core only
        // appends the answer. The requests are the context's own until it is ended, and all but
        // the answer may be written to. By the function's requirements what they name is valid.
        unsafe {
            let head = bindings::rdma_rw_ctx_wrs(
                self.context.get(),
                qp,
                target.port,
                last,
                answer.cast_mut(),
            );
            let mut request = head;
            while !request.is_null() && !core::ptr::eq(request, answer) {
                let next = (*request).next;
                // An error of any of them is to find its callback.
                *(*request).__bindgen_anon_1.wr_cqe.as_mut() = match Part::of((*request).opcode) {
                    _ if next.is_null() => last,
                    Part::Register => entries.register,
                    Part::Invalidate => entries.invalidate,
                    Part::Read | Part::Write => entries.moving,
                };
                request = next;
            }
            post_send(qp, head)
        }
    }

    /// Returns the direction of the context, for a transfer that has been made.
    pub(in crate::rdma) fn direction(&self) -> Option<DmaDirection> {
        (self.state != State::Idle).then_some(self.direction)
    }

    /// Notes that the request with completion entry number `entry` has completed well.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that is not the transfer's last one.
    pub(in crate::rdma) fn completed(&mut self, entry: u32) -> Result {
        // SAFETY: The entry only changes by `&mut`.
        let own = unsafe { &*self.entry.get() }.as_ref();
        if self.state != State::Posted || own.is_none_or(|own| own.index != entry) {
            return Err(EINVAL);
        }
        self.state = State::Done;
        Ok(())
    }

    /// Returns true where the device may still work on the transfer.
    pub(in crate::rdma) fn is_posted(&self) -> bool {
        self.state == State::Posted
    }

    /// Ends the context, if there is one: the memory is the CPU's again. Any context.
    ///
    /// # Safety
    ///
    /// The queue pair of `target` is alive, and is the one whose memory has the transfer. Where the
    /// transfer is [posted](Self::is_posted), the queue pair has been drained or reset, or the
    /// driver has refused both: then no other use of the memory begins before the queue pair has
    /// been destroyed.
    pub(in crate::rdma) unsafe fn end(&mut self, target: Target) {
        if self.state == State::Idle {
            return;
        }
        // INVARIANT: None from the next lines on.
        self.state = State::Idle;
        let (context, qp, port) = (self.context.get(), target.qp.as_ptr(), target.port);
        let write = self.direction == DmaDirection::ToDevice;
        match &mut self.list {
            List::Scatterlist(list) => {
                let count = list.len() as u32;
                // SAFETY: By the type invariant there is a context, made with these. By the
                // function's requirements the device does not work on it any more.
                unsafe {
                    bindings::rust_helper_rw_destroy(
                        context,
                        qp,
                        port,
                        list.as_mut_ptr(),
                        count,
                        write,
                    );
                }
            }
            List::BioVec(list) => {
                let count = list.len() as u32;
                // SAFETY: As above.
                unsafe {
                    bindings::rust_helper_rw_destroy_bvec(
                        context,
                        qp,
                        port,
                        list.as_ptr(),
                        count,
                        write,
                    );
                }
            }
        }
    }
}
