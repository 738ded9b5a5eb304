"""Contexts of functions: how often a function is run, what calls that share a run have in common, and provenance."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from trl_lint.analysis.events import Logged
from trl_lint.analysis.interprocedural.contexts import MAX_CONTEXTS, MAX_PLAIN
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.interprocedural.summaries import Runs
from trl_lint.analysis.program.project.project import Project
from trl_lint.domain.provenance import steps
from trl_lint.domain.ranks import Origin

HEAD = """\
from elsewhere import unknown
from transformers import Trainer


def first(values, number, options):
    for value in values:
        return value


def mean(value):
    return value.float().mean()


def mean_of(values):
    return values[0].float().mean()


"""


def trainer(name: str, batch: str, body: str) -> str:
    return (
        f"class {name}(Trainer):\n    def compute_loss(self, model, {batch}, return_outputs=False):\n"
        f"{indent(body, ' ' * 8)}\n\n\n"
    )


def logged(folder: Path, text: str) -> list[Logged]:
    path = folder / "program.py"
    path.write_text(HEAD + text, encoding="utf-8")
    project = Project((folder,))
    events = Engine(project, {"trl": "1.5.0", "transformers": "4.51.3"}).analyse(project.module(path))
    return [event for event in events if isinstance(event, Logged)]


def calls(count: int, value: str) -> str:
    """`count` calls of `first`, each with other arguments; the results of the first and the last one are logged."""
    lines = [f'v{index} = first([{value}, {index}], {index}, {{"k{index}": {index}}})' for index in range(count)]
    return "\n".join((*lines, f'self.log({{"a": v0, "b": v{count - 1}}})'))


@pytest.fixture
def runs(monkeypatch):
    """The names of the functions that are run, in order."""
    found: list[str] = []
    run = Runs._run

    def noted(self, function, *args):
        found.append(function.name)
        return run(self, function, *args)

    monkeypatch.setattr(Runs, "_run", noted)
    return found


def test_many_calls_share_runs_that_settle(tmp_path, runs):
    logged(tmp_path, trainer("One", "inputs", calls(60, 'inputs["x"]')))
    contexts = MAX_CONTEXTS + MAX_PLAIN
    assert contexts < runs.count("first") < 2 * contexts + 12


def test_what_is_not_known_of_one_call_is_not_known_by_another(tmp_path):
    # They call the same function, and each goes beyond the limit of contexts.
    text = trainer("One", "inputs", calls(30, 'inputs["x"].mean()'))
    text += trainer("Two", "inputs", calls(30, "unknown()"))
    told = {(event.function.cls.name, event.what) for event in logged(tmp_path, text) if event.value.rank.differs}
    assert told == {("One", "a"), ("One", "b")}


def test_nor_is_it_where_more_kinds_of_calls_are_joined_than_are_told_apart(tmp_path):
    kinds = ("1", "'a'", "(1,)", "[1]", "model", "range(3)", "print", "1.5", "{1: 2}")
    lines = [f"v = first([unknown()], {kind}, {{'{kind.strip(chr(39))}': 1}})" for kind in kinds]
    filling = f"{calls(20, 'unknown()')}\n" + "\n".join(lines)
    own = 'self.log({"mine": first([inputs["x"].mean()], len, {"mine": 1})})'
    text = trainer("One", "inputs", filling) + trainer("Two", "inputs", f"{own}\n{filling}")
    told = {event.what for event in logged(tmp_path, text) if event.value.rank.differs}
    assert told == {"mine"}


def test_what_differs_by_the_clock_is_not_mixed_with_what_differs_by_the_data(tmp_path):
    lines = [f'v = doubled(time.time(), {{"k{index}": {index}}})' for index in range(30)]
    lines += ['self.log({"own": doubled(float(model(**inputs).loss) / 3, {"own": 1})})', *reversed(lines)]
    text = "import time\n\ndef doubled(value, options):\n    return value * 2\n\n"
    (event,) = logged(tmp_path, text + trainer("One", "inputs", "\n".join(lines)))
    assert event.value.rank.origins == Origin.DATA


@pytest.mark.parametrize("call", ["mean({}['x'])", "mean_of([{}['x']])", "mean(first([{}['x']], 1, {{}}))"])
def test_each_caller_is_told_its_own_story(tmp_path, call):
    text = "".join(
        trainer(name, batch, f'self.log({{"mean": {call.format(batch)}}})')
        for name, batch in (("One", "inputs"), ("Two", "batch"), ("Three", "samples"))
    )
    begins = [steps(event.value.provenance)[0].text for event in logged(tmp_path, text)]
    assert sorted(begins) == [f"`{name}` is this rank's own data" for name in ("batch", "inputs", "samples")]


def test_a_caller_for_whom_joined_calls_are_run_anew_is_told_its_own_story(tmp_path):
    kinds = ("1", "'a'", "(1,)", "[1]", "model", "range(3)", "print", "1.5", "{1: 2}")
    others = "\n".join(f"v = first([inputs['x'].mean()], {kind}, {{'{index}': 1}})" for index, kind in enumerate(kinds))
    text = trainer("Others", "inputs", f"{calls(20, 'inputs')}\n{others}")
    text += trainer("Own", "batch", 'self.log({"mine": first([batch["y"].sum()], len, {"mine": unknown})})')
    begins = {event.what: steps(event.value.provenance)[0].text for event in logged(tmp_path, text)}
    assert begins["mine"] == "`batch` is this rank's own data"


def test_loaders_of_alike_batches_share_a_run_and_each_is_told_its_own_story(tmp_path, runs):
    text = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
one = accelerator.prepare(DataLoader(unknown()))
two = accelerator.prepare(DataLoader(unknown()))
accelerator.log({"one": mean(first(one, 1, 1)), "two": mean(first(two, 1, 1))})
"""
    begins = {id(steps(event.value.provenance)[0].node) for event in logged(tmp_path, text)}
    assert (len(begins), runs.count("first")) == (2, 1)
