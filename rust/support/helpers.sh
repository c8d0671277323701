#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: helpers.sh HELPERS CRATE [OBJECT]...
#
# Print C that defines those of the helpers in the kernel's file HELPERS that the object CRATE
# needs, and no OBJECT of ours defines. $NM is nm.
#
# All are static, so that the compiler drops the rest: what a helper calls need not be
# exported to modules.
set -eu

helpers=$1 crate=$2
shift 2
# A header, of the many, that imports a namespace of symbols for whoever includes it.
cat <<END
#include <linux/module.h>
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(namespace)
#include "compat.h"
END
sed 's/^#define __rust_helper .*/#define __rust_helper static __always_inline __maybe_unused/' \
	"$helpers"
echo '#include "print.h"'
{
	grep -ohE 'rust_helper_\w+' "$(dirname "$helpers")"/*.c | sed 's/^/kernel /'
	"$NM" -P --defined-only "$@" | sed 's/^/ours /'
	"$NM" -P --undefined-only "$crate" | sed 's/^/needed /'
} | awk '
	$1 == "kernel" { kernel[$2] }
	$1 == "ours" { ours[$2] }
	$1 == "ours" && $2 in kernel {
		print $2 ": the kernel has a helper of that name" >"/dev/stderr"
		exit 1
	}
	$1 == "needed" && $2 == "_dev_printk" {
		print "_dev_printk() gets \"%pA\", and print.h has no substitute for it" >"/dev/stderr"
		exit 1
	}
	# Visible to the Rust object, although it is static.
	$1 == "needed" && $2 ~ /^rust_helper_/ && !($2 in ours) {
		print "extern typeof(" $2 ") " $2 " __used;"
		print "asm(\".globl " $2 "\");"
	}
'
