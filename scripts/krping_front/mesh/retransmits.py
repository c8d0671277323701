# SPDX-License-Identifier: GPL-2.0
"""Retransmits of a run: how often a packet was lost or came out of order, as the device of its
client has counted it."""

import functools
import glob
import os

from krping_front import devices, paths
from krping_front.counters import Counters

# Counters by name, of the port of a device that is named after these. All ports have the same.
STATISTIC = ("rdma", "-j", "statistic", "show", "link")

_NAKS = ("local_ack_timeout_err", "packet_seq_err", "implied_nak_seq_err", "out_of_sequence",
	 "duplicate_request")

# By driver, the names among hw_counters that say so. Each loss moves one of them by one, as far as
# the driver tells them apart: a sender that repeats what was not acknowledged, a receiver that
# misses a packet, and one that gets what it had. RNR NAKs are of a receiver that is slow, and
# nothing is lost. Of a name that several drivers have the meaning is the same. siw has none.
BY_DRIVER = {
	"bnxt_re": _NAKS,
	"efa": ("retrans_pkts",),
	"iw_cxgb4": ("ip4RetransSegs", "ip6RetransSegs"),
	"irdma": ("RetransSegs", "RTO", "Nak Sequence Error", "Nak Sequence Error Implied",
		  "Rcvd Out of order packets"),
	"mana": ("requester_timeout", "requester_oos_nak", "requester_implicit_nak",
		 "requester_readresp_psn_mismatch", "responder_oos", "responder_dup_request"),
	"mlx4": ("sq_num_to", "sq_num_oos", "rq_num_oos", "rq_num_dup"),
	"mlx5": _NAKS,
	# rcvd_seq_err is left out: what is repeated then is in completer_retry_err, too.
	"rxe": ("completer_retry_err", "out_of_seq_request", "duplicate_request"),
}
NAMES = frozenset(name for names in BY_DRIVER.values() for name in names)


def of(device: str, counters: Counters) -> int | None:
	"""The retransmits among the COUNTERS of a run on DEVICE, which are those that have moved. None
	where the device does not count them."""
	moved = [value for name in NAMES
		 if (value := counters.get(f"hw_counters.{name}")) is not None]
	return sum(moved) if moved or counted(device) else None


@functools.cache
def counted(device: str) -> bool:
	"""Whether DEVICE counts retransmits. The first time that may take a while."""
	path = f"{paths.INFINIBAND}/{glob.escape(device)}"
	names = [*glob.glob(f"{path}/ports/*/hw_counters/*"), *glob.glob(f"{path}/hw_counters/*")]
	if not names:
		# In sysfs of other network namespaces than the first one there are none.
		names = [name for each in devices.ask((*STATISTIC, f"{device}/1"), []) for name in each]
	return any(os.path.basename(name) in NAMES for name in names)
