# `make demo` and `make test` set up everything at the first run; `make setup` alone leaves Spark out.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first Python that is new enough; override it with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
LISTEN ?= 127.0.0.1:9092
DATA ?= .cache/data
ARGS ?=
JOBS ?= 2
# Without it, each process that runs tests would rewrite all of their assertions anew (10 s).
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-spark demo serve test test-slow test-spark test-kafka test-image test-testcontainers conform clients-page museum museum-page museum-python crash-campaign sink-campaign simulate mutants attack fuzz-logins secured-clients random-rules test-control check settings-page page page-pictures test-page picture site apis schemas message-types style types bench bench-brokers bench-calls bench-start bench-suites bench-quick bench-transactions bench-groups bench-share bench-partitions bench-compaction bench-lab bench-log bench-memory bench-scale bench-neighbours loop-lag wheel clean bench-audit bench-oracle oracle-campaign torture release-check release-published locks zipapp test-deployment

help: ## run: print this list
	@for group in "run:Run and build" "test:Tests and checks" "campaign:Campaigns (minutes)" "measure:Measurements"; do \
		echo "$${group#*:}"; \
		sed -nE "s/^([a-z-]+):[^#]*## $${group%%:*}: (.*)/  make \1\t\2/p" Makefile | expand -t 26; \
	done

setup: .venv/.installed ## run: the virtual environment with pinned dependencies, without Spark

.venv/.installed: pyproject.toml constraints.txt
	@[ -n "$(PYTHON)" ] || { echo "Ottla needs Python 3.11 or newer (with venv); none was found" >&2; exit 1; }
	@echo "setting up .venv with $$($(PYTHON) --version)"
	@[ -x $(PY) ] || $(PYTHON) -m venv .venv
	@$(PY) -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

# The connector's jars are cached per version outside the checkout.
setup-spark: .venv/.installed-spark ## run: setup, PySpark (400 MB) and the jars of Spark's connector (a minute or two)
	@$(PY) -m ottla.spark.connector

.venv/.installed-spark: .venv/.installed
	@echo "installing PySpark (400 MB: a minute or two, once)"
	@$(PY) -m pip install -q -c constraints.txt -e '.[dev-spark]'
	@touch $@

demo: setup-spark ## run: exactly once, end to end: orders in transactions, Spark, the numbers (ARGS=--kill)
	@$(PY) -m ottla demo $(ARGS)

serve: .venv/.installed ## run: a broker on LISTEN with its data in DATA
	@$(PY) -m ottla serve --listen $(LISTEN) --data-dir $(DATA) $(ARGS)

# Runs in two processes, because most test machines have two cores, and one beside them for tests
# that mostly wait (JOBS=0: in one, for --pdb).
test: setup-spark ## test: the tests
	@$(PY) -m pytest -q $(if $(filter 0,$(JOBS)),-n 0,-n $$(($(JOBS) + 1)) --beside) $(ARGS)

# Simulations, planted bugs of the simulations, kills, and other tests that take long by nature.
test-slow: setup-spark ## test: the tests that `make test` leaves out because they take minutes
	@$(PY) -m pytest -q -n $(JOBS) -m slow $(ARGS)

# Needs Java 17. One process, because one session of Spark serves all tests (its JVM takes 1 GB).
test-spark: setup-spark ## test: the tests that `make test` leaves out because they need a session of Spark
	@$(PY) -m pytest -q -m spark $(ARGS)

# Starts an Apache Kafka (needs Java, and Maven for the jars), or uses OTTLA_KAFKA=HOST:PORT.
test-kafka: setup-spark ## test: the tests that compare with a real Apache Kafka
	@$(PY) -m pytest -q -m kafka $(ARGS)

# Needs podman and podman-compose (or OTTLA_COMPOSE=COMMAND). OTTLA_IMAGE_BUILD has more options of
# `podman build`. Every check runs, or the target fails.
test-image: .venv/.installed ## campaign: build the container image, test it in podman, print size and start time
	@$(PY) -m tests.image $(ARGS)

test-testcontainers: .venv/.installed ## campaign: start the image by the testcontainers modules of Java, Python, Node, Go and Rust
	@$(PY) -m tests.testcontainers $(ARGS)

