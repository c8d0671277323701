// SPDX-License-Identifier: GPL-2.0

//! Parameters of identifiers and connections.
//!
//! C header: `include/rdma/rdma_cm.h`

use crate::bindings;
use kernel::{
    ffi::c_void,
    prelude::*, //
};

/// The space that the port numbers of an identifier's addresses are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum PortSpace {
    /// Connections (`RDMA_PS_TCP`).
    Tcp,
    /// Datagrams (`RDMA_PS_UDP`).
    Udp,
    /// InfiniBand's own services (`RDMA_PS_IB`).
    Ib,
}

impl PortSpace {
    /// Returns the C value.
    pub(super) const fn as_raw(self) -> bindings::rdma_ucm_port_space {
        match self {
            Self::Tcp => bindings::rdma_ucm_port_space_RDMA_PS_TCP,
            Self::Udp => bindings::rdma_ucm_port_space_RDMA_PS_UDP,
            Self::Ib => bindings::rdma_ucm_port_space_RDMA_PS_IB,
        }
    }
}

/// The parameters of a connection, for the side that asks and for the one that accepts:
/// `struct rdma_conn_param`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnParam<'a> {
    /// The bytes that the peer is shown. The transport limits them further than the type of
    /// their length does.
    pub(crate) private_data: &'a [u8],
    /// RDMA READs and atomic operations of the peer's that this side serves at a time.
    pub(crate) responder_resources: u8,
    /// RDMA READs and atomic operations that this side has under way at a time.
    pub(crate) initiator_depth: u8,
    /// Repetitions of a request that is not acknowledged, 7 at most. Ignored when accepting.
    pub(crate) retry_count: u8,
    /// Repetitions of a request that finds no receive posted; 7 is without end. The peer's own
    /// where this side accepts.
    pub(crate) rnr_retry_count: u8,
}

impl ConnParam<'_> {
    /// Returns the C structure, whose data is valid as long as the slice.
    ///
    /// # Errors
    ///
    /// `EINVAL` for more private data than its length can say.
    pub(super) fn as_raw(&self) -> Result<bindings::rdma_conn_param> {
        let (private_data, private_data_len) = raw_data(self.private_data)?;
        Ok(bindings::rdma_conn_param {
            private_data,
            private_data_len,
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
            retry_count: self.retry_count,
            rnr_retry_count: self.rnr_retry_count,
            ..Default::default()
        })
    }
}

/// Returns private data as C takes it.
///
/// # Errors
///
/// `EINVAL` for more than its length can say.
pub(super) fn raw_data(data: &[u8]) -> Result<(*const c_void, u8)> {
    let len = u8::try_from(data.len()).map_err(|_| EINVAL)?;
    Ok((data.as_ptr().cast(), len))
}
