"""TRL003: what a LightningModule or a Fabric logs of a validation is that of the first rank, unless it is reduced."""

from __future__ import annotations

import pytest
from snippets import Snippets

from trl_lint import api
from trl_lint.findings import Applicability
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL003")

MODULE = """\
import lightning as L
import torch
import torchmetrics
from torch.nn.functional import cross_entropy


class Module(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.accuracy = torchmetrics.Accuracy(task="binary")
        self.losses = []

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        loss = cross_entropy(self.net(inputs), targets)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        inputs, targets = batch
        outputs = self.net(inputs)
        loss = cross_entropy(outputs, targets)
        self.accuracy.update(outputs, targets)
        self.losses.append(loss)
        {}

    def on_validation_epoch_end(self):
        {}

    def shown(self, loss):
        if self.global_rank == 0:
            print(loss)
"""


@pytest.mark.parametrize(
    ("step", "end", "metrics"),
    [
        ('self.log("val_loss", loss, prog_bar=True)', "pass", {"val_loss"}),
        ('self.log("val_loss", loss, sync_dist=False)', "pass", {"val_loss"}),
        ('self.log_dict({"val_loss": loss, "size": 3})', "pass", {"val_loss"}),
        ("pass", 'self.log("mean", torch.stack(self.losses).mean())', {"mean"}),
        ('self.log("val_loss", loss, sync_dist=True)', "pass", set()),
        ('self.log("val_loss", loss, sync_dist=self.trainer.world_size > 1)', "pass", set()),
        ('self.log("val_loss", loss, **self.options)', "pass", set()),
        ('self.log("accuracy", self.accuracy)', 'self.log("accuracy", self.accuracy.compute())', set()),
        ('self.log("rate", self.rate)', 'self.log("losses", len(self.net.layers))', set()),
        ('self.log("rank0/loss", loss)', "pass", set()),
    ],
)
def test_what_a_module_logs_of_a_validation(step, end, metrics):
    findings = SNIPPETS.findings(MODULE.format(step, end))
    assert {each.message.split("`")[1] for each in findings} == metrics
    assert all(each.by_default and "sync_dist=True" in each.help for each in findings)


def test_only_files_for_several_processes_are_in_the_default_set():
    text = MODULE.format('self.log("val_loss", loss)', "pass")
    assert SNIPPETS.finding(text).by_default
    assert not SNIPPETS.finding(text.replace("self.global_rank == 0", "loss is not None")).by_default


def test_the_fix_has_lightning_reduce_it():
    text = MODULE.format('self.log("val_loss", loss, prog_bar=True)', "pass")
    assert SNIPPETS.mended(text) == text.replace("prog_bar=True", "prog_bar=True, sync_dist=True")
    given = MODULE.format('self.log_dict({"val_loss": loss}, sync_dist=False)', "pass")
    assert SNIPPETS.mended(given) == given.replace("sync_dist=False", "sync_dist=True")


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        ("rank_zero_only=True", "sync_dist=True"),
        ("rank_zero_only=True, prog_bar=True", "sync_dist=True, prog_bar=True"),
        ("rank_zero_only=True, sync_dist=True", None),
        ("sync_dist=False, rank_zero_only=True", None),
        ("rank_zero_only=self.alone", None),
    ],
)
def test_for_the_first_rank_alone_lightning_reduces_nothing(given, mended):
    text = MODULE.format(f'self.log("val_loss", loss, {given})', "pass")
    assert "without `rank_zero_only`" in SNIPPETS.finding(text).help
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == text.replace(given, mended or given)


@pytest.mark.parametrize("given", ["rank_zero_only=False, sync_dist=True", "rank_zero_only=self.alone, sync_dist=True"])
def test_it_reduces_what_may_be_of_all_ranks(given):
    assert not SNIPPETS.findings(MODULE.format(f'self.log("val_loss", loss, {given})', "pass"))


