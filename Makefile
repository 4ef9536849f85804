# `make` prints what there is to do. demo, test and build need nothing but Go;
# the others fetch their tools, pinned below, into Go's build cache: whoever keeps
# that has them, also in another clone.

GOLANGCI_LINT_VERSION  := v2.15.0
GOVULNCHECK_VERSION    := v1.1.4
PROTOC_GEN_GO_VERSION  := v1.36.12
PROTOC_VERSION         := 3.21.12
OASDIFF_VERSION        := v1.37.0
NFPM_VERSION           := v2.45.2

FUZZTIME ?= 3000x
SEEDS    ?= 2000
READS    ?= 24
MANY     ?= 300
DAYS     ?= 30
COVERAGE ?= 90
RUNS     ?= 25
MEMBERS  ?= 3
PKG      ?= ./...
GOTEST   ?= go test
export GOTEST

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
TOOLS   := $(shell go env GOCACHE)/hostnode-tools/$(shell go env GOVERSION)
LINT    := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
GEN_GO  := $(TOOLS)/protoc-gen-go-$(PROTOC_GEN_GO_VERSION)/protoc-gen-go
VULN    := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck
NFPM    := $(TOOLS)/nfpm-$(NFPM_VERSION)/nfpm

# With ONCE=yes, test and race run what .ci/shares gives them: together with cover and
# sim-read that is each test once.

# What `make generate` writes.
GENERATED := messages chain/contracts/artifacts chain/contracts/bindings \
  chain/contracts/contractstest prover/poseidon2/constants.go \
  docs/hostnode.example.yaml docs/openapi.json docs/metrics.md

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

.PHONY: help
help:
	@echo 'hostnode $(VERSION)'
	@awk -F ': *## ' '/^## /{sub(/^## /,""); split($$0,p,": "); \
	  printf "  make %-14s %s\n", p[1], substr($$0,length(p[1])+3)}' $(MAKEFILE_LIST)

## demo: sell storage on this machine: prepare, fill, prove, crash, recover, be paid
.PHONY: demo
demo:
	go run ./cmd/hostnode demo

# Linked without tables for debuggers, which takes half the time; stacks have their lines all the same.
## test: the tests, long ones in a short form, or those of PKG=./events/sale; needs nothing but Go
.PHONY: test
test:
	$(if $(ONCE),.ci/share test -timeout 20m,$(GOTEST) -short -vet=off -ldflags '-s -w' -timeout 20m $(PKG))

## test-whole: all tests with all their inputs; twenty minutes
.PHONY: test-whole
test-whole:
	go test -timeout 40m $(PKG)

## race: the tests with the race detector, with fewer inputs where nothing runs at once; needs a C compiler
.PHONY: race
race: need-cc
	$(if $(ONCE),.ci/share race -race -short -timeout 20m,$(GOTEST) -race -short -timeout 20m $(PKG))

## race-full: all tests with the race detector and all their inputs; twenty minutes
.PHONY: race-full
race-full: need-cc
	go test -race -timeout 40m ./...

## build: bin/hostnode
.PHONY: build
build:
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/hostnode ./cmd/hostnode

RELEASE := VERSION='$(VERSION)' NFPM='$(NFPM)' OUT=build/release

## release: build/release: static programs and a .deb for amd64 and arm64 (ARCHES=), the same bytes anywhere; checksums
.PHONY: release
release: $(NFPM) man
	@$(RELEASE) sh package/release.sh

## package-test: the release built twice; its .deb installed, upgraded, removed, purged; its unit. As root, on Debian
.PHONY: package-test
package-test: need-debian $(NFPM) man
	@$(RELEASE) bash package/test.sh

# The benchmarks against go-statemachine, PostgreSQL and the libraries of Filecoin, and what drives a browser, are modules
# of their own: some sixty small modules more.
## vet: compile everything, with every build tag, and let go vet read it
.PHONY: vet
vet:
	go build ./...
	go vet -tags e2e,soak ./...
	cd bench/statemachine && go vet ./...
	cd bench/downtime && go vet ./...
	cd bench/aggregation && go vet ./...
	cd cmd/hostnode/browsertest && go vet -tags browser ./...

## lint: the house rules: imports, purity, exhaustiveness, form (.golangci.yml)
.PHONY: lint
lint: $(LINT)
	GOLANGCI_LINT_CACHE=$(TOOLS)/lint-cache $(LINT) run --allow-serial-runners $(PKG)

## fmt: format the code
.PHONY: fmt
fmt: $(LINT)
	$(LINT) fmt ./...

