"""TRL006: flags by which some ranks only tell their Trainer to stop, to evaluate, to save or to log."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")

CALLBACK = """\
import os
import random
import time
from transformers import TrainerCallback

class Stopper(TrainerCallback):
    def __init__(self, seconds):
        self.seconds, self.start = seconds, time.time()

    def on_step_end(self, args, state, control, **kwargs):
"""
TRAINER = """\
import torch
from transformers import Trainer

class Careful(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        {body}
        return loss
"""
LIGHTNING = """\
import time
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback

class Stopper(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        {body}

Trainer(callbacks=[Stopper()])
"""
LATE = "time.time() - self.start > self.seconds"


def in_callback(*lines: str) -> str:
    return CALLBACK + "".join(f"        {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("should_training_stop", "and leave the training: with several processes the others wait for them"),
        ("should_epoch_stop", "and leave the epoch: with several processes the others wait for them"),
        ("should_evaluate", "and evaluate: with several processes they wait for the others"),
        ("should_save", "and save a checkpoint: with several processes they wait for the others"),
        ("should_log", "and log the mean loss of all: with several processes they wait for the others"),
    ],
)
def test_what_those_do_that_set_it(flag, says):
    finding = SNIPPETS.finding(in_callback(f"if {LATE}:", f"    control.{flag} = True"))
    assert finding.start.line == 12
    assert finding.message.startswith(f"only ranks where `{LATE}` is true set `control.{flag}` {says}")


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ((f"control.should_save = {LATE}",), f"`{LATE}` is true"),
        ((f"if {LATE}:", "    pass", "else:", "    control.should_save = True"), f"`{LATE}` is false"),
        (
            ("if not state.is_world_process_zero:", "    return", "control.should_save = True"),
            "`not state.is_world_process_zero` is false",
        ),
        (
            ("if state.is_world_process_zero and kwargs['logs']['loss'] > 3:", "    control.should_save = True"),
            "`state.is_world_process_zero and kwargs['logs']['loss'] > 3` is true",
        ),
    ],
)
def test_which_ranks_set_it(lines, ranks):
    assert f"only ranks where {ranks} set `control.should_save`" in SNIPPETS.finding(in_callback(*lines)).message


@pytest.mark.parametrize(
    "lines",
    [
        ("if state.global_step > 100:", "    control.should_training_stop = True"),
        ("if kwargs['logs']['loss'] > 9:", "    control.should_training_stop = True"),
        (f"if {LATE}:", "    control.should_training_stop = False"),
        (f"if {LATE}:", "    control.note = True"),
        (f"if {LATE}:", "    self.should_training_stop = True"),
        (f"if self.agreed({LATE}):", "    control.should_training_stop = True"),
        ("if state.is_world_process_zero:", "    print(state)", "control.should_training_stop = state.epoch > 3"),
    ],
)
def test_flags_that_all_ranks_set_or_none(lines):
    assert not SNIPPETS.findings(in_callback(*lines))


@pytest.mark.parametrize(
    ("condition", "by_default"),
    [
        ("loss.item() > 10", True),
        ("torch.isnan(loss)", True),
        ("inputs['labels'].sum() > 10", False),
        ("torch.rand(1).item() > 0.9", False),
    ],
)
def test_data_decide_seldom(condition, by_default):
    text = TRAINER.format(body=f"if {condition}: self.control.should_training_stop = True")
    assert SNIPPETS.finding(text).by_default is by_default


@pytest.mark.parametrize(
    ("before", "condition", "by_default"),
    [
        ("bad = torch.isnan(outputs['loss'])", "bad", True),
        ("bad = torch.isnan(outputs['loss'])", "not bad", True),
        ("current = outputs['loss'].item()", "current > 9", True),
        ("current = outputs.get('loss')", "current > 9", True),
        ("seen = outputs['loss']; current = seen.item(); bad = current > 9", "bad", True),
        ("current = (outputs['loss'] + torch.rand(1)).item()", "current > 9", True),
        ("current = batch['labels'].sum().item()", "current > 9", False),
        ("current = batch['labels'].sum().item() - trainer.loss_scale", "current > 9", False),
        ("current = batch['labels'].sum() if batch['loss_type'] else None", "current > 9", False),
        ("current = outputs['loss'].item(); current = batch['labels'].sum()", "current > 9", False),
        ("current = batch['labels'].sum()", "current > 9: trainer.should_stop = True; current = outputs['loss']\n"
         "        if current is None", False),
        ("loss = torch.rand(1); current = loss.item()", "current > 0.9", False),
    ],
)  # fmt: skip
def test_a_loss_of_this_rank_by_another_name(before, condition, by_default):
    """Which name a condition has for it does not decide; what is not known to be of its data does not count."""
    body = f"{before}\n        if {condition}: trainer.should_stop = True"
    finding = SNIPPETS.finding("import torch\n" + LIGHTNING.format(body=body))
    assert finding.by_default is by_default


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("if time.time() > 9: trainer.should_stop = True", [7]),
        ("if trainer.is_global_zero and outputs > 3: trainer.should_stop = True", [7]),
        ("trainer.should_stop = trainer.strategy.broadcast(time.time() > 9)", []),
        ("if trainer.current_epoch > 9: trainer.should_stop = True", []),
    ],
)
def test_the_trainer_of_lightning(body, lines):
    assert [each.start.line for each in SNIPPETS.findings(LIGHTNING.format(body=body))] == lines
