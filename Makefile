# Quintet: the commands people and CI run. `make run` does the main job on a
# fresh clone with nothing beside it; `make test` passes on one.

GO       ?= go
FUZZEXECS ?= 100000
BENCH    ?= .
BENCHTIME ?= 1s

# The independent recordings stand beside a checkout of the project where they
# exist; the four in testdata/ are part of it.
BESIDE := $(wildcard ../shared/traces/roce)
TRACES ?= $(sort $(patsubst %/truth.json,%,$(wildcard $(if $(BESIDE),$(BESIDE),testdata/roce)/*/truth.json)))

empty :=
space := $(empty) $(empty)

.PHONY: all build run test quick peers peers-collectors outage chaos threats slow-bmc drills drills-page e2e plugin plugin-test check bench fuzz mutate vuln score floors worlds unseen ablation weights soak storm storm-small storm-live page-speed readme clean generate release release-tools release-check site extensions

all: build

# quintet is the service; quintet-lab is the same program with the simulated site,
# scoring, fitting and Parquet, which quintet runs for those commands.
build:
	@mkdir -p bin
	$(GO) build -trimpath -tags grpcnotrace,service -o bin/quintet ./cmd/quintet
	$(GO) build -trimpath -tags grpcnotrace -o bin/quintet-lab ./cmd/quintet
	$(GO) build -trimpath -tags grpcnotrace -o bin/ ./cmd/quintet-collect

# The whole live service in one process, on loopback, and a small simulated site
# whose devices it reads over their own protocols. Faults come and go; the page
# says what is wrong. Ends with Ctrl-C.
run: build
	bin/quintet demo $(DEMOFLAGS)

# The page's tests drive a real browser where there is one.
PAGE := dashboards/web
test: $(if $(and $(shell command -v chromium),$(shell command -v npm)),$(PAGE)/node_modules)
	$(GO) test -timeout 20m ./...

# The inner loop: every package, without the tests of testdata/slow.txt, which take
# a second or more each, and without a browser. CI runs all of them. The list is
# made by .ci/slow.
SLOW := testdata/slow.txt
quick:
	$(GO) vet ./...
	@echo "quick: without the $$(wc -l < $(SLOW)) tests of $(SLOW)"
	@$(GO) test -short -timeout 5m -skip '^($(subst $(space),|,$(shell awk '{print $$2}' $(SLOW) | sort -u)))$$' $$($(GO) list ./... | grep -v /dashboards/web/browsertest)

# Collectors against programs that others made, where they are installed: real
# subnet managers and diagnostics on simulated InfiniBand (Debian: opensm,
# ibsim-utils, infiniband-diags). What is skipped says what is missing.
e2e:
	$(GO) test -count=1 -timeout 5m -v -run '^(TestARealSubnet|TestWhatTheSiteShows|TestARealSubnetThatLosesDatagrams|TestWhatADiscoveryCosts)$$' ./collectors/fabric
	QUINTET_E2E=1 $(GO) test -count=1 -timeout 5m -v -run '^(TestTheFakeTarget|TestAThousandTargets)$$' ./collectors/gnmi
	QUINTET_E2E=1 $(GO) test -count=1 -timeout 8m -v -run '^(TestOthersReadTheLab|TestSlurmHealthCheck)$$' ./cmd/quintet

# The promise of an outage, in full: the log away for ten minutes while real
# collectors read the lab over its protocols, once with room on the disk and once
# without. A controller that takes three minutes for an answer: a quarter of an
# hour, and the tests have it in small.
outage:
	QUINTET_OUTAGE=$(or $(OUTAGE),10m) $(GO) test -count=1 -timeout 40m -v -run '^TestAnOutage' ./cmd/quintet

# Every fault, each on a site of its own behind real protocols, eight sites at a
# time: docs/drills.md. Half an hour on a machine that has nothing else to do;
# FAULTS='gpu-slow|leak' strikes some, and ATONCE says how many sites run at a time.
drills:
	QUINTET_DRILL='$(or $(FAULTS),.*)' $(GO) test -count=1 -timeout 2h -v -parallel $(or $(ATONCE),8) -run '^TestEveryFault$$' ./cmd/quintet

# One fault of each domain on a site behind real protocols, named by the API and
# shown on the page, and a drill in two processes. Five minutes.
drills-page: $(if $(and $(shell command -v chromium),$(shell command -v npm)),$(PAGE)/node_modules)
	QUINTET_DRILLS=1 $(GO) test -count=1 -timeout 20m -v -run '^(TestOneFaultOfEachDomain|TestADrillOverTheWire)$$' ./cmd/quintet

# A site on machines with addresses of their own: three servers of the log, two
# engines, two notifiers, two collectors, simulated devices; faults injected into
# processes, links, clocks and disks for half an hour; a transcript in bin/chaos.
# Root, on Linux: everything lives in namespaces that go with it.
CHAOS ?= 30m
CHAOSSEED ?= 1
chaos:
	@test "$$(id -u)" = 0 || { echo "chaos: network and mount namespaces need root" >&2; exit 1; }
	@mkdir -p bin/chaos
	$(GO) build -o bin/chaos/nats-server github.com/nats-io/nats-server/v2
	$(GO) test -c -o bin/chaos/quintet.test ./cmd/quintet
	cd cmd/quintet && QUINTET_CHAOS=$(CHAOS) QUINTET_CHAOS_SEED=$(CHAOSSEED) QUINTET_CHAOS_NAMESPACE=yes QUINTET_CHAOS_DIR=$(CURDIR)/bin/chaos \
		QUINTET_CHAOS_NATS=$(CURDIR)/bin/chaos/nats-server unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc \
		$(CURDIR)/bin/chaos/quintet.test -test.timeout 3h -test.v -test.run '^TestChaos$$'

# Every attack of docs/threats.md, by the commands of its table.
threats:
	.ci/threats

slow-bmc:
	QUINTET_SLOW=$(or $(SLOW),3m) $(GO) test -count=1 -timeout 60m -v -run '^TestAPageThatTakesItsTime$$' ./collectors/redfish

# The programs of others that ours agree with, built from their modules into
# bin/peers: promtool, prometheus, alertmanager, amtool. Tests that want one and
# do not find it there are skipped. Alertmanager's page is built apart from its
# module; its server is built here with an empty one.
PEERS     := testdata/peers/prometheus
PEERSBIN  := $(CURDIR)/bin/peers
peers: $(PEERSBIN)/prometheus $(PEERSBIN)/alertmanager

$(PEERSBIN)/prometheus: $(PEERS)/go.mod
	@mkdir -p $(PEERSBIN)
	$(GO) build -C $(PEERS) -mod=mod -tags remove_all_sd,enable_static_sd,enable_file_sd -o $(PEERSBIN)/ \
		github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool

$(PEERSBIN)/alertmanager: $(PEERS)/go.mod
	@mkdir -p $(PEERSBIN) && rm -rf bin/alertmanager.src
	cp -r --no-preserve=mode $$($(GO) list -C $(PEERS) -mod=mod -m -f '{{.Dir}}' github.com/prometheus/alertmanager) bin/alertmanager.src
	@mkdir -p bin/alertmanager.src/ui/app/dist bin/alertmanager.src/ui/mantine-ui/dist
	@touch bin/alertmanager.src/ui/app/dist/index.html bin/alertmanager.src/ui/mantine-ui/dist/index.html
	$(GO) build -C bin/alertmanager.src -o $(PEERSBIN)/ ./cmd/alertmanager ./cmd/amtool
	@rm -rf bin/alertmanager.src

# Those that collect, for benchmarks beside them: gnmic, node_exporter, and
# Telegraf with the plugins that are used here. It takes a quarter of an hour.
# gnmic is built in its own repository: its modules ask for parts of each other
# that were never released.
GNMIC        ?= v0.47.0
COLLECTORS   := testdata/peers/collectors
TELEGRAFTAGS := custom inputs.file inputs.gnmi inputs.mock inputs.modbus inputs.prometheus inputs.redfish inputs.snmp outputs.discard outputs.file outputs.http \
	outputs.opentelemetry parsers.influx processors.converter processors.enum processors.override processors.regex processors.rename \
	processors.starlark serializers.influx serializers.prometheusremotewrite
peers-collectors: $(PEERSBIN)/node_exporter $(PEERSBIN)/gnmic $(PEERSBIN)/telegraf

$(PEERSBIN)/node_exporter: $(COLLECTORS)/node_exporter/go.mod
	@mkdir -p $(PEERSBIN)
	$(GO) build -C $(COLLECTORS)/node_exporter -mod=mod -trimpath -o $(PEERSBIN)/ github.com/prometheus/node_exporter

$(PEERSBIN)/gnmic:
	@mkdir -p $(PEERSBIN) && rm -rf bin/gnmic.src
	git clone -q --depth 1 --branch $(GNMIC) https://github.com/openconfig/gnmic bin/gnmic.src
	$(GO) build -C bin/gnmic.src -trimpath -ldflags '-s -w' -o $(PEERSBIN)/ .
	@rm -rf bin/gnmic.src

$(PEERSBIN)/telegraf: $(COLLECTORS)/telegraf/go.mod
	@mkdir -p $(PEERSBIN)
	$(GO) build -C $(COLLECTORS)/telegraf -mod=mod -trimpath -ldflags '-s -w' -tags '$(TELEGRAFTAGS)' -o $(PEERSBIN)/ github.com/influxdata/telegraf/cmd/telegraf

$(PAGE)/node_modules: $(PAGE)/package-lock.json
	@npm ci --prefix $(PAGE) --no-audit --no-fund --silent && touch $@ || \
		{ rm -rf $@; echo "page: playwright-core cannot be installed: the tests in a browser are skipped" >&2; }

# The data source for Grafana, a module of its own; what npm is wanted for is left
# out, and said, where npm is not.
plugin:
	$(MAKE) -C dashboards/grafana build

plugin-test: build
	QUINTET=$(CURDIR)/bin/quintet $(MAKE) -C dashboards/grafana test

# The recordings, then the simulated site: ten reported seeds a class on 256
# GPUs, what stands beside, and larger sites. REPORT is written anew.
# It goes on where it was broken off (the outcomes are in the user's cache).
LAB ?= --gpus 256 --seeds 10 --apart --doubles --baselines --beside 2 --larger 1024:100,8192:20
REPORT ?= docs/accuracy.md
score: build
	bin/quintet score $(SCOREFLAGS) $(TRACES)
	bin/quintet score --lab $(LAB) --report $(REPORT) $(SCOREFLAGS)

# What a change must keep on every set, not only on ours: eight recordings of whole
# sites, four of RoCE fabrics, and one seed a class of the simulated site.
floors: build
	bin/quintet score --set site-b-sample=testdata/site-b --set 'roce-sample=testdata/roce/*:coarsen=1,10' \
		--set lab:standard --gpus 64 --floor testdata/floors.yaml

# The whole table: recordings of independent simulators beside a checkout, or the
# samples in testdata/, each as it is and coarser; the simulated site; a day of
# healthy noise. SETFLAGS=--detail adds reliability and the wrong cases, --json has
# everything, --compare OLD.json compares.
SITEB := $(if $(wildcard ../shared/traces/site-b),site-b=../shared/traces/site-b,site-b-sample=testdata/site-b)
ROCE  := $(if $(BESIDE),roce=../shared/traces/roce/*,roce-sample=testdata/roce/*)
WORLDS ?= --gpus 64 --seeds 1
FAMILIES ?= physics noise cadence vendor-ethernet vendor-infiniband facility jobs routing neighbours names-cold
worlds: build
	bin/quintet score --set '$(SITEB):coarsen=1,3,10,30' --set '$(ROCE):coarsen=1,3,10,30' --set lab:standard \
		$(FAMILIES:%=--set lab:world=%) --set lab:soak=$(or $(HOURS),24) $(WORLDS) $(SETFLAGS)

# What each part of the engine is worth on every set. PARTS=each-signature removes
# the signatures one by one.
ablation: build
	bin/quintet score --set '$(SITEB)' --set '$(ROCE)' --set lab:standard $(WORLDS) --ablate $(or $(PARTS),topology,peers,signatures,own) $(SETFLAGS)

# Fits the weights of signatures to labelled recordings: those beside a checkout or
# in testdata/, also coarser, worlds of the simulated site, sites of the second
# simulator, and whatever FIT names. The file says what it was fitted to.
FITTED := bin/fit
weights: build
	bin/quintet lab --worlds all --seeds 1-$(or $(SEEDS),10) --gpus 64 -o $(FITTED)/worlds
	for kind in ib roce; do bin/quintet lab --crosscheck $$kind --seeds 1-$(or $(SITES),60) -o $(FITTED)/$$kind || exit; done
	bin/quintet learn --weights rules/signatures/weights.yaml --force --from '$(or $(FROM),worlds of tuning seeds 1 to $(or $(SEEDS),10), crosscheck sites of seeds 1 to $(or $(SITES),60), and the recordings beside the checkout, also coarser)' \
		'$(lastword $(subst =, ,$(SITEB))):coarsen=1,3,10' '$(lastword $(subst =, ,$(ROCE))):coarsen=1,10' \
		'$(FITTED)/worlds/*' '$(FITTED)/ib/*:coarsen=1,3' '$(FITTED)/roce/*:coarsen=1,3' $(FIT)

# The table of docs/accuracy-sets.md: sites and worlds of both simulators on seeds
# that nothing was tuned on, beside the recordings beside a checkout.
UNSEEN := bin/unseen
unseen: build
	bin/quintet lab --worlds all --seeds $(or $(WORLDSEEDS),1011-1020) --gpus 64 -o $(UNSEEN)/worlds
	for kind in ib roce; do bin/quintet lab --crosscheck $$kind --seeds $(or $(RANGE),5001-5120) -o $(UNSEEN)/$$kind || exit; done
	bin/quintet score --set '$(SITEB):coarsen=1,3,10,30' --set '$(ROCE):coarsen=1,3,10,30' --set 'worlds=$(UNSEEN)/worlds/*/*' \
		--set 'crosscheck-ib=$(UNSEEN)/ib/*:coarsen=1,3,10' --set 'crosscheck-roce=$(UNSEEN)/roce/*:coarsen=1,3,10' \
		--set '$(SITEB):missing=1,2' --set 'worlds=$(UNSEEN)/worlds/*/*:missing=1' --set 'crosscheck-ib=$(UNSEEN)/ib/*:missing=1,2' --set 'crosscheck-roce=$(UNSEEN)/roce/*:missing=1,2' $(SETFLAGS)

# Thirty days of healthy noise in which benign look-alikes come and go. It goes
# on where it was broken off.
soak: build
	bin/quintet score --lab --soak $(or $(DAYS),30) --gpus 256

# The times that the README states of the first minute, measured on this machine.
readme:
	QUINTET_README=1 $(GO) test -count=1 -v -run '^TestReadme' ./cmd/quintet

# What every view costs a browser on sites of 1,024 and 16,384 GPUs: processor time of
# the page's own thread until the first paint and for an update, and by the clock. It
# takes ten minutes; -run 'TestPageSpeed/hall' is the smaller site.
page-speed: $(PAGE)/node_modules
	QUINTET_PAGE_SPEED=1 $(GO) test -count=1 -timeout 30m -v -run '^TestPageSpeed$$' ./$(PAGE)

# A spine of a site of 16,384 GPUs dies: one incident is to come of it. Writes
# two gigabytes and takes some ten minutes; the replay needs 5 GB.
STORM ?= /tmp/storm.qtrace
storm: build
	bin/quintet lab --site reference --fault switch-down@switch:p0-spine00 --minutes 6 --trace $(STORM)
	bin/quintet replay $(STORM)

# The same through the whole service, as it happens: NATS, the engine, the history,
# the page in a browser, two receivers. It wants a machine to itself, with 20 GB of
# memory and 10 GB of disk; GOMEMLIMIT below what is used makes it crawl, and a
# machine of two cores wants STORMSPEED=0.3. storm-small has it with 1,024 GPUs: three
# minutes of two cores, and so no part of test.
storm-small: $(if $(and $(shell command -v chromium),$(shell command -v npm)),$(PAGE)/node_modules)
	QUINTET_STORM=small $(GO) test -count=1 -timeout 12m -v -run '^TestTheStorm$$' ./cmd/quintet

storm-live: build $(PAGE)/node_modules
	test -f $(STORM) || bin/quintet lab --site reference --fault switch-down@switch:p0-spine00 --minutes 6 --trace $(STORM)
	QUINTET_STORM=$(STORM) QUINTET_STORM_SPEED=$(or $(STORMSPEED),1) $(GO) test -count=1 -timeout 90m -v -run '^TestTheStorm$$' ./cmd/quintet

# A release in dist/: tarballs, deb, rpm, a container image, the Helm chart, SBOMs
# and checksums for linux on amd64 and arm64, the same bytes each time. nfpm (deb,
# rpm) and helm (tests of the chart) come from release-tools: some minutes.
RELEASE_TOOLS := testdata/peers/release
release-tools: $(PEERSBIN)/nfpm $(PEERSBIN)/helm
$(PEERSBIN)/nfpm: $(RELEASE_TOOLS)/go.mod
	@mkdir -p $(PEERSBIN)
	$(GO) build -C $(RELEASE_TOOLS) -mod=mod -trimpath -ldflags '-s -w' -o $(PEERSBIN)/ github.com/goreleaser/nfpm/v2/cmd/nfpm

# helm, and what decodes its objects into the types of Kubernetes.
$(PEERSBIN)/helm: $(RELEASE_TOOLS)/go.mod
	@mkdir -p $(PEERSBIN)
	$(GO) build -C $(RELEASE_TOOLS) -mod=mod -trimpath -ldflags '-s -w' -o $(PEERSBIN)/ helm.sh/helm/v3/cmd/helm ./kubestrict

release:
	GO='$(GO)' VERSION='$(VERSION)' deploy/release/build.sh

# The documentation in dist/site: static, with search, for a server or a folder.
site:
	$(GO) run ./deploy/site -out dist/site

# One architecture, twice: the same bytes, and packages without errors.
release-check: release-tools
	GO='$(GO)' deploy/release/check.sh

# What a change must satisfy before it is merged: format, vet, staticcheck at a
# pinned version, tidy modules, generated files current, sound signatures whose
# scenarios come true, the shape of the house.
check: build
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$out" || { echo "gofmt: not formatted:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	@before=$$(git status --porcelain -- . ; git diff); $(GO) generate ./... && \
	after=$$(git status --porcelain -- . ; git diff); \
	test "$$before" = "$$after" || { echo "generate: files are not current:"; git status --short; exit 1; }
	bin/quintet check rules rules/signatures rules/prometheus dashboards/grafana/dashboards
	bin/quintet test rules rules/signatures
	$(GO) test -count=1 .

generate:
	$(GO) generate ./...

# What a receiver, a collector and a fault touch: docs/extending.md.
extensions:
	@.ci/extensions

# Known vulnerabilities in the functions that the program calls, where the database
# is reachable; elsewhere it is skipped, and says so.
VULN    ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB  ?= https://vuln.go.dev
vuln:
	@if ! curl -sf --max-time 10 -o /dev/null $(VULNDB)/index/db.json; then echo "vuln: skipped: $(VULNDB) is not reachable" >&2; \
	else timeout 600 $(GO) run $(VULN) -db $(VULNDB) ./cmd/quintet; fi

# Benchmarks one at a time on one processor. Those that stand beside another
# implementation report the ratio themselves, from the same run. Those that hold
# a whole site run a number of its grids, the others for a time.
SITES := ./correlate/detect ./engine
bench:
	@set -e; for p in $$(git grep -lE '^func Benchmark' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		case " $(SITES) " in *" ./$$p "*) time=30x;; *) time=$(BENCHTIME);; esac; \
		$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $$time -benchmem -cpu 1 -timeout 30m ./$$p; done

# Every fuzz target for FUZZEXECS executions, and how many each had. Interesting
# inputs and the counts of all runs are kept in bin/fuzz.
fuzz:
	FUZZEXECS=$(FUZZEXECS) .ci/fuzz

# The same targets with mutations of what make fuzz found, without measuring coverage:
# many times as often. MUTATETIME is how long each runs.
mutate:
	MUTATETIME=$(MUTATETIME) .ci/mutate

clean:
	rm -rf bin
