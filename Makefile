SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_VERSION := 2.14.0
# Paths of targets are relative: make splits them at spaces, which the directory's own path may have.
BIN := .cache/bin
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
# What checks workflows and makes releases.
ACTIONLINT_VERSION := 1.7.12
ACTIONLINT := $(BIN)/actionlint-$(ACTIONLINT_VERSION)
GORELEASER_VERSION := 2.16.0
GORELEASER := $(BIN)/goreleaser-$(GORELEASER_VERSION)

# The version of Claude Code that the tests run; the package says which.
AGENT_VERSION := $(shell sed -n 's/^const AgentVersion = "\(.*\)"$$/\1/p' clewtest/real.go)
AGENT := .cache/agent/$(AGENT_VERSION)/claude
# The versions of Claude Code that "make versions" tests, and those that "make soak" tests as well.
VERSIONS := 2.1.50 2.1.88 2.1.109 2.1.150 2.1.200 2.1.250 2.1.300 $(AGENT_VERSION)
SOAKED := 2.1.88 2.1.250
AGENTS := $(VERSIONS:%=.cache/agent/%/claude)

# How long `make fuzz` gives each target.
FUZZTIME ?= 60s

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The directories of all modules, for the linter. Go itself calls their packages "work".
ALL := ./... ./clewotel/... ./cmd/clew/... ./dev/... ./nats/... ./sqlite/...
# Examples that are modules outside of the workspace, whose dependencies nothing else should have.
MODULES := examples/river examples/temporal
# Packages whose tests open pages in Chromium, which "make browser" installs.
PAGES := ./dev/browsertest
# What looks for faults of accessibility in pages.
AXE := .cache/axe/4.14.0/axe.min.js
# Packages with tests that "make soak" makes longer, those with attacks first. The matrix of faults has
# its own step there.
ATTACKED := ./redact ./cmd/clew/internal/agentcli ./cmd/clew/internal/cli ./export ./sqlite/sqlitestore ./sqlite/search ./sessions ./nats/natsstore
SIZED := $(ATTACKED) $(filter-out $(ATTACKED) ./dev/faulttest,$(shell grep -rl --include='*_test.go' -E 'soak\.(Size|Search|Rand|Rest)' . | xargs -r dirname | sort -u))

# How long a package may take on a machine that is busy with other things.
TIMEOUT := 60m

.PHONY: test
test: ## Check formatting, run the tests
	@echo "make test: about 2 minutes on two cores; 5 to 7 the first time, when it installs and builds everything"
	@go run ./dev/testrun

.PHONY: test-rest
test-rest: ## Run what "make test" leaves out: more of the agent, large tests, the race detector over all packages
	@go run ./dev/testrun -rest

.PHONY: test-modules
test-modules: ## Vet and test the examples that are modules of their own
	@for dir in $(MODULES); do \
		echo "go vet and go test in $$dir"; \
		(cd $$dir && export GOWORK=off && go vet ./... && go test -timeout $(TIMEOUT) ./...) || exit 1; \
	done

.PHONY: check-modules
check-modules: ## Release a clone to a repository on this machine, and use its modules from there
	.ci/check-modules

.PHONY: soak
soak: agent browser $(AXE) $(SOAKED:%=.cache/agent/%/claude) ## Run faults, pages in a browser, older agents, long tests and fuzz targets, about 10 minutes
	.ci/soak "$(PAGES)" "$(SIZED)" "$(SOAKED)"

.PHONY: shake
shake: agent browser axe ## Run the test binaries again and again under conditions that differ, to find tests that depend on luck
	go run ./dev/shake -minutes $(or $(MINUTES),30) $(SHAKE)

.PHONY: soak-fleet
soak-fleet: ## Run the proofs of fleets in full: 10,000 seeds, 10,000 jobs with 1,000 kills, full disks, a cluster
	CLEW_SOAK=1 go test -count=1 -timeout 120m -v -run '^TestSimulation$$' ./fleet
	CLEW_SOAK=1 CLEW_FLEET_JOBS=10000 go test -count=1 -timeout 120m -v ./dev/fleetsoak
	CLEW_SOAK=1 go test -count=1 -timeout 120m -v -run '^Test(Cluster|ServerKilled|.*FullDisk)$$' ./nats/natsfleet

.PHONY: versions
versions: $(AGENTS) ## Run scenarios with each version of Claude Code that the tests know, and write the table of docs/compatibility.md
	.ci/versions $(VERSIONS)

.PHONY: adopt
adopt: agent ## List what is new in the version of Claude Code that VERSION names (default latest), from its packages and new recordings
	@go run ./dev/adopt "$(or $(VERSION),latest)"

.PHONY: lint
lint: $(GOLANGCI) ## Run the pinned linter, built from source if it is not there
	$(GOLANGCI) run $(ALL)
	@for dir in $(MODULES); do (cd $$dir && GOWORK=off "$(CURDIR)/$(GOLANGCI)" run ./...) || exit 1; done

.PHONY: agent
agent: $(if $(CLEW_AGENT),,$(AGENT)) ## Install the pinned Claude Code from npm, once, unless CLEW_AGENT names one

.PHONY: agents
agents: $(AGENTS) ## Install the other versions of Claude Code that the tests know, about 2 GB

.PHONY: browser
browser: ## Install Chromium with apt, unless there is one or CHROME names one
	@.ci/install-browser

