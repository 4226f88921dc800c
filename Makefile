SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_VERSION := 2.14.0
# Paths of targets are relative: make splits them at spaces, which the folder's own path may have.
BIN := .cache/bin
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

# The version of Claude Code that the tests run; the package says which.
AGENT_VERSION := $(shell sed -n 's/^const AgentVersion = "\(.*\)"$$/\1/p' clewtest/real.go)
AGENT := .cache/agent/$(AGENT_VERSION)/claude

# How long `make fuzz` gives each target.
FUZZTIME ?= 60s

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Packages that the race detector makes up to ten times as slow. "make soak" tests them with it.
RACED := ./internal/cli ./internal/index/... ./sessions/sqlitestore ./wire
# Packages that are tested without the race detector: these, those in which nothing runs at once, and
# the examples, whose tests start processes.
PLAIN := $(RACED) ./examples/... ./internal/archtest ./internal/bench/... ./internal/config \
	./internal/corpus ./internal/entryfacts ./internal/entrylex ./internal/export ./internal/jsonlex \
	./internal/lineedit ./internal/notices ./internal/pictures ./internal/rawjson ./internal/redact ./internal/render \
	./internal/sessionfile ./internal/version ./internal/wiregen ./tooluse ./transcript ./usage
# Packages that compare the pinned agent with what was recorded of it. They find changes of the
# agent rather than of this module, and "make soak" runs them.
DRIFT := ./internal/record ./internal/realtest/costs
# Packages whose tests open pages in Chromium, which "make soak" installs.
PAGES := ./internal/browsertest
# Packages with tests that "make soak" makes longer, those with attacks first.
ATTACKED := ./internal/redact ./internal/cli ./internal/export ./sessions/sqlitestore ./internal/index ./sessions ./sessions/natsstore
SIZED := $(ATTACKED) $(filter-out $(ATTACKED),$(shell grep -rl --include='*_test.go' 'soak\.Size' . | xargs -r dirname | sort -u))

# How long a package may take on a machine that is busy with other things.
TIMEOUT := 30m

.PHONY: test
test: fmtcheck vet lint-if-there agent ## Check formatting, vet, lint if the linter is there, run every test
	@plain=$$(go list $(PLAIN)); \
	others=$$(go list ./... | grep -vxF "$$plain" | grep -vxF "$$(go list $(DRIFT) $(PAGES))"); \
	echo "go test $(PLAIN)"; go test -p 4 -timeout $(TIMEOUT) $$plain && \
	echo "go test -race, all other packages" && go test -p 4 -race -timeout $(TIMEOUT) $$others

.PHONY: soak
soak: agent browser ## Compare the agent with its recordings, open pages, run long tests and fuzz targets, 10 minutes at most
	.ci/soak "$(DRIFT) $(PAGES)" "$(RACED)" "$(SIZED)"

.PHONY: lint
lint: $(GOLANGCI) ## Run the pinned linter, built from source if it is not there
	$(GOLANGCI) run ./...

# The linter takes minutes to build: a test run uses the one that is there.
.PHONY: lint-if-there
lint-if-there:
	@if [ -x $(GOLANGCI) ]; then echo "$(GOLANGCI) run ./..."; $(GOLANGCI) run ./...; \
	elif golangci-lint version --short 2>/dev/null | grep -qxF $(GOLANGCI_VERSION); then \
		echo "golangci-lint run ./..."; golangci-lint run ./...; \
	else echo "golangci-lint $(GOLANGCI_VERSION) is not installed: not linted; make lint builds and runs it"; fi

.PHONY: agent
agent: $(if $(CLEW_AGENT),,$(AGENT)) ## Install the pinned Claude Code from npm, once, unless CLEW_AGENT names one

.PHONY: browser
browser: ## Install Chromium with apt, unless there is one or CHROME names one
	@.ci/install-browser

.PHONY: record
record: agent ## Record the dialogues in testdata again, from the pinned Claude Code over a scripted model
	CLEW_RECORD=1 go test ./internal/record ./internal/realtest/program -run TestRecord -count=1

.PHONY: bench
bench: ## Compare decoding with encoding/json, and measure transcripts, in one run, as ratios
	go run ./internal/bench

.PHONY: bench-peers
bench-peers: agent ## Compare with the official SDKs and ccusage, which it installs for a while, as ratios
	go run ./internal/bench/peers

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (default 60s)
	@targets=$$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { t[n++] = $$1 } $$1 == "ok" { for (i = 0; i < n; i++) print $$2, t[i]; n = 0 }'); \
	while read -r pkg target; do \
		[ -n "$$pkg" ] || continue; \
		echo "$$pkg $$target"; \
		.ci/fuzz "$$pkg" "$$target" "$(FUZZTIME)" </dev/null; \
	done <<<"$$targets"

.PHONY: generate
generate: ## Write the generated code again
	go generate ./...

.PHONY: notices
notices: ## Write THIRD_PARTY_NOTICES again, from the licenses of the modules that the program links
	go run ./internal/notices

.PHONY: fmtcheck
fmtcheck:
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet:
	go vet ./...

.PHONY: vet-others
vet-others: ## Vet for the other systems
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

.PHONY: demo
demo: ## Show the whole tour of the program, without key, network or agent
	go run ./cmd/clew demo

.PHONY: pictures
pictures: ## Make the pictures in docs/pictures and the output in the README again, with a chromium
	go run ./internal/pictures

$(AGENT):
	@$(if $(AGENT_VERSION),,$(error clewtest/real.go has no line: const AgentVersion = "..."))
	@.ci/install-agent "$(AGENT_VERSION)" "$(CURDIR)/$@"

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION) from source; the first time takes a few minutes"
	GOBIN="$(CURDIR)/$(BIN)" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@
