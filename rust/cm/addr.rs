// SPDX-License-Identifier: GPL-2.0

//! The addresses that commands name, as the RDMA CM takes them.

#![forbid(unsafe_code)]

pub(crate) use crate::rdma::cm::SocketAddress;

use crate::{
    kernel_ext::net::Netns,
    logic::{
        command::addr::Addr,
        failure::{
            Failure,
            FINDING_INTERFACE, //
        }, //
    }, //
};

/// Returns the address `addr` with `port`; a scope is looked up in namespace `net`.
///
/// # Errors
///
/// `ENODEV` where `net` has no interface of the scope's name.
pub(crate) fn socket_address(
    net: &Netns,
    addr: &Addr,
    port: u16,
) -> Result<SocketAddress, Failure> {
    Ok(match addr {
        Addr::V4(ip) => SocketAddress::v4(*ip, port),
        Addr::V6 { addr, scope } => {
            let index = match scope {
                None => 0,
                Some(name) => net
                    .interface_index(name.as_str())
                    .map_err(|e| Failure::Kernel(FINDING_INTERFACE, e.to_errno()))?,
            };
            SocketAddress::v6(*addr, port, index)
        }
    })
}
