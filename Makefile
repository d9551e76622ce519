# Targets for people and for CI. Everything needs Go and a C compiler, nothing else.
SHELL := /bin/bash
.DEFAULT_GOAL := build

GO ?= go
BIN := bin/dynosim
# The parity cases of the reference, when they are there.
GOLDEN ?= ../shared/golden
# N random cases for `make differential`; SEED empty draws a new one.
N ?= 500
SEED ?=
# Length of each fuzz target in `make fuzz`.
FUZZTIME ?= 10s
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Further options of the parity and differential tools, e.g. ARGS='-area vllm -match chunk'.
ARGS ?=

SOURCES := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './out/*') go.mod go.sum $(wildcard queries/sql/*.sql queries/sql/*/*.sql)

.PHONY: run build test parity parity-quick invariants differential notebook bench fuzz lint vet race docs schema clean

## run: replay the shipped conversation trace on four workers; leaves out/conversation
run: build
	$(BIN) predict -c examples/conversation.yaml --output-dir out/conversation --overwrite --capture-per-request

## build: the program, bin/dynosim
build: $(BIN)

$(BIN): $(SOURCES)
	@mkdir -p bin
	$(GO) build -o $(BIN) ./cmd/dynosim

# A program that checks itself after every pass of every engine.
bin/dynosim-invariants: $(SOURCES)
	@mkdir -p bin
	$(GO) build -tags invariants -o $@ ./cmd/dynosim

bin/parity: $(wildcard cmd/parity/*.go internal/parity/*.go) go.mod
	@mkdir -p bin
	@$(GO) build -o $@ ./cmd/parity

bin/differential: $(wildcard cmd/differential/*.go internal/differential/*.go internal/differential/*.py internal/parity/*.go) go.mod
	@mkdir -p bin
	@$(GO) build -o $@ ./cmd/differential

## test: every test; needs neither the reference nor its cases
test: build
	$(GO) test ./...

## parity: every case of the reference's reports, through replay and predict
parity: $(BIN) bin/parity
	@bin/parity -program $(BIN) -scope testdata/parity-scope.txt -documents testdata/parity-documents.txt $(ARGS) $(wildcard $(GOLDEN)) testdata/golden

## parity-quick: a fixed sample of them, one line an area
parity-quick: $(BIN) bin/parity
	@bin/parity -program $(BIN) -scope testdata/parity-scope.txt -documents testdata/parity-documents.txt -quick $(ARGS) $(wildcard $(GOLDEN)) testdata/golden

## invariants: the simulator's tests with its checks of itself
invariants:
	$(GO) test -tags invariants ./simulate/...

## differential: N random cases against the installed reference, by a program that checks itself
differential: bin/dynosim-invariants bin/differential
	@bin/differential -program bin/dynosim-invariants -n $(N) $(if $(SEED),-seed $(SEED)) $(ARGS)

## notebook: execute examples/notebooks on the run of `make run`; needs the packages of requirements.txt there
notebook: run
	cd examples/notebooks && DYNOSIM_RUN=$(CURDIR)/out/conversation $(or $(DYNOSIM_PYTHON),python3) -m jupyter execute --timeout=300 --output=$(CURDIR)/out/explore_run.ipynb explore_run.ipynb

## bench: Go benchmarks, with allocations
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

## fuzz: every fuzz target for FUZZTIME each
fuzz:
	@.ci/fuzz $(FUZZTIME)

## lint: gofmt, go vet and staticcheck
lint: vet
	$(GO) run $(STATICCHECK) ./...

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...

## race: the race detector on the packages that start goroutines
race:
	$(GO) test -race $$(git ls-files -z '*.go' | xargs -0 grep -lE '^\s*go [a-z]|\.Go\(' | xargs -n1 dirname | sort -u | sed 's|^|./|')

## docs: the pages that are generated from the code
docs schema: build
	$(BIN) schema config > docs/config.schema.json

## clean: what the targets above leave
clean:
	rm -rf bin out
