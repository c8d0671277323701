// SPDX-License-Identifier: GPL-2.0

//! Figures of the messages of an unreliable queue pair.

use crate::logic::{
    spec::service::Service,
    text::json::Object, //
};
use core::fmt;

/// Figures of the messages that have arrived on an unreliable queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Different messages.
    pub(crate) messages: u64,
    /// Messages of these that came after a later one.
    pub(crate) late: u32,
    /// More messages, which had arrived before.
    pub(crate) repeated: u32,
}

/// Figures of the messages from one side to the other, warm-up included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LossFigures {
    /// The service of the queue pair.
    pub(crate) service: Service,
    /// Different messages that were sent.
    pub(crate) sent: u64,
    /// Messages that arrived; `None` where the receiver does not notice messages.
    pub(crate) arrived: Option<Arrived>,
    /// Messages of other queue pairs than the peer's, at this side.
    pub(crate) foreign: u64,
    /// Messages that were sent again, since no answer came.
    pub(crate) unanswered: u64,
}

impl LossFigures {
    /// Returns the combined figures of two connections.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            service: self.service,
            sent: self.sent.saturating_add(other.sent),
            arrived: match (self.arrived, other.arrived) {
                (Some(one), Some(other)) => Some(Arrived {
                    messages: one.messages.saturating_add(other.messages),
                    late: one.late.saturating_add(other.late),
                    repeated: one.repeated.saturating_add(other.repeated),
                }),
                _ => None,
            },
            foreign: self.foreign.saturating_add(other.foreign),
            unanswered: self.unanswered.saturating_add(other.unanswered),
        }
    }

    /// Writes them as member `loss` of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut loss = object.object("loss")?;
        loss.num("sent", self.sent)?;
        if let Some(arrived) = &self.arrived {
            loss.num("arrived", arrived.messages)?
                .num("lost", self.sent.saturating_sub(arrived.messages))?
                .num("late", arrived.late)?
                .num("repeated", arrived.repeated)?;
        }
        loss.num("foreign", self.foreign)?
            .num("unanswered", self.unanswered)?;
        loss.finish()
    }
}
