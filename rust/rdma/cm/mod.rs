// SPDX-License-Identifier: GPL-2.0

//! The RDMA connection manager.
//!
//! An [`Id`] is one side of one connection. The side that asks resolves the peer's address
//! ([`Id::resolve_addr`]) and the route to it ([`Id::resolve_route`]), and connects
//! ([`Id::connect`]). The side that is asked has a [`Listener`], which is shown each
//! [`Request`]; the one that it takes becomes an [`Id`], which accepts or rejects
//! ([`Id::accept`], [`Id::reject`]). None of these waits for the peer: how it went is an
//! [`Event`], which the CM reports to the [`Handler`] of the identifier.
//!
//! A [`Membership`] in a multicast group has an identifier of its own.
//!
//! Rules of life:
//!
//! - An identifier is destroyed by its drop, which waits until no handler of it runs, and after
//!   which none is called. Its handler lives at least as long. So neither an `Id` nor a
//!   `Listener` may be dropped in a handler of its own, which would wait for itself for good.
//! - A device is alive while an identifier is bound to it: the removal of a device is reported
//!   to its identifiers ([`Event::DeviceRemoval`]), and then waits until they are destroyed. So
//!   what is made on the device keeps an `Arc` of an identifier that is bound to it.
//! - A handler runs with a lock of its identifier held, which [`Id::resolve_route`],
//!   [`Id::connect`] and [`Id::accept`] take. They may not be called in a handler of the same
//!   identifier either.
//!
//! C header: `include/rdma/rdma_cm.h`

mod addr;
mod event;
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
mod group;
mod id;
mod listener;
mod param;
mod path;
mod raw;
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
mod unattached;

pub(crate) use addr::SocketAddress;
pub(crate) use event::{
    Event,
    Handler, //
};
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use group::{
    GroupAddress,
    Membership, //
};
pub(crate) use id::{
    Id,
    QueuePairPlace, //
};
pub(crate) use listener::{
    ListenHandler,
    Listener,
    Request, //
};
pub(crate) use param::{
    ConnParam,
    PortSpace, //
};
