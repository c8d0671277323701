// SPDX-License-Identifier: GPL-2.0

//! Checks that the device has what a case needs.

#![forbid(unsafe_code)]

use super::CaseRunner;
use crate::{
    logic::{
        conformance::{
            row::Need,
            rule::Fabric,
            Case, //
        },
        failure::Failure, //
    },
    rdma::qp::trial,
    workloads::conformance::{
        end::LARGE_PAGE,
        Setup, //
    }, //
};
use kernel::prelude::*;

impl CaseRunner<'_> {
    /// Returns the reason why `case` does not apply to the device, if there is one.
    ///
    /// # Errors
    ///
    /// The device is gone.
    pub(super) fn unfit(&self, case: Case) -> Result<Option<&'static str>, Failure> {
        let device = self.device()?;
        Ok(match case.row().need {
            Need::NoMaskedAtomics if device.has_masked_atomics() => {
                Some("the device claims the masked atomic operations, which are tried")
            }
            Need::Atomics if !device.has_atomics() => Some("the device has no atomic operations"),
            Need::SharedReceives if device.max_srq_wr() == 0 => {
                Some("the device has no shared receive queues")
            }
            Need::Datagrams if !device.has_unreliable() => Some("the transport has no datagrams"),
            Need::Multicast if !device.has_multicast() => {
                Some("the device has no multicast groups")
            }
            Need::LargePages if !device.has_pages_of(LARGE_PAGE) => {
                Some("the device has no regions of pages that are larger than the kernel's")
            }
            Need::Inline if !self.makes_queues_of(case) => Some("the device takes no inline data"),
            Need::NotIwarp(why) if self.fabric == Fabric::Iwarp => Some(why),
            _ => None,
        })
    }

    /// Returns false where the device refuses a queue pair of the size that the requester of `case`
    /// has. May sleep.
    fn makes_queues_of(&self, case: Case) -> bool {
        let depths = Setup::of(case, self.fabric).depths(true);
        // Any other error is found again, and reported, by the case.
        trial::make_queue_pair(&self.pd, &depths.caps()) != Err(EINVAL)
    }
}
