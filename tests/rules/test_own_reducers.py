"""TRL003 fixes with the user's own reducers if the settings name some."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

HERE = Path(__file__).parent
HELPERS = {
    "mean": ("mylib.dist.all_mean", "mean"),
    "sum": ("mylib.dist.all_sum", "sum"),
    "gather": ("mylib.dist.collect", "gather"),
    "method": ("mylib.trainers.BaseTrainer.gather_mean", "mean"),
}
LOOP = """\
import wandb
from accelerate import Accelerator

def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        loss = model(**batch).loss
        {}
"""
PLAIN = """\
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(model, data):
    model = DDP(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = model(batch).loss
        {}
"""


def mended(text: str, *names: str, path: Path = HERE / "train.py") -> str:
    settings = Settings(reducers=tuple(HELPERS[name] for name in names), trainer_bases=(BASE,))
    linter = Linter(settings, (path.parent,), all_rules())
    result = linter.fix(path, text.encode(), unsafe=True)
    # For a value that is logged on every rank, TRL008's guard is withheld: it would now contain a collective.
    assert {finding.code for finding, _ in result.withheld} <= {"TRL008"}
    assert linter.fix(path, result.source, unsafe=True).source == result.source
    return result.source.decode()


BASE = ("mylib.trainers.BaseTrainer", "transformers.Trainer")


@pytest.mark.parametrize(
    ("names", "new"),
    [
        (("mean",), "all_mean(loss).item()"),
        (("gather",), "collect(loss).mean().item()"),
        (("gather", "mean"), "all_mean(loss).item()"),
        (("sum",), "accelerator.gather(loss).mean().item()"),
    ],
)
def test_the_helper_that_reduces_so_is_called(names, new):
    text = mended(LOOP.format('wandb.log({"loss": loss.item()})'), *names)
    assert f'wandb.log({{"loss": {new}}})' in text
    assert ("from mylib.dist import" in text) == ("accelerator.gather" not in new)


def test_a_helper_serves_where_there_is_no_accelerator():
    text = mended(PLAIN.format('wandb.log({"loss": loss.item()})'), "mean")
    assert 'wandb.log({"loss": all_mean(loss).item()})' in text
    assert "from mylib.dist import all_mean\n" in text


def test_an_import_that_is_there_is_used():
    source = "from mylib.dist import all_mean\n" + LOOP.format('wandb.log({"loss": loss.item()})')
    assert mended(source, "mean").count("import all_mean") == 1


def test_a_name_that_means_something_else_is_left_alone():
    source = LOOP.format('wandb.log({"loss": loss.item()})') + "\ndef all_mean(x):\n    return x\n"
    assert "accelerator.gather(loss).mean().item()" in mended(source, "mean")


def test_the_file_of_the_helper_needs_no_import(tmp_path):
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "__init__.py").touch()
    path = tmp_path / "mylib" / "dist.py"
    source = LOOP.format('wandb.log({"loss": loss.item()})') + "\ndef all_mean(x):\n    return x\n"
    text = mended(source, "mean", path=path)
    assert "all_mean(loss).item()" in text
    assert "import all_mean" not in text


def test_both_sums_of_a_ratio_go_through_the_helper():
    text = mended(LOOP.format('wandb.log({"x": (batch["x"] * 2).sum() / batch["x"].sum()})'), "sum")
    assert 'x_sum, x_count = all_sum(torch.stack([(batch["x"] * 2).sum(), batch["x"].sum()]))' in text


def test_a_method_of_a_base_is_called_on_self():
    text = mended(
        "from mylib.trainers import BaseTrainer\n\n"
        "class Mine(BaseTrainer):\n"
        "    def compute_loss(self, model, inputs, *args, **kwargs):\n"
        "        loss = model(**inputs).loss\n"
        '        self.log({"aux": loss.item()})\n'
        "        return loss\n",
        "method",
    )
    assert 'self.log({"aux": self.gather_mean(loss).item()})' in text
