// SPDX-License-Identifier: GPL-2.0

//! Finds the first cause of a failure among reports that come in any order.
//!
//! Completions, CM events, asynchronous errors and calls that fail report the same event in their
//! own words and at their own time: a queue pair in error flushes its requests before the event
//! that says why has come, and a peer that ends shows as a disconnect. [`ConnectionEnd`] keeps the
//! cause of one connection's end, [`SessionEnd`] that of a command with all its connections.

use super::{
    errno::ENOMEM,
    Failure, //
};

/// The knowledge about the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has not ended.
    Nothing,
    /// There is a failure whose cause may still be reported.
    Consequence,
    /// The workload is finished, or there is a failure that nothing replaces.
    Settled,
}

/// The end of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionEnd {
    failure: Option<Failure>,
    /// The workload has done all that it was to do.
    finished: bool,
    /// The end has nothing more to wait for from the peer.
    released: bool,
}

impl ConnectionEnd {
    /// Notes a failure. It is kept if there is none yet, or only what follows from it; after the
    /// workload has finished there is none.
    pub(crate) fn fail(&mut self, failure: Failure) {
        // What comes after the end is not its cause, but may shorten it.
        let ending = self.finished || self.failure.is_some();
        self.released |= match failure {
            Failure::DeviceRemoved => true,
            Failure::Interrupted => ending,
            _ => false,
        };
        let better = self
            .failure
            .is_none_or(|first| first.rank() < failure.rank());
        if !self.finished && better {
            self.failure = Some(failure);
        }
    }

    /// Notes that the workload has done all that it was to do. A peer that has ended the connection
    /// since has done so then, too: a disconnect overtakes the last completions.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
        if matches!(self.failure, Some(Failure::Disconnected)) {
            self.failure = None;
        }
    }

    /// Notes that the peer knows of the end.
    pub(crate) fn release(&mut self) {
        self.released = true;
    }

    /// Returns true where the end has nothing more to wait for from the peer: it knows, or the
    /// device is gone, or a signal came.
    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    /// Returns the failure, if there is one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Returns how much is known.
    pub(crate) fn known(&self) -> Known {
        match self.failure {
            _ if self.finished => Known::Settled,
            None => Known::Nothing,
            Some(failure) if failure.rank() == Failure::CAUSE => Known::Settled,
            Some(_) => Known::Consequence,
        }
    }

    /// Returns the cause of `failure`, which a call has returned or a thread has seen. `Err` is the
    /// same where a cause may still be reported, for which the caller is to wait a moment.
    pub(crate) fn cause_of(&self, failure: Failure) -> Result<Failure, Failure> {
        match failure {
            // A disconnect overtakes the completion or the event that is its cause.
            Failure::Disconnected => match self.failure {
                Some(cause) if cause.rank() > failure.rank() => Ok(cause),
                _ => Err(failure),
            },
            // Nothing that a peer does causes that, but it may cause what has been reported:
            // where accepting fails, the receives are flushed.
            Failure::Kernel(_, number) if number == -ENOMEM => Ok(failure),
            // A call fails because of what has been reported.
            Failure::Kernel(..) => Ok(self.failure.unwrap_or(failure)),
            _ => Ok(failure),
        }
    }
}

/// The end of a command, which may have several connections and both sides of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionEnd {
    failure: Option<Failure>,
    cancelled: Option<Failure>,
}

impl SessionEnd {
    /// Notes that all threads are to end because of `failure`, and returns what they are to end
    /// for, which is what came first.
    pub(crate) fn cancel(&mut self, failure: Failure) -> Failure {
        *self.cancelled.get_or_insert(failure)
    }

    /// Returns what all threads are to end for, if they are.
    pub(crate) fn cancelled(&self) -> Option<Failure> {
        self.cancelled
    }

    /// Notes the failure of one thread. The first is kept, unless the command has `both_sides` and
    /// it is what one of them sees of the other's end, whose cause then comes after it.
    pub(crate) fn fail(&mut self, failure: Failure, both_sides: bool) {
        // What a thread then sees of the end of the others is not the cause.
        let failure = match self.cancelled {
            Some(Failure::Interrupted) if !failure.is_verdict() => Failure::Interrupted,
            _ => failure,
        };
        let better = self.failure.is_none_or(|first| {
            both_sides
                && first.is_of_the_peer()
                && !failure.is_of_the_peer()
                && !matches!(failure, Failure::Cancelled)
        });
        if better {
            self.failure = Some(failure);
        }
    }

    /// Returns the failure of the command, if there is one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }
}