# After `make test-image`. Needs podman.
test-deployment: .venv/.installed-release ## campaign: what a scanner and Kubernetes see of the image
	@$(PY) -m tests.image.deployed $(ARGS)

crash-campaign: .venv/.installed ## campaign: stop the storage at every file operation, flip every bit (minutes)
	@OTTLA_CAMPAIGN=full OTTLA_EVERY_BIT=1 $(PY) -m pytest -q --timeout 1800 tests/campaign \
		tests/storage/test_bit_flips.py tests/storage/test_directory_bit_flips.py $(ARGS)

# Needs Java; with --broker kafka also Maven, for the jars of Kafka.
sink-campaign: setup-spark ## campaign: kill driver, executor and broker of the Spark sink, 100 rounds (ARGS='--broker kafka --seed 2')
	@$(PY) -m tests.sink_campaign $(ARGS)

simulate: .venv/.installed ## campaign: 10,000 random histories of transactions, groups, share and streams groups, and logins, with faults (ARGS='groups --first=N')
	@$(PY) -m tests.simulation --seeds 10000 $(ARGS)

mutants: setup-spark ## campaign: plant bugs one at a time; the tests must find each (minutes; one room: ARGS=storage)
	@$(PY) -m tests.mutants $(ARGS)

attack: .venv/.installed ## campaign: attack a broker while a good client works, 10 minutes (ARGS=--short)
	@$(PY) -m tests.attack $(ARGS)

oracle-campaign: .venv/.installed ## campaign: judge 1,000 right histories, and 62 planted anomalies in 20 others each (ARGS='--first 5000')
	@$(PY) -m tests.verdict.judged_histories $(ARGS)

# The right applications need go, and a JDK with Maven, or are left out.
torture: .venv/.installed ## campaign: find planted bugs, and run right applications under 1,000 schedules each (ARGS='--only java --runs 100')
	@$(PY) -m tests.torture $(ARGS)

# Ten times as long as in `make attack`: a quarter of an hour.
fuzz-logins: .venv/.installed ## campaign: a million frames or 100,000 handshakes for each kind of listener, without a login
	@$(PY) -m tests.attack --scale 10 --only frames_before_a_login --only frames_before_a_login_by_tls \
		--only frames_by_tls --only frames_in_plain_text --only broken_handshakes --only wrong_logins --only unfinished_logins $(ARGS)

# With --broker kafka it needs Java, and Maven for the jars of Kafka.
random-rules: .venv/.installed ## campaign: 1,000 random faults at once on a busy broker of three nodes (a minute)
	@$(PY) -m tests.lab.random_rules $(ARGS)

# Its tools go into .cache/control-tools at the first run.
test-control: .venv/.installed ## campaign: a generated client and schemathesis drive the control of a broker (ARGS='--examples 200')
	@$(PY) -m tests.control $(ARGS)

# Clients in other languages take part if java, Maven, go, npm and cargo are there (ARGS=--record: for docs/reference/clients.md).
conform: .venv/.installed ## campaign: stock clients in all scenarios of `ottla conform` (ARGS='--client java --scenario calm')
	@$(PY) -m tests.conform $(ARGS)

# Those of clients for Node, Go and Java need npm, go, and a JDK with Maven.
museum: .venv/.installed ## campaign: replay published bugs of clients with affected and fixed versions (ARGS='kafkajs-*')
	@$(PY) -m ottla museum run $(or $(ARGS),'*')

museum-python: .venv/.installed ## campaign: those of clients for Python alone (half a minute; installs cost as much, once)
	@$(PY) -m ottla museum run 'aiokafka-*' 'kafka-python-*' 'confluent-kafka-*'

museum-page: .venv/.installed ## run: write docs/explanation/museum.md from the replays of `ottla museum`
	@$(PY) -m tools.museum_page > docs/explanation/museum.md

clients-page: .venv/.installed ## run: docs/reference/clients.md, from the recordings of `make conform ARGS=--record`
	@$(PY) -m tests.conform.clients_page

secured-clients: .venv/.installed ## campaign: stock clients log in by every protocol and mechanism, and again under load (ARGS='--broker kafka', ARGS=--testing)
	@$(PY) -m tests.secured_clients $(ARGS)

