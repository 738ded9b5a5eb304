"""What a file must mention for a rule to matter in it: enough for every finding, and built from the rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fixture_marks import expected

from trl_lint.analysis import checkpoint_events, data_events, events, gradient_events, path_events
from trl_lint.analysis.events import CollectiveCalled
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge import mentions, models
from trl_lint.knowledge.library import ROWS
from trl_lint.knowledge.schema import Attribute, Class, Function, Hook
from trl_lint.linter.files.prefilter import Prefilter
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules, by_event, find_rule
from trl_lint.rules.base import Rule
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
TREES: dict = {}  # each is parsed once: nothing changes a tree
RULES = [rule for rule in all_rules() if isinstance(rule, Rule)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_alone_lets_its_fixtures_through(rule):
    linter = Linter(Settings(), (FIXTURES,), (rule,))
    broken = sorted((FIXTURES / rule.module).glob("broken*.py"))
    assert broken or rule.preview
    assert [path.name for path in broken if not linter.may_matter(path.read_bytes())] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_group_counts(rule):
    """A file must mention one name of each group, for some event of the rule."""
    alone = Prefilter([rule], ())
    for groups in rule.prefilter:
        assert alone.may_matter(b"\n".join(group[0] for group in groups))
        assert alone.may_matter(b"\n".join(group[-1] for group in groups))
    assert not alone.may_matter(b"x = 1")
    assert not alone.may_matter(b"# " + b" ".join(group[0] for group in rule.prefilter[0]))


def test_what_the_rows_name_is_mentioned():
    assert b"gather" in mentions.COLLECTIVES and b"all_gather" not in mentions.COLLECTIVES
    assert b"RunningMoments" in mentions.COLLECTIVES and b"update" not in mentions.COLLECTIVES
    assert {b".log", b"add_scalar"} <= set(mentions.SINKS)
    assert {b"sample(", b".sample", b"train_test_split"} <= set(mentions.DRAWS)
    assert {b"wandb", b"open(", b"rmtree", b"subprocess", b"system("} <= set(mentions.SIDE_EFFECTS)


@pytest.mark.parametrize("name", [name for name, value in vars(mentions).items() if name.isupper() and value])
def test_no_name_of_a_group_is_there_twice(name):
    group = getattr(mentions, name)
    if isinstance(group, tuple) and name != "LIBRARIES":
        assert [(one, other) for one in group for other in group if one != other and one in other] == []


@pytest.mark.parametrize(
    "line",
    [
        "import torch.distributed as dist",
        "from torch import distributed as dist",
        "from torch import nn, distributed as dist",
        "from deepspeed import comm as dist",
        "from lightning.fabric import Fabric",
        "from pytorch_lightning import Callback",
    ],
)
def test_a_library_of_several_processes_is_named_however_it_is_imported(line):
    text = f"{line}\nif first:\n    dist.barrier()\n"
    assert Prefilter([find_rule("TRL006")], ()).may_matter(text.encode())
    assert not Prefilter([find_rule("TRL006")], ()).may_matter(text.replace(line, "import torch as dist").encode())


def _is_wrapped(value: object) -> bool:
    return isinstance(value, Value) and value.wrapping is Wrapping.WRAPPED


def test_every_row_that_gives_a_wrapped_model_is_mentioned():
    given = [row.name for row in ROWS if isinstance(row, Attribute) and _is_wrapped(row.value)]
    given += [row.name for row in ROWS if isinstance(row, Function) and _is_wrapped(row.returns)]
    given += [row.name for row in ROWS if isinstance(row, Class) and _is_wrapped(row.makes)]
    given += [row.name for row in ROWS if isinstance(row, Function) and row.returns == "prepared"]
    given += [row.name for row in ROWS if isinstance(row, Hook) and any(map(_is_wrapped, row.parameters.values()))]
    assert len(given) > 20
    assert [name for name in given if not any(each.decode() in name for each in models.WRAPPED_BY)] == []


def test_every_event_is_asked_about():
    """`Revealed` is for the analysis's own tests."""
    modules = (events, data_events, gradient_events, checkpoint_events, path_events)
    known = [each for module in modules for each in vars(module).values()]
    kinds = {kind for kind in known if isinstance(kind, type) and issubclass(kind, events.Event)}
    assert kinds - by_event(RULES).keys() == {events.Event, events.Known, events.Revealed}
    assert {rule.code for rule in by_event(RULES)[CollectiveCalled]} == {"TRL001", "TRL005", "TRL011", "TRL014"}


def test_a_name_of_the_users_own_is_in_every_group():
    rule = find_rule("TRL001")
    assert Prefilter([rule], ["my.tools.reduce_it"]).may_matter(b"reduce_it(x)")
    assert not Prefilter([], ["my.tools.reduce_it"]).may_matter(b"reduce_it(x)")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_what_a_rule_says_does_not_depend_on_the_others(rule, tmp_path):
    """Also in a file that names nothing relevant to the rule, as that is in a base class elsewhere.

    The marks are what it says among the others (`test_fixtures.py`). Here the first broken program, and the fixed ones:
    `analysis/test_observers.py` asks the same of all others that a rule lets through.
    """
    # Where all fixtures are, each rule would look in all of them for what starts its own.
    for path in FIXTURES.glob("*.py"):
        shutil.copy(path, tmp_path)
    programs = sorted(shutil.copytree(FIXTURES / rule.module, tmp_path / rule.module).glob("*.py"))
    chosen = [path for path in programs if path.stem == "broken" or path.stem.startswith("fixed")]
    files = [(path, path.read_bytes()) for path in chosen or programs]
    linter = Linter(Settings(), (tmp_path,), (rule,), can_fix=False)
    linter.trees = TREES
    linter.prepare(files)
    for path, source in files:
        said = {each.start.line for found in linter.check(path, source) for each in (found, *found.also)}
        assert said == {line for line, code in expected(source.decode()) if code == rule.code}, path


def test_a_rule_alone_lets_a_file_through_that_calls_what_another_file_logs_with():
    text = (
        "from base import BaseTrainer\n\nclass MyTrainer(BaseTrainer):\n"
        "    def compute_loss(self, model, inputs):\n        self.show(model(**inputs).loss.item())\n"
    )
    assert Linter(Settings(), (FIXTURES,), (find_rule("TRL003"),)).may_matter(text.encode())