## generate: write every generated file anew; needs protoc, node and npm
.PHONY: generate
generate: need-protoc-and-node generate-messages generate-contracts
	go generate ./...
	go test -count 1 -run TestTheExampleIsCurrentAndLoads ./cmd/hostnode/internal/config -rewrite
	go test -count 1 -run '^(TestTheDocumentOfTheAPIIsCurrent|TestTheReferenceOfFiguresIsCurrent)$$' \
	  ./cmd/hostnode/internal/machines -rewrite

## man: write a man page of each command to build/man
.PHONY: man
man:
	go test -count 1 -run TestEachCommandHasAManPage ./cmd/hostnode -man $(CURDIR)/build/man

# Libraries register plain messages.proto too; ours gets a path of its own.
.PHONY: generate-messages
generate-messages: need-protoc $(GEN_GO)
	@mkdir -p build/proto/hostnode
	cp messages.proto build/proto/hostnode/messages.proto
	protoc --plugin=protoc-gen-go=$(GEN_GO) -I build/proto -I /usr/include \
	  --go_out=. --go_opt=module=github.com/hostnode/hostnode hostnode/messages.proto

.PHONY: generate-contracts
generate-contracts: need-node
	sh chain/contracts/generate.sh

## golden-projections: record the answers of EventStoreDB's own engine; needs node, npm, glibc 2.38 (or LIBC=)
.PHONY: golden-projections
golden-projections: need-node
	@LIBC='$(LIBC)' sh projections/js/testdata/recorder/record.sh

