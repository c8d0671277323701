# SPDX-License-Identifier: GPL-2.0
# Reads the first ten lines of files of tests/qemu, and prints of each, with | between: its path, the
# options that it wants for its guest, the clock that it runs by on stock kernels, the reason if that
# is not a virtual one, the kernels that it is meant for (stock, oldest, debug), and "alone" where it
# shares its guest with no other. tests/run has what may stand there.

function show() {
	if (path != "")
		printf "%s|%s|%s|%s|%s|%s\n", path, options, clock, why, kernels, alone
}

function runs_by(which, reason) {
	clock = which
	why = reason
}

FNR == 1 {
	show()
	path = FILENAME
	options = alone = ""
	kernels = "stock"
	runs_by("virtual", "")
}
FNR > 10 { nextfile }
/^# guest: / { options = substr($0, 10) }
/^# guest: .*--peers/ { runs_by("real", "(guests need a clock in common)") }
/^# guest: .*--icount/ { runs_by("icount", "(instructions of one CPU are counted)") }
/^# time: real/ { runs_by("real", substr($0, 14)) }
/^# oldest: yes/ { kernels = kernels " oldest" }
/^# debug: yes/ { kernels = kernels " debug" }
/^# debug: only/ { kernels = "debug"; runs_by("real", "(the debug kernel has bounds of its own)") }
/^# alone: yes/ { alone = "alone" }
END { show() }
