#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run krping's acceptance set on an RDMA device: the only one, or as arguments say. The runner of
# kselftest takes them from KSELFTEST_KRPING_SH_ARGS, such as "--device rxe0 --known rxe".

# skip REASON: what kselftest takes for a skip.
skip() {
	echo "1..0 # SKIP $*"
	exit 4
}

[ "$(id -u)" = 0 ] || skip "it must be run as root"
command -v krping >/dev/null || skip "the program krping is not installed"
[ -e /proc/krping ] || modprobe -q krping || skip "there is no module krping for Linux $(uname -r)"
[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] || skip "there is no RDMA device"
exec krping test --quiet "$@"
