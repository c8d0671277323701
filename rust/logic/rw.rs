// SPDX-License-Identifier: GPL-2.0

//! Transfers as two counts without I/O, and the checks of their messages.
//!
//! A client's request advertises memory of the size that its private data has announced. The server
//! moves the data and answers with the same advertisement, in the order of the requests. So both
//! sides know the number of a transfer, from which its data follows, by counting.

use super::{
    pingpong::{
        Message,
        Violation, //
    },
    wire::Advertisement, //
};

/// The server's count of a client's requests.
#[derive(Debug)]
pub(crate) struct Server {
    /// Bytes of each transfer.
    size: u32,
    /// The number of requests that the client announced; 0 is until it disconnects.
    count: u64,
    arrived: u64,
    answered: u64,
}

impl Server {
    /// Creates a server of `count` transfers of `size` bytes.
    pub(crate) const fn new(size: u32, count: u64) -> Self {
        Self {
            size,
            count,
            arrived: 0,
            answered: 0,
        }
    }

    /// Handles a request, and returns the client's memory.
    ///
    /// # Errors
    ///
    /// The [`Violation`], after which the session cannot go on.
    pub(crate) fn request(&mut self, message: &Message) -> Result<Advertisement, Violation> {
        message.check_form()?;
        if let Some(key) = message.invalidated {
            return Err(Violation::Unasked(key));
        }
        if self.count != 0 && self.arrived >= self.count {
            return Err(Violation::PastEnd);
        }
        let adv = Advertisement::decode(&message.bytes);
        if adv.size == 0 {
            return Err(Violation::Empty);
        }
        if adv.size != self.size {
            return Err(Violation::TransferSize(adv.size, self.size));
        }
        if adv.addr.checked_add(adv.size.into()).is_none() {
            return Err(Violation::Wraps);
        }
        self.arrived = self.arrived.saturating_add(1);
        Ok(adv)
    }

    /// Returns the number of requests that have come.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Notes that the next request has been answered.
    pub(crate) fn answer(&mut self) {
        self.answered = self.answered.saturating_add(1);
    }

    /// Returns the number of requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// Returns true where the client announced a number of requests, and all were answered.
    pub(crate) fn served_all(&self) -> bool {
        self.count != 0 && self.answered == self.count
    }

    /// Returns true where the client may disconnect now: when it waits for nothing, and has had
    /// what it announced.
    pub(crate) fn may_end(&self) -> bool {
        self.answered == self.arrived && (self.count == 0 || self.served_all())
    }
}

/// Checks the answer to the client's oldest request, which was `asked`; `None` where it has none.
///
/// # Errors
///
/// The [`Violation`], after which the session cannot go on.
pub(crate) fn check_answer(
    message: &Message,
    asked: Option<&Advertisement>,
) -> Result<(), Violation> {
    message.check_form()?;
    if let Some(key) = message.invalidated {
        return Err(Violation::Unasked(key));
    }
    let asked = asked.ok_or(Violation::Early)?;
    if Advertisement::decode(&message.bytes) != *asked {
        return Err(Violation::OtherTransfer);
    }
    Ok(())
}
