// SPDX-License-Identifier: GPL-2.0

//! TCP sockets of the kernel, for short exchanges of messages whose size both sides know.
//!
//! A [`Listener`] accepts connections, each a [`Stream`], and [`Stream::connect`] makes one. All
//! that waits takes a timeout, which bounds the whole call. Data is sent at once, without waiting
//! for more to go with it (`TCP_NODELAY`).
//!
//! A socket holds a reference on its network namespace, as a process's socket does, so the
//! namespace need not be kept for it. Both last beyond the drop of a [`Stream`] while TCP delivers
//! what was sent.
//!
//! Rules of life:
//!
//! - All functions are for process context, and may sleep. They allocate memory in ways that may
//!   wait for writeback, so they are not for threads that writeback waits for.
//! - Threads that wait in the same direction of one socket, such as two in [`Listener::accept`],
//!   share one timeout, the one that was set last. A protocol has one thread for a direction.
//!
//! # Examples
//!
//! ```ignore
//! let net = Netns::current().ok_or(ESRCH)?;
//! let listener = Listener::new(&net, &any, 8)?;
//! let stream = Stream::connect(&net, &listener.local()?, 1000, || false)?;
//! let (accepted, peer) = listener.accept(1000)?.ok_or(ETIMEDOUT)?;
//! stream.send_all(b"ping", 1000)?;
//! let mut message = [0; 4];
//! assert_eq!(accepted.receive(&mut message, 1000)?, Some(4));
//! ```
//!
//! C header: `include/linux/net.h`

pub(super) mod address;

use super::{
    net::Netns,
    time::Deadline, //
};
use crate::bindings;
use address::RawAddress;
use core::{
    net::SocketAddr,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_long, //
    },
    prelude::*, //
};

/// Returns the error of a number that the kernel crate has no name for.
fn errno(number: u32) -> Error {
    Error::from_errno(-(number as c_int))
}

/// Returns true if `error` has the number `number`.
fn is(error: Error, number: u32) -> bool {
    error == errno(number)
}

/// Returns the jiffies until `deadline`, as C has them.
fn remaining(deadline: Deadline) -> c_long {
    c_long::try_from(deadline.remaining()).unwrap_or(0)
}

/// Converts the result of moving bytes: their number, or an error. `ETIMEDOUT` where it timed out.
fn moved(ret: c_int) -> Result<usize> {
    usize::try_from(ret).map_err(|_| match Error::from_errno(ret) {
        EAGAIN => ETIMEDOUT,
        error => error,
    })
}

/// A TCP socket, released when dropped.
///
/// # Invariants
///
/// Owns the socket, which holds a reference on its namespace.
struct Socket(NonNull<bindings::socket>);

// SAFETY: A socket may be used and released by any task; TCP has a lock of its own for it.
unsafe impl Send for Socket {}
// SAFETY: As above, and by several tasks at once.
unsafe impl Sync for Socket {}

impl Socket {
    /// Creates a socket in `net` for addresses of the family of `addr`.
    ///
    /// # Errors
    ///
    /// `EAFNOSUPPORT` for IPv6 on a kernel without it; `ENOMEM`.
    fn new(net: &Netns, addr: &RawAddress) -> Result<Self> {
        let mut raw = core::ptr::null_mut();
        let family = c_int::from(addr.family());
        // SAFETY: The namespace is alive during the call, in which the socket takes a reference of
        // its own on it. `raw` is valid for writes.
        to_result(unsafe { bindings::rust_helper_tcp_create(net.as_ptr(), family, &mut raw) })?;
        // INVARIANT: Created just now; nobody else has it.
        NonNull::new(raw).map(Self).ok_or(ENOMEM)
    }

    fn as_ptr(&self) -> *mut bindings::socket {
        self.0.as_ptr()
    }

    /// Returns the address of this side, or the peer's, by which of the two functions `get` is.
    ///
    /// # Safety
    ///
    /// `get` is `kernel_getsockname()` or `kernel_getpeername()`.
    unsafe fn name(
        &self,
        get: unsafe extern "C" fn(*mut bindings::socket, *mut bindings::sockaddr) -> c_int,
    ) -> Result<SocketAddr> {
        let mut raw = RawAddress::EMPTY;
        // SAFETY: By the type invariant the socket is ours. There is room for the address of any
        // family, and all bytes are valid for its fields.
        to_result(unsafe { get(self.as_ptr(), (&raw mut raw).cast()) })?;
        raw.decode()
    }

