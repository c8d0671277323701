// SPDX-License-Identifier: GPL-2.0

//! Kernel memory in pieces, of which one transfer moves all bytes in their order.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::pages::{
        Contiguous,
        Node, //
    },
    rdma::memory::Charge, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// The measures of [`Pieces`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// All bytes together.
    pub(crate) size: usize,
    /// The first byte, in the first page.
    pub(crate) offset: usize,
    /// The number of pieces. Each but the first begins with a page, and each but the last ends
    /// with one, as a registration demands.
    pub(crate) count: usize,
}

impl Shape {
    /// Returns the number of pages.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is nothing to be moved, too much, or a piece without a page.
    fn pages(&self) -> Result<usize> {
        let end = self.size.checked_add(self.offset).ok_or(EINVAL)?;
        let pages = end.div_ceil(PAGE_SIZE);
        let fits = (1..=Pieces::MOST).contains(&self.size) && self.offset < PAGE_SIZE;
        if fits && (1..=pages).contains(&self.count) {
            Ok(pages)
        } else {
            Err(EINVAL)
        }
    }
}

/// One piece: `len` bytes at `offset` of its pages.
pub(super) struct Piece {
    pub(super) pages: Contiguous,
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// Memory in pieces.
///
/// # Invariants
///
/// Each piece is within its pages, and together they have `len` bytes.
pub(crate) struct Pieces {
    list: KVec<Piece>,
    len: usize,
    _charge: Option<Charge>,
}

impl Pieces {
    /// The most bytes: what the core registers at once.
    pub(crate) const MOST: usize = 256 * PAGE_SIZE;

    /// Returns the bytes of the pages that memory of this shape takes.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a shape that no memory has.
    pub(crate) fn footprint(shape: &Shape) -> Result<usize> {
        Ok(shape.pages()? * PAGE_SIZE)
    }

    /// Allocates memory of that shape, which `charge` is for, on `node` if there is one. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a shape that no memory has.
    pub(in crate::rdma) fn new(
        shape: &Shape,
        charge: Option<Charge>,
        node: Option<Node>,
    ) -> Result<Self> {
        let pages = shape.pages()?;
        let end = shape.offset + shape.size;
        let mut list = KVec::with_capacity(shape.count, GFP_KERNEL)?;
        for index in 0..shape.count {
            let from = index * pages / shape.count * PAGE_SIZE;
            let to = (index + 1) * pages / shape.count * PAGE_SIZE;
            let start = from.max(shape.offset);
            let piece = Piece {
                pages: Contiguous::new_on(to - from, node)?,
                offset: start - from,
                len: to.min(end) - start,
            };
            list.push_within_capacity(piece).map_err(|_| ENOMEM)?;
        }
        // INVARIANT: Each begins where the one before it ends, from `offset` to `end`, within
        // its own pages.
        Ok(Self {
            list,
            len: shape.size,
            _charge: charge,
        })
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns all pieces.
    pub(super) fn list(&self) -> &[Piece] {
        &self.list
    }

    /// Copies all bytes to the start of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that has no room.
    pub(crate) fn gather(&self, to: &Contiguous) -> Result {
        let mut done = 0;
        for piece in &self.list {
            piece.pages.copy_to(piece.offset, to, done, piece.len)?;
            done += piece.len;
        }
        Ok(())
    }

    /// Copies the start of `from` to all bytes. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that has less.
    pub(crate) fn scatter(&self, from: &Contiguous) -> Result {
        let mut done = 0;
        for piece in &self.list {
            from.copy_to(done, &piece.pages, piece.offset, piece.len)?;
            done += piece.len;
        }
        Ok(())
    }
}
