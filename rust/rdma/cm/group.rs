// SPDX-License-Identifier: GPL-2.0

//! Membership in a multicast group, and the address that datagrams to it have.
//!
//! Only an identifier for datagrams can join, so a [`Membership`] has one of its own, bound to the
//! address that the device of a connection has. The CM tells the network of the member (IGMP with
//! RoCE, the subnet manager with InfiniBand). It attaches no queue pair of the kernel's: whoever
//! receives attaches one, and whoever only sends needs the address alone.
//!
//! C header: `include/rdma/rdma_cm.h` (`rdma_join_multicast()`, `rdma_leave_multicast()`)

use super::{
    event::{
        handle_event,
        Event,
        Handler, //
    },
    raw::RawId,
    PortSpace,
    SocketAddress, //
};
use crate::{
    bindings,
    kernel_ext::net::Netns,
    rdma::{
        device::Device,
        qp_type::QpType, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        Arc,
        SetOnce, //
    }, //
};

const IB: u32 = bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_IB;
const ROCE: u32 = bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_ROCE;

/// The address of a multicast group, as the CM tells a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupAddress {
    kind: bindings::rdma_ah_attr_type,
    gid: [u8; 16],
    /// 0 with RoCE.
    lid: u16,
    flow_label: u32,
    sgid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
    service_level: u8,
    static_rate: u8,
    port: u32,
    qkey: u32,
}

impl GroupAddress {
    /// Copies the address from the event of a join. `None` for the address of another fabric than
    /// InfiniBand and RoCE.
    pub(super) fn from_raw(param: &bindings::rdma_ud_param) -> Option<Self> {
        let attr = &param.ah_attr;
        let lid = match attr.type_ {
            // SAFETY: An address of this type has this member.
            IB => unsafe { attr.__bindgen_anon_1.ib.as_ref() }.dlid,
            ROCE => 0,
            _ => return None,
        };
        Some(Self {
            kind: attr.type_,
            // SAFETY: Every bit pattern is valid for either member of this union.
            gid: *unsafe { attr.grh.dgid.raw.as_ref() },
            lid,
            flow_label: attr.grh.flow_label,
            sgid_index: attr.grh.sgid_index,
            hop_limit: attr.grh.hop_limit,
            traffic_class: attr.grh.traffic_class,
            service_level: attr.sl,
            static_rate: attr.static_rate,
            port: attr.port_num,
            qkey: param.qkey,
        })
    }

    /// Returns the Q_Key that datagrams to the group have.
    pub(in crate::rdma) fn qkey(&self) -> u32 {
        self.qkey
    }

    /// Returns the GID and the LID by which queue pairs are attached to the group.
    pub(in crate::rdma) fn ids(&self) -> (bindings::ib_gid, u16) {
        let mut gid = bindings::ib_gid::default();
        // SAFETY: Every bit pattern is valid for either member of this union.
        *unsafe { gid.raw.as_mut() } = self.gid;
        (gid, self.lid)
    }

    /// Returns the attributes of an address handle. The core looks the sender's own address up by
    /// its index.
    pub(in crate::rdma) fn attributes(&self) -> bindings::rdma_ah_attr {
        let mut attr = bindings::rdma_ah_attr {
            grh: bindings::ib_global_route {
                dgid: self.ids().0,
                flow_label: self.flow_label,
                sgid_index: self.sgid_index,
                hop_limit: self.hop_limit,
                traffic_class: self.traffic_class,
                ..Default::default()
            },
            sl: self.service_level,
            static_rate: self.static_rate,
            port_num: self.port,
            ah_flags: bindings::ib_ah_flags_IB_AH_GRH as u8,
            type_: self.kind,
            ..Default::default()
        };
        let link = &mut attr.__bindgen_anon_1;
        // SAFETY: The member of the type that is set, of integers that are all zero.
        unsafe {
            match self.kind {
                ROCE => link.roce.as_mut().dmac = ethernet_address(&self.gid),
                _ => link.ib.as_mut().dlid = self.lid,
            }
        }
        attr
    }
}

