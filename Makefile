# make run    set up what is missing, simulate examples/quickstart.toml, say where report and capture are
# make test   set up what is missing, run the whole test suite (what CI runs)
# make lint   ruff and mypy
# make soak   the long campaigns, whole
# make boards build every bitstream that the open tools can, into build/
# make clean  remove what was built; the environment stays

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
export UALINK_BUILD ?= $(CURDIR)/build
export PYTHONHASHSEED = 0

.PHONY: run test lint soak boards clean tools

BITSTREAMS := $(foreach board,ecp5_5g_evn ecpix5 versa_ecp5_5g,$(board)/bert $(board)/data_link) \
  ecpix5/link ecp5_5g_evn/link

run: $(VENV)/.installed tools
	@$(BIN)/ualink sim examples/quickstart.toml --out out/quickstart

test: $(VENV)/.installed tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -q -n $(JOBS) --dist loadgroup --durations 40 --durations-min 20
	$(BIN)/ualink compliance

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: $(VENV)/.installed tools
	UALINK_SOAK=1 $(BIN)/pytest -q -m soak --timeout 0

boards: $(VENV)/.installed
	@for each in $(BITSTREAMS); do $(BIN)/ualink build $${each%/*} --design $${each#*/} || exit; done

clean:
	rm -rf build out dist

tools:
	@missing=""; for tool in g++ make; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
		echo "missing:$$missing -- on Debian or Ubuntu: apt-get install g++ make" >&2; exit 1; fi

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing amaranth-ualink and what it needs into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[sim,boards,dev]'
	@touch $@
