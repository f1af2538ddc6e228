# make help lists what there is to run.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Go and npm want a home for their caches: give them one where the environment has none.
ifeq ($(strip $(HOME)),)
export HOME := $(shell d=$${TMPDIR:-/tmp}/pacekeeper-home-$$(id -u); mkdir -p -m 700 "$$d" && echo "$$d")
endif
export REDOCLY_TELEMETRY := off
export NPM_CONFIG_UPDATE_NOTIFIER := false

GOLANGCI  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
REDOCLY   := npx --yes @redocly/cli@2.77.0
OPENAPITS := npx --yes openapi-typescript@7.13.0
GENERATED := api/openapi.gen.go client/client.gen.go client/typescript/pacekeeper.d.ts

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Serve everything from this checkout on 127.0.0.1:8080, nothing to set up
	go run ./cmd/server

.PHONY: demo
demo: ## The same, with sample groups and a trickle of traffic
	go run ./cmd/server --demo

.PHONY: build
build: ## Build the one binary into bin/server
	CGO_ENABLED=0 go build -trimpath -o bin/server ./cmd/server

.PHONY: test
test: prerequisites ## Install what is missing, then run every test
	go build ./...
	go test -p 1 -timeout 20m ./...

# SQLite is C made into Go: watched for races it takes five times as long, and its memory is none of ours.
NOTOURS := -gcflags=modernc.org/...=-race=false

.PHONY: race
race: prerequisites ## Run the packages that share memory under the race detector
	go test -race $(NOTOURS) -p 1 -timeout 20m ./cmd/server ./store ./sync ./ui
	go test -race -run 'Many|Pipelined|Hung|Callers|Follow' ./enforce

.PHONY: parity
parity: prerequisites ## Hold the check script against the evaluator for a million decisions (nightly, minutes)
	PARITY=1000000 go test ./enforce -run 'TestParity' -count 1 -timeout 60m -v

.PHONY: prerequisites
prerequisites: ## Install PostgreSQL, Redis and Chromium for the tests where they are missing
	@.ci/prerequisites

.PHONY: lint
lint: ## Check style and import directions (.golangci.yml)
	$(GOLANGCI) run

.PHONY: fmt
fmt: ## Format the code as lint wants it
	$(GOLANGCI) fmt

.PHONY: generate
generate: ## Regenerate the server layer and the Go client from openapi.yaml
	go generate ./...

.PHONY: generate-check
generate-check: generate ## Fail if generated code is not what openapi.yaml says
	git diff --exit-code -- $(GENERATED)

.PHONY: spec
spec: ## Lint openapi.yaml, compare the TypeScript types with it (needs npx)
	$(REDOCLY) lint openapi.yaml
	$(OPENAPITS) openapi.yaml -o client/typescript/pacekeeper.d.ts
	git diff --exit-code -- client/typescript

.PHONY: bench
bench: prerequisites ## Measure and print the figures of docs/benchmarks.md (a quiet box, about 5 minutes)
	@.ci/bench

.PHONY: examples
examples: prerequisites ## Hold the clients in Node, Python and Java against the evaluator's vectors
	@.ci/examples

.PHONY: bench-enforce
bench-enforce: prerequisites ## Measure checks against other limiters on one Redis (a quiet box, about 4 minutes)
	@.ci/bench-enforce

.PHONY: gallery
gallery: prerequisites ## Picture every page and state anew, into docs/gallery (about 3 minutes)
	rm -f docs/gallery/*.webp
	go test ./e2e/browser -run Accessible -count=1 -timeout 20m -args -gallery -shots $(CURDIR)/docs/gallery

.PHONY: soak
soak: prerequisites ## Edit and damage for SOAK=10m, then compare all (SOAK_SEED=… repeats one)
	SOAK=$${SOAK:-10m} go test ./e2e -run '^TestSoak$$' -count=1 -v -timeout 24h

.PHONY: bench-fleet
bench-fleet: prerequisites ## Measure a fleet of a million groups (GROUPS=100000 for fewer; a quiet box, about 10 minutes)
	@.ci/bench-fleet $(if $(filter command line,$(origin GROUPS)),$(GROUPS),1000000)

.PHONY: bench-audit
bench-audit: prerequisites ## Measure the audit log and apply, a million entries (a quiet box, about 5 minutes)
	@.ci/bench-audit

.PHONY: ci
ci: ## Everything that must hold before a change lands
	.ci/run
