// SPDX-License-Identifier: GPL-2.0

//! Connection requests of identifiers that have no queue pair.
//!
//! C header: `include/rdma/rdma_cm.h` (`struct rdma_conn_param`)

use super::{
    ConnParam,
    Id, //
};
use crate::{
    bindings,
    rdma::device::Transport, //
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

impl Id {
    /// Asks the peer for a connection as [`connect`](Self::connect) does, in the name of the queue
    /// pair of this host that has the number `qp_num`. The identifier must have no queue pair, so
    /// that no connection comes of it. Process context; may sleep. Not in a handler of the
    /// identifier.
    ///
    /// Where the peer has a connection with that queue pair, it has to take that for stale, and
    /// ends it. So the number must be one of the caller's own.
    ///
    /// # Errors
    ///
    /// As there; `EOPNOTSUPP` on iWARP, where the device would take the queue pair itself.
    pub(crate) fn connect_as(&self, qp_num: u32, param: &ConnParam<'_>) -> Result {
        match self.device()?.transport() {
            Transport::InfiniBand | Transport::Roce => (),
            Transport::Iwarp | Transport::Other => {
                return Err(Error::from_errno(-(bindings::EOPNOTSUPP as c_int)));
            }
        }
        self.request(bindings::rdma_conn_param {
            qp_num,
            ..param.as_raw()?
        })
    }
}
