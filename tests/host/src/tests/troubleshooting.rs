// SPDX-License-Identifier: GPL-2.0

//! Sentences about failures, all of which docs/troubleshooting.md must have.
//!
//! A variant without a sample here does not compile.

use crate::logic::{
    block::MessageError,
    command::{
        parse_error::{
            Kind,
            ParseError,
            Reason, //
        },
        Test, //
    },
    data::pattern::Mismatch,
    failure::{
        errno,
        Failure,
        Operation,
        BINDING,
        RESOLVING_ADDRESS, //
    },
    pingpong::Violation,
    spec::{
        places::Places,
        test_set::TestSet, //
    },
    stream::{
        hello::HelloError,
        violation, //
    },
    wire::{
        PrivateDataError,
        Reject,
        RejectReason, //
    }, //
};

const PAGE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/troubleshooting.md"
));

/// Returns `text` on one line without marks, with an N for each number and for M.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace(['`', '#'], "");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut plain = String::new();
    for piece in words
        .join(" ")
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_')
    {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        plain += if is_number || word == "M" { "N" } else { word };
        plain += &piece[word.len()..];
    }
    plain
}

/// Returns those of `sentences` that the page does not have.
pub(super) fn missing(sentences: impl IntoIterator<Item = String>) -> Vec<String> {
    let page = plain(PAGE);
    sentences
        .into_iter()
        .filter(|sentence| !page.contains(&plain(sentence)))
        .collect()
}

/// Lists a sample of each variant of an enum. The text of a sample is the placeholder that the page
/// has in its place.
macro_rules! samples {
    ($type:ident: $($name:ident $(($($value:expr),*))? $({$($field:ident: $of:expr),*})?,)*) => {{
        let _complete = |variant: &$type| match variant {
            $($type::$name { .. } => (),)*
        };
        [$($type::$name $(($($value),*))? $({$($field: $of),*})?),*]
    }};
}

fn rejects() -> impl Iterator<Item = Failure> {
    let reasons = samples!(RejectReason:
        Version, TooLarge, Test, Busy, Stopping, Resources, OldWork, NotAllowed, Silent,
    );
    reasons.into_iter().map(|reason| {
        let reject = Reject { reason, value: 1 };
        Failure::Rejected(28, "TEXT", Some(reject))
    })
}

fn violations() -> impl Iterator<Item = Failure> {
    let violations = samples!(Violation:
        Length(1), Empty, TooLarge(2, 1), SizeChanged(2, 1), Immediate, Early,
        NotInvalidated(1), Unasked(1), WrongKey(2, 1), NoReads, Role, Contradiction, Answer,
        TransferSize(2, 1), Wraps, OtherTransfer,
        PastEnd, Control, DataLength(1, 2), Miscounted(1, 2), Unnumbered,
    );
    violations
        .into_iter()
        .map(|each| Failure::Protocol(each, 3))
}

fn private_data() -> impl Iterator<Item = Failure> {
    let errors = samples!(PrivateDataError:
        Truncated(1), Version(1), Role(9), Test(99), MemMode(9), Flags(1), Size, Load, Reserved,
        Missing, Side, OtherTest(Test::PingPong), Range("FIELD"),
    );
    errors.into_iter().map(Failure::PrivateData)
}

fn messages() -> impl Iterator<Item = Failure> {
    let errors = samples!(MessageError:
        Length(1, 2), Action(9), Flags(1), Inline(2, 1), NoKey, Status(9), Reserved, Tag(1),
        NotInvalidated,
    );
    errors.into_iter().map(Failure::Message)
}

fn streams() -> impl Iterator<Item = Failure> {
    use violation::Violation;
    let violations = samples!(Violation:
        Operation(1), Control(3), Empty, Overrun(2, 1), NoCredit, Credits(1, 2, 3), Grant(1),
        Segment(1, 2), Mapping(2, 1), MappingRange(1, 2), NoMapping, Unmapped(1, 2),
        AfterEnd, Unasked(1), Length(1),
    );
    let hellos = samples!(HelloError:
        Length(1), Version(2), Credits, Entries(1), List(1), Ring, RingAddress(1),
    );
    let violations = violations.into_iter().map(Failure::Stream);
    violations.chain(hellos.into_iter().map(Failure::StreamHello))
}

