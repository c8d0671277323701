// SPDX-License-Identifier: GPL-2.0

//! One way into each part of the logic, compiled as the kernel compiles it
//! (optimized, overflow checks on). `run` looks whether the object refers to
//! anything that panics, or to 128-bit arithmetic that the kernel lacks.

#![no_std]
#![allow(dead_code, missing_docs)]

#[path = "../../rust/logic/mod.rs"]
mod logic;

use core::{
    fmt::{
        self,
        Write, //
    },
    sync::atomic::{
        AtomicU64,
        Ordering::Relaxed, //
    }, //
};
use logic::{
    block::{
        self,
        answer::{
            DataAnswer,
            Response, //
        },
        backoff::Backoff,
        joining::Joining,
        survey::Survey,
        BareWrite,
        Limits,
        Request, //
    },
    command::{
        cpus::CpuList,
        order::Order,
        Command,
        Role, //
    },
    conformance::trial::Trial,
    data::pattern::{
        Cell,
        Cells,
        Data,
        Pattern,
        PatternKind, //
    },
    device::{
        caps::{
            self,
            Caps, //
        },
        claims::{
            Feature,
            Features, //
        },
        preflight::{
            Attempt,
            Item,
            Preflight, //
        }, //
    },
    failure::{
        verdict::apply_expectation,
        Failure, //
    },
    measure::{
        histogram::Histogram,
        pace::Pace,
        stats::{
            BlockFigures,
            Counters, //
        },
        window::{
            warmup,
            Window, //
        }, //
    },
    pingpong::{
        check_answer,
        check_request,
        Client,
        Message,
        Server,
        ServerStep, //
    },
    text::json::Object,
    wire::{
        control::Control,
        extensions::Extensions,
        hello::{
            announced,
            Geometry,
            Hello, //
        },
        Advertisement,
        PrivateData,
        Reject, //
    }, //
};

pub fn command(text: &str, out: &mut dyn Write) -> fmt::Result {
    let mut place = Command::new(Role::Client);
    match Order::parse(text, &mut place) {
        Ok(Order::Run(command)) => run(command, out),
        Ok(stop) => write!(out, "{stop}"),
        Err(error) => write!(out, "{error}"),
    }
}

fn run(command: &Command, out: &mut dyn Write) -> fmt::Result {
    write!(out, "{command} {:?}", command.duration_ms())?;
    match apply_expectation(command.expect, Err(Failure::Interrupted)) {
        Ok(_) => Ok(()),
        Err(failure) => write!(out, "{failure}"),
    }
}

pub struct Cpus(CpuList);

pub fn cpu(cpus: &Cpus, thread: usize) -> Option<u32> {
    cpus.0.nth(thread)
}

pub fn advertisement(bytes: &[u8; Advertisement::LEN]) -> [u8; Advertisement::LEN] {
    Advertisement::decode(bytes).encode()
}

pub fn private_data(bytes: &[u8], out: &mut dyn Write) -> Result<Option<[u8; 56]>, fmt::Error> {
    match PrivateData::decode(bytes) {
        Ok(data) => Ok(data.map(|data| data.encode())),
        Err(error) => write!(out, "{error}").map(|()| None),
    }
}

pub fn hello(bytes: &[u8], out: &mut dyn Write) -> Result<[u8; 56], fmt::Error> {
    if announced(bytes).is_err() {
        return Err(fmt::Error);
    }
    match Hello::decode(bytes) {
        Ok(hello) => Ok(hello.encode()),
        Err(error) => write!(out, "{error}").map(|()| [0; 56]),
    }
}

pub fn geometry(bytes: &[u8], other: &[u8], out: &mut dyn Write) -> Result<[u8; 56], fmt::Error> {
    match (Geometry::decode(bytes), Geometry::decode(other)) {
        (Ok(one), Ok(other)) => {
            out.write_str(one.continues(&other).unwrap_or_default())?;
            Ok(one.encode())
        }
        (Err(error), _) | (_, Err(error)) => write!(out, "{error}").map(|()| [0; 56]),
    }
}

pub struct Store(Limits);

/// As a server has it: of a peer's message and what the store takes.
pub fn request(
    header: &[u8; Request::LEN],
    len: u32,
    store: &Store,
    out: &mut dyn Write,
) -> Result<([u8; Request::LEN], i32, u32), fmt::Error> {
    match Request::decode(header, len) {
        Ok(request) => {
            let status = block::check(&request, &store.0).err();
            out.write_str(request.action.as_str())?;
            let answer = DataAnswer::to(&request).encode();
            let errno = status.map_or(0, |status| status.errno());
            Ok((request.encode(), errno, answer))
        }
        Err(error) => write!(out, "{error}").map(|()| ([0; Request::LEN], 0, 0)),
    }
}