## drift: fail when a generated file is not what its source says
.PHONY: drift
drift: generate
	@git diff --exit-code -- $(GENERATED) || \
	  { echo 'drift: generated files are stale; run make generate and commit'; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	  test -z "$$new" || { echo "drift: generated and not committed: $$new"; exit 1; }

## api-changes: name what breaks clients in docs/openapi.json, since the newest release (BASE=)
.PHONY: api-changes
api-changes:
	@OASDIFF_VERSION=$(OASDIFF_VERSION) .ci/api-changes

## record-history: write what testdata/history does not have yet (FROM=, NAME=)
.PHONY: record-history
record-history:
	go test -count 1 -timeout 20m ./events/catalog -run TestRecordHistory -v \
	  -record-history -from "$(abspath $(FROM))" -as "$(NAME)"

## fuzz-smoke: every fuzz target with FUZZTIME (3000x) inputs
.PHONY: fuzz-smoke
fuzz-smoke:
	@FUZZTIME=$(FUZZTIME) BLIND=$(BLIND) .ci/fuzz

## sim: the real actors in a simulated world, SEEDS (2000) over all scenarios; and sim-read
.PHONY: sim
sim:
	go test -v -timeout 0 ./actors/sim -run '^TestSeeds$$' -total $(SEEDS)
	$(MAKE) sim-read

## sim-read: the audit and both kinds of views over READS (24) seeds of each scenario; six minutes
.PHONY: sim-read
sim-read:
	$(GOTEST) -vet=off -ldflags '-s -w' -timeout 0 ./projections/js -run 'InTheSimulatedWorld$$' -seeds $(READS)

## sim-race: the same with the race detector, some ten times slower
.PHONY: sim-race
sim-race: need-cc
	go test -v -race -timeout 0 ./actors/sim -run '^TestSeeds$$' -total $(SEEDS)

## sim-month: twenty hosts on one simulated chain, DAYS (30) of its time
.PHONY: sim-month
sim-month:
	go test -timeout 0 -v ./actors/sim -run '^TestManyHosts$$' -days $(DAYS)

## sim-week: one host that proves 200 slots for a simulated week; a minute
.PHONY: sim-week
sim-week:
	go test -timeout 0 -v ./actors/sim -run '^TestManySlotsOfOneHost$$' -week-days 7

## soak: 10, 100 and 200 slots on the real contract, what is asked of the chain, and by members; some minutes
.PHONY: soak
soak:
	go test -tags soak -count 1 -timeout 0 -v ./cmd/hostnode/internal/exits -run 'AskedAsOften'
	go test -tags soak -count 1 -timeout 0 -v ./cmd/hostnode/internal/exits -run 'ProvenForLong' -days 0.25
	go test -count 1 -timeout 0 -v ./actors/sim -run '^TestWhatEachMemberAsks$$' -member-slots 100

## hostile-chain: a sale and 20 sectors over each kind of node that makes it hard; half an hour
.PHONY: hostile-chain
hostile-chain:
	go test -tags soak -count 1 -timeout 0 -v ./cmd/hostnode/internal/demo -run '^TestHostileChain$$'

## many-sectors: MANY (300) sectors proven for ten periods beside 20 slots on 2 cores; half an hour
.PHONY: many-sectors
many-sectors:
	go test -tags soak -count 1 -timeout 0 -v ./cmd/hostnode/internal/demo -run '^TestManySectors$$' -many $(MANY)

## bench: the figures of docs/performance.md
.PHONY: bench
bench:
	go test -run '^$$' -bench 'Append|Replay100k' ./events/embedded
	go test -run '^$$' -bench 'Wire' ./events/esdb
	go test -run '^$$' -bench 'Fold100k' ./events/catalog
	go test -run '^$$' -bench 'Start1M' -benchtime 5x ./actors
	go test -run '^$$' -bench 'Start10k' -benchtime 1x ./actors/sectors
	go test -run '^$$' -bench 'Messages' -benchtime 1x -v ./chain/provider
	go test -run '^$$' -bench 'DutiesPerBlock|JudgingAPeriod' ./actors/proofs
	go test -run '^$$' -bench 'Events|Memory|Checkpoint' -benchtime 3x ./projections/audit
	go test -run '^$$' -bench 'StatusWithoutAHost' -benchtime 3x ./cmd/hostnode/internal/api
	go test -run '^$$' -bench 'Answers|Watchers' -benchtime 1x ./cmd/hostnode/internal/api
	go test -run '^$$' -bench 'Queue|Memory|Pieces1M' ./events/slotqueue
	go test -run '^$$' -bench 'SlotHashing' ./prover/merkle
	go test -run '^$$' -bench 'Commitment|Tree' ./prover/commd
	go test -run '^$$' -bench 'Prove5Samples|LoadKeys' -benchtime 5x ./prover
	go test -run '^$$' -bench 'Verify' ./prover

## bench-sectors: compare sectors with the state machine they are modelled on (a module of its own; DIR=, ROUNDS=3)
.PHONY: bench-sectors
bench-sectors:
	cd bench/statemachine && go run . -dir '$(DIR)' -rounds $(or $(ROUNDS),3)

## bench-downtime: compare judging nodes with the same in SQL, verdicts and times; needs PostgreSQL (SEEDS=8, ROUNDS=5)
.PHONY: bench-downtime
bench-downtime:
	cd bench/downtime && go run . -seeds $(or $(SEEDS),8) -rounds $(or $(ROUNDS),5)

## bench-aggregation: compare aggregates and commitments with Filecoin's libraries, bytes and times (SEEDS=40, ROUNDS=3; 0: bytes only)
.PHONY: bench-aggregation
bench-aggregation:
	cd bench/aggregation && go run . -seeds $(or $(SEEDS),40) -rounds $(or $(ROUNDS),3)

# One package at a time: their hosts prove while chain time runs on. In CI only those that
# have such tests, because each is linked; vet is a step of its own.
## e2e: sales from end to end with the host killed at random moments; takes long
.PHONY: e2e
e2e:
	go test -tags e2e -count 1 -p 1 -timeout 60m -v ./cmd/hostnode/...

## watch-rules: a host that fails and recovers, watched by Prometheus with our rules; needs prometheus (Debian)
.PHONY: watch-rules
watch-rules:
	@command -v prometheus >/dev/null || { echo 'needs prometheus; on Debian: apt-get install prometheus'; exit 1; }
	go test -tags e2e -count 1 -timeout 20m -v -run '^TestPrometheusTellsByOurRules$$' ./cmd/hostnode

## e2e-ci: the same with one kill for each way of running the chain
.PHONY: e2e-ci
e2e-ci:
	$(GOTEST) -vet=off -ldflags '-s -w' -tags e2e -count 1 -p 1 -timeout 15m -run '^TestCI' \
	  $$(git grep -l '^func TestCI' -- cmd | xargs -n1 dirname | sort -u | sed 's|^|./|')

# HOSTNODE_TEST_BEAT_MS makes chain time slower, for a machine with much other work.
## cluster-faults: RUNS (25) of a host of MEMBERS (3) with random faults; SEED= repeats one; about three minutes each
.PHONY: cluster-faults
cluster-faults:
	HOSTNODE_TEST_RUNS=$(RUNS) HOSTNODE_TEST_MEMBERS=$(MEMBERS) HOSTNODE_TEST_SEED=$(SEED) \
	  $(GOTEST) -vet=off -tags e2e -count 1 -timeout 0 -v -run '^TestClusterFaults$$' ./cmd/hostnode/internal/demo

## members-measured: what an idle member costs, commands/s, and KILLS (5) times without an owner; some minutes
.PHONY: members-measured
members-measured:
	HOSTNODE_TEST_KILLS=$(or $(KILLS),5) \
	  $(GOTEST) -vet=off -tags e2e -count 1 -timeout 0 -v -run '^TestWhatSeveralMembersCost$$' ./cmd/hostnode/internal/demo

## official-suite: the tests of EventStoreDB's official client against hostnode eventstore
.PHONY: official-suite
official-suite: build
	cd events/wire/officialsuite && go vet . && go test . && go run . ../../../bin/hostnode

## node-client: EventStoreDB's and KurrentDB's clients from npm against the event server; needs node and npm
.PHONY: node-client
node-client: need-node
	@mkdir -p build/node-client
	cp events/wire/nodeclient/package.json events/wire/nodeclient/package-lock.json build/node-client/
	cd build/node-client && npm ci --no-audit --no-fund --ignore-scripts
	HOSTNODE_NODE_CLIENT=$(CURDIR)/build/node-client $(GOTEST) -count 1 -run TestNodeClient -v ./events/wire

## codex-sdk: Codex's SDK from npm buys storage from a real host and reads it back; needs node and npm
.PHONY: codex-sdk
codex-sdk: need-node
	@mkdir -p build/codex-sdk
	cp cmd/hostnode/codexsdk/package.json cmd/hostnode/codexsdk/package-lock.json build/codex-sdk/
	cd build/codex-sdk && npm ci --no-audit --no-fund --ignore-scripts
	HOSTNODE_CODEX_SDK=$(CURDIR)/build/codex-sdk $(GOTEST) -vet=off -tags e2e -count 1 -timeout 15m \
	  -run '^TestCodexSDK' -v ./cmd/hostnode

## browser-test: the pages in Debian's chromium; pictures of each are in build/screens afterwards; two minutes
.PHONY: browser-test
browser-test: need-chromium
	rm -rf build/screens
	cd cmd/hostnode/browsertest && \
	  go test -vet=off -tags browser -count 1 -timeout 10m . -screens $(CURDIR)/build/screens

## cover: how much of the pure cores their tests reach; fails below COVERAGE (90) per cent
.PHONY: cover
cover:
	@.ci/cover $(COVERAGE)

## count: lines of production code, without tests, generated files, blanks and comments
.PHONY: count
count:
	@.ci/count

## vuln: known vulnerabilities in what we call; asks the Go vulnerability database
.PHONY: vuln
vuln: $(VULN)
	$(VULN) ./...

## check: what CI runs
.PHONY: check
check:
	@bash .ci/run

## clean: remove what was built; keeps data directories
.PHONY: clean
clean:
	rm -rf bin build coverage.out

# Tools live outside go.mod, each version in a directory of its own.
$(LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
$(GEN_GO):
	GOBIN=$(@D) go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)
$(VULN):
	GOBIN=$(@D) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
$(NFPM):
	GOBIN=$(@D) go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)