    fn local(&self) -> Result<SocketAddr> {
        // SAFETY: It is the first of the two.
        unsafe { self.name(bindings::kernel_getsockname) }
    }

    fn peer(&self) -> Result<SocketAddr> {
        // SAFETY: It is the second of the two.
        unsafe { self.name(bindings::kernel_getpeername) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the socket is ours, and all calls with it have returned. It
        // does not wait for the peer: what is left to do, TCP does on its own with the part of the
        // socket that is its, which holds the namespace.
        unsafe { bindings::sock_release(self.as_ptr()) }
    }
}

/// A socket that accepts TCP connections. Its drop refuses those that were not accepted. Process
/// context; the drop sleeps.
pub(crate) struct Listener(Socket);

impl Listener {
    /// Listens at `addr` in `net`, of IPv4 or IPv6; the kernel chooses a port in place of 0. Up to
    /// `backlog` connections wait to be accepted. Connections of an earlier listener at the same
    /// port, which TCP still remembers, are not in the way. Process context; may sleep.
    ///
    /// At the unspecified address of IPv6 it also accepts connections of IPv4, unless
    /// `net.ipv6.bindv6only` is set. The peers' addresses are mapped ones then.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE` where another socket listens there; `EADDRNOTAVAIL` where the address is not
    /// one of the host's; `EINVAL` for a link-local address without an interface; `EACCES` for a
    /// port that takes privileges; `EAFNOSUPPORT` for IPv6 on a kernel without it; `ENOMEM`.
    pub(crate) fn new(net: &Netns, addr: &SocketAddr, backlog: u16) -> Result<Self> {
        let mut raw = RawAddress::new(addr);
        let socket = Socket::new(net, &raw)?;
        let size = raw.size();
        // SAFETY: By its invariant the socket is ours, and nobody else has it yet. The address is
        // valid for that many bytes, and copied.
        unsafe {
            bindings::rust_helper_sock_reuse_address(socket.as_ptr());
            to_result(bindings::kernel_bind(
                socket.as_ptr(),
                (&raw mut raw).cast(),
                size,
            ))?;
            to_result(bindings::kernel_listen(
                socket.as_ptr(),
                c_int::from(backlog),
            ))?;
        }
        Ok(Self(socket))
    }

    /// Returns the address that it listens at, with the port that the kernel chose, if it did.
    /// Process context; may sleep.
    pub(crate) fn local(&self) -> Result<SocketAddr> {
        self.0.local()
    }