pub fn responses(message: &[u8], out: &mut dyn Write) -> Result<[u8; Response::LEN], fmt::Error> {
    let mut last = [0; Response::LEN];
    match Response::count(message.len() as u32) {
        Ok(count) => write!(out, "{count}")?,
        Err(error) => write!(out, "{error}")?,
    }
    for bytes in message.chunks(Response::LEN) {
        match bytes.first_chunk().map(Response::decode) {
            Some(Ok(response)) => {
                out.write_str(response.status.as_str())?;
                last = response.encode();
            }
            Some(Err(error)) => write!(out, "{error}")?,
            None => {}
        }
    }
    Ok(last)
}

pub fn survey(
    bytes: &[u8; Survey::MOST],
    len: u32,
    depth: u16,
    out: &mut dyn Write,
) -> Result<([u8; Survey::MOST], bool), fmt::Error> {
    let extensions = Extensions::decode(bytes);
    match Survey::decode(bytes, len, depth) {
        Ok(mut survey) => {
            survey.add(depth);
            Ok((survey.encode(), survey.has(depth) || extensions.surveys))
        }
        Err(error) => write!(out, "{error}").map(|()| ([0; Survey::MOST], Survey::may_be(len))),
    }
}

pub struct Answers(Joining);

pub fn join(answers: &mut Answers, done: u64, next: u64, waiting: usize) -> bool {
    answers.0.done(done);
    answers.0.due();
    let sends = answers.0.sends(waiting);
    if sends {
        answers.0.posted(next, answers.0.must_ask());
    }
    sends
}

pub fn data_answer(immediate: u32, seq: u32, out: &mut dyn Write) -> Result<u32, fmt::Error> {
    let answer = DataAnswer::decode(immediate);
    match answer.answers(seq) {
        true => Ok(answer.encode()),
        false => write!(out, "{}", answer.tag).map(|()| 0),
    }
}

pub fn bare(depth: u16, tag: u16, offset: u64, bytes: u32) -> Option<u32> {
    BareWrite::new(depth).encode(tag, offset, bytes)
}

pub fn bare_write(
    depth: u16,
    immediate: u32,
    bytes: u32,
    out: &mut dyn Write,
) -> Result<[u8; Request::LEN], fmt::Error> {
    match BareWrite::new(depth).decode(immediate, bytes) {
        Ok(request) => Ok(request.encode()),
        Err(error) => write!(out, "{error}").map(|()| [0; Request::LEN]),
    }
}

pub struct Pauses(Backoff);

pub fn pause(pauses: &mut Pauses) -> u32 {
    pauses.0.next_ms()
}

pub struct Disk(BlockFigures);

pub fn disks(sum: &mut Disk, more: Disk) {
    sum.0 = sum.0 + more.0;
}

pub fn reject(bytes: &[u8], out: &mut dyn Write) -> Result<[u8; 16], fmt::Error> {
    let reject = Reject::decode(bytes).ok_or(fmt::Error)?;
    write!(out, "{reject}")?;
    Ok(reject.encode())
}

pub fn agree(asked: &[u8; 56], answer: &[u8; 56], out: &mut dyn Write) -> fmt::Result {
    if let (Ok(Some(asked)), Ok(Some(answer))) =
        (PrivateData::decode(asked), PrivateData::decode(answer))
    {
        if let Err(violation) = check_request(&asked).and(check_answer(&asked, &answer)) {
            write!(out, "{violation}")?;
        }
        write!(out, "{}", asked.load.depth())?;
    }
    Ok(())
}

pub fn control(bytes: &[u8; Control::MAX_LEN], size: u32) -> Option<([u8; 25], u32)> {
    Some((Control::decode(bytes)?.encode(), Control::len(size)))
}

fn pattern(binary: bool, seed: u32) -> Pattern {
    let kind = match binary {
        true => PatternKind::Binary,
        false => PatternKind::Text,
    };
    Pattern { kind, seed }
}

/// Memory, and who knows its CRC.
pub struct Place<'a>(&'a [AtomicU64], &'a dyn Fn(usize) -> u32);

impl Cell for AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Relaxed)
    }

    fn set(&self, word: u64) {
        self.store(word, Relaxed);
    }
}

impl Cells for Place<'_> {
    type Cell = AtomicU64;

    fn cells(&self) -> &[AtomicU64] {
        self.0
    }

    fn crc(&self, words: usize) -> u32 {
        self.1(words)
    }
}

pub fn fill(binary: bool, seed: u32, iteration: u64, size: usize, place: &Place<'_>) {
    Data::new(pattern(binary, seed), iteration, size).fill(place);
}

pub fn check(
    (binary, seed, iteration): (bool, u32, u64),
    size: usize,
    (found, sent): (&Place<'_>, Option<&Place<'_>>),
    out: &mut dyn Write,
) -> fmt::Result {
    let data = Data::new(pattern(binary, seed), iteration, size);
    let checked = match sent {
        Some(sent) => data.check_echo(found, sent),
        None => data.check(found),
    };
    match checked {
        Ok(()) => Ok(()),
        Err(mismatch) => write!(out, "{mismatch}"),
    }
}

