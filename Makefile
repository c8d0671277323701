# SPDX-License-Identifier: GPL-2.0
#
# The front of the build: what a person runs. Kbuild says what krping.ko is made
# of; scripts/ does the rest.

KDIR ?= /lib/modules/$(shell uname -r)/build
RUSTC = rustc
BINDGEN = bindgen
KERNEL ?= 7.2
export KERNEL RUSTC BINDGEN

kbuild = +$(MAKE) -C "$(KDIR)" M="$(CURDIR)"
release = $(shell cat "$(KDIR)/include/config/kernel.release" 2>/dev/null)

all: ## build krping.ko for the kernel of KDIR (default: the running one)
	@scripts/check-kdir "$(KDIR)"
	$(kbuild) modules

install: all ## install krping.ko for that kernel, and the udev rule of its disks
	$(kbuild) modules_install
	install -D -m 644 scripts/udev/60-krping.rules \
		"$(INSTALL_MOD_PATH)/usr/lib/udev/rules.d/60-krping.rules"
	depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(release)"

clean: ## remove what the build made here
	$(kbuild) clean

demo: ## see krping run, in a virtual machine with soft-RoCE
	@scripts/demo

shell: ## get a shell in such a virtual machine
	@scripts/guest --shell

pair: ## get a shell in one of two such machines; ssh guest2 is the other
	@scripts/guest --peers 1 --shell

test: ## run all tests; KERNEL=7.3 tests on that kernel, ALL=1 on the debug kernel too
	@tests/run $(if $(ALL),--all)

test-debug: ## run the tests of the debug kernel: sanitizers, leak checks, injected faults
	@tests/run --debug

soak: ## run the long tests, in pieces; see tests/soak --list
	@tests/soak

SECONDS ?= 600
fuzz: ## fuzz what decodes commands and messages, each target for SECONDS=600
	@tests/host/run --fuzz $(SECONDS)

lint: ## check style and run the static checkers
	@scripts/lint

bench: ## measure against rping and perftest
	@scripts/bench

bench-plots: ## measure, and draw the plots of docs/plots
	@scripts/bench-plots

help: ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 14

.PHONY: all install clean demo shell pair test test-debug soak fuzz lint bench bench-plots help
