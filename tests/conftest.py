"""Settings for all tests: which of them are fast, and that none reads the results of another one's cache."""

import atexit
import gc
import os
import sys
from collections import Counter
from functools import cache, partial
from pathlib import Path

import pytest

# Tests of caches set this themselves.
os.environ["TRL_LINT_NO_CACHE"] = "1"
# Processes that tests start would each compile the whole package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

HERE = Path(__file__).parent
# Tests that are worth running after each edit: every rule on its programs and fixtures, every codemod, every fact, the
# structure.
FAST = (
    "rules",
    "analysis/test_reveal.py",
    "test_codemods.py",
    "test_examples.py",
    "test_fixtures.py",
    "test_structure.py",
)
# So many cases of each test in `rules`, and of each test of a rule's broken, fixed or quiet fixtures; `-m rules` runs
# them all.
FAST_CASES = 2
_fast = frozenset(HERE / each for each in FAST)


def pytest_configure(config):
    # Thousands of tests stay until the end: collect garbage less often than usual.
    gc.set_threshold(50_000, 20, 10)
    if hasattr(config, "workerinput"):
        # Registered first, so called last: otherwise everything that a worker holds would be freed object by object.
        atexit.register(partial(_end, os.getpid()))
        _tell_less(config)


def _tell_less(config):
    """A worker tells how each test ends, and what fails or is skipped around it: of the rest nothing is shown."""
    asked = config.option
    if asked.verbose > 0 or getattr(asked, "durations", None) or getattr(asked, "xmlpath", None):
        return
    for told in filter(None, (getattr(each, "sendevent", None) for each in config.pluginmanager.get_plugins())):
        told.__self__.sendevent = partial(_tell, told)


def _tell(told, name, **event):
    report = event["data"] if name == "testreport" else None
    is_well = report and report["when"] != "call" and report["outcome"] == "passed" and not report["sections"]
    if not is_well and name not in ("logstart", "logfinish"):
        told(name, **event)


def _end(worker):
    if os.getpid() == worker:
        os._exit(0)


@cache
def _is_fast(path):
    return path in _fast or not _fast.isdisjoint(path.parents)


@cache
def _waits(path):
    return HERE / "verify" in path.parents


def pytest_ignore_collect(collection_path, config):
    """With `-m fast` or `-m rules`, the other files of tests are not even imported."""
    is_chosen = config.option.markexpr in ("fast", "rules")
    return (is_chosen and collection_path.suffix == ".py" and not _is_fast(collection_path)) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    _draw_nothing_from_modules()
    cases = Counter()
    for item in items:
        if not _is_fast(item.path):
            continue
        item.add_marker(pytest.mark.rules)
        same = _of_one_kind(item)
        cases[same] += 1
        if (cases[same] <= FAST_CASES or same is None) and not item.get_closest_marker("process"):
            item.add_marker(pytest.mark.fast)
    # Tests that wait for processes begin first, in one worker: the others use the time.
    items.sort(key=lambda item: not _waits(item.path))


def _draw_nothing_from_modules():
    """Hypothesis would parse all modules of the repository, to draw their numbers and texts too, wherever they are."""
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def _of_one_kind(item):
    """What is the same for the cases of a test of which a few are enough; None if all of them are wanted."""
    if HERE / "rules" in item.path.parents:
        return item.path, item.originalname
    if item.path == HERE / "test_fixtures.py" and hasattr(item, "callspec"):
        fixture = item.callspec.params["path"]
        return item.originalname, fixture.parent, fixture.stem.partition("_")[0]
    return None


def pytest_collection_finish():
    """What has been collected is no garbage: it is made old without looking at it."""
    gc.freeze()
    gc.unfreeze()


def pytest_sessionfinish(session):
    """Pytest collects garbage five times to find exceptions when a worker can no longer report any: skip that."""
    if hasattr(session.config, "workerinput"):
        gc.freeze()


def pytest_runtest_logfinish():
    """A command freezes objects, as its process ends soon; once its test is over, they are garbage."""
    gc.unfreeze()


@pytest.fixture
def analyses(monkeypatch) -> list[object]:
    """The runs in which something was analysed."""
    from trl_lint.linter.linter import Linter

    seen: list[object] = []
    analyse = Linter.analyse

    def counted(self, files):
        seen.append(self)
        analyse(self, files)

    monkeypatch.setattr(Linter, "analyse", counted)
    return seen
