# SPDX-License-Identifier: GPL-2.0
#
# The Kbuild file of a directory in which scripts/rust-support builds: writes what C is compiled with
# as part of a module, and what bindgen gets, a word a line, and the directory of both.
always-y := c_flags

include $(KRPING)/rust/bindings/bindgen.mk

no_dependencies = $(filter-out -Wp$(comma)-MMD%,$(1))

$(obj)/c_flags: FORCE
	@printf '%s\n' $(CC) $(call no_dependencies,$(c_flags)) >$@
	@printf '%s\n' $(call no_dependencies,$(krping_bindgen_flags)) >$(obj)/bindgen_flags
	@echo '$(CURDIR)' >$(obj)/directory
