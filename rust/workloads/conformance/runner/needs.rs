// SPDX-License-Identifier: GPL-2.0

//! Checks that the device has what a case needs.

#![forbid(unsafe_code)]

use super::CaseRunner;
use crate::{
    engine::management::OVER_TCP,
    logic::{
        conformance::{
            expectation::Fabric,
            Case, //
        },
        failure::Failure, //
    },
    rdma::qp::trial,
    workloads::conformance::Setup, //
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
        Ok(match case {
            Case::UnsupportedOpcode if device.has_masked_atomics() => {
                Some("the device claims the masked atomic operations, which are tried")
            }
            Case::AtomicMisaligned | Case::AtomicNoRight if !device.has_atomics() => {
                Some("the device has no atomic operations")
            }
            Case::WriteThenFlag if self.fabric == Fabric::Iwarp => {
                Some("iWARP places what arrives in any order until a receive completes")
            }
            Case::SrqEmpty | Case::SrqLimit | Case::SrqDrain if device.max_srq_wr() == 0 => {
                Some("the device has no shared receive queues")
            }
            Case::UdBadQkey | Case::UdBadAh | Case::UdAboveMtu if !device.has_unreliable() => {
                Some("the transport has no datagrams")
            }
            Case::InlineReuse if !self.makes_queues_of(case) => {
                Some("the device takes no inline data")
            }
            Case::PortDown | Case::StaleConnection if self.fabric == Fabric::Iwarp => {
                Some(OVER_TCP)
            }
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
