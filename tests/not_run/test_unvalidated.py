"""What a LightningModule logs in a validation is not reported by default if all that trains it validates on nothing."""

from __future__ import annotations

import pytest
from small_projects import found, written

MODELS = """\
import pytorch_lightning as pl
from torch.nn.functional import mse_loss


class Net(pl.LightningModule):
    def validation_step(self, batch, batch_idx):
        self.log("val/loss", mse_loss(self(batch), batch), sync_dist=False)  # all_gather


class Head(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
"""
TRAIN = """\
import pytorch_lightning as pl

from models import Net


def main(args):
    trainer = pl.Trainer(devices=2, strategy="ddp", limit_val_batches=0)
    trainer.fit(Net(), args.data)


if __name__ == "__main__":
    main(read_arguments())
"""
OTHER = """\
import pytorch_lightning as pl

from models import Head, Net

if __name__ == "__main__":
    model = Head(Net.load_from_checkpoint("net.ckpt"))
    trainer = pl.Trainer(devices=2, strategy="ddp")
    trainer.fit(model, data)
"""
VALIDATED = ("models.py", 7, "TRL003")


def in_project(tmp_path, **files: str) -> list[tuple[str, int, str]]:
    texts = {"models.py": MODELS, **{f"{name}.py": text for name, text in files.items()}}
    return [each for each in found(written(tmp_path, texts)) if each[0] == "models.py"]


def changed(before: str, after: str, text: str = TRAIN) -> str:
    assert before in text
    return text.replace(before, after)


@pytest.mark.parametrize(
    "train",
    [
        TRAIN,
        changed("batches=0", "batches=0.0"),
        changed("batches=0", "batches=0, num_sanity_val_steps=2, fast_dev_run=False"),
        changed("pl.Trainer(", "pl.Trainer.from_argparse_args(args, "),
        changed("trainer.fit", "pl.Trainer(limit_val_batches=0).fit"),
        changed("data)", "data)\n    trainer.test(Net(), args.data)"),
        changed("Net\n", "Net as Own\n").replace("Net()", "Own()"),
        changed("trainer", "self.trainer").replace("main(args)", "main(self, args)"),
    ],
)
def test_a_model_that_is_trained_without_a_validation(train, tmp_path):
    assert in_project(tmp_path, train=train) == []


@pytest.mark.parametrize(
    "train",
    [
        changed(", limit_val_batches=0", ""),
        changed("batches=0", "batches=0.5"),
        changed("batches=0", "batches=args.batches"),
        changed("batches=0", "batches=0, fast_dev_run=args.debug"),
        changed("data)", "data)\n    trainer.validate(Net(), args.data)"),
        changed("    trainer.fit", "    trainer.limit_val_batches = 4\n    trainer.fit"),
        changed("    trainer.fit", "    if args.own:\n        trainer = build(args)\n    trainer.fit"),
        changed("    trainer.fit", "    for trainer in build(args, trainer):\n        trainer.fit"),
        changed("    trainer.fit", "    pl.Trainer(devices=2).fit(args.model)\n    trainer.fit"),
        changed("trainer.fit(", "run(trainer.fit, "),
        changed("main(args)", "main(args, trainer)"),
    ],
)
def test_a_model_that_may_be_validated(train, tmp_path):
    assert in_project(tmp_path, train=train) == [VALIDATED]


def test_another_program_may_run_what_has_it_as_a_part(tmp_path):
    assert in_project(tmp_path, train=TRAIN, other=OTHER) == []


@pytest.mark.parametrize(
    "other",
    [
        changed("model = Head(", "model = (", OTHER),
        changed("model = Head(", "model = build(", OTHER),
        changed("Head, Net", "Head, Net as Own", OTHER).replace("Head(Net.load", "Own.load").replace('pt")', 'pt"'),
        changed("trainer.fit(", "trainer.validate(model)\n    trainer.fit(Net(), ", OTHER),
        changed("import Head, Net", "import Net\nfrom heirs import Deep", OTHER).replace("Head(", "Deep("),
        "from pytorch_lightning.cli import LightningCLI\n\nfrom models import Net\n\nLightningCLI(Net)\n",
    ],
)
def test_another_program_may_validate_it(other, tmp_path):
    heirs = "from models import Net\n\n\nclass Deep(Net):\n    depth = 9\n"
    assert in_project(tmp_path, train=TRAIN, other=other, heirs=heirs) == [VALIDATED]


def test_a_callback_may_have_a_trainer_validate(tmp_path):
    callback = "def start(trainer, batches):\n    trainer.limit_val_batches = batches\n"
    assert in_project(tmp_path, train=TRAIN, callback=callback) == [VALIDATED]


def test_a_program_that_only_names_another_model_says_nothing(tmp_path):
    train = changed("import Net", "import Head").replace("Net()", "Head(args.net)")
    assert VALIDATED in in_project(tmp_path, train=train, sample="from models import Net\n\nprint(build(Net))\n")


TRAINED = """\
import lightning as pl
from torch.utils.data import DataLoader

from models import Net


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(self.rows)


def main(args):
    trainer = build_trainer(args)
    data = DataLoader(args.rows)
    trainer.fit(Net(), data)


if __name__ == "__main__":
    main(read_arguments())
"""
HAS_DATA = '''\
class Rows:
    def val_dataloader(self):
        """Passed on by a factory."""
'''


def trained(before: str = "", after: str = "") -> str:
    return changed(before, after, TRAINED)


@pytest.mark.parametrize(
    "train",
    [
        trained(),
        trained("(Net(), data)", "(Net(), DataLoader(args.rows), ckpt_path=args.path)"),
        trained("(Net(), data)", "(Net(), train_dataloaders=data)"),
        trained("(Net(), data)", "(model=Net(), datamodule=Data())"),
        trained("= DataLoader(args", "= Data(args"),
        # Which model it is, settings say: it may be this one.
        trained("Net()", "create_model(args)"),
        trained("(Net(), data)", "(Net(), data)\n    sklearn_model.predict(rows)"),
    ],
)
def test_a_project_without_data_to_validate_on(train, tmp_path):
    assert in_project(tmp_path, train=train) == []


@pytest.mark.parametrize(
    "train",
    [
        trained("(Net(), data)", "(Net(), data, DataLoader(args.others))"),
        trained("(Net(), data)", "(Net(), data, val_dataloaders=args.others)"),
        trained("(Net(), data)", "(Net(), data, **args.more)"),
        trained("(Net(), data)", "(Net(), *args.data)"),
        trained("(Net(), data)", "(Net())"),
        trained("= DataLoader(args", "= build(args"),
        trained("= DataLoader(args", "= ImageDataModule.from_datasets(args"),
        trained("    trainer.fit", "    data = args.data\n    trainer.fit"),
        trained("(Net(), data)", "(Net(), data)\n    trainer.validate(Net(), data)"),
    ],
)
def test_data_that_may_be_for_a_validation(train, tmp_path):
    assert in_project(tmp_path, train=train) == [VALIDATED]


def test_another_file_has_data_to_validate_on(tmp_path):
    assert in_project(tmp_path, train=TRAINED, rows=HAS_DATA) == [VALIDATED]
