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
