# SPDX-License-Identifier: GPL-2.0
# Reads what one part of the tests prints, shows it, and counts its results.
# Variables: part, its name; work, the directory for the files
#   counts    one line "passed failed skipped" for each part
#   failures  each failure with what was printed before it
#   tried     what each program of random rounds says it has done, and its failures
#   ended     each program that has come to its end, and how many of its results passed, were
#             skipped and failed
# A program between "# file:" and "# end:" must keep its plan.

function fail(what) {
	failed++
	print "\n" part file ":\n" context what >>(work "/failures")
}

function remember(line) {
	context = context line "\n"
	if (++lines > 60) {
		sub(/[^\n]*\n/, "", context)
		lines--
	}
}

function forget() {
	context = ""
	lines = 0
}

# A missing plan is a broken one.
function finish(status) {
	if (results != plan)
		fail("not ok - ended early: " results + 0 " of " \
		     (plan < 0 ? "unknown" : plan) " results, exit status " status)
	file = ""
	forget()
}

{
	print
	fflush()
}

/^# file: tests\// {
	file = " " $3
	name = $3
	plan = -1
	results = 0
	failed_before = failed
	passed_before = passed
	skipped_before = skipped
	tried = ""
	forget()
	next
}
/^# end: / {
	finish($3)
	if ($3 != 0 && $3 != 4 && failed == failed_before)
		fail("not ok - exit status " $3)
	print name, passed - passed_before, skipped - skipped_before, failed - failed_before >>(work "/ended")
	if (tried != "")
		print tried, "lost=" failed - failed_before >>(work "/tried")
	next
}
/^# seed=/ {
	tried = $0
}
/^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	next
}
/^ok / {
	results++
	if (toupper($0) ~ / # SKIP/)
		skipped++
	else
		passed++
	forget()
	next
}
/^not ok / {
	results++
	fail($0)
	forget()
	next
}
# A part that counts by itself.
/^# [a-z]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
	passed = $3
	skipped = $7
	if ($5 > failed)
		failed = $5
	next
}
# The part's own. A guest's status tells of its kernel's log, not of the tests.
/^# exit status: [0-9]+$/ {
	if (file != "")
		finish("unknown")
	if ($4 != 0 && (failed == 0 || part ~ /^guest/))
		fail("not ok - exit status " $4)
	next
}
{ remember($0) }

END {
	print passed + 0, failed + 0, skipped + 0 >>(work "/counts")
}
