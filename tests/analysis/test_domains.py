"""Domains: discovered by themselves, called at each hook, and each of them changes only its own facts."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reveals import Facts, revealed
from trl_lint.analysis.events import Averaged, DatasetDrawn, Event, Revealed
from trl_lint.analysis.interprocedural import entry_points
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.state.refining import Domain, Domains, in_order, module_of
from trl_lint.analysis.transfer import domains
from trl_lint.analysis.transfer.domains import all_domains

ROOT = Path(__file__).parents[2]
HOOKS = sorted(vars(Domains(())).keys() - {"_domains"})
# Each hook is called, on the line that names it.
PROGRAM = """
import random

import torch
import torch.distributed as dist
from datasets import load_dataset
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer


def halved(number):
    return number / 2                                # operator


class Rows(Dataset):
    pass


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        data = load_dataset("imdb")                  # library_call, library_function
        loader = DataLoader(Rows())                  # made
        random.shuffle(data)
        ids = inputs["input_ids"]                    # subscript
        labels = inputs.get("labels")                # entry
        ids.add_(1)                                  # method, tensor_method, in_place
        put = load_something().to("cpu")             # unknown_method
        width = ids.shape                            # attribute
        self.width = width                           # stored
        rows, tokens = width                         # size
        mask = torch.stack([ids, ids]) > 0           # function, comparison
        first, second = mask                         # unpacked
        count = len([x for x in ids if x.sum() > 0])  # builtin, comprehension
        out = model(**inputs)                        # forward
        tokens = model.generate(**inputs)            # generated
        part = halved(ids.float().mean())            # project_function, argument, returned
        name = f"{count} rows"                       # text
        kept = {key: rows for key, rows in inputs.items()}  # dict_comprehension
        told = self.accelerator.gather(part)         # collected
        return out.loss                              # loss
"""
BATCH = """
from transformers import Trainer

class MyTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        ids = inputs["input_ids"]
        {0}(ids)
        {0}(ids[:, 0])
        {0}(ids.mean(1))
        {0}(model(**inputs).logits)
"""


class Counting(Domain):
    """Counts the calls of each hook, and returns its input."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()


def _counted(name: str):
    def hook(self: Counting, *args: object) -> object:
        self.calls[name] += 1
        # The value that is to be refined is the last argument.
        return None if name == "library_call" else args[-1]

    hook.__name__ = name
    return hook


for _name in HOOKS:
    setattr(Counting, _name, _counted(_name))


def without(name: str) -> tuple[Domain, ...]:
    return tuple(each for each in all_domains() if module_of(each) != name)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch):
    """Make the engine use only these domains."""

    def give(found: Iterable[Domain]) -> None:
        monkeypatch.setattr(entry_points, "all_domains", lambda: tuple(found))

    return give


def told(path: Path, program: str) -> list[Event]:
    path.write_text(program, encoding="utf-8")
    project = Project((path.parent,))
    module = project.module(path)
    assert module is not None
    return list(Engine(project).analyse(module))


@pytest.fixture
def counting(tmp_path: Path, given) -> Counting:
    domain = Counting()
    given([*all_domains(), domain])
    told(tmp_path / "program.py", PROGRAM)
    return domain


def test_a_domain_is_asked_at_each_hook(counting: Counting):
    assert sorted(counting.calls) == HOOKS


def test_hooks_that_a_domain_leaves_alone_are_not_called():
    class Silent(Domain):
        pass

    found = Domains([Silent()])
    assert [hook for hook in HOOKS if getattr(found, hook)] == []


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_used_by_a_domain(hook: str):
    assert getattr(Domains(all_domains()), hook)


def test_each_hook_of_a_domain_is_offered():
    assert sorted(name for name, each in vars(Domain).items() if inspect.isfunction(each)) == HOOKS


# --- without one domain -----------------------------------------------------------------------------------


def facts(path: Path, reveal: str) -> Facts:
    path.write_text(BATCH.format(reveal), encoding="utf-8")
    return revealed([path])[path]


@pytest.mark.parametrize("left_out", [module_of(each) for each in all_domains()])
def test_without_a_domain_ranks_are_the_same(left_out: str, tmp_path: Path, given):
    ranks = facts(tmp_path / "ranks.py", "reveal_rank")
    assert len(ranks) == 4
    given(without(left_out))
    assert facts(tmp_path / "again.py", "reveal_rank") == ranks


