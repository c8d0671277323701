# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts that fetch programs which the sysroot lacks. The sysroot itself is left
# alone, as the kernels are made anew with it. Sourced after lib.sh, never run.

# beside NAME FILL: print a directory of the cache beside the sysroot, in which the function FILL
# has put something, once. FILL finds the directory as $dir, and as $inside in the sysroot.
beside() {
	local sysroot old
	# shellcheck disable=SC2154 # lib.sh has set them
	sysroot=$("$top/scripts/sysroot")
	# shellcheck disable=SC2154
	dir=$cache/$1-$(digest <(basename "$sysroot") "$0" "${BASH_SOURCE[0]}")
	inside=/cache/${dir##*/}
	if [ ! -e "$dir/.complete" ]; then
		locked "$1"
	fi
	if [ ! -e "$dir/.complete" ]; then
		rm -rf --one-file-system "$dir"
		mkdir -p "$dir"
		"$2"
		touch "$dir/.complete"
		# Earlier ones are of no use any more.
		for old in "$cache/$1"-*; do
			[ "$old" = "$dir" ] || rm -rf --one-file-system "$old"
		done
	fi
	echo "$dir"
}

# unpack WITHOUT PACKAGE...: for FILL, unpack packages of the sysroot's Debian release, with what
# they depend on but those that the pattern WITHOUT matches as a whole.
unpack() (
	locked apt
	# shellcheck disable=SC2016 # for the shell in there
	step "unpack ${*:2}" "$top/scripts/in-sysroot" -- bash -euo pipefail -c '
		cd "$1"
		apt-get -o APT::Sandbox::User=root update
		mapfile -t packages < <(apt-get -s --no-install-recommends install "${@:3}" |
			sed -n "s/^Inst \([^ ]*\) .*/\1/p" | grep -vxE "$2")
		apt-get -o APT::Sandbox::User=root download "${packages[@]}"
		for deb in *.deb; do dpkg -x "$deb" .; done
		rm -rf -- *.deb usr/share/doc usr/share/man usr/share/locale usr/share/icons
	' unpack "$inside" "$@"
)
