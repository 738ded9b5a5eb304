"""Callbacks of Lightning: what their trainer says, what they are made with, and what its `model` has."""

from __future__ import annotations

import pytest
from snippets import Snippets

WRITERS = Snippets("TRL008")
MODELS = Snippets("TRL002")

SAVES = """\
import os
import torch
import {package} as pl
from somewhere import asked


class Saves({base}):
    def __init__(self, every=None, rank=0, folder="out", chosen=asked):
        self.every = every
        self.rank = rank
        self.folder = folder
        self.chosen = chosen

    def {hook}:
        if {test}:
            return
        torch.save(1, os.path.join({folder}, "x.pt"))
"""
OF_CALLBACK = {"base": "pl.Callback", "hook": "on_validation_epoch_end(self, trainer, pl_module)"}
OF_MODULE = {"base": "pl.LightningModule", "hook": "on_validation_epoch_end(self)"}


def saves(test: str, folder: str = '"out"', package: str = "lightning.pytorch", **parts: str) -> bool:
    parts = parts or OF_CALLBACK
    return bool(WRITERS.findings(SAVES.format(test=test, folder=folder, package=package, **parts)))


@pytest.mark.parametrize("package", ["lightning", "lightning.pytorch", "pytorch_lightning"])
def test_all_ranks_are_at_the_same_step(package):
    assert saves("trainer.sanity_checking", package=package)
    assert saves("self.trainer.sanity_checking", package=package, **OF_MODULE)
    assert saves("self.global_step < 5", package=package, **OF_MODULE)


@pytest.mark.parametrize(
    ("test", "folder", "is_reported"),
    [
        ("trainer.current_epoch != trainer.max_epochs - 1", '"out"', True),
        ("trainer.global_step == 0 or trainer.validating", "trainer.default_root_dir", True),
        ("trainer.interrupted", '"out"', False),
        ("trainer.sanity_checking or not trainer.is_global_zero", '"out"', False),
        ("trainer.sanity_checking", "str(trainer.global_rank)", False),
    ],
)
def test_what_the_trainer_says(test, folder, is_reported):
    assert saves(test, folder) is is_reported


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("not self.every", True),
        ("self.every is None or self.every < 0", True),
        ("self.rank", False),
        ("self.chosen", False),
        ("not self.every or not trainer.is_global_zero", False),
    ],
)
def test_what_nobody_in_sight_makes_is_made_alike(test, is_reported):
    assert saves(test) is is_reported


def test_a_callback_may_inherit_from_one_of_the_library():
    assert saves("trainer.sanity_checking", base="pl.callbacks.ModelCheckpoint", hook=OF_CALLBACK["hook"])
    positional = "on_save_checkpoint(self, its_trainer, module, state)"
    assert saves("1 > 2", base="pl.callbacks.ModelCheckpoint", hook=positional)


WRITES = """\
import os
import torch
from lightning.pytorch.callbacks import {base}


class Writer({base}):
    def {hook}:
        {body}
"""
OF_EPOCH = "write_on_epoch_end(self, trainer, pl_module, predictions, batch_indices)"
OF_BATCH = "write_on_batch_end(self, trainer, pl_module, prediction, batch_indices, batch, batch_idx, dataloader_idx)"
MAKES_FOLDER = "if not os.path.exists(self.output_dir):\n            os.mkdir(self.output_dir)"


@pytest.mark.parametrize(
    ("hook", "body", "is_reported"),
    [
        (OF_EPOCH, MAKES_FOLDER, True),
        (OF_EPOCH, 'torch.save(predictions, os.path.join(self.output_dir, "all.pt"))', True),
        (OF_BATCH, 'torch.save(prediction, os.path.join(self.output_dir, f"{batch_idx}.pt"))', True),
        (OF_EPOCH, "os.makedirs(self.output_dir, exist_ok=True)", False),
        (OF_EPOCH, 'torch.save(predictions, os.path.join(self.output_dir, f"{trainer.global_rank}.pt"))', False),
        (OF_EPOCH, "if trainer.is_global_zero:\n            torch.save(predictions, self.output_dir)", False),
        (OF_BATCH, 'torch.save(prediction, os.path.join(self.output_dir, batch["name"][0]))', False),
    ],
)
def test_predictions_are_written_by_all_ranks(hook, body, is_reported):
    assert bool(WRITERS.findings(WRITES.format(base="BasePredictionWriter", hook=hook, body=body))) is is_reported


