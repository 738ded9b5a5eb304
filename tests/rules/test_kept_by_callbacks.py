"""TRL006 and TRL002: what a callback of Lightning keeps of what its hooks get, and handlers of signals."""

from __future__ import annotations

import pytest
from snippets import Snippets

COLLECTIVES = Snippets("TRL006")
MODELS = Snippets("TRL002")

KEEPS = """\
import os
import {package} as pl


class Saver({base}):
    def {hook}:
        {keeps}

    def save(self):
        self.trainer.{use}


def main(module, loader):
    first = int(os.environ.get("SLURM_PROCID", 0)) == 0
    saver = Saver()
    trainer = pl.Trainer(devices="auto", strategy="ddp", callbacks=[saver])
    trainer.fit(module, loader)
    if {test}:
        saver.save()


main()
"""
OF_CALLBACK = {
    "package": "lightning.pytorch",
    "base": "pl.Callback",
    "hook": "on_train_start(self, trainer, pl_module)",
    "keeps": "self.trainer = trainer",
    "use": 'save_checkpoint("a.ckpt")',
    "test": "first",
}


@pytest.mark.parametrize(
    ("parts", "is_reported"),
    [
        ({}, True),
        ({"hook": "setup(self, run, *rest, **more)", "keeps": "self.trainer = run"}, True),
        ({"hook": "on_train_batch_end(self, trainer, module, outputs, *rest)"}, True),
        # All ranks save, or it may be something else.
        ({"test": "module.saves"}, False),
        ({"use": "logged()"}, False),
        ({"keeps": "self.trainer = pl_module"}, False),
        ({"keeps": "self.trainer = made(trainer)"}, False),
        ({"hook": "start(self, trainer, pl_module)"}, False),
        ({"base": "object"}, False),
        # Before 2.0 a replicated model is saved without a barrier.
        ({"package": "pytorch_lightning"}, False),
    ],
)
def test_the_trainer_that_a_hook_keeps(parts, is_reported):
    assert bool(COLLECTIVES.findings(KEEPS.format(**{**OF_CALLBACK, **parts}))) is is_reported


def test_outside_of_a_training_its_model_is_bare():
    assert MODELS.findings(KEEPS.format(**{**OF_CALLBACK, "use": "model.depth"})) == []


HANDLES = """\
import os
import signal
import lightning.pytorch as pl


def main(module, loader):
    first = int(os.environ.get("SLURM_PROCID", 0)) == 0
    trainer = pl.Trainer(devices="auto", strategy="ddp")
    done = False

    def handler(*args):
        nonlocal done
        done = True
        {body}
        trainer.save_checkpoint("a.ckpt")

    {registers}
    trainer.strategy.barrier()
    if done:
        return
    trainer.fit(module, loader)
    trainer.strategy.barrier()


main()
"""


@pytest.mark.parametrize(
    ("body", "registers", "places"),
    [
        ("if not first: return", "signal.signal(signal.SIGTERM, handler)", ["return"]),
        ("if not first: return", "signal.signal(signal.SIGTERM, handler=handler)", ["return"]),
        ("print(1)", "signal.signal(signal.SIGTERM, handler)", []),
        ("if not first: return", "signal.signal(signal.SIGTERM, signal.SIG_DFL)", []),
        ("if not first: return", "print(handler)", []),
    ],
)
def test_each_process_that_gets_a_signal_runs_its_handler(body, registers, places):
    assert COLLECTIVES.places(HANDLES.format(body=body, registers=registers)) == places
