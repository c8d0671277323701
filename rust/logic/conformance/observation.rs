// SPDX-License-Identifier: GPL-2.0

//! What was seen of a device in a conformance test, and how it is said.

use crate::logic::failure::{
    errno,
    status_name, //
};
use core::fmt;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was not taken: the errno, positive.
    Refused(i32),
    /// It completed: `enum ib_wc_status`.
    Status(u32),
    /// It did not complete.
    Missing,
}

impl Ended {
    /// Whether it left the queue pair as it was.
    pub(crate) fn is_harmless(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Status(0))
    }
}

/// The state of a queue pair: `enum ib_qp_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(pub(crate) u32);

impl State {
    /// Ready to send.
    pub(crate) const RTS: Self = Self(3);
    /// In error.
    pub(crate) const ERROR: Self = Self(6);
}

/// What became of several requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// That the queue took.
    pub(crate) posted: u32,
    /// That completed well, as the operation that they are.
    pub(crate) done: u32,
    /// That were flushed.
    pub(crate) flushed: u32,
    /// That ended otherwise.
    pub(crate) other: u32,
    /// Completions that came in another order than the posts.
    pub(crate) disordered: u32,
    /// Completions of what had completed already.
    pub(crate) repeated: u32,
}

impl Tally {
    /// Those of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            posted: self.posted.saturating_add(other.posted),
            done: self.done.saturating_add(other.done),
            flushed: self.flushed.saturating_add(other.flushed),
            other: self.other.saturating_add(other.other),
            disordered: self.disordered.saturating_add(other.disordered),
            repeated: self.repeated.saturating_add(other.repeated),
        }
    }

    /// That did not complete.
    pub(crate) fn missing(&self) -> u32 {
        let ended = self.done.saturating_add(self.flushed);
        self.posted.saturating_sub(ended.saturating_add(self.other))
    }
}

/// What was found in one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The request that is tried.
    pub(crate) first: Ended,
    /// The others of the requester.
    pub(crate) rest: Tally,
    /// Receives, of both sides.
    pub(crate) receives: Tally,
    /// The receive that the request was for, where there is one.
    pub(crate) receive: Option<Ended>,
    /// The requester's queue pair.
    pub(crate) requester: State,
    /// The responder's.
    pub(crate) responder: State,
    /// The asynchronous error that the requester's device told, and its name.
    pub(crate) requester_event: Option<&'static str>,
    /// The same of the responder.
    pub(crate) responder_event: Option<&'static str>,
    /// Whether memory is as it must be.
    pub(crate) intact: bool,
    /// Whether the same connection did a good round afterwards, where it was tried.
    pub(crate) works: Option<bool>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refused(number) => match errno::name(number) {
                Some(name) => write!(f, "refused with {name}"),
                None => write!(f, "refused with errno {number}"),
            },
            Self::Status(status) => write!(f, "{} ({status})", status_name(status)),
            Self::Missing => f.write_str("no completion"),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 7] = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "unknown ({})", self.0),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} posted", self.posted)?;
        for (count, what) in [
            (self.done, "done"),
            (self.flushed, "flushed"),
            (self.other, "failed"),
            (self.missing(), "not completed"),
            (self.disordered, "out of order"),
            (self.repeated, "twice"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if let Some(receive) = &self.receive {
            write!(f, "; receive: {receive}")?;
        }
        write!(
            f,
            "; requester {}, responder {}",
            self.requester, self.responder
        )?;
        for (side, event) in [
            ("requester", self.requester_event),
            ("responder", self.responder_event),
        ] {
            if let Some(event) = event {
                write!(f, "; event at the {side}: {event}")?;
            }
        }
        if self.rest.posted > 0 {
            write!(f, "; other requests: {}", self.rest)?;
        }
        if self.receives.posted > 0 {
            write!(f, "; receives: {}", self.receives)?;
        }
        if !self.intact {
            f.write_str("; memory changed")?;
        }
        match self.works {
            Some(true) => f.write_str("; goes on"),
            Some(false) => f.write_str("; does not go on"),
            None => Ok(()),
        }
    }
}
