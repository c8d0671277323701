// SPDX-License-Identifier: GPL-2.0

//! Known defects and peculiarities of drivers that a run has to take into account.

#![forbid(unsafe_code)]

use crate::rdma::device::{
    Device,
    Driver,
    Transport, //
};

/// Returns true where `device`, when it retransmits requests that were not acknowledged in time,
/// repeats registrations among them too. Soft-RoCE does (seen with 7.2 and 7.3), finds the region
/// registered already, and gives up the queue pair.
pub(crate) fn repeats_local_operations(device: &Device<'_>) -> bool {
    device.driver() == Driver::Rxe
}

/// Returns true where a message of the CM's from an address that `device` has lost breaks its
/// connection management. Soft-RoCE's does not survive any that cannot leave (seen with 7.2).
pub(crate) fn loses_management(device: &Device<'_>) -> bool {
    device.driver() == Driver::Rxe
}

/// Returns true where memory that `device` sends must not change until the peer has it, because
/// the checksum is made of it before it is sent. Soft-iWARP gives TCP the pages themselves,
/// behind the CRC of the frame.
pub(crate) fn checksums_in_place(device: &Device<'_>) -> bool {
    device.transport() == Transport::Iwarp && device.is_software()
}