fn chunks() -> impl Iterator<Item = Failure> {
    use crate::logic::messenger::violation::Violation;
    let violations = samples!(Violation:
        Short(1), Kind(1), Length(1, 2), Number(1, 2), Beyond(2, 1), EndInside(1), AfterEnd,
        Unasked(1), Unanswered(1),
    );
    violations.into_iter().map(Failure::Chunk)
}

/// Returns a sample of each failure. Of those that only hand on a text, that is SENTENCE.
fn failures() -> Vec<Failure> {
    let mismatch = Mismatch {
        offset: 1,
        expected: 2,
        found: 3,
        iteration: 4,
        wrong: 5,
    };
    let samples = samples!(Failure:
        Completion { status: 10, vendor: 1, op: Operation::Read, iteration: 2 },
        Protocol(Violation::Early, 1), PrivateData(PrivateDataError::Size),
        Message(MessageError::NoKey), StreamHello(HelloError::Ring),
        Stream(violation::Violation::Empty),
        Chunk(crate::logic::messenger::violation::Violation::AfterEnd),
        Mismatch(mismatch), PeerMismatch,
        WrongData("OPERATION"),
        Disconnected, LegacyDisconnected, Replaced, OtherStore("SENTENCE"), Busy("SENTENCE"),
        OldWork, DeviceRemoved, NoAddressOfDevice,
        Async(2, "NAME"), TimedOut("STEP", 1), NoEvent(1), AllLost(1), Overdue(1), Interrupted,
        Cancelled,
        Rejected(1, "TEXT", None), Unreachable(0), Moved, PortDown, AddressGone, ManagementDead,
        Unsupported("SENTENCE"), TooLarge(1), AboveReceives(1), AbovePathMtu(1), Silent(1, 1),
        NamespaceGone,
        OverMemory(1), AboveP99(2, 1),
        BelowBandwidth(1, 2), IntervalAboveP99(2, 1, 0),
        IntervalBelowBandwidth(1, 2, 0), StartsLate(2, 1), Deviates(1, 2), NoCpu(1), NoNode(1),
        Unexpected(errno::ENOMEM), Kernel("STEP", -errno::ENOMEM),
    );
    let others = [
        Failure::Rejected(8, "invalid service ID", None),
        Failure::StreamHello(HelloError::Version(0)),
        Failure::Protocol(Violation::NoReads, 0),
        Failure::Kernel("STEP", -200),
        Failure::Kernel(BINDING, -errno::EADDRNOTAVAIL),
        Failure::Kernel(RESOLVING_ADDRESS, -errno::EADDRNOTAVAIL),
    ];
    samples
        .into_iter()
        .chain(others)
        .chain(rejects())
        .chain(violations())
        .chain(private_data())
        .chain(messages())
        .chain(streams())
        .chain(chunks())
        .collect()
}

/// Returns the sentence as the page has it, whose placeholders are not those of the samples.
fn sentence(failure: &Failure) -> String {
    let text = failure.to_string();
    match failure {
        Failure::Completion { op, .. } => {
            let begin = text.split_once(" failed: ").unwrap().0;
            let begin = begin.replace(op.name(), "OP");
            format!("{begin} failed: STATUS (10, vendor code 0x1): CAUSE")
        }
        Failure::PrivateData(PrivateDataError::OtherTest(test)) => {
            text.replace(test.as_str(), "TEST")
        }
        _ => text.replace("ENOMEM", "ERRNO"),
    }
}

#[test]
fn every_failure_has_its_words() {
    let missing = missing(failures().iter().map(sentence));
    assert!(missing.is_empty(), "not in the page: {missing:#?}");
}

#[test]
fn every_completion_error_has_its_words() {
    let mut parts = Vec::new();
    for status in 0..23 {
        for op in Operation::ALL {
            let failure = Failure::Completion {
                status,
                vendor: 0,
                op,
                iteration: 0,
            };
            let text = failure.to_string();
            let (_, rest) = text.split_once(" failed: ").unwrap();
            let (status, cause) = rest.split_once("): ").unwrap();
            let (status, _) = status.split_once(", vendor code").unwrap();
            parts.extend([op.name(), status, cause].map(String::from));
        }
    }
    parts.sort();
    parts.dedup();
    let missing = missing(parts);
    assert!(missing.is_empty(), "not in the page: {missing:#?}");
}

