#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run krping's acceptance set, and tell tmt what became of each case. KRPING_OPTIONS has options.
set -uo pipefail
data=${TMT_TEST_DATA:-.}

[ -e /proc/krping ] || modprobe -q krping
# shellcheck disable=SC2086 # options are words
krping test --quiet --junit "$data/krping.xml" --json "$data/krping.json" ${KRPING_OPTIONS-} |
	tee "$data/krping.ktap"
status=$?
while read -r name outcome; do
	tmt-report-result "$name" "${outcome^^}"
done < <("$(dirname "$0")/../ktap-cases" "$data/krping.ktap")
# A missed limit is a failure. For tmt all above 1 are errors.
[ $status -ne 3 ] || status=1
exit $status
