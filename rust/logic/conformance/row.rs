// SPDX-License-Identifier: GPL-2.0

//! A row of the table of conformance tests.

use super::{
    rule::Rule,
    special::Special,
    steps::{
        Memory,
        Request,
        Step,
        Steps, //
    }, //
};

/// The actions of a conformance test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Steps.
    Steps(Steps),
    /// A function of the workload.
    Special(Special),
}

/// A property of the device without which a case cannot be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing that a device could lack.
    Nothing,
    /// Atomic operations.
    Atomics,
    /// It does not claim to have the masked atomic operations.
    NoMaskedAtomics,
    /// Shared receive queues.
    SharedReceives,
    /// Datagrams.
    Datagrams,
    /// Multicast.
    Multicast,
    /// Requests that hold their data themselves.
    Inline,
    /// Regions of pages that are larger than the kernel's.
    LargePages,
    /// Another transport than iWARP, with the reason.
    NotIwarp(&'static str),
}

impl Need {
    /// Returns its name, where it is something that a device has.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing | Self::NotIwarp(_) => None,
            Self::Atomics => Some("atomics"),
            Self::NoMaskedAtomics => Some("no_masked_atomics"),
            Self::SharedReceives => Some("shared_receives"),
            Self::Datagrams => Some("datagrams"),
            Self::Multicast => Some("multicast"),
            Self::Inline => Some("inline"),
            Self::LargePages => Some("large_pages"),
        }
    }
}

/// The queue pair that the requester's is connected with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The responder's.
    Responder,
    /// The responder's for datagrams.
    Datagrams,
    /// None: no queue pair has the number.
    Nobody,
}

/// The connection that a case wants, beyond the plain one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    /// The requester soon gives up on a peer that does not answer.
    pub(crate) impatient: bool,
    /// The requester does not try again where the peer has no receive posted.
    pub(crate) no_rnr_retries: bool,
    /// The peer has it wait long before it tries again, which it does once.
    pub(crate) slow_rnr: bool,
    /// The region that is opened to the peer begins [`FRONT`](super::steps::FRONT) bytes behind the
    /// start of its buffer, and ends [`SIZE`](super::steps::SIZE) bytes behind it.
    pub(crate) front: bool,
    /// The regions over the own memory of both ends do.
    pub(crate) own_front: bool,
    /// Buffers of several pages.
    pub(crate) long: bool,
    /// The region that is opened to the peer has pages that are larger than the kernel's.
    pub(crate) large_pages: bool,
    /// The packet sequence numbers of both directions begin with the last one.
    pub(crate) last_psn: bool,
    /// No READs may be under way.
    pub(crate) no_reads: bool,
    /// The queue pair that the requester's is connected with.
    pub(crate) target: Target,
    /// The responder takes the receives of a shared queue.
    pub(crate) shared: bool,
    /// The requester has a region of another protection domain.
    pub(crate) other_domain: bool,
    /// Number of times that it is tried, each with a new connection.
    pub(crate) times: u8,
}