/// Returns the Ethernet address of a multicast group (RFC 1112 section 6.4, RFC 2464 section 7).
/// The core finds it for handles of user space only.
fn ethernet_address(gid: &[u8; 16]) -> [u8; 6] {
    match *gid {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, _, b, c, d] => [1, 0, 0x5e, b & 0x7f, c, d],
        [.., a, b, c, d] => [0x33, 0x33, a, b, c, d],
    }
}

/// The handler of a membership's identifier, which keeps the address of the group.
struct Joining {
    handler: Arc<dyn Handler>,
    address: SetOnce<GroupAddress>,
}

impl Handler for Joining {
    fn event(&self, event: &Event<'_>) {
        if let Event::Joined(address) = event {
            // It joins once.
            let _ = self.address.populate(*address);
        }
        self.handler.event(event);
    }
}

/// Membership in a multicast group. Its drop leaves the group; it sleeps, and must not be in its
/// handler.
///
/// # Invariants
///
/// The context of `raw` points to the contents of `joining`, and its handler is [`handle_event`]
/// for their type.
pub(crate) struct Membership {
    /// Destroyed before its handler goes.
    raw: RawId,
    group: SocketAddress,
    joining: Arc<Joining>,
}

impl Membership {
    /// Begins to join `group` with the device that has the address `source`, in namespace `net`.
    /// The end is an event, [`Joined`](Event::Joined) or [`JoinError`](Event::JoinError). Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` where the address is not on an RDMA device; the CM's error 524 (`ENOTSUPP`) for an
    /// IPv6 group where datagrams are RoCE v2; `ENOSYS` on iWARP; `EINVAL` for an address of no
    /// family; `ENOMEM`; what else the CM says.
    pub(crate) fn join<H: Handler>(
        net: &Netns,
        source: &SocketAddress,
        group: &SocketAddress,
        handler: Arc<H>,
    ) -> Result<Self> {
        let joining = Joining {
            handler,
            address: SetOnce::new(),
        };
        let joining = Arc::new(joining, GFP_KERNEL)?;
        let context = Arc::as_ptr(&joining).cast();
        // SAFETY: The object below holds the context until the identifier is destroyed. It does not
        // listen, so no requests make identifiers of it.
        let raw = unsafe {
            RawId::new(
                net,
                PortSpace::Udp,
                QpType::Ud,
                handle_event::<Joining>,
                context,
            )
        }?;
        // INVARIANT: Created just now with this context and this handler.
        let this = Self {
            raw,
            group: *group,
            joining,
        };
        let source = source.with_port(0);
        // SAFETY: The identifier is valid, and nobody else uses it; the address is copied, although
        // the function's type does not say so.
        to_result(unsafe {
            bindings::rdma_bind_addr(this.raw.as_ptr(), source.as_ptr().cast_mut())
        })?;
        // SAFETY: The identifier is valid and has no queue pair. The address has a family, as that
        // is checked, and is copied.
        to_result(unsafe {
            bindings::rdma_join_multicast(
                this.raw.as_ptr(),
                this.group.as_ptr().cast_mut(),
                1 << bindings::ib_sa_mc_join_states_FULLMEMBER_JOIN,
                core::ptr::null_mut(),
            )
        })?;
        Ok(this)
    }

    /// Returns the address of the group, once joined. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` before.
    pub(crate) fn address(&self) -> Result<GroupAddress> {
        self.joining.address.copy().ok_or(EINVAL)
    }

    /// Returns the device of the membership, with its port. Any context.
    ///
    /// # Errors
    ///
    /// `ENODEV` where it is bound to none.
    pub(crate) fn device(&self) -> Result<Device<'_>> {
        self.raw.device()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the identifier is valid. Where it has not joined, there is
        // nothing to leave. Not in its handler, which this waits for.
        unsafe {
            bindings::rdma_leave_multicast(self.raw.as_ptr(), self.group.as_ptr().cast_mut());
        }
    }
}
