// SPDX-License-Identifier: GPL-2.0

//! The check of observations against the rules.

use super::{
    deviation::{
        Deviation,
        Deviations, //
    },
    observation::{
        Ended,
        Seen,
        State,
        Tally, //
    }, //
    rule::{
        RestRule,
        Rule,
        StateRule, //
    },
};

impl Rule {
    /// Returns true where the connection must keep working after a request that ended as `first`.
    pub(crate) fn goes_on(&self, first: Ended) -> bool {
        match self.requester {
            StateRule::Rts => true,
            StateRule::Follows => first.is_harmless(),
            StateRule::Error | StateRule::Any => false,
        }
    }

    /// Returns the deviations of `seen` from the rule. `recovered` is true where a new connection
    /// worked afterwards, which every rule demands.
    pub(crate) fn judge(&self, seen: &Seen, recovered: bool) -> Deviations {
        let first = seen.first;
        let rest = &seen.rest;
        let told = seen.requester_event.is_some() || seen.requester == State::ERROR;
        let rest_is_right = match self.rest {
            RestRule::Done => rest.done == rest.posted,
            RestRule::Flushed => rest.flushed == rest.posted,
            RestRule::Follows if first.is_harmless() => rest.done == rest.posted,
            RestRule::Follows => rest.flushed == rest.posted,
            RestRule::Complete => rest.missing() == 0,
            RestRule::Ended => rest.missing() == 0 && rest.other == 0 && seen.receives.other == 0,
            RestRule::Any => true,
            RestRule::LossIsTold => (rest.missing() == 0 && first != Ended::Missing) || told,
        };
        let receive_is_right = match seen.receive {
            Some(receive) if !self.receive.is_empty() => self.receive.contains(&receive),
            _ => true,
        };
        let sum = |f: fn(&Tally) -> u32| f(rest).saturating_add(f(&seen.receives));
        let mut found = Deviations::default();
        for (deviation, holds) in [
            (Deviation::First, self.first.contains(&first)),
            (Deviation::Rest, rest_is_right),
            (Deviation::Receive, receive_is_right),
            (Deviation::Told, seen.tells),
            (
                Deviation::Receives,
                !self.receives_end || seen.receives.missing() == 0,
            ),
            (Deviation::Order, sum(|tally| tally.disordered) == 0),
            (Deviation::Repeated, sum(|tally| tally.repeated) == 0),
            (
                Deviation::Requester,
                self.requester.allows(seen.requester, first),
            ),
            (
                Deviation::Responder,
                self.responder.allows(seen.responder, first),
            ),
            (
                Deviation::Event,
                !self.quiet || seen.requester_event.or(seen.responder_event).is_none(),
            ),
            (
                Deviation::NoEvent,
                self.event.is_none() || seen.responder_event == self.event,
            ),
            (Deviation::Memory, seen.intact),
            (Deviation::Depth, seen.ahead == 0),
            (Deviation::Works, seen.works != Some(false)),
            (Deviation::Destroyed, seen.destroyed),
            (Deviation::Recovery, recovered),
        ] {
            if !holds {
                found.add(deviation);
            }
        }
        found
    }
}
