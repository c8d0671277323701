# SPDX-License-Identifier: GPL-2.0
#
# How bindgen is to read the kernel's headers: included by Kbuild, and by what scripts/rust-support
# asks Kbuild with.

# bindgen reads C through libclang, which does not know these gcc options.
# The kernel keeps the same list for itself and does not export it.
krping_not_clang := -mno-fp-ret-in-387 -mpreferred-stack-boundary=% \
	-mskip-rax-setup -mgeneral-regs-only -msign-return-address=% \
	-mindirect-branch=thunk-extern -mindirect-branch-register \
	-mindirect-branch-cs-prefix -mfunction-return=thunk-extern \
	-mrecord-mcount -mabi=lp64 -mstack-protector-guard% -mtraceback=no \
	-mno-pointers-to-nested-functions -mno-string -mno-strict-align \
	-mstrict-align -mdirect-extern-access -mexplicit-relocs \
	-mno-check-zero-division -fconserve-stack -falign-jumps=% \
	-falign-loops=% -femit-struct-debug-baseonly -fno-ipa-cp-clone \
	-fno-ipa-sra -fno-partial-inlining -fplugin-arg-arm_ssp_per_task_plugin-% \
	-fno-reorder-blocks -fno-allow-store-data-races -fasan-shadow-offset=% \
	-fzero-call-used-regs=% -fno-stack-clash-protection \
	-fno-inline-functions-called-once -fsanitize=bounds-strict \
	-fstrict-flex-arrays=% -fmin-function-alignment=% \
	-fzero-init-padding-bits=% -mno-fdpic -fdiagnostics-show-context \
	-fdiagnostics-show-context=% --param=% --param asan-% \
	-fno-isolate-erroneous-paths-dereference -ftrivial-auto-var-init=%

krping_bindgen_target_x86 := x86_64-linux-gnu
krping_bindgen_target_arm64 := aarch64-linux-gnu

ifdef CONFIG_CC_IS_CLANG
krping_bindgen_c_flags = $(filter-out $(CC_FLAGS_LTO),$(c_flags))
else
krping_bindgen_c_flags = $(filter-out $(krping_not_clang) $(CC_FLAGS_LTO),$(c_flags)) \
	-w --target=$(krping_bindgen_target_$(SRCARCH))
endif

# As the kernel's own bindings are made, so that types are the same. Not everybody has rustfmt.
krping_bindgen_flags = --formatter prettyplease --rust-target 1.85 --use-core --with-derive-default \
	--ctypes-prefix ffi --no-layout-tests --no-debug '.*' \
	--enable-function-attribute-detection -- \
	$(krping_bindgen_c_flags) -fno-builtin -D__BINDGEN__ -DMODULE