def test_the_fix_leaves_what_has_no_effect():
    text = MODULE.format('self.log("val_loss", loss, rank_zero_only=False)', "pass")
    assert SNIPPETS.mended(text) == text.replace("=False", "=False, sync_dist=True")


def test_some_ranks_may_not_get_to_what_is_for_the_first_rank_alone():
    text = MODULE.format("pass", 'if self.quiet:\n            self.log("m", self.losses[0], rank_zero_only=True)')
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_on_one_rank_nothing_is_reduced():
    text = MODULE.format(
        "pass", 'if self.global_rank == 0:\n            self.log("mean", torch.stack(self.losses).mean())'
    )
    assert SNIPPETS.findings(text)
    assert SNIPPETS.mended(text, unsafe=True) == text


FABRIC = """\
import torch
from lightning.fabric import Fabric
from torch.nn.functional import cross_entropy


@torch.no_grad()
def validate(fabric: Fabric, model, data):
    loader, others = fabric.setup_dataloaders(data, data{})
    losses = torch.zeros(len(loader))
    for index, batch in enumerate(loader):
        losses[index] = cross_entropy(model(batch["x"]), batch["y"])
    loss = losses.mean()
    {}
"""


@pytest.mark.parametrize(
    ("given", "shown", "is_reported"),
    [
        ("", 'fabric.log_dict({"loss": loss})', True),
        ("", 'fabric.log("loss", loss)', True),
        ("", 'fabric.log("loss", fabric.all_reduce(loss, reduce_op="mean"))', False),
        ("", 'fabric.all_reduce(loss, reduce_op="mean")\n    fabric.log("loss", loss)', False),
        (", use_distributed_sampler=False", 'fabric.log("loss", loss)', False),
    ],
)
def test_what_a_fabric_logs(given, shown, is_reported):
    assert bool(SNIPPETS.findings(FABRIC.format(given, shown))) is is_reported


_ASSERTS = "    assert args.replace_sampler_ddp{}"
PROGRAM = """

def main(net, rows, args):
    loader = torch.utils.data.DataLoader(rows{})
    trainer = {}
    trainer.validate(Module(net), loader)
"""


@pytest.mark.parametrize(
    ("sampler", "trainer", "is_reported"),
    [
        ("", 'L.Trainer(devices=-1, strategy="ddp")', True),
        ("", "L.Trainer(devices=-1, use_distributed_sampler=True)", True),
        # Each process may validate on all rows.
        ("", "L.Trainer(devices=-1, use_distributed_sampler=False)", False),
        ("", "L.Trainer(gpus=8, replace_sampler_ddp=False)", False),
        (", sampler=DistributedSampler(rows)", "L.Trainer(devices=-1, use_distributed_sampler=False)", True),
        ("", "L.Trainer.from_argparse_args(args, gpus=8)", True),
        ("", f"L.Trainer.from_argparse_args(args, gpus=8)\n{_ASSERTS.format(' == False')}", False),
        ("", f"L.Trainer.from_argparse_args(args, gpus=8)\n{_ASSERTS.format(' == True')}", True),
        ("", "L.Trainer.from_argparse_args(args, gpus=8)\n    assert not args.use_distributed_sampler", False),
        ("", "L.Trainer.from_argparse_args(args, gpus=8)\n    args.replace_sampler_ddp = False", False),
    ],
)
@pytest.mark.parametrize("is_apart", [False, True])
def test_a_trainer_may_share_no_data_out(sampler, trainer, is_reported, is_apart, tmp_path):
    module = MODULE.format('self.log("val_loss", loss, prog_bar=True)', "pass")
    program = PROGRAM.format(sampler, trainer)
    if is_apart:
        (tmp_path / "module.py").write_text(module)
        program = f"import lightning as L\nimport torch\nfrom module import Module\n{program}"
    (tmp_path / "program.py").write_text(program if is_apart else module + program)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL003",)))
    assert bool(findings) is is_reported


