"""Observers: discovered by themselves, run if they are needed, and none of them changes another rule's findings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from trl_lint.analysis import observers
from trl_lint.analysis.events import CollectiveCalled, Event, Logged, Revealed
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.observers import all_observers
from trl_lint.analysis.observers.backends import BackendChoice
from trl_lint.analysis.observers.collective_order import CollectiveOrder
from trl_lint.analysis.observers.known_facts import KnownFacts
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.state.observing import Observer, Observers, observers_for
from trl_lint.findings import Finding
from trl_lint.linter.code_linter import _check_events, known_of, versions_of
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.rules.base import Rule
from trl_lint.settings import Settings

ROOT = Path(__file__).parents[2]
# The sharding of the model is shown here, and not in a launch.
SHARDED = """
from transformers import Trainer

class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, *args):
        bare = self.accelerator.unwrap_model(model)
        return self.fused(inputs["x"], bare.lm_head.weight)
"""
# A tensor on the CPU fails because the backend is for GPUs, which is set elsewhere in the file.
BACKEND = """
import torch
import torch.distributed as dist

dist.init_process_group("nccl")

def count(rows):
    total = torch.tensor(float(len(rows)))
    dist.all_reduce(total)
    return total
"""
# The barriers make the main process compute first, and the others read its file.
BARRIERS = """
import torch.distributed as dist
from datasets import load_dataset

dist.init_process_group("gloo")
data = load_dataset("imdb", split="train")
if dist.get_rank() != 0:
    dist.barrier()
data = data.map(lambda row: row)
if dist.get_rank() == 0:
    dist.barrier()
