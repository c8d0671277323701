# SPDX-License-Identifier: GPL-2.0
#
# inside_rustc: the compiler, and how it compiles crates that use what scripts/rust-support has built
# in RUST_SUPPORT. The features are those that the kernel's build allows modules to use.
inside_features := arbitrary_self_types,asm_goto,generic_arg_infer,used_with_arg
inside_rustc = OBJTREE=$(RUST_SUPPORT) RUST_MODFILE=$(modfile) RUSTC_BOOTSTRAP=1 $(RUSTC) \
	@$(RUST_SUPPORT)/flags --edition=2021 -Zunstable-options --sysroot=/dev/null \
	-L $(RUST_SUPPORT)/rust --extern pin_init --extern kernel --cfg=MODULE \
	-Zcrate-attr=no_std -Zcrate-attr='feature($(inside_features))'
