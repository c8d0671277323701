// SPDX-License-Identifier: GPL-2.0

//! Observations of a device in a conformance test, and their text.

use super::answer::Answer;
use crate::logic::failure::{
    errno,
    status_name, //
};
use core::fmt;

/// The result of a request or receive, or of a connection request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The post failed with this errno, positive.
    Refused(i32),
    /// It completed with this status: `enum ib_wc_status`.
    Status(u32),
    /// There was no completion.
    Missing,
    /// It was a connection request, and ended with this answer.
    Answer(Answer),
}

impl Ended {
    /// Returns true where it leaves the queue pair working: it was refused or succeeded.
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

/// The counts of results of several requests or receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The number that was posted.
    pub(crate) posted: u32,
    /// The number that completed with success and named the right operation.
    pub(crate) done: u32,
    /// The number that was flushed.
    pub(crate) flushed: u32,
    /// The number that completed in any other way.
    pub(crate) other: u32,
    /// The number of completions that came out of order.
    pub(crate) disordered: u32,
    /// The number of completions of requests that had completed already, or that did not fit into
    /// the record.
    pub(crate) repeated: u32,
}

impl Tally {
    /// Returns the sum of both.
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

    /// Returns it with those that were done beyond `most` as repeated, too: of receives, there were
    /// no more messages.
    pub(crate) fn at_most(&self, most: u32) -> Self {
        Self {
            repeated: self.repeated.saturating_add(self.done.saturating_sub(most)),
            ..*self
        }
    }

    /// Returns the number that did not complete.
    pub(crate) fn missing(&self) -> u32 {
        let ended = self.done.saturating_add(self.flushed);
        self.posted.saturating_sub(ended.saturating_add(self.other))
    }
}

/// The facts that the completion of a receive tells of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Number of bytes.
    pub(crate) len: u32,
    /// Immediate data.
    pub(crate) immediate: Option<u32>,
    /// Key that the message has invalidated.
    pub(crate) invalidated: Option<u32>,
}

impl Told {
    /// Returns those of a message of `len` bytes, and nothing else.
    pub(crate) fn plain(len: u32) -> Self {
        Self {
            len,
            immediate: None,
            invalidated: None,
        }
    }
}

/// The observations in one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The result of the request under test.
    pub(crate) first: Ended,
    /// The time in ms after which that was known, of a connection request.
    pub(crate) after_ms: Option<u64>,
    /// The results of the requester's other requests.
    pub(crate) rest: Tally,
    /// The results of the receives.
    pub(crate) receives: Tally,
    /// The result of the receive that the request was for, where there is one.
    pub(crate) receive: Option<Ended>,
    /// True where the completion of that receive tells what the message has, if it succeeded.
    pub(crate) tells: bool,
    /// The state of the requester's queue pair.
    pub(crate) requester: State,
    /// The state of the responder's queue pair.
    pub(crate) responder: State,
    /// The name of the asynchronous error at the requester, if any.
    pub(crate) requester_event: Option<&'static str>,
    /// The name of the asynchronous error at the responder, if any.
    pub(crate) responder_event: Option<&'static str>,
    /// True where memory holds what it must.
    pub(crate) intact: bool,
    /// The number of READs that were served while one in front of them was under way, of a
    /// connection that allows one at a time.
    pub(crate) ahead: u32,
    /// True where a message arrived on the same connection afterwards; `None` where this was not
    /// tried.
    pub(crate) works: Option<bool>,
    /// The queue pairs could be destroyed within the timeout.
    pub(crate) destroyed: bool,
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
            Self::Answer(answer) => write!(f, "{answer}"),
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
        if let Some(after_ms) = self.after_ms {
            write!(f, " after {after_ms} ms")?;
        }
        if let Some(receive) = &self.receive {
            write!(f, "; receive: {receive}")?;
        }
        if !self.tells {
            f.write_str(", and its completion tells of another message")?;
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
        if self.ahead > 0 {
            write!(f, "; READs served too early: {}", self.ahead)?;
        }
        if !self.intact {
            f.write_str("; memory changed")?;
        }
        f.write_str(match self.works {
            Some(true) => "; goes on",
            Some(false) => "; does not go on",
            None => "",
        })?;
        f.write_str(match self.destroyed {
            true => "",
            false => "; the queue pairs cannot be destroyed",
        })
    }
}
