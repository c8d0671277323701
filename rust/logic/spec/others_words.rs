// SPDX-License-Identifier: GPL-2.0

//! Words of other tools for options and tests: those of perftest, rping, fio, qperf and iperf3.
//!
//! A word that is near an option by its letters may mean another one, so this table comes first.

use super::options::Opt;

/// The words, each with the option that does the same here.
pub(crate) const WORDS: &[(&str, Opt)] = &[
    // Where to and where from.
    ("host", Opt::Addr),
    ("hostname", Opt::Addr),
    ("address", Opt::Addr),
    ("ip", Opt::Addr),
    ("ipv4", Opt::Addr),
    ("ipv6", Opt::Addr6),
    ("ipv6-addr", Opt::Addr6),
    ("version4", Opt::Addr),
    ("version6", Opt::Addr6),
    ("source", Opt::Src),
    ("source_ip", Opt::Src),
    ("bind", Opt::Src),
    ("bind_source_ip", Opt::Src),
    ("device", Opt::Dev),
    ("ib-dev", Opt::Dev),
    ("ib_dev", Opt::Dev),
    ("hca", Opt::Dev),
    // A port is known by its address.
    ("ib-port", Opt::Src),
    ("ib_port", Opt::Src),
    ("listen", Opt::Server),
    ("connect", Opt::Client),
    ("priority", Opt::Tos),
    ("tclass", Opt::Tos),
    ("traffic_class", Opt::Tos),
    ("sl", Opt::Tos),
    ("dscp", Opt::Tos),
    // How much, and for how long.
    ("iters", Opt::Count),
    ("iterations", Opt::Count),
    ("loops", Opt::Count),
    ("number_ios", Opt::Count),
    ("blockcount", Opt::Count),
    ("run_infinitely", Opt::Count),
    ("time", Opt::Duration),
    ("runtime", Opt::Duration),
    ("seconds", Opt::Duration),
    ("bytes", Opt::Size),
    ("length", Opt::Size),
    ("len", Opt::Size),
    ("bs", Opt::Size),
    ("blocksize", Opt::Size),
    ("block_size", Opt::Size),
    ("msg_size", Opt::Size),
    ("message_size", Opt::Size),
    ("rate_limit", Opt::Rate),
    ("rate_iops", Opt::Rate),
    ("bitrate", Opt::Rate),
    ("bandwidth", Opt::Rate),
    ("limit_bw", Opt::MinBw),
    // At once.
    ("numjobs", Opt::Threads),
    ("jobs", Opt::Threads),
    ("parallel", Opt::Threads),
    ("clients", Opt::Threads),
    ("connections", Opt::Qps),
    ("num_qps", Opt::Qps),
    ("connection", Opt::Qp),
    ("mcg", Opt::Mcast),
    ("use_mcg", Opt::Mcast),
    ("mgid", Opt::Mcast),
    ("iodepth", Opt::Depth),
    ("queue_depth", Opt::Depth),
    ("nr_queues", Opt::Queues),
    ("bidirectional", Opt::Duplex),
    ("bidir", Opt::Duplex),
    ("dualtest", Opt::Duplex),
    ("post_list", Opt::PostList),
    ("cq-mod", Opt::SignalEvery),
    ("cq_mod", Opt::SignalEvery),
    ("inline_size", Opt::Inline),
    ("rx-depth", Opt::Recvs),
    ("rx_depth", Opt::Recvs),
    ("use-srq", Opt::Srq),
    ("window", Opt::RBuf),
    ("set-mss", Opt::Mtu),
    ("flow_label", Opt::Flow),
    ("udp-sport", Opt::Flow),
    ("gid", Opt::Src),
    ("gid-index", Opt::Src),
    ("gid_index", Opt::Src),
    ("affinity", Opt::Cpu),
    ("cpus_allowed", Opt::Cpu),
    ("numa_cpu_nodes", Opt::Cpu),
    ("numa", Opt::Node),
    ("numa_node", Opt::Node),
    ("numa_mem", Opt::Node),
    ("numa_mem_policy", Opt::Node),
    // When requests are repeated.
    ("qp-timeout", Opt::AckTimeout),
    ("qp_timeout", Opt::AckTimeout),
    ("local_ack_timeout", Opt::AckTimeout),
    ("retry_cnt", Opt::Retry),
    ("retry_count", Opt::Retry),
    ("rnr_retry_count", Opt::RnrRetry),
    ("min_rnr_timer", Opt::MinRnr),
    // How it waits and ends.
    ("busy_poll", Opt::Poll),
    ("polling", Opt::Poll),
    ("deadline", Opt::Timeout),
    ("rcv-timeout", Opt::Timeout),
    ("connect-timeout", Opt::Timeout),
    ("ctrl_loss_tmo", Opt::Reconnect),
    ("daemon", Opt::Detach),
    ("background", Opt::Detach),
    ("persistent", Opt::Persist),
    ("kill", Opt::Stop),
    // The data, and what is said of it.
    ("verify", Opt::Validate),
    ("verify_pattern", Opt::Pattern),
    ("filename", Opt::Store),
    ("readonly", Opt::Ro),
    ("title", Opt::Tag),
    ("comment", Opt::Tag),
    // Tests.
    ("ib_write_lat", Opt::Wlat),
    ("write_lat", Opt::Wlat),
    ("ib_read_lat", Opt::Rlat),
    ("read_lat", Opt::Rlat),
    ("ib_send_lat", Opt::Slat),
    ("send_lat", Opt::Slat),
    ("ib_atomic_lat", Opt::Alat),
    ("atomic_lat", Opt::Alat),
    ("ib_write_bw", Opt::Bw),
    ("write_bw", Opt::Bw),
    ("wbw", Opt::Bw),
    ("ib_read_bw", Opt::Rbw),
    ("read_bw", Opt::Rbw),
    ("ib_send_bw", Opt::Sbw),
    ("send_bw", Opt::Sbw),
    ("ib_atomic_bw", Opt::Abw),
    ("atomic_bw", Opt::Abw),
    ("rc_rdma_write_lat", Opt::Wlat),
    ("rc_rdma_read_lat", Opt::Rlat),
    ("rc_rdma_write_bw", Opt::Bw),
    ("rc_rdma_read_bw", Opt::Rbw),
    ("rc_lat", Opt::Slat),
    ("rc_bw", Opt::Sbw),
    ("rping", Opt::Client),
    ("ping", Opt::Client),
    ("rstream", Opt::Stream),
    ("disk", Opt::Blk),
    ("conformance", Opt::Neg),
];