    /// Accepts a connection and returns it with the peer's address. Waits for one up to
    /// `timeout_ms`; with 0 it only takes one that is there. `None` where none came. Connections
    /// that have broken by then are skipped. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `EINTR` on a signal, which kernel threads do not get; `ENOMEM`.
    pub(crate) fn accept(&self, timeout_ms: u32) -> Result<Option<(Stream, SocketAddr)>> {
        let deadline = Deadline::after_ms(timeout_ms);
        loop {
            let mut raw = core::ptr::null_mut();
            let timeout = remaining(deadline);
            // SAFETY: By its invariant the socket is ours, and it listens. `raw` is valid for
            // writes.
            let ret = unsafe {
                bindings::rust_helper_sock_accept(self.0.as_ptr(), &mut raw, timeout)
                //
            };
            match to_result(ret) {
                Err(EAGAIN) => return Ok(None),
                result => result?,
            }
            // INVARIANT: It is nobody else's, and like the listener it holds the namespace.
            let socket = NonNull::new(raw).map(Socket).ok_or(ENOMEM)?;
            match socket.peer() {
                Ok(peer) => return Ok(Some((Stream(socket), peer))),
                // An error would let any peer that resets its connection end a server.
                Err(error) if is(error, bindings::ENOTCONN) => {}
                Err(error) => return Err(error),
            }
            if deadline.passed() {
                return Ok(None);
            }
        }
    }
}

/// The time between two questions whether to give up, in ms.
const SLICE_MS: u32 = 50;

/// A TCP connection. Its drop closes it and does not wait for the peer: what was sent is still
/// delivered, unless there is data that was not received, in which case the peer sees a reset.
/// Process context; the drop sleeps.
pub(crate) struct Stream(Socket);

impl Stream {
    /// Connects to `to` from `net`, within `timeout_ms`. Gives up as soon as `gives_up`, which is
    /// asked every [`SLICE_MS`] meanwhile, returns true. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `EINTR` where it gave up, and on a signal, which kernel threads do not get; `ETIMEDOUT`
    /// where the peer did not answer in time; `ECONNREFUSED` where nobody listens there;
    /// `ENETUNREACH` or `EHOSTUNREACH` where no route leads there; `EINVAL` for a link-local
    /// address without an interface; `EAFNOSUPPORT` for IPv6 on a kernel without it; `ENOMEM`.
    pub(crate) fn connect(
        net: &Netns,
        to: &SocketAddr,
        timeout_ms: u32,
        gives_up: impl Fn() -> bool,
    ) -> Result<Self> {
        let deadline = Deadline::after_ms(timeout_ms);
        let mut raw = RawAddress::new(to);
        let socket = Socket::new(net, &raw)?;
        let size = raw.size();
        loop {
            let slice = Deadline::after_ms(SLICE_MS).sooner(deadline);
            // SAFETY: By its invariant the socket is ours, and nobody else has it yet. The address
            // is valid for that many bytes, and copied.
            let ret = unsafe {
                bindings::rust_helper_sock_connect(
                    socket.as_ptr(),
                    (&raw mut raw).cast(),
                    size,
                    remaining(slice),
                )
            };
            match to_result(ret) {
                Ok(()) => return Ok(Self(socket)),
                // The attempt goes on behind a call that has timed out, and the next call waits
                // for the same one. The drop ends it.
                Err(error) if is(error, bindings::EINPROGRESS) || is(error, bindings::EALREADY) => {
                    if deadline.passed() {
                        return Err(ETIMEDOUT);
                    }
                    if gives_up() {
                        return Err(EINTR);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns this side's address. Process context; may sleep.
    pub(crate) fn local(&self) -> Result<SocketAddr> {
        self.0.local()
    }

    /// Sends all of `bytes`, within `timeout_ms`. They are then TCP's, which need not mean that the
    /// peer has them. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ETIMEDOUT` where the peer did not take enough in time, or TCP gave the connection up;
    /// `ECONNRESET` or `EPIPE` where the peer has closed it; `EINTR` on a signal, which kernel
    /// threads do not get; other errors that the network reported. A part may have been sent: the
    /// connection is of no more use.
    pub(crate) fn send_all(&self, bytes: &[u8], timeout_ms: u32) -> Result {
        let deadline = Deadline::after_ms(timeout_ms);
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: By its invariant the socket is ours. The bytes are valid and are copied
            // before the call returns.
            let ret = unsafe {
                bindings::rust_helper_sock_send(
                    self.0.as_ptr(),
                    rest.as_ptr().cast(),
                    rest.len(),
                    remaining(deadline),
                )
            };
            rest = match moved(ret)? {
                // It has an error in place of 0.
                0 => return Err(EIO),
                count => rest.get(count..).ok_or(EIO)?,
            };
        }
        Ok(())
    }

    /// Ends this side's direction: behind what was sent, the peer receives the end. The peer can
    /// still send. Process context; may sleep.
    pub(crate) fn end_sending(&self) {
        // SAFETY: By its invariant the socket is ours.
        unsafe { bindings::rust_helper_sock_end_sending(self.0.as_ptr()) }
    }

    /// Receives the next bytes from the peer, and returns their number. Waits up to `timeout_ms`
    /// until all of `buffer` is filled; with 0 it only takes what is there. `None` where nothing
    /// came, and `Some(0)` where the peer has closed its side in order and all was received.
    /// Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ECONNRESET` where the peer has closed it otherwise; `ETIMEDOUT` where TCP gave the
    /// connection up; `EINTR` on a signal, which kernel threads do not get; other errors that the
    /// network reported.
    pub(crate) fn receive(&self, buffer: &mut [u8], timeout_ms: u32) -> Result<Option<usize>> {
        let deadline = Deadline::after_ms(timeout_ms);
        // SAFETY: By its invariant the socket is ours. The bytes are valid for writes, and nobody
        // else sees them during the call.
        let ret = unsafe {
            bindings::rust_helper_sock_receive(
                self.0.as_ptr(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                remaining(deadline),
            )
        };
        match usize::try_from(ret) {
            Ok(count) => Ok(Some(count)),
            Err(_) => match Error::from_errno(ret) {
                EAGAIN => Ok(None),
                error => Err(error),
            },
        }
    }
}