impl Wants {
    /// The plain connection.
    pub(super) const NOTHING: Self = Self {
        impatient: false,
        no_rnr_retries: false,
        slow_rnr: false,
        front: false,
        own_front: false,
        long: false,
        large_pages: false,
        last_psn: false,
        no_reads: false,
        target: Target::Responder,
        shared: false,
        other_domain: false,
        times: 1,
    };
    /// A requester that soon gives up.
    pub(super) const IMPATIENT: Self = Self {
        impatient: true,
        ..Self::NOTHING
    };
    /// No RNR retries.
    pub(super) const NO_RNR_RETRIES: Self = Self {
        no_rnr_retries: true,
        ..Self::NOTHING
    };
    /// One RNR retry, after a while.
    pub(super) const SLOW_RNR: Self = Self {
        slow_rnr: true,
        ..Self::NOTHING
    };
    /// A region for the peer that begins and ends within its buffer.
    pub(super) const FRONT: Self = Self {
        front: true,
        ..Self::NOTHING
    };
    /// Regions for local memory that begin and end within their buffers.
    pub(super) const OWN_FRONT: Self = Self {
        own_front: true,
        ..Self::NOTHING
    };
    /// Buffers of several pages.
    pub(super) const LONG: Self = Self {
        long: true,
        ..Self::NOTHING
    };
    /// Buffers of several pages, and a region of large ones for the peer.
    pub(super) const LARGE_PAGES: Self = Self {
        large_pages: true,
        ..Self::LONG
    };
    /// Buffers of several pages, and packet sequence numbers that wrap after the first packet.
    pub(super) const LAST_PSN: Self = Self {
        last_psn: true,
        ..Self::LONG
    };
    /// A requester that soon gives up, and whose queue pair is connected with none.
    pub(super) const NOBODY: Self = Self {
        target: Target::Nobody,
        ..Self::IMPATIENT
    };
    /// A requester that soon gives up, and whose queue pair is connected with one for datagrams.
    pub(super) const DATAGRAMS: Self = Self {
        target: Target::Datagrams,
        ..Self::IMPATIENT
    };
    /// A shared receive queue.
    pub(super) const SHARED: Self = Self {
        shared: true,
        ..Self::NOTHING
    };
    /// A region of another protection domain.
    pub(super) const OTHER_DOMAIN: Self = Self {
        other_domain: true,
        ..Self::NOTHING
    };
}

/// A conformance test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name in commands and results.
    pub(crate) name: &'static str,
    /// The actions in words.
    pub(crate) does: &'static str,
    /// The source of the rule.
    pub(crate) source: &'static str,
    /// The property that the device must have.
    pub(crate) need: Need,
    /// The connection.
    pub(crate) wants: Wants,
    /// It runs only where it is named.
    pub(crate) by_name: bool,
    /// The actions.
    pub(crate) act: Act,
    /// The rule on InfiniBand and RoCE.
    pub(crate) infiniband: Rule,
    /// The rule on iWARP.
    pub(crate) iwarp: Rule,
}

impl Row {
    /// Makes a row of steps: `before`, the request, and a demand on memory.
    pub(super) const fn steps(
        name: &'static str,
        does: &'static str,
        before: &'static [Step],
        request: Request,
        memory: Memory,
    ) -> Self {
        let act = Act::Steps(Steps {
            before,
            receives: true,
            request,
            after: &[],
            memory,
        });
        Self::new(name, does, act)
    }

    /// Makes a row that a function of the workload does.
    pub(super) const fn special(name: &'static str, does: &'static str, special: Special) -> Self {
        Self::new(name, does, Act::Special(special))
    }

    const fn new(name: &'static str, does: &'static str, act: Act) -> Self {
        Self {
            name,
            does,
            source: "",
            need: Need::Nothing,
            wants: Wants::NOTHING,
            by_name: false,
            act,
            infiniband: Rule::HARMLESS,
            iwarp: Rule::HARMLESS,
        }
    }

    /// Returns it with steps that follow once the request is posted.
    pub(super) const fn then(mut self, after: &'static [Step]) -> Self {
        if let Act::Steps(steps) = &mut self.act {
            steps.after = after;
        }
        self
    }

    /// Returns it without receives for the messages that follow the request.
    pub(super) const fn no_receives(mut self) -> Self {
        if let Act::Steps(steps) = &mut self.act {
            steps.receives = false;
        }
        self
    }

    /// Returns it with the rules of both fabrics, and where they come from.
    pub(super) const fn rules(
        mut self,
        infiniband: Rule,
        iwarp: Rule,
        source: &'static str,
    ) -> Self {
        self.infiniband = infiniband;
        self.iwarp = iwarp;
        self.source = source;
        self
    }

    /// Returns it with the rule of both fabrics, and where it comes from.
    pub(super) const fn rule(self, rule: Rule, source: &'static str) -> Self {
        self.rules(rule, rule, source)
    }

    /// Returns it for devices that have this.
    pub(super) const fn need(mut self, need: Need) -> Self {
        self.need = need;
        self
    }

    /// Returns it with another connection.
    pub(super) const fn wants(mut self, wants: Wants) -> Self {
        self.wants = wants;
        self
    }

    /// Returns it as one that runs only where it is named.
    pub(super) const fn by_name(mut self) -> Self {
        self.by_name = true;
        self
    }
}