/// The words of what no command does, each with what of the program does the same.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("all", "krping sweep"),
    ("json", "krping run --json"),
    ("report_gbits", "krping run --gbits"),
    ("report-gbits", "krping run --gbits"),
];

const WARMS_UP: &str = "each microbenchmark warms up before it measures";
const DIRECTION: &str = "the name of a test says the direction: bw writes, rbw reads, sbw sends";

/// The words that nothing stands for, each with the reason.
pub(crate) const NEEDLESS: &[(&str, &str)] = &[
    ("warmup", WARMS_UP),
    ("warm_up", WARMS_UP),
    ("perform_warm_up", WARMS_UP),
    ("ramp_time", WARMS_UP),
    ("omit", WARMS_UP),
    (
        "events",
        "runs sleep until completions come, unless poll is given",
    ),
    ("ioengine", "all runs are of RDMA, as their test says"),
    ("rw", DIRECTION),
    ("readwrite", DIRECTION),
    ("verb", DIRECTION),
    ("limit_msgrate", "min_bw sets a limit, in bytes per second"),
];

/// The options of words whose names have a number in other tools, each with the option that has it
/// here.
const NUMBERS: &[(Opt, Opt)] = &[(Opt::Qp, Opt::Qps)];

/// Returns the option that takes `value`, a number, in place of `opt`, if there is one.
pub(crate) fn of_number(opt: Opt, value: &str) -> Option<&'static str> {
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut rows = NUMBERS.iter();
    rows.find(|(known, _)| *known == opt)
        .map(|(_, meant)| meant.spec().name())
}

/// Returns what does the same as another tool's `word` says, whatever the word's case.
pub(super) fn find(word: &str) -> Option<&'static str> {
    row(WORDS, word)
        .map(|opt| opt.spec().name())
        .or_else(|| row(PROGRAMS, word))
}

/// Returns why nothing stands for another tool's `word`, whatever the word's case.
pub(super) fn needless(word: &str) -> Option<&'static str> {
    row(NEEDLESS, word)
}

fn row<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let mut rows = table.iter();
    rows.find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(_, meant)| *meant)
}
