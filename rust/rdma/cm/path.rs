// SPDX-License-Identifier: GPL-2.0

//! The path of a connection: what it is like, and how other queue pairs are connected along it.
//!
//! C header: `include/rdma/rdma_cm.h` (`rdma_init_qp_attr()`)

use super::id::{
    HandlerLock,
    Id, //
};
use crate::{
    bindings,
    rdma::device::{
        Device,
        Transport, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*, //
};

/// The largest flow label.
const MAX_FLOW_LABEL: u32 = 0xf_ffff;

impl Id {
    /// Calls `use_path` with the attributes with which a queue pair is put into `state`, of
    /// `enum ib_qp_state`, along the path of the connection. They are valid during the call only.
    /// Process context; may sleep. Not in a handler of the identifier.
    ///
    /// For `IB_QPS_INIT` the identifier must be bound to a device, for `IB_QPS_RTR` the peer must
    /// have asked for the connection, or have accepted it.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP, which has no such path; `EINVAL` where the connection is not that
    /// far, or not there any more; the error of `use_path`.
    pub(in crate::rdma) fn with_path<R>(
        &self,
        state: bindings::ib_qp_state,
        use_path: impl FnOnce(&mut bindings::ib_qp_attr) -> Result<R>,
    ) -> Result<R> {
        self.check_has_paths()?;
        let mut attr = bindings::ib_qp_attr {
            qp_state: state,
            ..Default::default()
        };
        let mut mask = 0;
        // No connection is begun meanwhile, so that the CM sees its identifier whole or not at all.
        let _lock = HandlerLock::new(self);
        // SAFETY: The identifier is valid and bound to a device; both are valid for writes. What
        // the address refers to is the transport's identifier's, which lives as long as this one.
        to_result(unsafe { bindings::rdma_init_qp_attr(self.as_ptr(), &mut attr, &mut mask) })?;
        use_path(&mut attr)
    }

    /// Calls `use_route` with the attributes with which a queue pair is put into the state ready to
    /// receive along the route that has been resolved, before the peer has been asked for the
    /// connection, and with the ACK timeout of the route. The number of its queue pair and the
    /// sequence number are not set. They are valid during the call only. Process context; may
    /// sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` where no route has been resolved; the driver's; the error of
    /// `use_route`.
    pub(in crate::rdma) fn with_route<R>(
        &self,
        use_route: impl FnOnce(&mut bindings::ib_qp_attr) -> Result<R>,
    ) -> Result<R> {
        let device = self.check_has_paths()?;
        let lock = HandlerLock::new(self);
        let mut path = self.record(&lock).ok_or(EINVAL)?;
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RTR,
            path_mtu: path.mtu.into(),
            // A packet and its acknowledgment: twice the time of one, the next power of 2. The
            // largest is 31.
            timeout: path.packet_life_time.saturating_add(1).min(31),
            ..Default::default()
        };
        // SAFETY: The device is alive, as the identifier is bound to it, and the record is of a
        // route on this port. The identifier holds the entry of its address. The attributes are
        // valid for writes.
        to_result(unsafe {
            bindings::ib_init_ah_attr_from_path(
                device.as_ptr(),
                device.port(),
                &mut path,
                &mut attr.ah_attr,
                (&raw const (*self.as_ptr()).route.addr.dev_addr.sgid_attr).read_volatile(),
            )
        })?;
        let result = use_route(&mut attr);
        // SAFETY: They were made above, and hold a reference on the entry.
        unsafe { bindings::rdma_destroy_ah_attr(&mut attr.ah_attr) };
        result
    }

    /// Returns the LID and the GID of this side's port on the route that has been resolved, or on
    /// the path of a connection that was asked for by the peer. The LID is 0 on RoCE, which has
    /// none. Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` where no route has been resolved; `ERANGE` for the LID of an
    /// Omni-Path port that has more than 16 bits.
    pub(crate) fn lid_and_gid(&self) -> Result<(u16, [u8; 16])> {
        self.with_record(|path| {
            let union = &path.__bindgen_anon_1;
            let lid = match path.rec_type {
                // SAFETY: The type says that this is the member of the union that is set.
                bindings::sa_path_rec_type_SA_PATH_REC_TYPE_IB => unsafe {
                    u16::from_be(union.ib.as_ref().slid)
                },
                // SAFETY: As above.
                bindings::sa_path_rec_type_SA_PATH_REC_TYPE_OPA => unsafe {
                    u16::try_from(u32::from_be(union.opa.as_ref().slid)).map_err(|_| ERANGE)?
                },
                _ => 0,
            };
            // SAFETY: Every bit pattern is valid for either member of this union.
            Ok((lid, unsafe { *path.sgid.raw.as_ref() }))
        })
    }

    /// Returns the GID of the peer's port on that route. Process context; may sleep. Not in a
    /// handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` where no route has been resolved.
    pub(crate) fn peer_gid(&self) -> Result<[u8; 16]> {
        // SAFETY: Every bit pattern is valid for either member of this union.
        self.with_record(|path| Ok(unsafe { *path.dgid.raw.as_ref() }))
    }

    /// Returns the flow label of that route. Process context; may sleep. Not in a handler of the
    /// identifier.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` where no route has been resolved.
    pub(crate) fn flow_label(&self) -> Result<u32> {
        self.with_record(|path| Ok(u32::from_be(path.flow_label)))
    }

    /// Calls `read` with the record of the route that has been resolved.
    fn with_record<R>(&self, read: impl FnOnce(&bindings::sa_path_rec) -> Result<R>) -> Result<R> {
        self.check_has_paths()?;
        let lock = HandlerLock::new(self);
        read(&self.record(&lock).ok_or(EINVAL)?)
    }

    /// Lowers the path MTU of the connection to `bytes`: 256, 512, 1024, 2048 or 4096. Once the
    /// route has been resolved, before the connection is asked for. Process context; may sleep.
    /// Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `ENOENT` where there is no path record, as on iWARP; `ERANGE` where the path takes
    /// less; `EINVAL` for any other number, and where no route has been resolved.
    pub(crate) fn lower_path_mtu(&self, bytes: u16) -> Result {
        let mtu: u8 = match bytes {
            256 => 1,
            512 => 2,
            1024 => 3,
            2048 => 4,
            4096 => 5,
            _ => return Err(EINVAL),
        };
        let lock = HandlerLock::new(self);
        let record = self.record_place(&lock).ok_or(ENOENT)?.as_ptr();
        // SAFETY: The identifier owns the record, which is only read when the connection is asked
        // for, which takes the lock, too. No reference to what a query may write meanwhile.
        unsafe {
            let place = &raw mut (*record).mtu;
            if place.read_volatile() < mtu {
                return Err(ERANGE);
            }
            place.write_volatile(mtu);
        }
        Ok(())
    }

    /// Sets the flow label of the connection's path, of 20 bits, from which devices derive the UDP
    /// source port of RoCE v2. The peer is told, and takes the same. Once the route has been
    /// resolved, before the connection is asked for. Process context; may sleep. Not in a handler
    /// of the identifier.
    ///
    /// # Errors
    ///
    /// `ENOENT` where packets have none: on iWARP, and on InfiniBand within a subnet; `EINVAL` for
    /// more bits, and where no route has been resolved.
    pub(crate) fn set_flow_label(&self, label: u32) -> Result {
        if label > MAX_FLOW_LABEL {
            return Err(EINVAL);
        }
        let lock = HandlerLock::new(self);
        let record = self.record_place(&lock).ok_or(ENOENT)?.as_ptr();
        let transport = self.device()?.transport();
        // SAFETY: The identifier owns the record, which is only read when the connection is asked
        // for, which takes the lock, too. No reference to what a query may write meanwhile.
        unsafe {
            let hops = (&raw const (*record).hop_limit).read_volatile();
            // Only a path that leaves the subnet has a global routing header there.
            if transport != Transport::Roce && hops == 0 {
                return Err(ENOENT);
            }
            (&raw mut (*record).flow_label).write_volatile(label.to_be());
        }
        Ok(())
    }

    /// Returns the place of the record of the route, once that has been resolved, or the connection
    /// was asked for by the peer. The CM's answer to a query may still be written there.
    fn record_place(&self, _lock: &HandlerLock<'_>) -> Option<NonNull<bindings::sa_path_rec>> {
        // SAFETY: The identifier is valid. No reference to what the CM may write meanwhile.
        let (paths, record) = unsafe {
            let route = &raw const (*self.as_ptr()).route;
            (
                (&raw const (*route).num_pri_alt_paths).read_volatile(),
                (&raw const (*route).path_rec).read_volatile(),
            )
        };
        NonNull::new(record).filter(|_| paths > 0)
    }

    /// Returns a copy of that record.
    fn record(&self, lock: &HandlerLock<'_>) -> Option<bindings::sa_path_rec> {
        let record = self.record_place(lock)?;
        // SAFETY: The identifier owns it until it is destroyed. Any bits are good, so whatever a
        // query writes meanwhile.
        Some(unsafe { record.as_ptr().read_volatile() })
    }

    /// Returns the device, if connections on it have paths.
    fn check_has_paths(&self) -> Result<Device<'_>> {
        let device = self.device()?;
        match device.transport() {
            Transport::InfiniBand | Transport::Roce => Ok(device),
            Transport::Iwarp | Transport::Other => {
                Err(Error::from_errno(-(bindings::EOPNOTSUPP as c_int)))
            }
        }
    }

    /// Returns the bytes of data of a packet on the path, once the route has been resolved, or the
    /// connection was asked for by the peer; `None` where there is no path record, as on iWARP.
    /// Process context; may sleep. Not in a handler of the identifier.
    pub(crate) fn path_mtu(&self) -> Option<u32> {
        let lock = HandlerLock::new(self);
        let code = self.record(&lock)?.mtu;
        // `enum ib_mtu`.
        (1..=5).contains(&code).then(|| 128 << code)
    }
}
