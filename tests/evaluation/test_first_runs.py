"""The code bases of first runs: each with a commit or a version, in one run only, so that none was seen before."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evaluation.foreign import VERDICTS

CASES = Path(__file__).parents[2] / "evaluation" / "cases"
RUNS = json.loads((CASES / "first_runs.json").read_text(encoding="utf-8"))


# What a run found by default and with every rule; of some early runs only the number of places is known.
FIGURES = ("default", "every_rule")


def named(runs: list[dict]) -> list[str]:
    """The repositories and packages of runs; GitHub and the package index ignore case in their names."""
    return [each.get("repository", each.get("package")).lower() for run in runs for each in run["code_bases"]]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"run-{run['run']}")
def test_every_entry_is_well_formed(run):
    assert [key for key in run if key not in FIGURES] == ["run", "found_by", "state", "code_bases"]
    assert run["found_by"].strip() and run["state"].strip() and run["code_bases"]
    for each in run["code_bases"]:
        if "package" in each:
            assert list(each) == ["package", "version"]
            assert re.fullmatch(r"[\w.-]+", each["package"]), each
            continue
        assert list(each) == ["repository", "commit"]
        assert re.fullmatch(r"[\w-]+/[\w.-]+", each["repository"]), each
        assert re.fullmatch(r"[0-9a-f]{40}", each["commit"]), each


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"run-{run['run']}")
def test_the_verdicts_of_a_run_add_up(run):
    for figures in (run[key] for key in FIGURES if key in run):
        assert set(figures) <= {"places", *VERDICTS}
        assert not set(VERDICTS) <= set(figures) or sum(figures[each] for each in VERDICTS) == figures["places"]


def test_runs_are_numbered_in_their_order():
    numbers = [run["run"] for run in RUNS]
    assert numbers == [None, *range(1, len(RUNS))]


def test_no_code_base_is_named_twice():
    assert [name for name, times in Counter(named(RUNS)).items() if times > 1] == []