#[test]
fn every_refusal_of_a_command_has_its_words() {
    let (value, other) = ("VALUE", "OTHER");
    let (one, test) = (TestSet::of(|test| test == Test::PingPong), Test::FastReg);
    let places = Places::of(|_, test| test == Test::Block);
    let reasons = samples!(Reason:
        EmptyCommand, EmptyOption, Unprintable,
        Unknown { nearest: Some("NAME"), valid: &[] }, Needless { why: "REASON" }, Spaces, Twice,
        TakesNoValue,
        NeedsValue { example: "EXAMPLE" }, NotNumber { value: value, suffixes: "K, M or G" },
        OutOfRange { value: value, min: 1, max: 2, unit: "" },
        NotWhole { value: value, unit: " ms" },
        NotOneOf { value: value, valid: &["A", "B"] },
        NotNumbered { value: value, valid: &["A", "B"], meant: "NAME" }, NotV4 { value: value },
        NotAddress { value: value }, NotDevice { value: value },
        NotV6 { value: value }, NotInterface { value: value }, NoInterface { value: value },
        NotCpus { value: value }, NotNetworks { value: value }, NotGroup { value: value },
        NotErrno { value: value },
        NotText { max: 1 }, NoRole, TwoRoles { other: other }, Both { other: other }, NoAddr,
        NoDevice, PoolWith { other: other }, UnreliableWith { other: other },
        OtherFamily, NeedsToo { other: other },
        NeedsReg, NeedsDma, NeedsPath, NeedsServer,
        NeedsClient, FollowsClient, ServesHere,
        WrongTest { test: test, valid: one }, RegWithTest { test: test },
        SgeAboveSize { sge: 2, size: 1 }, MrsAboveBuffers { mrs: 2, buffers: 1 },
        NotSizes { value: value }, SizeOfControl,
        SizeAbove { max: 1, what: "OF ALL" },
        RateBelow { rate: 1, queue_pairs: 2 },
        TooManyUnderWay { size: 2, most: 1 }, SegsAbovePages { segs: 2, pages: 1 },
        NotStore { value: value }, NotDisk { value: value },
        NotMultiple { bytes: 1, unit: 2 }, IsFor { valid: places }, TapLoopback, SizeOfDisk,
        SizeOfNothing, OneThread, NoStore { or_log: true }, RamNeedsSize,
        NeedsStop, NotWithStop, NotWithHelp,
        NotCase { value: value }, CaseTwice { value: "CASE" }, NegIsLoopback, NotWithNeg,
    );
    let unknown = Reason::Unknown {
        nearest: None,
        valid: &[&["NAME"]],
    };
    let others = [unknown, Reason::NoStore { or_log: false }];
    let sentences = reasons.into_iter().chain(others).map(|reason| {
        let error = ParseError {
            kind: Kind::Invalid,
            option: "OPTION",
            reason,
        };
        let text = error.to_string();
        match error.reason {
            Reason::WrongTest { .. } => text
                .replace("the ping/pong", "TESTS")
                .replace("with fr;", "with TEST;"),
            Reason::RegWithTest { .. } => text.replace("with fr;", "with TEST;"),
            Reason::IsFor { valid } => text.replace(&valid.to_string(), "PLACES"),
            Reason::NotNumber { .. } => text.replace(", then", "").replace("K, M or G at will", ""),
            Reason::OutOfRange { .. } | Reason::NotOneOf { .. } => text,
            // Of long lists the page has the beginning.
            Reason::NotErrno { .. } => text.split(", EINTR").next().unwrap().to_owned(),
            Reason::NotCase { .. } => text.split(" all").next().unwrap().to_owned() + " all",
            _ => text,
        }
    });
    let missing = missing(sentences);
    assert!(missing.is_empty(), "not in the page: {missing:#?}");
}