.PHONY: axe
axe: $(AXE) ## Install axe-core from npm, for the tests of pages

.PHONY: record
record: agent ## Record the dialogues in testdata again, from the pinned Claude Code over a scripted model
	CLEW_RECORD=1 go test ./dev/record ./dev/realtest/program -run TestRecord -count=1

.PHONY: bench
bench: ## Compare decoding with encoding/json, and measure transcripts, in one run, as ratios
	go run ./dev/bench

.PHONY: bench-peers
bench-peers: agent ## Compare with the official SDKs and ccusage, which it installs for a while, as ratios
	go run ./dev/bench/peers

.PHONY: measure
measure: ## Measure both commands of the README in a new clone, with empty caches and with full ones
	.ci/measure

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (default 60s)
	@targets=$$(go test -list '^Fuzz' work | awk '/^Fuzz/ { t[n++] = $$1 } $$1 == "ok" { for (i = 0; i < n; i++) print $$2, t[i]; n = 0 }'); \
	while read -r pkg target; do \
		[ -n "$$pkg" ] || continue; \
		echo "$$pkg $$target"; \
		.ci/fuzz "$$pkg" "$$target" "$(FUZZTIME)" </dev/null; \
	done <<<"$$targets"

.PHONY: generate
generate: ## Write the generated code again
	go generate work

.PHONY: notices
notices: ## Write THIRD_PARTY_NOTICES again, from the licenses of the modules that the program links
	go run ./dev/notices

.PHONY: fmtcheck
fmtcheck:
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet:
	go vet work

.PHONY: vet-others
vet-others: ## Vet for the other systems
	GOOS=windows go vet work
	GOOS=darwin go vet work

.PHONY: tidy
tidy: ## Run "go mod tidy" in all modules
	.ci/tidy

# Packages whose tests need nothing of the system, and run on all of them.
PORTABLE := ./export ./redact ./settings ./tooluse ./transcript ./usage ./wire ./cmd/clew/internal/compose ./internal/entrylex ./cmd/clew/internal/fuzzy \
	./internal/highlight ./internal/jsonlex ./internal/markdown ./internal/rawjson ./internal/render ./internal/rows ./internal/tty

.PHONY: test-portable
test-portable: ## Run the tests that need nothing of the system
	go test $(PORTABLE)

.PHONY: build-others
build-others: ## Build the program for the other systems
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o .cache/others/clew.exe ./cmd/clew
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build -o .cache/others/clew ./cmd/clew

.PHONY: workflows
workflows: $(ACTIONLINT) ## Check the workflows of GitHub
	$(ACTIONLINT)

.PHONY: release-check
release-check: $(GORELEASER) ## Build a release without publishing it, in dist, and run the tour with it
	.ci/release-check $(GORELEASER)

# The tag of the root's module: the other modules have tags on the same commit.
TAG = $(or $(GORELEASER_CURRENT_TAG),$(shell git describe --tags --exact-match --match 'v*'))

.PHONY: release
release: $(GORELEASER) ## Publish the release of the tag that is checked out, or the one that GORELEASER_CURRENT_TAG names
	mkdir -p .cache
	.ci/release-notes "$(TAG)" >.cache/release-notes.md
	GORELEASER_CURRENT_TAG="$(TAG)" $(GORELEASER) release --clean --release-notes .cache/release-notes.md

# Compilers whose garbage collectors rest until a gigabyte is in use take a sixth less processor time.
LAZY := $(if $(GOGC)$(GOMEMLIMIT),,GOGC=off GOMEMLIMIT=1GiB)

.PHONY: demo
demo: ## Show the whole tour of the program, without key, network or agent
	@echo "Building clew. The first time, Go also fetches modules: about two minutes on two cores."
	@# Go compiles nothing while it fetches modules, so that the standard library is compiled meanwhile.
	@$(LAZY) go build net/http html/template & $(LAZY) go list -deps ./cmd/clew >/dev/null; wait
	@$(LAZY) go run ./cmd/clew demo

.PHONY: pictures
pictures: ## Make the pictures in docs/pictures and the output in docs/program.md again, with a chromium
	go run ./dev/pictures

.PHONY: beside
beside: agent ## Make pictures of the program beside Claude Code in .cache/beside, with a chromium and tmux
	go run ./dev/pictures/beside

.PHONY: screens
screens: ## Make pictures of the screens of the viewer in .cache/screens, with a chromium and tmux
	go run ./dev/pictures/beside -viewer -out .cache/screens

$(AGENTS): .cache/agent/%/claude:
	@$(if $(AGENT_VERSION),,$(error clewtest/real.go has no line: const AgentVersion = "..."))
	@.ci/install-agent "$*" "$(CURDIR)/$@"

$(AXE):
	@.ci/install-axe "$(CURDIR)/$@"

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION) from source; the first time takes a few minutes"
	GOBIN="$(CURDIR)/$(BIN)" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

$(ACTIONLINT):
	GOBIN="$(CURDIR)/$(BIN)" go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION)
	mv $(BIN)/actionlint $@

$(GORELEASER):
	@echo "building goreleaser $(GORELEASER_VERSION) from source; the first time takes a few minutes"
	GOBIN="$(CURDIR)/$(BIN)" go install github.com/goreleaser/goreleaser/v2@v$(GORELEASER_VERSION)
	mv $(BIN)/goreleaser $@