check: style types test test-slow test-spark ## test: style, types and tests

settings-page: .venv/.installed ## run: write docs/reference/settings.md from the tables of settings
	@$(PY) -m tools.settings_page > docs/reference/settings.md

# Needs node and npm: the packages of picture/web/package-lock.json go into .cache/page.
page: .cache/page/.installed ## run: picture/page.html and browse/page.html, from picture/web
	@node .cache/page/node_modules/.bin/tsc -p picture/web
	@node picture/web/build.mjs $(ARGS)

# Needs node, npm and chromium; where apt-get can install Chromium, it does.
test-page: .venv/.installed-page .cache/page/.installed .cache/page/.chromium ## test: the pages in headless Chromium
	@node picture/web/build.mjs --check
	@$(PY) -m pytest -q -m page tests/page $(ARGS)

page-pictures: .venv/.installed-page .cache/page/.chromium ## run: docs/pictures/, the pictures of pages in the documents
	@$(PY) -m tests.page.pictures
	@$(PY) -m tests.page.live_pictures

.venv/.installed-page: .venv/.installed
	@$(PY) -m pip install -q -c constraints.txt -e '.[page]'
	@touch $@

.cache/page/.chromium:
	@[ -n "$(OTTLA_CHROMIUM)" ] || command -v chromium >/dev/null || \
		{ echo "installing chromium"; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }
	@mkdir -p $(@D) && touch $@

.cache/page/.installed: picture/web/package.json picture/web/package-lock.json
	@command -v npm >/dev/null || { echo "make page needs node and npm" >&2; exit 1; }
	@mkdir -p .cache/page && cp $^ .cache/page/
	@cd .cache/page && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

picture: .venv/.installed ## run: draw docs/terminal.svg from the output of commands
	@$(PY) tools/terminal_picture.py

apis: .venv/.installed ## run: write what derives from the declarations of APIs at their handlers
	@$(PY) -m tools.served_apis && $(PY) -m tools.message_types

site: .venv/.installed-docs ## run: docs/ as a site in .cache/site; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

.venv/.installed-docs: .venv/.installed
	@$(PY) -m pip install -q -c constraints.txt -e '.[docs]'
	@touch $@

# Needs Maven. The diff is what the release changes.
schemas: .venv/.installed ## run: protocol/schemas/ and the stubs, from a release of Kafka (KAFKA=4.4.0)
	@[ -n "$(KAFKA)" ] || { echo "name a release: make schemas KAFKA=4.4.0" >&2; exit 1; }
	@$(PY) -m tools.kafka_schemas $(KAFKA)
	@$(PY) -m tools.message_types

message-types: .venv/.installed ## run: protocol/api_types/, from the schemas of messages and records
	@$(PY) -m tools.message_types

style: .venv/.installed ## test: ruff: rules and format
	@$(PY) -m ruff check . && $(PY) -m ruff format --check .

# PySpark and NumPy have types, and without them the checks differ.
types: .venv/.installed-spark ## test: mypy, strict
	@$(PY) -m mypy -p ottla
	@$(PY) -m mypy tests benchmarks tools

bench-lab: .venv/.installed ## measure: what a control costs that is not used, beside a broker without (ARGS='--rounds 15')
	@$(PY) benchmarks/bench_lab.py $(ARGS)

bench-start: .venv/.installed ## measure: start time and idle memory
	@$(PY) benchmarks/bench_start.py $(ARGS)

bench-brokers: .venv/.installed ## measure: 1,000 brokers of tests, one after the other, in under 60 s (ARGS='--brokers 100')
	@$(PY) benchmarks/bench_brokers.py $(ARGS)

bench: .venv/.installed ## measure: beside Apache Kafka and kfake, with stock clients, about 25 minutes (ARGS=--write: docs/explanation/performance.md)
	@$(PY) benchmarks/bench.py $(ARGS)

# Needs Java and Maven for Kafka and Spark, and go for kfake and the tests of franz-go.
bench-suites: setup-spark ## measure: test suites of clients, of pytest and of Spark, on Ottla, Kafka and kfake (half an hour; ARGS='--only pytest')
	@$(PY) benchmarks/bench_suites.py $(ARGS)

