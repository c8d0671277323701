# SPDX-License-Identifier: GPL-2.0
#
# The front of the build: what a person runs. Kbuild says what krping.ko is made
# of; scripts/ does the rest.

KDIR ?= /lib/modules/$(shell uname -r)/build
# For a kernel without Rust that serves: the source of the kernel whose Rust support goes into the
# module. What is needed of it is kept in rust-src, which a package has.
RUST_SRC ?= $(wildcard $(rust_src))
rust_src = $(CURDIR)/rust-src
RUSTC = rustc
BINDGEN = bindgen
export KERNEL RUSTC BINDGEN

kbuild = +$(MAKE) -C "$(KDIR)" M="$(CURDIR)"
release = $(shell bash -c '. scripts/lib.sh; release_of "$$1"' - "$(KDIR)")

all: ## build krping.ko for the kernel of KDIR (default: the running one)
	+@rust=$$(scripts/check-kdir "$(KDIR)" "$(RUST_SRC)") || exit; \
	[ "$$rust" = own ] || { \
		support="$(CURDIR)/rust-support"; \
		[ "$(RUST_SRC)" -ef "$(rust_src)" ] || \
			scripts/rust-reduced "$(RUST_SRC)" "$(rust_src)" || exit; \
		scripts/rust-support "$(KDIR)" "$(rust_src)" "$$support" || exit; \
	}; \
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" RUST_SUPPORT="$$support" modules

# Headers lack what signs modules as the kernel's own were signed, and what depmod wants to see.
# Without the key a module is installed as it is, and depmod is run below.
unsigned = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
modules = $(INSTALL_MOD_PATH)/lib/modules/$(release)
depmod = depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(release)"
DESTDIR ?= $(INSTALL_MOD_PATH)
prefix ?= /usr/local
share = $(DESTDIR)$(prefix)/share
units = $(DESTDIR)$(prefix)/lib/systemd/system
# Below /usr are packages, whose distributions have zsh look elsewhere, and which compile Python where
# they are installed, for its version there.
packaged = $(filter /usr,$(prefix))
zsh = $(share)/zsh/$(if $(packaged),vendor-completions,site-functions)
# Without headers the running kernel's module is meant, unless KDIR was given.
removed = $(or $(release),$(if $(filter file,$(origin KDIR)),$(shell uname -r)))

install: all install-front ## install krping.ko for that kernel, its udev rule, and the program
	$(kbuild) $(unsigned) cmd_depmod=: modules_install
	install -D -m 644 scripts/udev/60-krping.rules \
		"$(INSTALL_MOD_PATH)/usr/lib/udev/rules.d/60-krping.rules"
	$(depmod)
	@echo "installed for Linux $(release)"
	$(if $(unsigned),@tail -c 28 krping.ko | grep -q "Module signature appended" || \
		echo "krping.ko is unsigned. With Secure Boot see docs/install.md")

# Of samples/ what runs the program in a test system; the rest is a module's source.
samples = samples/.fmf samples/kselftest samples/ktap-cases samples/lava samples/tmt

install-front: ## install the program krping, its man pages and its unit alone, below prefix=/usr/local
	rm -rf "$(share)/krping"
	install -d "$(DESTDIR)$(prefix)/bin" "$(share)/krping"
	cp -r --no-preserve=ownership scripts/krping scripts/krping_front scripts/known \
		scripts/operation-cost.bt "$(share)/krping"
	cp -r --parents --no-preserve=ownership $(samples) "$(share)/krping"
	$(if $(and $(packaged),$(DESTDIR)),,python3 -m compileall -q $(if $(DESTDIR),-s "$(DESTDIR)" -p /) "$(share)/krping/krping_front")
	ln -sf ../share/krping/krping "$(DESTDIR)$(prefix)/bin/krping"
	sed 's|/usr/bin/krping|$(prefix)/bin/krping|' scripts/systemd/krping-disk@.service | \
		install -D -m 644 /dev/stdin "$(units)/krping-disk@.service"
	install -d "$(DESTDIR)/etc/krping/disks.d"
	scripts/manual man
	install -D -m 644 man/krping.8 "$(share)/man/man8/krping.8"
	install -D -m 644 man/krping-commands.7 "$(share)/man/man7/krping-commands.7"
	install -D -m 644 man/krping.bash "$(share)/bash-completion/completions/krping"
	install -D -m 644 man/_krping "$(zsh)/_krping"

# What DKMS builds the module from, and where kernels without Rust have it from: RUST_SRC, reduced.
dkms_sources = Kbuild Makefile VERSION rust samples/helpers.c samples/rdma_echo.rs scripts/build-tools \
	scripts/check-kdir scripts/lib.sh scripts/rust-reduced scripts/rust-support
dkms = $(DESTDIR)/usr/src/krping-$(shell cat VERSION)

install-dkms: ## install the sources for DKMS: then dkms install krping/VERSION
	rm -rf "$(dkms)"
	install -d "$(dkms)"
	cp -r --parents --no-preserve=ownership $(dkms_sources) "$(dkms)"
	$(if $(RUST_SRC),scripts/rust-reduced "$(RUST_SRC)" "$(dkms)/rust-src")
	install -m 644 dkms.conf "$(dkms)"
	install -D -m 644 scripts/udev/60-krping.rules \
		"$(DESTDIR)/usr/lib/udev/rules.d/60-krping.rules"

uninstall: release := $(removed)
uninstall: ## remove what install has installed, of modules those for that kernel
	rm -f "$(INSTALL_MOD_PATH)/usr/lib/udev/rules.d/60-krping.rules"
	rm -rf "$(share)/krping" "$(DESTDIR)$(prefix)/bin/krping" "$(share)/man/man8/krping.8" \
		"$(share)/man/man7/krping-commands.7" "$(share)/bash-completion/completions/krping" \
		"$(zsh)/_krping" "$(units)/krping-disk@.service"
	rmdir "$(DESTDIR)/etc/krping/disks.d" "$(DESTDIR)/etc/krping" 2>/dev/null || :
	@[ -n "$(release)" ] || { echo "there is no kernel at $(KDIR), so no module is removed; name it: make uninstall KDIR=..." >&2; exit 1; }
	rm -f "$(modules)"/updates/krping.ko* "$(modules)"/updates/rdma_echo.ko*
	$(depmod)

deb: ## build the Debian packages krping and krping-dkms
	@scripts/package deb

rpm: ## build the RPM packages krping and krping-dkms
	@scripts/package rpm

clean: ## remove what the build made here
	$(kbuild) clean
	rm -rf rust-support

demo: ## see krping run, in a virtual machine with soft-RoCE
	@scripts/demo

shell: ## get a shell in such a virtual machine
	@scripts/guest --shell

pair: ## get a shell in one of two such machines; ssh guest2 is the other
	@scripts/guest --peers 1 --shell

test: ## run all tests; KERNEL=7.2 on that kernel, ALL=1 on the debug kernel too, AGAIN=1 also what passed
	@tests/run $(if $(ALL),--all) $(if $(AGAIN),--again)

test-debug: ## run the tests of the debug kernel: sanitizers, leak checks, injected faults
	@tests/run --debug

test-packages: ## install the Debian packages in a bare Debian, and boot guests from it
	@tests/packages/whole

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
	@scripts/flame-graph

man: ## make man pages and completions for bash and zsh, in man/
	@scripts/manual man

help: ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

.PHONY: all install install-front install-dkms uninstall deb rpm \
	clean demo shell pair test test-debug test-packages soak fuzz lint bench bench-plots man help