pub struct Latencies(Histogram);

pub fn record(latencies: &mut Latencies, ns: u64) {
    latencies.0.record(ns);
}

pub fn merge(latencies: &mut Latencies, other: &Latencies) {
    latencies.0.merge(&other.0);
}

pub fn summary(latencies: &Latencies, share: u32) -> [u64; 6] {
    let h = &latencies.0;
    [
        h.count(),
        h.min(),
        h.max(),
        h.mean(),
        h.stddev(),
        h.percentile(share),
    ]
}

pub fn buckets(latencies: &Latencies, out: &mut dyn Write) -> fmt::Result {
    let mut object = Object::new(out)?;
    object.str("unit", "ns")?.bool("exact", false)?;
    let mut buckets = object.array("buckets")?;
    for b in latencies.0.buckets() {
        let mut bucket = buckets.array()?;
        bucket.num(b.low)?.num(b.high)?.num(b.count)?;
        bucket.finish()?;
    }
    buckets.finish()?;
    object.finish()
}

pub struct Device(Caps);

pub struct Able(Features, Feature);

pub fn features(all: &mut Able) {
    all.0.insert(all.1);
}

pub fn caps(device: &Device, iwarp: bool, drains: u32, out: &mut dyn Write) -> fmt::Result {
    let caps = &device.0;
    let limits = caps::Limits::new(&caps.claims, &caps.preflight, iwarp, drains);
    write!(
        out,
        "{} {} {} {limits}",
        caps.claims, caps.port, caps.preflight
    )?;
    let mut object = Object::new(out)?;
    caps.write(&mut object)?;
    object.finish()
}

/// As a preflight does, on a device that makes `limit` at most.
pub struct Tried(Preflight);

pub struct Thing(Item);

pub fn preflight(tried: &mut Tried, item: Thing, asked: u32, limit: u32) -> Result<(), i32> {
    let attempt = Attempt::most(asked, |number| match number {
        0 => Err(4),
        number => Ok(if number > limit { 22 } else { 0 }),
    })?;
    tried.0.note(item.0, attempt);
    tried.0.note(Item::ProtectionDomain, Attempt::of(1, 12));
    Ok(())
}

pub struct Counts(Counters);

pub fn add(sum: &mut Counts, more: Counts, out: &mut dyn Write) -> fmt::Result {
    sum.0 += more.0;
    write!(out, "{}", sum.0)
}

pub struct Posting(Window);

pub fn window(depth: u32, batch: u32, every: u16, size: u32, count: Option<u64>) -> Posting {
    let warmup = warmup(size, every);
    let total = count.map(|count| count.saturating_add(warmup));
    Posting(Window::new(depth, batch, every.into(), total).holding_at(warmup))
}

pub struct Together(Pace);

pub fn pace(together: &mut Together, began: i64, ended: i64, halves: u64) -> Option<u64> {
    together.0.add(began, ended, halves);
    together.0.time_of(halves)
}

/// What may be called at any time, in any order.
pub fn post(window: &mut Posting, ahead: u32, n: u32) -> (u32, bool) {
    let may = (window.0.room(), window.0.signaled(ahead));
    window.0.post(n);
    may
}

pub fn complete(window: &mut Posting, stop: bool) -> Option<(u32, u64)> {
    if stop {
        window.0.stop();
    }
    if window.0.holds() && window.0.held() {
        window.0.release();
    }
    let newly = window.0.completed();
    let under_way = window.0.posted().checked_sub(window.0.done())?;
    let over = window.0.all_posted() && window.0.finished();
    (!over).then_some((newly, under_way))
}

pub struct Received(Message);

pub struct Serving(Server);

pub fn serve(server: &mut Serving, message: &Received, out: &mut dyn Write) -> fmt::Result {
    match server.0.advertisement(&message.0) {
        Ok(ServerStep::Read(_)) => write!(out, "{}", server.0.read_done()),
        Ok(ServerStep::Write(_)) => Ok(()),
        Err(violation) => write!(out, "{violation}"),
    }
}

pub struct Leading(Client);

pub fn lead(
    client: &mut Leading,
    message: &Received,
    key: u32,
    out: &mut dyn Write,
) -> fmt::Result {
    match client.0.go_ahead(&message.0, key) {
        Ok(_) => Ok(()),
        Err(violation) => write!(out, "{violation}"),
    }
}

pub struct Cause(Failure);

pub fn failure(cause: &Cause, out: &mut dyn Write) -> Result<i32, fmt::Error> {
    write!(out, "{}", cause.0)?;
    Ok(cause.0.errno())
}

pub struct Tested(Trial);

/// What a conformance test came to, as the result has it.
pub fn trial(tested: &Tested, out: &mut dyn Write) -> fmt::Result {
    let trial = &tested.0;
    write!(out, "{trial}{}{}", trial.seen(), trial.reason())?;
    out.write_str(trial.outcome())
}
