"""The linter over several files, unusual texts, and the gate of `--fix`."""

from __future__ import annotations

import importlib.metadata
import itertools
from pathlib import Path

import pytest

from trl_lint.findings import Applicability
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

HELPERS = """
from accelerate import Accelerator


def log_mean(accelerator: Accelerator, name, value):
    accelerator.log({name: value.float().mean().item()})


def log_as_it_is(accelerator: Accelerator, name, value):
    accelerator.log({name: value})
"""
LOOP = """
from accelerate import Accelerator
from helpers import log_as_it_is as show
import helpers


def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        loss = model(**batch).loss
        helpers.log_mean(accelerator, "mean", loss)
        show(accelerator, "loss", loss.item())
        show(accelerator, "all", accelerator.gather(loss).mean().item())
"""


def make(folder: Path, **files: str) -> dict[str, Path]:
    paths = {}
    for name, text in files.items():
        paths[name] = folder / f"{name}.py"
        paths[name].write_text(text, encoding="utf-8")
    return paths


def linter(root: Path) -> Linter:
    return Linter(Settings(), (root,), all_rules())


def places(checker: Linter, path: Path) -> list[tuple[int, str]]:
    return [(finding.start.line, finding.code) for finding in checker.check(path, path.read_bytes())]


@pytest.mark.parametrize("order", list(itertools.permutations(("helpers", "loop"))), ids="-".join)
def test_what_one_file_means_for_another_does_not_depend_on_their_order(tmp_path: Path, order) -> None:
    paths = make(tmp_path, helpers=HELPERS, loop=LOOP)
    checker = linter(tmp_path)
    checker.prepare((paths[name], paths[name].read_bytes()) for name in order)
    found = {name: places(checker, paths[name]) for name in order}
    # The helper that reduces over the batch stores the value itself; the one that returns it is reported at its caller.
    assert found == {"helpers": [(6, "TRL003")], "loop": [(13, "TRL003")]}


def test_a_base_class_in_another_file_is_read_from_the_disk(tmp_path: Path) -> None:
    paths = make(
        tmp_path,
        base="from transformers import Trainer\n\n\nclass Base(Trainer):\n    def show(self, value):\n"
        "        self.log({'x': value})\n",
        mine="from base import Base\n\n\nclass Mine(Base):\n    def compute_loss(self, model, inputs, **kwargs):\n"
        "        loss = model(**inputs).loss\n        self.show(loss.item())\n        return loss\n",
    )
    assert places(linter(tmp_path), paths["mine"]) == [(7, "TRL003")]


def test_of_star_imports_only_what_names_a_name_is_parsed(tmp_path: Path) -> None:
    paths = make(
        tmp_path,
        other="from transformers import Trainer\n\n\nclass Other(Trainer):\n    pass\n",
        base="from transformers import Trainer\n\n\nclass Base(Trainer):\n    def show(self, value):\n"
        "        self.log({'x': value})\n",
        every="from other import *\nfrom base import *\n",
        mine="from every import Base\n\n\nclass Mine(Base):\n    def compute_loss(self, model, inputs, **kwargs):\n"
        "        loss = model(**inputs).loss\n        self.show(loss.item())\n        return loss\n",
    )
    checker = linter(tmp_path)
    assert places(checker, paths["mine"]) == [(7, "TRL003")]
    parsed = {path.stem for path in paths.values() if checker._project.loaded(path, path.read_bytes())}
    assert parsed == {"mine", "every", "base"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"x = 1\ndef f(:\n", "2:7: cannot parse: "),
        (b"# coding: utf-7\nx = '+2AA-'\n", "1:1: cannot parse: "),
        (b"# coding: unicode_escape\nx = '\\ud800'\n", "1:1: cannot parse: "),
        (b"# coding: punycode\nx = '#'\n", "1:1: cannot parse: "),
        (b"x = '\xff'\n", "1:1: cannot parse: "),
        (b"# -*- coding: nonsense -*-\n", "1:1: cannot parse: "),
        (b"x = 1\0\n", "cannot parse: "),
    ],
)
def test_what_can_not_be_read_is_one_clear_line(tmp_path: Path, source: bytes, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        linter(tmp_path).check(tmp_path / "x.py", source)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_fix_under_a_condition_of_this_rank_is_only_a_hint(tmp_path: Path) -> None:
    text = (
        "from accelerate import Accelerator\n\naccelerator = Accelerator()\n\n\ndef f(loss):\n"
        "    if accelerator.is_main_process:\n        return accelerator.gather(loss.item())\n"
    )
    found = linter(tmp_path).check(tmp_path / "x.py", text.encode())
    assert [each.code for each in found] == ["TRL001", "TRL006"]
    finding = found[0]
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.DISPLAY


def test_an_empty_file_and_one_without_needles_have_nothing(tmp_path: Path) -> None:
    checker = linter(tmp_path)
    assert checker.check(tmp_path / "a.py", b"") == []
    assert not checker.may_matter(b"print('gather')\n")


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("from accelerate.utils import gather", True),
        ('x = f"""{accelerator.gather(x.item())}"""', True),
        ("x = rf'''{accelerator.gather(x.item())}'''", True),
        ("getattr(self, 'accelerator').gather(x)", True),
        ("x = '#'; accelerator.gather(x)", True),
        ("x = '\\'#'; accelerator.gather(x)", True),
        ('x = r\'"""\'; accelerator.gather(x)  # """', True),
        ('x = f"all of {accelerator.gather(x.item())} here"', True),
        ("def f(a: 'Accelerator | None'): gather(x)", True),
        ("x = gather(y)  # see Accelerator", False),
        ("gather(x, help='as the Trainer does it')", False),
        ('"""Used by the Trainer: see gather."""', False),
        ("'''A \\''' Trainer that can gather.'''", False),
        ("if is_accelerate_available():\n    gather(x)", False),
        ("from .ctrl import gather", False),
        ("from trl import gather", True),
    ],
)
def test_only_code_decides_whether_a_file_matters(tmp_path: Path, text: str, matters: bool) -> None:
    assert linter(tmp_path).may_matter(text.encode()) is matters