"""
# Without the fixed programs, which are as the broken ones are, without their findings.
PROGRAMS = {
    path: path.read_bytes() for path in sorted((ROOT / "fixtures").glob("*/*.py")) if not path.name.startswith("fixed")
}
PROGRAMS |= {
    ROOT / "fixtures" / name: text.encode()
    for name, text in (("sharded.py", SHARDED), ("backend.py", BACKEND), ("barriers.py", BARRIERS))
}
SETTINGS = Settings(target_trl="0.17.0", target_transformers="4.51.3")
# The programs are parsed once for all rules: nothing changes a tree.
TREES: dict = {}
# What starts them is looked for once, too.
ENGINES: dict = {}
CODE_RULES = [rule for rule in all_rules() if isinstance(rule, Rule)]
# Programs of other rules that change what a rule says of a program that it is about: one of them starts the project's
# run of wandb on the main process only.
ALSO_NEEDED = {"TRL008": {"truncated_gather"}}
HOOKS = sorted(vars(Observers(())).keys() - {"_observers"})


class Asking(Linter):
    """A linter whose engine is only asked for these events."""

    def __init__(self, rules, asked: frozenset[type[Event]] | None) -> None:
        super().__init__(SETTINGS, (ROOT / "fixtures",), rules)
        self.asked = asked
        self.trees = TREES
        self.engines = ENGINES.setdefault("fixtures", self.engines)

    def _tools(self):
        if self._project is None:
            project, _ = super()._tools()
            self._engine = Engine(project, known_of(SETTINGS, versions_of(SETTINGS)), self.asked)
        return super()._tools()

    def all_findings(self, programs: Mapping[Path, bytes] = PROGRAMS) -> list[Finding]:
        self.prepare(programs.items())
        looked_at = [(path, source) for path, source in programs.items() if self.analyses(path, source)]
        return [finding for path, source in looked_at for finding in self.check(path, source)]


class Together:
    """All rules on all programs, and the event classes of each rule."""

    def __init__(self) -> None:
        linter = Asking(CODE_RULES, None)
        self.findings = linter.all_findings()
        told = [event for analysed in linter._tools()[0].analysed.values() for event in analysed[3]]
        self.asked = {
            rule.code: frozenset(type(event) for event in told if any(True for _ in _check_events((rule,), (event,))))
            for rule in CODE_RULES
        }


@pytest.fixture(scope="module")
def together() -> Together:
    return Together()


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.code)
def test_a_rule_finds_alone_what_it_finds_with_the_others(together: Together, rule):
    """Its message, its chain, its help and its fix: events that no rule needs are not computed.

    In every run on its own fixtures, on all programs in which it finds something, and on every fifteenth of the others:
    each of them is looked at by one or two rules.
    """
    wanted = [finding for finding in together.findings if finding.code == rule.code]
    found_in = {Path(finding.path) for finding in wanted}
    folders = {rule.module} | ALSO_NEEDED.get(rule.code, set())
    turn = CODE_RULES.index(rule)
    programs = {
        path: source
        for at, (path, source) in enumerate(PROGRAMS.items())
        if path.parent.name in folders or path in found_in or (at + turn) % 15 == 0
    }
    assert Asking([rule], together.asked[rule.code]).all_findings(programs) == wanted
    assert wanted


@pytest.mark.slow
@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.code)
def test_a_rule_finds_alone_on_all_programs_what_it_finds_with_the_others(together: Together, rule):
    wanted = [finding for finding in together.findings if finding.code == rule.code]
    assert Asking([rule], together.asked[rule.code]).all_findings() == wanted


@pytest.mark.parametrize(("program", "codes"), [("backend.py", {"TRL011"}), ("barriers.py", set())])
def test_what_is_noted_for_others_decides(together: Together, program: str, codes: set[str]):
    path = str(ROOT / "fixtures" / program)
    assert {finding.code for finding in together.findings if finding.path == path} == codes


def test_where_nothing_is_asked_for_only_what_all_facts_rest_on_runs():
    assert [type(each) for each in observers_for(all_observers(), frozenset())] == [CollectiveOrder]


def test_an_observer_runs_for_its_own_events_and_for_those_that_rest_on_it():
    for observer in all_observers():
        for event in observer.emits | (observer.needed_by or frozenset()):
            assert observer in observers_for(all_observers(), frozenset({event}))
    assert any(
        isinstance(each, BackendChoice) for each in observers_for(all_observers(), frozenset({CollectiveCalled}))
    )
    assert not any(isinstance(each, BackendChoice) for each in observers_for(all_observers(), frozenset({Logged})))


def test_all_observers_run_where_all_events_are_asked_for():
    left_out = [each for each in all_observers() if each not in observers_for(all_observers(), None)]
    assert [type(each) for each in left_out] == [KnownFacts]  # it answers a user's question, and costs each statement


def emitted(module) -> Iterator[type[Event]]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "emit":
            assert isinstance(node.args[0], ast.Name)
            yield getattr(module, node.args[0].id)


@pytest.mark.parametrize("observer", all_observers(), ids=lambda observer: type(observer).__name__)
def test_an_observer_names_the_events_that_it_tells(observer: Observer):
    module = sys.modules[type(observer).__module__]
    assert frozenset(emitted(module)) == observer.emits
    assert observer.emits or observer.needed_by is None or observer.needed_by


@pytest.mark.parametrize("observer", all_observers(), ids=lambda observer: type(observer).__name__)
def test_an_observer_shows_programs_and_what_it_makes_of_them(observer: Observer):
    page = sys.modules[type(observer).__module__].__doc__ or ""
    assert len(re.findall(r"^    \S.*  \S", page, re.MULTILINE)) >= 2
    assert all(event.__name__ in page for event in observer.emits)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_offered_by_the_walk_and_used_by_an_observer(hook: str):
    assert getattr(Observers(all_observers()), hook)
    folders = ("interpreter", "interprocedural")
    walk = [path for folder in folders for path in (ROOT / "trl_lint" / "analysis" / folder).rglob("*.py")]
    assert any(re.search(rf"observers\.{hook}\b", path.read_text(encoding="utf-8")) for path in walk)


def test_hooks_that_an_observer_leaves_alone_are_not_called():
    class Silent(Observer):
        pass

    found = Observers([Silent()])
    assert [hook for hook in HOOKS if getattr(found, hook)] == []
    assert all(getattr(Observers(all_observers()), hook) for hook in HOOKS)


NEW = """
from trl_lint.analysis.events import Revealed
from trl_lint.analysis.state.observing import Observer


class WithBlocks(Observer):
    emits = frozenset({Revealed})

    def on_enter(self, frame, item, value):
        frame.emit(Revealed, item, value=value)


OBSERVER = WithBlocks()
"""


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "with_statements.py").write_text(NEW)
    monkeypatch.setattr(observers, "__path__", [*observers.__path__, str(tmp_path)])
    all_observers.cache_clear()
    yield
    all_observers.cache_clear()
    del sys.modules["trl_lint.analysis.observers.with_statements"]


@pytest.mark.usefixtures("one_more")
def test_a_new_observer_is_one_module(tmp_path: Path):
    """Nothing else has to name it."""
    project = Project((tmp_path,))
    text = "with open('a') as a, open('b') as b:\n    pass\n"
    module = project.add(tmp_path / "program.py", text, text.encode())
    assert [type(event) for event in Engine(project).analyse(module)] == [Revealed, Revealed]


def test_each_class_of_notes_is_kept_once():
    class Mine:
        pass

    notes, others = Notes(), Notes()
    assert notes.of(Mine) is notes.of(Mine)
    assert notes.of(Mine) is not others.of(Mine)