def test_without_the_domain_of_shapes_no_shape_is_known(tmp_path: Path, given):
    known = facts(tmp_path / "shapes.py", "reveal_shape")
    assert [*known.values()] == [{"(same, ragged)"}, {"(same)"}, {"(same)"}, {"(same, ...)"}]
    given(without("shape_facts"))
    assert {*facts(tmp_path / "again.py", "reveal_shape").values()} == {frozenset({"unknown"})}


@pytest.mark.parametrize("left_out", ["averaging_facts", "draw_facts", "device_facts"])
def test_without_another_domain_shapes_are_the_same(left_out: str, tmp_path: Path, given):
    shapes = facts(tmp_path / "shapes.py", "reveal_shape")
    given(without(left_out))
    assert facts(tmp_path / "again.py", "reveal_shape") == shapes


MEANS = """
from transformers import Trainer

class MyTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        mask = inputs["labels"] != -100
        loss = (inputs["x"] * mask).sum() / mask.sum()
        reveal_rank(self.accelerator.gather(loss).mean())
"""
DRAWS = """
import random
from datasets import load_dataset
from torch.utils.data import random_split, DataLoader
from accelerate import Accelerator

accelerator = Accelerator()
train, test = random_split(load_dataset("imdb", split="train"), [0.9, 0.1])
loader = accelerator.prepare(DataLoader(train))
for batch in loader:
    reveal_rank(batch)
"""


@pytest.mark.parametrize(
    ("program", "event", "domain"), [(MEANS, Averaged, "averaging_facts"), (DRAWS, DatasetDrawn, "draw_facts")]
)
def test_an_event_goes_with_its_domain_alone(program: str, event: type[Event], domain: str, tmp_path: Path, given):
    before = [type(each) for each in told(tmp_path / "before.py", program)]
    assert event in before and Revealed in before
    given(without(domain))
    assert [type(each) for each in told(tmp_path / "after.py", program)] == [each for each in before if each != event]


PLACES = """
rows = load_something()
rows = rows.to("cuda:1")
reveal_rank(rows)
"""


@pytest.mark.parametrize(("left_out", "place"), [("", "cuda:1"), ("shape_facts", "cuda:1"), ("device_facts", "")])
def test_what_nothing_is_known_of_is_moved_by_the_domain_of_devices(left_out: str, place: str, tmp_path: Path, given):
    given(without(left_out))
    [value] = [each.value for each in told(tmp_path / "program.py", PLACES) if isinstance(each, Revealed)]
    assert value.device == place


# --- how they are discovered ------------------------------------------------------------------------------


def test_each_domain_comes_behind_those_that_it_names():
    found = [module_of(each) for each in all_domains()]
    for domain in all_domains():
        assert all(found.index(name) < found.index(module_of(domain)) for name in domain.after)
    assert in_order(reversed(all_domains()))[-1] is all_domains()[-1]


@pytest.mark.parametrize("domain", all_domains(), ids=module_of)
def test_a_domain_shows_programs_and_what_it_makes_of_them(domain: Domain):
    page = sys.modules[type(domain).__module__].__doc__ or ""
    assert len(re.findall(r"^    \S.*  \S", page, re.MULTILINE)) >= 2


NEW = """
from trl_lint.analysis.state.refining import Domain
from trl_lint.domain.ranks import RANK_LOCAL


class Texts(Domain):
    def text(self, frame, parts, value):
        return value.replace(rank=RANK_LOCAL)


DOMAIN = Texts()
"""


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "of_domains"
    folder.mkdir()
    (folder / "text_facts.py").write_text(NEW)
    monkeypatch.setattr(domains, "__path__", [*domains.__path__, str(folder)])
    all_domains.cache_clear()
    yield
    all_domains.cache_clear()
    del sys.modules["trl_lint.analysis.transfer.domains.text_facts"]


@pytest.mark.usefixtures("one_more")
def test_a_new_domain_is_one_module(tmp_path: Path):
    """Nothing else has to name it."""
    [event] = told(tmp_path / "program.py", 'reveal_rank(f"{1}")\n')
    assert isinstance(event, Revealed)
    assert event.value.rank.differs