def test_a_fix_reached_in_several_ways_is_as_safe_as_the_least_safe(tmp_path: Path) -> None:
    text = (
        "from accelerate import Accelerator\n\naccelerator = Accelerator()\n\n\ndef total(loss):\n"
        "    return accelerator.gather(loss.item())\n\n\ndef all_ranks(loss):\n    return total(loss)\n\n\n"
        "def one_rank(loss):\n    if accelerator.is_main_process:\n        return total(loss)\n"
    )
    found = linter(tmp_path).check(tmp_path / "x.py", text.encode())
    assert [each.code for each in found] == ["TRL001", "TRL006"]
    finding = found[0]
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.DISPLAY


KTO_WITH_ITS_OWN_LOG = """
import torch
from trl import KTOTrainer


class Mine(KTOTrainer):
    def get_batch_loss_metrics(self, model, batch):
        metrics = {}
        loss = model(**batch).loss
        metrics["rewards/chosen_sum"] = loss.detach().sum().item()
        return loss, metrics

    def log(self, logs, *args, **kwargs):
        keys, values = [], []
        for key, metrics in self._stored_metrics["train"].items():
            keys.append(key)
            values.append(torch.tensor(metrics).sum().item())
        reduced = self.accelerator.reduce(torch.tensor(values, device=self.accelerator.device), "sum").tolist()
        logs.update(dict(zip(keys, reduced)))
        return super().log(logs, *args, **kwargs)
"""
WITHOUT_ITS_LOG = KTO_WITH_ITS_OWN_LOG.partition("    def log")[0]


def test_a_log_in_sight_that_works_on_the_store_is_the_drain(tmp_path: Path) -> None:
    """As in LlamaFactory's KTO trainer: all metrics are reduced at once, in an overridden `log`."""
    assert linter(tmp_path).check(tmp_path / "x.py", KTO_WITH_ITS_OWN_LOG.encode()) == []
    (finding,) = linter(tmp_path).check(tmp_path / "y.py", WITHOUT_ITS_LOG.encode())
    assert (finding.code, finding.start.line) == ("TRL003", 10)


@pytest.mark.parametrize(("release", "count"), [("", 0), ("0.17.0", 1), ("0.18.0", 0)])
def test_a_hook_whose_model_is_wrapped_in_some_releases_only_is_judged_by_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, count: int
) -> None:
    def version(name: str) -> str:
        if name != "trl" or not release:
            raise importlib.metadata.PackageNotFoundError(name)
        return release

    monkeypatch.setattr(importlib.metadata, "version", version)
    text = (
        "from trl import GRPOTrainer\n\n\nclass Mine(GRPOTrainer):\n"
        "    def compute_liger_loss(self, unwrapped_model, inputs):\n        return unwrapped_model.lm_head.weight\n"
    )
    assert len(Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "x.py", text.encode())) == count


@pytest.mark.parametrize("made", ["Thing()", "Thing", "show", "path", "[Thing()]"])
def test_what_is_no_data_can_be_gathered(tmp_path: Path, made: str) -> None:
    text = (
        "from os import path\nfrom accelerate import Accelerator\n\n\nclass Thing:\n    pass\n\n\n"
        f"def show(accelerator: Accelerator):\n    it = accelerator.gather({made})\n"
        "    return it(), it.x, it.f(), it[0].f(), it[0]()\n"
    )
    paths = make(tmp_path, mine=text)
    assert places(linter(tmp_path), paths["mine"]) == []


def test_a_failure_is_not_forgotten_between_two_looks_at_a_file(tmp_path: Path, monkeypatch) -> None:
    paths = make(tmp_path, loop=LOOP, helpers=HELPERS)
    source = paths["loop"].read_bytes()
    checker = linter(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("trl_lint.analysis.interpreter.calls.row_transfers.prepared", lambda *args: {}["no"])
        checker.prepare([(paths["loop"], source)])
    with pytest.raises(KeyError):
        checker.check(paths["loop"], source)
    assert places(linter(tmp_path), paths["loop"]) == [(13, "TRL003")]
