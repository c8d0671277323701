# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts in this directory: where things are, and how to say
# what takes long. Sourced, never run.

# shellcheck disable=SC2034 # used by those who source this
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${KRPING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krping}
# shellcheck disable=SC2034
suite=trixie
# The oldest and the newest series of kernels that krping is tested with.
# shellcheck disable=SC2034
oldest=6.12 newest=7.3
# A series before that krping loads into, and the release of Debian that has it.
# shellcheck disable=SC2034
older_series=6.1 older_suite=bookworm
# The files from which scripts/rust-support makes the support for a kernel, beside its headers.
# shellcheck disable=SC2034
support_inputs=(
	"$top"/rust/support/{reduced,flags.mk,bindings_helper.h,compat.c}
	"$top"/rust/bindings/{bindgen.mk,compat.h,have,have.sh}
	"$top"/scripts/rust-{reduced,support}
)

# support_of KERNEL: what it makes for KERNEL, a directory of scripts/kernel, as the sysroot sees it.
# Nothing where the kernel's own Rust serves.
support_of() {
	[ ! -e "$1/headers" ] ||
		echo "/cache/kernels/${1##*/}/support-$(digest "${support_inputs[@]}" <(echo "$newest"))"
}

# The first kernel whose own Rust support serves.
# shellcheck disable=SC2034
own_rust=7.2

# Not in everybody's path, but usable by everybody.
PATH=$PATH:/usr/sbin:/sbin

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# step "what" command...: run a long command quietly, show for how long, and
# show its output only where it fails.
step() {
	local what=$1 log start rc=0
	shift
	mkdir -p "$cache/log"
	log=$cache/log/$(tr -cs 'a-zA-Z0-9\n' '-' <<<"$what").log
	start=$SECONDS
	if [ -t 2 ]; then
		"$@" >"$log" 2>&1 &
		local pid=$!
		trap 'kill "$pid" 2>/dev/null; printf "\n" >&2; exit 130' INT TERM
		while kill -0 "$pid" 2>/dev/null; do
			printf '\r  %-56s %4ds ' "$what" $((SECONDS - start)) >&2
			sleep 1
		done
		wait "$pid" || rc=$?
		trap - INT TERM
		printf '\r' >&2
	else
		printf '  %s ...\n' "$what" >&2
		"$@" >"$log" 2>&1 || rc=$?
	fi
	printf '  %-56s %4ds %s\n' "$what" $((SECONDS - start)) \
		"$([ $rc -eq 0 ] && echo 'done' || echo FAILED)" >&2
	if [ $rc -ne 0 ]; then
		tail -n 30 "$log" >&2
		say "the whole log is $log"
	fi
	return $rc
}

# locked NAME: hold the cache's lock NAME until this shell ends, so that two
# builds started at once do not build the same thing twice.
locked() {
	mkdir -p "$cache"
	exec {lock_fd}>"$cache/.lock-$1"
	flock -n "$lock_fd" && return
	say "waiting for another $1 to finish"
	flock "$lock_fd"
}

# release_of KDIR: the release of the kernel whose build directory that is, as uname -r prints it.
# Debian's kernel.release has another.
release_of() {
	sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' "$1/include/generated/utsrelease.h" 2>/dev/null |
		grep . || make -s -C "$1" kernelrelease 2>/dev/null
}

# digest FILE...: a short key of the contents, for naming cache entries.
digest() {
	cat "$@" | sha256sum | cut -c1-12
}

# test_inputs [PART]...: the digests of what tests depend on, from tests/inputs. Nothing where git
# does not know the files.
test_inputs() {
	git ls-files -co --exclude-standard -z 2>/dev/null | xargs -0r sha256sum 2>/dev/null |
		scripts/in-sysroot -- python3 /krping/tests/inputs "$@" || :
}
