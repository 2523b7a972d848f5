# SPDX-License-Identifier: MIT
# A thin front for meson and the test runner. `make` builds into build/.

BUILD ?= build
NINJA = ninja -C $(BUILD)

.PHONY: all deps demo check check-full lint install clean sanitize bench

all: $(BUILD)/build.ninja
	@$(NINJA)

$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) >/dev/null

deps:
	@scripts/install-deps

# Installs, builds, boots the lab, serves a namespace, uses it, shows what happened.
demo: all
	@scripts/demo

# Everything below 20 minutes on two cores.
check: all
	@tests/run

# Whole matrices, soaks, many rounds: by hand, before an issue is called resolved.
check-full: all
	@tests/run --full

# The ways to an NVMe device side by side, in the lab: bench.txt, .json and .csv in build/lab/out.
bench: all
	@lab/bench

lint: all
	@scripts/lint $(BUILD)

sanitize: deps
	@scripts/build-sanitized >/dev/null

install: all
	@$(NINJA) install

clean:
	rm -rf $(BUILD) build-asan