bench-quick: .venv/.installed ## measure: start time, memory, latency and throughput, in short
	@$(PY) benchmarks/bench_start.py --quick
	@$(PY) benchmarks/bench_quick.py $(ARGS)

bench-transactions: .venv/.installed ## measure: commits per second, beside a warm Kafka: raw, librdkafka, Java
	@$(PY) benchmarks/bench_transactions.py $(ARGS)

bench-share: .venv/.installed ## measure: share consumers of Java: rate and user CPU beside Kafka (ARGS='--records 100000')
	@$(PY) benchmarks/bench_share.py $(ARGS)

bench-calls: .venv/.installed ## measure: Python calls and files of twenty requests (ARGS=--write: docs/explanation/calls.md)
	@$(PY) benchmarks/bench_calls.py $(ARGS)

bench-groups: .venv/.installed ## measure: 1,000 groups of 5 and one of 500: time and memory beside Kafka
	@$(PY) benchmarks/bench_groups.py $(ARGS)

bench-partitions: .venv/.installed ## measure: 10,000 partitions: create, idle, stop, restart
	@$(PY) benchmarks/bench_partitions.py $(ARGS)

loop-lag: .venv/.installed ## measure: requests and tasks that hold the event loop for longer than 20 ms (ARGS='data members')
	@$(PY) benchmarks/loop_lag.py $(ARGS)

bench-neighbours: .venv/.installed ## measure: p99.9 of a good client while others do large work, four minutes (ARGS='group fsync'; --write: docs/explanation/performance.md)
	@$(PY) benchmarks/bench_neighbours.py $(ARGS)

bench-compaction: .venv/.installed ## measure: p50 and p99 of a producer, with and without compaction
	@$(PY) benchmarks/bench_compaction.py $(ARGS)

bench-scale: .venv/.installed ## measure: CPU per request by partitions and by connections; restarts with 1 GB of log
	@$(PY) benchmarks/bench_scale.py $(ARGS)

# 10 GB of disk meanwhile, and minutes (ARGS='--gigabytes 1' is shorter).
bench-log: setup-spark ## measure: the data source kafka-log inside Spark: MB/s a core, memory of a task
	@$(PY) benchmarks/bench_log.py $(ARGS)

bench-audit: setup-spark ## measure: `ottla audit` on 0.5 to 4 GB: rate of a core, memory of tasks (ARGS='--sizes 0.1')
	@$(PY) benchmarks/bench_audit.py $(ARGS)

bench-oracle: .venv/.installed ## measure: `ottla oracle` on 10 million records: time and memory (ARGS='--records 1000000')
	@$(PY) benchmarks/bench_oracle.py $(ARGS)

bench-memory: .venv/.installed ## measure: memory of a connection, a partition, a group and so on
	@$(PY) benchmarks/bench_memory.py $(ARGS)

# A stale build/lib would add deleted modules to the wheel.
wheel: ## run: dist/ottla-VERSION-py3-none-any.whl; needs Python with pip alone
	@rm -rf build dist && $(PYTHON) -m pip wheel -q --no-deps -w dist . && echo dist/*.whl

# Needs git and openssl; a minute. It tries the last commit, not what is changed since.
release-check: .venv/.installed-release ## test: build wheel and sdist, try, list, sum and sign them (ARGS="--keep DIR")
	@$(PY) -m tools.release check $(ARGS)

release-published: .venv/.installed-release ## test: try the release that PyPI has (ARGS=0.1.0)
	@$(PY) -m tools.release published $(ARGS)

locks: .venv/.installed-release ## run: docker/requirements.txt, the hashes of the image's wheels at constraints.txt
	@$(PY) -m tools.release locks

# For the system and the Python that build it: the wheels of its dependencies have native code.
zipapp: .venv/.installed-release ## run: dist/ottla.pyz, one file that runs as a command
	@$(PY) -m tools.release zipapp $(ARGS)

.venv/.installed-release: .venv/.installed
	@$(PY) -m pip install -q -c constraints.txt -e '.[release]'
	@touch $@

clean: ## run: delete everything that setup and the tests created
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
