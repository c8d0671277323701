#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: have.sh TABLE CC [FLAG]...
#
# Print macros HAVE_NAME for what the kernel has of TABLE, as the compiler CC with FLAGs finds, and
# say what it lacks; fail where krping needs that. The statements are compiled together, each on a
# line of its own number: those on which there are errors are what the kernel does not have.
set -eu
table=$1
shift
missing=$(
	awk -F '|' '
		/^(#|$)/ { next }
		{
			count++
			print "#if __has_include(<" $2 ">)\n#include <" $2 ">\n#else\n#line " NR \
				" \"have\"\n#error no header\n#endif"
			body[count] = "#line " NR " \"have\"\nstatic void __attribute__((unused)) " \
				"have" NR "(void) { " $3 " }"
		}
		END { for (i = 1; i <= count; i++) print body[i] }
	' "$table" | "$@" -Wno-error -Werror=implicit-function-declaration -fsyntax-only -xc - 2>&1 |
		sed -nE 's/^have:([0-9]+):.*\berror: .*/\1/p' | sort -nu | tr '\n' ' '
)
awk -F '|' -v missing=" $missing" '
	/^(#|$)/ { next }
	{
		lacks = index(missing, " " NR " ")
		needed = sub(/^[*]/, "", $1)
	}
	lacks && needed {
		print "krping cannot be built: the headers of this kernel, which is older than " \
			"Linux 6.1, have no " $1 " (" $2 ")" >"/dev/stderr"
		failed = 1
		exit
	}
	lacks { print "  LACKS   " $1 >"/dev/stderr" }
	!lacks { print "#define HAVE_" $1 " 1" }
	END { exit failed }
' "$table"
