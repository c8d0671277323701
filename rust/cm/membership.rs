// SPDX-License-Identifier: GPL-2.0

//! Joins the multicast group of a connection's datagrams.

#![forbid(unsafe_code)]

use super::CmId;
use crate::{
    engine::outcome::Outcome,
    kernel_ext::net::Netns,
    logic::{
        command::MulticastGroup,
        device::caps,
        failure::Failure, //
    },
    rdma::cm::{
        Event,
        Handler,
        Membership,
        SocketAddress, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc, //
    }, //
};

/// Name of the step of joining, for failures.
const JOINING: &str = "joining the multicast group";

/// The CM's error for a group that it cannot join: the kernel's own `ENOTSUPP`.
const NOT_JOINED: i32 = -524;

/// The handler of a membership's events, which reports to the connection.
struct Joining {
    outcome: Arc<Outcome>,
    /// 1 once the group has been joined.
    joined: Atomic<u32>,
}

impl Handler for Joining {
    fn event(&self, event: &Event<'_>) {
        match *event {
            Event::Joined(_) => {
                self.joined.store(1, Release);
                self.outcome.wake();
            }
            // The device has no such address any more.
            Event::JoinError(0) => self.outcome.fail(Failure::AddressGone),
            Event::JoinError(status) => self.outcome.fail(Failure::Kernel(JOINING, status)),
            Event::DeviceRemoval => self.outcome.fail(Failure::DeviceRemoved),
            _ => {}
        }
    }
}

fn joining(error: Error) -> Failure {
    match error.to_errno() {
        NOT_JOINED => Failure::Unsupported(caps::NO_MCAST_V6),
        errno => Failure::Kernel(JOINING, errno),
    }
}

impl CmId {
    /// Joins `group` with the device and the address of this identifier, in namespace `net`.
    /// Sleeps, `timeout` ms at most.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] where the kernel joins no such group; a failure that was reported
    /// meanwhile; [`Failure::TimedOut`]; what the kernel says.
    pub(crate) fn join(
        &self,
        net: &Netns,
        group: &MulticastGroup,
        timeout: u32,
    ) -> Result<Arc<Membership>, Failure> {
        let handler = Joining {
            outcome: self.outcome().clone(),
            joined: Atomic::new(0),
        };
        let handler = Arc::new(handler, GFP_KERNEL).map_err(|e| joining(e.into()))?;
        let group = match *group {
            MulticastGroup::V4(addr) => SocketAddress::v4(addr, 0),
            // The device says on which interface.
            MulticastGroup::V6(addr) => SocketAddress::v6(addr, 0, 0),
        };
        let membership =
            Membership::join(net, &self.local(), &group, handler.clone()).map_err(joining)?;
        self.outcome()
            .wait_until(JOINING, Some(timeout), || handler.joined.load(Acquire) != 0)?;
        Arc::new(membership, GFP_KERNEL).map_err(|e| joining(e.into()))
    }
}
