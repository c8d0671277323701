// SPDX-License-Identifier: GPL-2.0

//! The types of queue pairs.
//!
//! C header: `include/rdma/ib_verbs.h` (`enum ib_qp_type`)

use crate::bindings;

/// The service that a queue pair gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum QpType {
    /// Reliable connected.
    Rc,
    /// Unreliable connected.
    Uc,
    /// Unreliable datagram.
    Ud,
}

impl QpType {
    /// Returns the C value.
    pub(in crate::rdma) const fn as_raw(self) -> bindings::ib_qp_type {
        match self {
            Self::Rc => bindings::ib_qp_type_IB_QPT_RC,
            Self::Uc => bindings::ib_qp_type_IB_QPT_UC,
            Self::Ud => bindings::ib_qp_type_IB_QPT_UD,
        }
    }
}
