// SPDX-License-Identifier: GPL-2.0

//! A multicast group for the case that needs one.

#![forbid(unsafe_code)]

use super::CaseRunner;
use crate::{
    cm::CmId,
    kernel_ext::random::random,
    logic::{
        command::MulticastGroup,
        failure::Failure, //
    },
    rdma::cm::Membership, //
};
use core::net::IpAddr;
use kernel::sync::Arc;

impl CaseRunner<'_> {
    /// Joins a group that is likely to have no other member, within the site (RFC 2365, RFC 4291),
    /// with the device of `id`. Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for IPv6 with RoCE v2; [`CmId::join`] says which others.
    pub(super) fn group(&self, id: &CmId) -> Result<Arc<Membership>, Failure> {
        let [a, b, ..] = random().to_ne_bytes();
        let group = match self.addr.ip() {
            Some(IpAddr::V6(_)) => {
                MulticastGroup::V6([0xff, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b])
            }
            _ => MulticastGroup::V4([239, 255, a, b]),
        };
        id.join(&self.session.net, &group, self.session.timeout())
    }
}