def test_others_write_no_predictions():
    text = WRITES.format(base="BasePredictionWriter", hook=OF_EPOCH, body=MAKES_FOLDER)
    assert WRITERS.findings(text)
    assert not WRITERS.findings(text.replace("from lightning.pytorch.callbacks", "from somewhere"))


@pytest.mark.parametrize("event", ["start", "end", "epoch_start", "epoch_end", "batch_start", "batch_end"])
def test_hooks_around_predictions_are_of_those_who_write_them(event):
    batch = ", outputs, batch, batch_idx" if event == "batch_end" else ""
    parts = {"hook": f"on_predict_{event}(self, trainer, pl_module{batch})", "body": 'torch.save(self.rows, "all.pt")'}
    assert WRITERS.findings(WRITES.format(base="BasePredictionWriter", **parts))
    assert not WRITERS.findings(WRITES.format(base="Callback", **parts))
    guarded = parts | {"body": f"if trainer.is_global_zero:\n            {parts['body']}"}
    assert not WRITERS.findings(WRITES.format(base="BasePredictionWriter", **guarded))


def test_what_a_batch_is_predicted_of_is_of_each_rank():
    hook = "on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx)"
    assert WRITERS.findings(WRITES.format(base="BasePredictionWriter", hook=hook, body='torch.save(outputs, "all.pt")'))
    named = 'torch.save(outputs, batch["name"][0])'
    assert not WRITERS.findings(WRITES.format(base="BasePredictionWriter", hook=hook, body=named))


def test_each_rank_makes_a_module_with_the_same_settings():
    assert saves("not self.every", **OF_MODULE)
    assert not saves("not self.rank", **OF_MODULE)
    assert not saves("not self.chosen", **OF_MODULE)


def test_what_is_made_in_sight_has_the_arguments_it_is_given():
    text = SAVES.format(test="not self.every", folder='"out"', package="lightning.pytorch", **OF_CALLBACK)
    made = "\n\ndef main(rank):\n    return Saves(every={})\n"
    assert WRITERS.findings(text + made.format("5"))
    assert not WRITERS.findings(text + made.format("asked()"))


SHOWS = """\
import {package} as pl
from torch.nn.parallel import DistributedDataParallel


class Shows(pl.Callback):
    def {hook}(self, trainer, pl_module):
        self.show(trainer, pl_module)

    def show(self, trainer, module):
        {body}
"""


def shows(body: str, hook: str = "on_train_epoch_end", package: str = "lightning.pytorch") -> list[str]:
    return MODELS.places(SHOWS.format(body=body, hook=hook, package=package))


@pytest.mark.parametrize("package", ["lightning", "lightning.pytorch", "pytorch_lightning"])
@pytest.mark.parametrize("hook", ["on_train_start", "on_validation_end", "on_save_checkpoint", "on_after_backward"])
def test_the_model_of_the_trainer_is_wrapped(hook, package):
    assert shows("trainer.model.encoder(1)", hook, package) == ["trainer.model.encoder"]
    assert shows("model = trainer.model\n        model.depth", hook, package) == ["model.depth"]


@pytest.mark.parametrize("hook", ["setup", "on_fit_start", "on_load_checkpoint", "on_test_end", "helper"])
def test_it_is_not_yet_or_no_more_or_nobody_knows(hook):
    assert shows("trainer.model.encoder(1)", hook) == []


@pytest.mark.parametrize(
    "body",
    [
        "trainer.lightning_module.encoder(1)",
        "module.encoder(1)",
        "trainer.model.train()",
        "trainer.model.module.encoder(1)",
        "list(trainer.model.parameters())",
        "model = trainer.model.module if hasattr(trainer.model, 'module') else trainer.model\n        model.encoder(1)",
        "if not isinstance(trainer.model, DistributedDataParallel):\n            trainer.model.encoder(1)",
        "if isinstance(trainer.model, pl.LightningModule):\n            trainer.model.encoder(1)",
        "if trainer.num_devices == 1:\n            trainer.model.encoder(1)",
    ],
)
def test_what_the_wrapper_has_and_what_is_bare(body):
    assert shows(body) == []


def test_help_names_what_lightning_has():
    text = SHOWS.format(body="print(trainer.model.depth)", hook="on_train_end", package="lightning.pytorch")
    (finding,) = MODELS.findings(text)
    assert finding.help.startswith("unwrap it first (`trainer.lightning_module.depth`)")
    for parts, trainer in ((OF_CALLBACK, "trainer"), (OF_MODULE, "self.trainer")):
        text = SAVES.format(test="1 > 2", folder='"out"', package="lightning.pytorch", **parts)
        (finding,) = WRITERS.findings(text)
        assert finding.help == f"do it on the main process only: `if {trainer}.is_global_zero:`"


