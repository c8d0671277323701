// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the memory that a region is mapped over.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        Place, //
    },
    pair::{
        Pair,
        LATER, //
    },
    probe::Probe, //
};
use crate::{
    logic::{
        conformance::{
            observation::Seen,
            rule::Rule,
            steps::SIZE, //
        },
        failure::Failure, //
    },
    mr::Access, //
};
use kernel::prelude::*;

/// Maps a region over two parts of memory, of which the first does not end at the end of a page: a
/// region has no gaps. Where that is refused, as it must be, so is the request under test;
/// otherwise a WRITE takes its place.
pub(super) fn over_gap(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    // What has no gap can be mapped.
    pair.requester.map_parts(false).map_err(failed)?;
    let first = match pair.requester.map_parts(true) {
        Err(error) => Err(-error.to_errno()),
        Ok(()) => {
            let local = pair.requester.local(Place::Own, SIZE);
            pair.requester.post(&Probe::Write { local, remote })
        }
    };
    pair.post_later();
    pair.look(rule, first, None, |pair| {
        pair.responder.is_intact(false, Place::Exposed, 0)
    })
}
