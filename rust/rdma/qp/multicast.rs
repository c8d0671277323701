// SPDX-License-Identifier: GPL-2.0

//! Queue pairs that send to a multicast group, or receive from one.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_attach_mcast()`, `ib_detach_mcast()`)

use super::{
    unreliable::{
        destroy_handle,
        Datagram,
        Unreliable,
        GRH_BYTES, //
    },
    Completions,
    QueuePair, //
};
use crate::{
    bindings,
    rdma::{
        cm::{
            GroupAddress,
            Membership, //
        },
        qp_type::QpType, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::Arc, //
};

/// The first bytes of the GID of an IPv4 address.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// The use that a queue pair makes of its multicast group.
enum Use {
    /// It sends to this destination.
    Sends(Datagram),
    /// It is attached to the group, and receives what is sent there, by the peer from this GID.
    Receives([u8; 16]),
}

impl Use {
    fn destination(&self) -> Option<Datagram> {
        match self {
            Self::Sends(datagram) => Some(*datagram),
            Self::Receives(_) => None,
        }
    }
}

/// The multicast group of a queue pair. The membership ends after the queue pair.
pub(super) struct Group {
    used: Use,
    address: GroupAddress,
    _membership: Arc<Membership>,
}

impl Group {
    /// Returns the destination of what is sent to the group, of a queue pair that sends.
    pub(super) fn destination(&self) -> Option<Datagram> {
        self.used.destination()
    }
}

impl Unreliable {
    /// Returns the address of the group of `membership`, to which a queue pair like this can be
    /// attached.
    fn address_of(&self, membership: &Membership) -> Result<GroupAddress> {
        let (ours, other) = (self.id().device()?, membership.device()?);
        if self.qp_type() != QpType::Ud {
            return Err(EINVAL);
        }
        match ours.is(&other) && ours.port() == other.port() {
            true => membership.address(),
            false => Err(EXDEV),
        }
    }

    fn send_to_group(&self, membership: Arc<Membership>) -> Result {
        let address = self.address_of(&membership)?;
        let datagram = Datagram {
            ah: self.create_handle(&mut address.attributes())?,
            queue_pair: bindings::IB_MULTICAST_QPN,
            qkey: address.qkey(),
        };
        self.keep(Use::Sends(datagram), address, membership)
    }

    fn receive_from_group(&self, membership: Arc<Membership>) -> Result {
        let address = self.address_of(&membership)?;
        let rtr = bindings::ib_qp_state_IB_QPS_RTR;
        let peer = self.id().with_path(rtr, |path| {
            // SAFETY: Every bit pattern is valid for either member of this union.
            Ok(*unsafe { path.ah_attr.grh.dgid.raw.as_ref() })
        })?;
        self.set_qkey(address.qkey())?;
        let (mut gid, lid) = address.ids();
        // SAFETY: The queue pair is alive, as it is not destroyed while somebody has `self`.
        to_result(unsafe { bindings::ib_attach_mcast(self.as_ptr(), &mut gid, lid) })?;
        self.keep(Use::Receives(peer), address, membership)
    }

    fn keep(&self, used: Use, address: GroupAddress, membership: Arc<Membership>) -> Result {
        let destination = used.destination();
        let group = Group {
            used,
            address,
            _membership: membership,
        };
        let kept = KBox::new(group, GFP_KERNEL)
            .map_err(Error::from)
            // INVARIANT: It is attached where the group says so, or the handle was created for it.
            .map(|group| self.group.populate(group));
        let error = match kept {
            Ok(true) => return Ok(()),
            Ok(false) => EBUSY,
            Err(error) => error,
        };
        let (mut gid, lid) = address.ids();
        // SAFETY: Nobody has seen the handle; or the queue pair is alive, and attached.
        unsafe {
            match destination {
                Some(datagram) => destroy_handle(datagram.ah),
                None => {
                    bindings::ib_detach_mcast(self.as_ptr(), &mut gid, lid);
                }
            }
        }
        Err(error)
    }

    /// Returns true where it is attached to a group.
    pub(super) fn is_attached(&self) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| matches!(group.used, Use::Receives(_)))
    }

    /// Returns true where a datagram with this header was sent by the peer's host: the header is
    /// InfiniBand's, as wide as that of IPv6, or has that of IPv4 at its end (`union
    /// rdma_network_hdr`).
    pub(super) fn is_of_peers_host(&self, header: &[u8; GRH_BYTES as usize]) -> bool {
        let group = self.group.as_ref();
        let Some(Use::Receives(gid)) = group.map(|group| &group.used) else {
            return false;
        };
        let by_ipv4 = gid.starts_with(&MAPPED) && header[32..36] == gid[12..];
        by_ipv4 || header[8..24] == *gid
    }

    /// Detaches it from its group, if it is attached to one. Once, before it is destroyed.
    pub(super) fn detach(&self) {
        if let Some(group) = self.group.as_ref().filter(|_| self.is_attached()) {
            let (mut gid, lid) = group.address.ids();
            // SAFETY: By the type invariant the queue pair is alive, and attached with these. It
            // fails for one only that is not.
            unsafe { bindings::ib_detach_mcast(self.as_ptr(), &mut gid, lid) };
        }
    }
}

impl<C: Completions> QueuePair<C> {
    /// Has the datagrams of lists that are filled from now on go to the group of `membership`,
    /// which has joined. Once, of the queue pair for datagrams beside this one when that is
    /// connected. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is none, or where the membership has not come about; `EBUSY` where it
    /// has a group; `EXDEV` where the membership is of another port; `ENOMEM`; the driver's.
    pub(crate) fn send_to_group(&self, membership: Arc<Membership>) -> Result {
        let unreliable = self.unreliable.as_ref().ok_or(EINVAL)?;
        unreliable.send_to_group(membership)
    }

    /// Has the queue pair for datagrams beside this one, which is connected, receive what is sent
    /// to the group of `membership`, which has joined, by anybody. Once. Process context; may
    /// sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// As for [`send_to_group`](Self::send_to_group); `EOPNOTSUPP` where the device has no
    /// multicast.
    pub(crate) fn receive_from_group(&self, membership: Arc<Membership>) -> Result {
        let unreliable = self.unreliable.as_ref().ok_or(EINVAL)?;
        unreliable.receive_from_group(membership)
    }
}
