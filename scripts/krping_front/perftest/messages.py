# SPDX-License-Identifier: GPL-2.0
"""Sentences of perftest's programs that are among their output: on stdout, or on stderr where both go to
one file."""

import re

# While all is well.
REMARKS = (
	r"MultiCast runs on UD!",
	r"Please run the same command with the IB/RoCE interface IP",
	r"(?:WARNING|Warning): .*",
	r"Requested mtu is higher than active mtu",
	r"Changing to (?:active mtu - \d+|this MTU|that max value|this size|0)",
	r"Changing (?:msg size to this MTU|CQ moderation to min\( rx depth , tx depth\) = \d+\.)",
	r"Will run with the port active mtu - \d+",
	r"Max msg size in (?:UD|RawEth) is MTU \d+",
	r"Max (?:RDMA request|RDMA read|message|msg) size (?:in SRD )?(?:is|cannot be greater than) \d+",
	r"Min msg size for RawEth is 64B - changing msg size to 64",
	r"Number of outstanding reads is above max = \d+",
	r"(?:out_reads is greater than|OOO_RECV_WRS mismatch,) .*",
	r"Setting inline size to \d+ \(Max inline size in UD\)",
	r"Setting burst size to tx depth = \d+",
	r"Actual inline-size\(\d+\) [<>] requested inline-size\(\d+\)",
	r"Device not recognized to implement inline feature\. Disabling it",
	r"Perftest doesn't supports? .* tests with inline messages: inline size set to 0",
	r"Scatter2CQE .*: setting MLX5_SCATTER_TO_CQE=0",
	r"(?:Disabling dynamic polling|Increasing CQE polling batch to \d+)",
	r"Conflicting CPU frequency values detected: \S+ != \S+\. CPU Frequency is not max\.",
	r"CPU Utilization works only with Duration mode\.",
	r"Post List requested - CQ moderation will be the size of the post list",
	r"CQ moderation can't be grater than rx depth\.",
	r"new post send flow is not supported, falling back to ibv_post_send",
	r"rate_limit type is forced to SW\.",
	r"Specified PKey Index, \d+, greater than allowed max, \d+",
	r"Client closed connection",
	r"User stopped traffic",
	r"Waiting \d+ seconds before releasing resources\.\.\.",
	r"Warm up not supported for WRITE_IMM verb\.",
	r"Skipping",
	# of --report-counters
	r"\w*counters/\w+=\d+",
	# of raw Ethernet
	r"\*\*(?:raw ethernet|IP|UDP|TCP) header\*+",
	r"\*+IPv6 header\*+",
	r"\|.*\|",
	r"MAC attached  : [0-9A-F:]+",
	r"spec_info - (?:dst|src)_(?:ip|port) +: \S+",
	# of the memory of GPUs
	r"initializing CUDA",
	r"Listing all CUDA devices in system:",
	r"CUDA device \d+: PCIe address is \S+",
	r"CUDA device integrated: [0-9A-F]+",
	r"Picking (?:device No\.|GPU number) \d+",
	r"\[pid = \d+, dev = \d+\] device name = \[.*\]",
	r"(?:creating|destroying current) CUDA Ctx",
	r"making it the current CUDA Ctx",
	r"cuMemAlloc(?:Host)?\(\) of a \d+ bytes GPU buffer",
	r"allocated (?:GPU buffer|mmap buffer|\d+ bytes of GPU buffer) .*",
	r"deallocating (?:RX )?GPU buffer \S+",
	r"Host allocation selected, calling memalign allocator for .*",
	r"Got PCIe address of: \S+",
	r"Finding PCIe BUS \S+",
	r"using DMA-BUF for GPU buffer .*",
	r"dmabuf export addr .*",
	r"Calling \w+.*\(.*\) for QP #\d+",
	r"Using .* [Dd]evice .*",
	r"(?:Starting GPU touching process|stopping CUDA gpu touch running kernel)",
	r"\[HOST_MEMORY\] (?:Allocated .*|.* not available, trying next\.\.\.)",
	# of --data_validation
	r"VALIDATION: PASSED.*",
	r"Data validation: (?:Initialized|Copied|tail_markers) .*",
	r"---(?: Per-Validator Breakdown ---)?",
	r"(?:Validator\[\d+\]|Markers|DMA stale retries|Queue full drops|Race overwrites): .*",
	r"(?:Skipped steps|Stale queued work): .*",
	# of script(1)
	r"Script (?:started|done)(?: on .*)?",
)
# Where something is amiss.
FAILURES = (
	r"(?:A c|C)ompletion with .*",
	r"(?:Couldn't|Can't|Cannot|Unable|Failed|failed|Problems|Error|error)\b.*",
	r"(?:Invalid|Incompatible|Unsupported|Duplicated|Unexpected|Assertion) .*",
	r"[sr]cnt=.*",
	r"[Pp]oll(?:ed)? .*",
	r"Bad wc status.*",
	r"Total Received=.*",
	r"Received \d+ times .*",
	r"ethernet_\w+: .*",
	r"ERRNO: .*",
	r"Event: .*",
	r"(?:Test|Parser function) exited with Error",
	r"(?:IB device \S+ not|No IB devices) found",
	r"Port number \d+ state is .*",
	r"VALIDATION: .*",
	r"Due to this issue, .*",
	r"Found Incompatibility issue .*",
	r"Please .*",
	r"Trying to close this side resources",
	r"Requested QP size might be too big\. .*",
	r"Current TX depth is .*",
	r"If device exists, .*",
	# of a shell
	r"(?:Segmentation fault|Killed|Terminated|Aborted)(?: \(core dumped\))?",
)
# The same, of options that it refuses: there are hundreds.
OBJECTION = re.compile(
	r"(?!.* : )(?=[A-Za-z_-]).*\b(?:not|\w+n't|only|cannot|must|should|error|failed|unknown|invalid"
	r"|missing|mismatch|requires|incompatible|There are no)\b.*", re.IGNORECASE)
REMARK = re.compile("|".join(REMARKS))
FAILURE = re.compile("|".join(FAILURES))
USAGE = re.compile(r"^Usage:\n\s+\S*(?:ib|raw)_\w+\s", re.MULTILINE)


def is_remark(text: str) -> bool:
	"""Whether TEXT is said while all is well."""
	return REMARK.fullmatch(text) is not None


def is_failure(text: str) -> bool:
	"""Whether TEXT is said where something is amiss."""
	return FAILURE.fullmatch(text) is not None or OBJECTION.fullmatch(text) is not None


def is_own(text: str) -> bool:
	"""Whether TEXT is so much perftest's that it tells whose the output is."""
	return is_remark(text) or FAILURE.fullmatch(text) is not None
