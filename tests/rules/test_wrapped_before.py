"""TRL002, TRL010: a method reads a model that another method of its class has wrapped before it calls the reader."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

TRAINER = """\
from accelerate import Accelerator
from transformers import AutoModel


class Trainer:
    def __init__(self, name):
        self.model = AutoModel.from_pretrained(name)
        self.accelerator = Accelerator()

    def fit(self, rows, ready):
        {fit}

    def evaluate(self, rows):
        {evaluate}

    def steps(self, rows):
        {steps}
"""
PREPARE = "self.model, rows = self.accelerator.prepare(self.model, rows)\n        "
UNWRAP = "\n        self.model = self.accelerator.unwrap_model(self.model)"
READ = "print(self.model.config.hidden_size)"


@pytest.mark.parametrize(
    ("fit", "evaluate", "steps", "is_reported"),
    [
        (PREPARE + "self.evaluate(rows)", READ, "pass", True),
        (PREPARE + "for _ in range(3):\n            self.evaluate(rows)", READ, "pass", True),
        # Through a third method.
        (PREPARE + "self.steps(rows)", READ, "self.evaluate(rows)", True),
        ("self.steps(rows)\n        self.evaluate(rows)", READ, PREPARE, True),
        (
            PREPARE
            + "def shown(rows):\n            return self.steps(rows)\n        shown(rows)\n        self.evaluate(rows)",
            READ,
            "pass",
            True,
        ),
        # Nothing says that it is wrapped by then.
        ("self.evaluate(rows)\n        " + PREPARE, READ, "pass", False),
        (PREPARE, READ, "pass", False),
        ("if ready:\n            self.evaluate(rows)\n        else:\n            " + PREPARE, READ, "pass", False),
        (
            "if ready:\n            " + PREPARE + "    return\n        self.evaluate(rows)",
            READ,
            "pass",
            False,
        ),
        ("self.evaluate(rows)\n        self.steps(rows)", READ, PREPARE, False),
        # `fit` unwraps it at the end: what it calls before that reads the wrapper.
        (PREPARE + "self.evaluate(rows)" + UNWRAP, READ, "pass", True),
        (PREPARE + "for _ in range(3):\n            self.steps(rows)" + UNWRAP, READ, "self.evaluate(rows)", True),
        (PREPARE + "print(rows)" + UNWRAP + "\n        self.evaluate(rows)", READ, "pass", False),
        ("self.evaluate(rows)\n        " + PREPARE + "print(rows)" + UNWRAP, READ, "pass", False),
        (PREPARE + "print(rows)" + UNWRAP, READ, "self.fit(rows, 1)\n        self.evaluate(rows)", False),
        # The reader unwraps it, or tests it.
        (
            PREPARE + "self.evaluate(rows)",
            "print(self.accelerator.unwrap_model(self.model).config.hidden_size)",
            "pass",
            False,
        ),
        (
            PREPARE + "self.evaluate(rows)",
            'if not hasattr(self.model, "module"):\n            ' + READ,
            "pass",
            False,
        ),
        (
            PREPARE + "self.evaluate(rows)",
            "self.model = AutoModel.from_pretrained(rows)\n        " + READ,
            "pass",
            False,
        ),
    ],
)
def test_the_method_that_reads_it_is_called_behind_the_one_that_wraps_it(fit, evaluate, steps, is_reported):
    text = TRAINER.format(fit=fit, evaluate=evaluate, steps=steps)
    assert bool(SNIPPETS.findings(text)) is is_reported


EPOCHS = """\
from accelerate import Accelerator
from transformers import AutoModel


class Trainer:
    def __init__(self, name):
        self.model = AutoModel.from_pretrained(name)
        self.accelerator = Accelerator()

    def fit(self, rows, more):
        self.model, rows = self.accelerator.prepare(self.model, rows)
        {before}
        for epoch in range(3):
            {call}
            self.check(rows)
            self.model.gain = 3

    def check(self, rows):
        {check}

    def epoch(self, rows):
        for batch in rows:
            {read}
"""
READ_GAIN = "self.model(batch, self.model.gain)"


@pytest.mark.parametrize(
    ("before", "call", "check", "read", "is_reported"),
    [
        # In the first epoch the wrapper does not have the attribute yet.
        ("pass", "self.epoch(rows)", "pass", READ_GAIN, True),
        ("pass", "if more:\n                self.epoch(rows)", "pass", READ_GAIN, True),
        ("self.other(rows)", "self.epoch(rows)", "self.model.gain = 2", READ_GAIN, True),
        # Some code has set it, or another method that is called before has.
        ("self.model.gain = 2", "self.epoch(rows)", "pass", READ_GAIN, False),
        ("self.check(rows)", "self.epoch(rows)", "self.model.gain = 2", READ_GAIN, False),
        # Not in the first epoch.
        ("pass", "if epoch > 0:\n                self.epoch(rows)", "pass", READ_GAIN, False),
        ("pass", "self.epoch(rows)", "pass", "if rows.done:\n                " + READ_GAIN, False),
        # Its callers are unknown.
        ("pass", "pass", "pass", READ_GAIN, False),
    ],
)
def test_what_is_put_on_the_wrapper_behind_the_first_read_comes_too_late(before, call, check, read, is_reported):
    text = EPOCHS.format(before=before, call=call, check=check, read=read)
    assert bool(SNIPPETS.findings(text)) is is_reported