# What is missing is said in one line, for all that a target needs.
has-protoc := test "$$(protoc --version 2>/dev/null)" = 'libprotoc $(PROTOC_VERSION)'
has-node   := command -v node >/dev/null && command -v npm >/dev/null
for-protoc := protobuf-compiler libprotobuf-dev
for-node   := nodejs npm

.PHONY: need-protoc need-node need-protoc-and-node need-debian need-cc need-chromium
need-protoc:
	@$(has-protoc) || { \
	  echo 'needs protoc $(PROTOC_VERSION); on Debian: apt-get install $(for-protoc)'; exit 1; }
need-node:
	@$(has-node) || { echo 'needs node and npm; on Debian: apt-get install $(for-node)'; exit 1; }
need-protoc-and-node:
	@$(has-protoc) && $(has-node) || { \
	  echo 'needs protoc $(PROTOC_VERSION), node and npm; on Debian: apt-get install $(for-protoc) $(for-node)'; exit 1; }
need-debian:
	@command -v systemd-analyze >/dev/null && command -v lintian >/dev/null && test "$$(id -u)" = 0 || { \
	  echo 'needs root and Debian with: apt-get install systemd lintian'; exit 1; }
need-cc:
	@command -v $${CC:-cc} >/dev/null || { \
	  echo 'the race detector needs a C compiler; on Debian: apt-get install gcc libc6-dev'; exit 1; }
need-chromium:
	@command -v chromium >/dev/null || { echo 'needs chromium; on Debian: apt-get install chromium'; exit 1; }