MADE = """\
import os
import {package} as pl


class Base(pl.Callback):
    def __init__(self, folder="here"):
        {line}

    def on_train_end(self, trainer, pl_module):
        pass
{below}"""


def is_made_by_all(line: str, below: str = "", package: str = "lightning.pytorch") -> bool:
    return bool(WRITERS.findings(MADE.format(line=line, below=below, package=package)))


@pytest.mark.parametrize("package", ["lightning", "lightning.pytorch", "pytorch_lightning", "somewhere"])
def test_each_process_makes_its_callbacks(package):
    is_known = package != "somewhere"
    assert is_made_by_all("os.makedirs(folder)", package=package) is is_known
    assert is_made_by_all('self.file = open(os.path.join(folder, "log.txt"), "w")', package=package) is is_known
    assert is_made_by_all('os.path.exists(f"{folder}/a") or os.makedirs(f"{folder}/a")', package=package) is is_known


@pytest.mark.parametrize(
    ("parameter", "is_reported"),
    [
        ("folder: str", True),
        ("folder: str | pathlib.Path | None", True),
        ("folder: Optional[str]", True),
        ("folder: Optional[Folder]", False),
        ("folder", False),
        ("folder: Folder", False),
        ("rank: int, folder: str = f'{here}'", True),
    ],
)
def test_a_callback_is_made_with_the_same_texts(parameter, is_reported):
    text = MADE.format(line="os.makedirs(folder)", below="", package="lightning.pytorch")
    assert bool(WRITERS.findings(text.replace('folder="here"', parameter))) is is_reported


@pytest.mark.parametrize(
    "line",
    [
        "os.makedirs(folder, exist_ok=True)",
        'self.file = open(folder, "r")',
        'self.file = open(f"{folder}/{os.environ[\'RANK\']}.txt", "w")',
        "if int(os.environ['RANK']) == 0:\n            os.makedirs(folder)",
    ],
)
def test_a_right_constructor(line):
    assert not is_made_by_all(line)


@pytest.mark.parametrize(
    ("below", "is_reported"),
    [
        ('def main(args):\n    return Base("out")', True),
        ('def main(args):\n    if args.rank == 0:\n        return Base("out")', False),
        ('def main(args):\n    pl.Trainer(devices=1, callbacks=[Base("out")]).fit(args.model)', False),
        ('def main(args):\n    pl.Trainer(devices=args.n, callbacks=[Base("out")]).fit(args.model)', True),
        ("class Heir(Base):\n    pass", True),
    ],
)
def test_who_makes_a_callback(below, is_reported):
    assert is_made_by_all("os.makedirs(folder)", f"\n\n{below}\n") is is_reported


def test_an_heir_that_one_rank_makes_makes_nothing_of_its_base():
    heir = "\n\nclass Heir(Base):\n    def __init__(self):\n        super().__init__('out')\n\n\n"
    made = "def main(args):\n    if args.rank == 0:\n        return {}\n"
    of_heir = 'if folder == "here":\n            return\n        os.makedirs(os.path.join("here", folder))'
    assert is_made_by_all(of_heir, heir + made.format("object()"))
    assert not is_made_by_all(of_heir, heir + made.format("Heir(), Base('in')"))


def test_hooks_of_a_callback_that_one_rank_makes():
    made = "\n\ndef main(args):\n    if args.{}:\n        return Saves()\n"
    text = SAVES.format(test="not self.every", folder='"out"', package="lightning.pytorch", **OF_CALLBACK)
    assert WRITERS.findings(text + made.format("save"))
    assert not WRITERS.findings(text + made.format("rank == 0"))


KEEPS = """\
from pytorch_lightning.callbacks import {base}


class WithGraph({base}):
    def _save_checkpoint(self, trainer, filepath):
        {body}
"""


@pytest.mark.parametrize("body", ["trainer.model.to_onnx(filepath)", "print(trainer.model.example_input_array)"])
def test_checkpoints_are_kept_of_a_wrapped_model(body):
    keeps = KEEPS.format(base="ModelCheckpoint", body=body)
    assert MODELS.findings(keeps)
    assert not MODELS.findings(keeps.replace("trainer.model", "trainer.lightning_module"))
    assert not MODELS.findings(KEEPS.format(base="Callback", body=body)), "only a ModelCheckpoint calls it"