DATA_FILE = """\
import lightning as L
from torch.utils.data import DataLoader, DistributedSampler
from dealers import Dealer


class Data(L.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(self.rows, batch_sampler={})

    def val_dataloader(self):
        return DataLoader(self.rows, batch_size=8{})
"""
OF_DATA_FILE = """\
import lightning as L
from data import Data
from module import Module


def main(net):
    L.Trainer(devices=-1, use_distributed_sampler=False).fit(Module(net), datamodule=Data())
"""


@pytest.mark.parametrize(
    ("trained", "validated", "is_reported"),
    [
        ("Dealer(self.rows, num_replicas=8)", ", sampler=DistributedSampler(self.rows)", True),
        ("Dealer(self.rows, num_replicas=8)", ", sampler=Dealer(self.rows)", True),
        ("Dealer(self.rows, num_replicas=8)", ", **self.options", True),
        # What deals the rows of a training says nothing of a loader without any sampler.
        ("Dealer(self.rows, num_replicas=8)", "", False),
    ],
)
def test_a_file_that_a_program_imports_may_share_data_out(trained, validated, is_reported, tmp_path):
    (tmp_path / "module.py").write_text(MODULE.format('self.log("val_loss", loss, prog_bar=True)', "pass"))
    (tmp_path / "data.py").write_text(DATA_FILE.format(trained, validated))
    (tmp_path / "program.py").write_text(OF_DATA_FILE)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL003",)))
    assert bool(findings) is is_reported


HELPERS = """\
STRATEGY = "ddp"
import lightning as L
from torch.nn.functional import cross_entropy


class Module(L.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.loss(batch, "train")
        self.log_train(loss)
        return loss

    def validation_step(self, batch, batch_idx):
        {}

    def test_step(self, batch, batch_idx):
        self.loss(batch, "test")
        self.tested(batch)

    def loss(self, batch, stage):
        inputs, targets = batch
        loss = cross_entropy(self.net(inputs), targets)
        self.log(f"{{stage}}/loss", loss, sync_dist={})
        return loss

    def log_train(self, loss):
        self.log("train_loss", loss)

    def tested(self, batch):
        self.log("test_loss", self.net(batch[0]).mean())
"""


@pytest.mark.parametrize(
    ("step", "reduces", "metrics"),
    [
        ('self.loss(batch, "val")', "False", {"test/loss", "val/loss"}),
        ('self.loss(batch, "val")', "True", set()),
        ('self.loss(batch, "val")', 'stage == "val"', set()),
        ("pass", "False", set()),
        ("self.log_train(self.net(batch[0]).mean())", "False", {"train_loss"}),
    ],
)
def test_a_helper_of_the_validation_logs_what_the_validation_does(step, reduces, metrics):
    text = HELPERS.format(step, reduces)
    findings = [each for each in SNIPPETS.findings(text) if each.by_default]
    shown = {name for each in findings for name in each.message.split("`")[1::2] if name.endswith("loss")}
    assert shown == metrics
    assert all(text.splitlines()[each.start.line - 1].lstrip().startswith("self.log(") for each in findings)


SHARED = """\
import lightning as L
from torch.nn.functional import cross_entropy


class Module(L.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.loss(batch)
        {}
        return loss

    def validation_step(self, batch, batch_idx):
        {}

    def loss(self, batch):
        inputs, targets = batch
        return cross_entropy(self.net(inputs), targets)

    def passed_on(self, stage, loss):
        self.show(stage, loss)

    def show(self, stage, loss, **kwargs):
        self.log(f"{{stage}}/loss", loss{})
"""
SHOWN = 'self.show("val", self.loss(batch))'
TRAINED = 'self.passed_on("train", loss)'


