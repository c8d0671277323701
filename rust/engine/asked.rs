// SPDX-License-Identifier: GPL-2.0

//! The request of a client that a server has admitted.

#![forbid(unsafe_code)]

use crate::{
    cm::ReadLimits,
    logic::{
        stream::hello::Hello,
        wire::PrivateData, //
    }, //
};

/// Request of an admitted client.
pub(crate) struct Asked {
    /// Announced parameters; `None` for a legacy client.
    pub(crate) peer: Option<PrivateData>,
    /// Private data of a client that speaks rsocket's protocol.
    pub(crate) stream: Option<Hello>,
    /// READ limits that both sides support.
    pub(crate) limits: ReadLimits,
}