@pytest.mark.parametrize(
    ("train", "more", "reason"),
    [
        ("pass", "", ""),
        (TRAINED, "", "may also run in training"),
        ("pass", ", **kwargs", "may contain `sync_dist`"),
        (TRAINED, ", **kwargs", "may contain `sync_dist`"),
    ],
)
def test_a_helper_that_logs_for_training_as_well_is_left_to_the_author(train, more, reason):
    text = SHARED.format(train, SHOWN, more)
    fix = SNIPPETS.finding(text).fix
    assert fix is not None
    assert reason in fix.reason
    assert fix.applicability is (Applicability.DISPLAY if reason else Applicability.SAFE)
    reduced = text.replace('/loss", loss', '/loss", loss, sync_dist=True')
    assert SNIPPETS.mended(text, unsafe=True) == (text if reason else reduced)


def test_a_helper_of_a_base_class_may_log_for_training():
    text = SHARED.replace("def training_step", "def other").format("pass", SHOWN, "")
    assert SNIPPETS.findings(text)
    assert SNIPPETS.mended(text, unsafe=True) == text


STARRED = """\
import lightning as L
from torch.nn.functional import cross_entropy


class Module(L.LightningModule):
    def validation_step(self, {}):
        inputs, targets = {}
        self.log("val_loss", cross_entropy(self.net(inputs), targets))
        self.log("val_step", {})
"""


@pytest.mark.parametrize(
    ("parameters", "batch", "index"),
    [
        ("*args", "args[0]", "args[1]"),
        ("*args, **kwargs", "args[0]", "args[1]"),
        ("batch, *args", "batch", "args[0]"),
        ("data, index", "data", "index"),
    ],
)
def test_steps_get_the_batch_and_its_index_by_position(parameters, batch, index):
    findings = SNIPPETS.findings(STARRED.format(parameters, batch, index))
    assert [each.message.split("`")[1] for each in findings] == ["val_loss"]


def test_what_comes_after_the_index_is_unknown():
    assert SNIPPETS.findings(STARRED.format("batch, index, *args", "args[0]", "index")) == []


COUNTED = """\
import lightning as L
import torch
from torchmetrics.classification import MulticlassConfusionMatrix


class Matrix(MulticlassConfusionMatrix):
    def iou(self):
        hits = self.confmat.diag()
        return hits / self.confmat.sum(dim=0), hits > 0

    def mean_iou(self):
        values, seen = self.iou()
        return values[seen].mean()

    def size(self):
        return self.num_classes

    def reduced(self):
        return self.compute().diag().sum()
{}

class Module(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.matrix = Matrix(10)

    def validation_step(self, batch, batch_idx):
        self.matrix.update(self.net(batch["inputs"]), batch["targets"])

    def on_validation_epoch_end(self):
        self.log("metric", {})
"""
OWN_COMPUTE = """
    def compute(self):
        return self.mean_iou()
"""
GATHERS = """
    def update(self, outputs, targets):
        super().update(outputs, targets)
        torch.distributed.all_reduce(self.confmat)
"""


@pytest.mark.parametrize(
    ("more", "logged", "is_reported"),
    [
        ("", "self.matrix.mean_iou()", True),
        ("", "self.matrix.iou()[0].mean()", True),
        ("", "self.matrix.compute().diag().sum()", False),
        ("", "self.matrix.reduced()", False),
        ("", "self.matrix.size()", False),
        (OWN_COMPUTE, "self.matrix.mean_iou()", False),
        (GATHERS, "self.matrix.mean_iou()", False),
    ],
)
def test_what_a_metric_has_counted_is_reduced_in_compute_only(more, logged, is_reported):
    findings = SNIPPETS.findings(COUNTED.format(more, logged))
    assert bool(findings) is is_reported
    assert not findings or any("`compute` is not called" in each.text for each in findings[0].because)


def test_outside_of_a_module_nothing_says_that_each_rank_has_a_share():
    text = COUNTED.format("", "self.matrix.mean_iou()").replace("L.LightningModule", "Base")
    assert SNIPPETS.findings(text.replace("self.log(", "torch.utils.tensorboard.SummaryWriter().add_scalar(")) == []


OWN_METRIC = """\
import torch
from torchmetrics import Metric


class Rate(Metric):
    def __init__(self):
        super().__init__({})
        self.seen = 0
        for name in ("hits", "total"):
            {}

    def update(self, outputs, targets):
        self.hits += (outputs.argmax(-1) == targets).sum()
        self.total += len(targets)
        self.seen += len(targets)

    def compute(self):
        {}
"""
ADDED = 'self.add_state("hits", torch.tensor(0), "sum"); self.add_state(name="total", default=torch.tensor(0))'
LOGS_OWN_METRIC = """\
import lightning as L
from metrics import Rate


class Module(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.rate = Rate()

    def validation_step(self, batch, batch_idx):
        inputs, targets = batch
        self.rate.update(self.net(inputs), targets)

    def on_validation_epoch_end(self):
        {}
"""
ONE_RATE, BOTH = 'self.log("rate", self.rate.compute())', "self.log_dict(self.rate.compute())"


@pytest.mark.parametrize(
    ("given", "adds", "computed", "logged", "is_reported"),
    [
        ("", ADDED, "return self.hits / self.total", ONE_RATE, False),
        ("", "self.add_state(name, torch.tensor(0))", "return self.hits / self.total", ONE_RATE, False),
        ("", ADDED, "return {'hits': self.hits, 'total': self.total}", BOTH, False),
        # A number of its own, which torchmetrics does not know of, and states that it is told to leave alone.
        ("", ADDED, "return self.hits / self.seen", ONE_RATE, True),
        ("sync_on_compute=False", ADDED, "return self.hits / self.total", ONE_RATE, True),
        # A method that is not `compute`.
        ("", ADDED, "return 0\n\n    def rate(self):\n        return self.hits / self.total",
         'self.log("rate", self.rate.rate())', True),
    ],
)  # fmt: skip
def test_own_states_of_a_metric_in_another_file_are_reduced(tmp_path, given, adds, computed, logged, is_reported):
    (tmp_path / "metrics.py").write_text(OWN_METRIC.format(given, adds, computed))
    (tmp_path / "module.py").write_text(LOGS_OWN_METRIC.format(logged))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL003",), preview=True))
    assert bool(findings) is is_reported


MADE = "torchmetrics.Accuracy(task='binary')"


@pytest.mark.parametrize(
    ("made", "logged", "is_reported"),
    [
        (MADE, "score", True),
        (MADE, "2 * score", True),
        (f"{MADE}.to('cpu')", "score", True),
        ("torchmetrics.classification.BinaryAccuracy()", "score", True),
        ("pl.metrics.Accuracy()", "score", True),
        (MADE, "self.accuracy", False),
        ("torchmetrics.Accuracy(task='binary', dist_sync_on_step=True)", "score", False),
        ("torchmetrics.Accuracy(task='binary', dist_sync_on_step=True).to('cpu')", "score", False),
        ("torchmetrics.Accuracy(**options())", "score", False),
        ("own.Accuracy()", "score", False),
    ],
)
def test_a_metric_returns_the_result_of_this_rank_s_batch(made, logged, is_reported):
    text = MODULE.format(
        f"score = self.accuracy(outputs, targets)\n        self.log('score', {logged}, on_epoch=True)", "pass"
    )
    text = text.replace(MADE.replace("'", '"'), made).replace("import torch\n", "import pytorch_lightning as pl\n", 1)
    findings = SNIPPETS.findings(text)
    assert bool(findings) is is_reported
    assert all("`score`" in each.message for each in findings)


@pytest.mark.parametrize(
    "step",
    [
        "score = self.accuracy(outputs, targets)\n        self.log('score', score, sync_dist=True)",
        "score = self.accuracy(outputs, targets)\n        self.log('score', score, on_step=True, on_epoch=False)",
        "both = self.all_gather((outputs, targets))\n        self.log('score', self.accuracy(both[0], both[1]))",
        "self.accuracy(outputs, targets)\n        self.log('score', self.accuracy.compute())",
    ],
)
def test_a_right_use_of_what_a_metric_returns(step):
    assert not SNIPPETS.findings(MODULE.format(step, "pass"))
