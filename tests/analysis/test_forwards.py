"""Forwards of models as events: whether a wrapper sees them, whether gradients are on, whether the model is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.events import ModelCalled
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.linter.locate import positions

HEAD = """\
import torch
from contextlib import contextmanager
from transformers import Trainer

@contextmanager
def switched_off():
    with torch.no_grad():
        yield

@contextmanager
def left_on():
    yield

class MyTrainer(Trainer):
"""


def forwards(folder: Path, text: str) -> list[tuple[str, str, str, bool]]:
    """For each forward, in the order of the lines: the line, the wrapping, gradients on or off, whether it trains."""
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    project = Project((folder,))
    events = [
        event
        for event in Engine(project, {"trl": "1.5.0", "transformers": "4.51.3"}).analyse(project.module(path))
        if isinstance(event, ModelCalled)
    ]
    lines = text.splitlines()
    found = {
        (positions(event.module)[event.node].start.line, event.model.wrapping.value, event.control.grad, event.trains)
        for event in events
    }
    return [
        (lines[line - 1].strip(), wrapping, "on" if grad else "off", trains)
        for line, wrapping, grad, trains in sorted(found)
    ]


def in_trainer(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize(
    ("context", "gradients"),
    [
        ("torch.no_grad()", "off"),
        ("torch.inference_mode()", "off"),
        ("torch.inference_mode(False)", "on"),
        ("torch.set_grad_enabled(False)", "off"),
        ("torch.set_grad_enabled(True)", "on"),
        ("torch.set_grad_enabled(self.args.train)", "on"),
        ("torch.enable_grad()", "on"),
        ("torch.autocast('cuda')", "on"),
        ("switched_off()", "off"),
        ("left_on()", "on"),
        ("left_on(), torch.no_grad()", "off"),
        ("torch.no_grad() if self.args.x else left_on()", "off"),
        ("self.accelerator.unwrap_model(model).disable_adapter()", "off"),
    ],
)
def test_contexts_switch_gradients(tmp_path, context, gradients):
    body = (
        f"def compute_loss(self, model, inputs):\n    with {context}:\n        first = self.model(**inputs)\n"
        "    return model(**inputs).loss"
    )
    assert forwards(tmp_path, in_trainer(body)) == [
        ("first = self.model(**inputs)", "unwrapped", gradients, True),
        ("return model(**inputs).loss", "wrapped", "on", True),
    ]


def test_they_reach_into_helpers_and_end_with_them(tmp_path):
    body = (
        "@torch.no_grad()\ndef looked(self, model, inputs):\n    a = self.one(model, inputs)\n    return a\n\n"
        "def one(self, model, inputs):\n    return model(**inputs)\n\n"
        "def compute_loss(self, model, inputs):\n    self.looked(self.model, inputs)\n"
        "    return self.one(model, inputs).loss"
    )
    assert forwards(tmp_path, in_trainer(body)) == [
        ("return model(**inputs)", "unwrapped", "off", True),
        ("return model(**inputs)", "wrapped", "on", True),
    ]


def test_a_switch_holds_for_what_follows_it(tmp_path):
    body = (
        "def compute_loss(self, model, inputs):\n    a = self.model(**inputs)\n    torch.set_grad_enabled(False)\n"
        "    b = self.model(**inputs)\n    torch.set_grad_enabled(True)\n    c = self.model(**inputs)\n"
        "    return model(**inputs).loss + a + b + c"
    )
    assert [(line[0], gradients) for line, _, gradients, _ in forwards(tmp_path, in_trainer(body))] == [
        ("a", "on"), ("b", "off"), ("c", "on"), ("r", "on"),
    ]  # fmt: skip


def test_gradients_on_inside_off(tmp_path):
    body = (
        "@torch.no_grad()\ndef training_step(self, model, inputs):\n    with torch.enable_grad():\n"
        "        x = model(**inputs)\n    return model(**inputs)"
    )
    assert [gradients for _, _, gradients, _ in forwards(tmp_path, in_trainer(body))] == ["on", "off"]


@pytest.mark.parametrize(
    ("hook", "trains"),
    [("compute_loss", True), ("training_step", True), ("prediction_step", False), ("nobodys_helper", False)],
)
def test_a_training_step_trains(tmp_path, hook, trains):
    body = f"def {hook}(self, model, inputs, *args):\n    return self.model(**inputs)"
    assert forwards(tmp_path, in_trainer(body)) == [("return self.model(**inputs)", "unwrapped", "on", trains)]


def test_a_helper_of_both_trains(tmp_path):
    body = (
        "def one(self, inputs):\n    return self.model(**inputs)\n\n"
        "def prediction_step(self, model, inputs, *args):\n    return self.one(inputs)\n\n"
        "def compute_loss(self, model, inputs):\n    return self.one(inputs).loss"
    )
    assert forwards(tmp_path, in_trainer(body)) == [("return self.model(**inputs)", "unwrapped", "on", True)]


LOOP = """\
import torch
from accelerate import Accelerator
from transformers import AutoModel

def main(loader):
    accelerator = Accelerator()
    model = accelerator.prepare(AutoModel.from_pretrained("x"))
    {}

def step(accelerator, model, batch):
    loss = model.module(batch).loss
    accelerator.backward(loss)

def loss_of(model, batch):
    return model.module(batch).loss

def send_back(accelerator, loss):
    accelerator.backward(loss)
"""


@pytest.mark.parametrize(
    ("body", "trains"),
    [
        ("step(accelerator, model, loader)", [True]),  # itself
        ("accelerator.backward(loss_of(model, loader))", [True]),  # its caller
        ("send_back(accelerator, model.module(loader).loss)", [True]),  # its callee
        ("print(loss_of(model, loader))", [False]),
    ],
)
def test_a_backward_pass_shows_who_trains(tmp_path, body, trains):
    found = forwards(tmp_path, LOOP.format(body))
    reached = [each for each in found if each[1] == "unwrapped"]
    assert [each[3] for each in reached] == trains


@pytest.mark.parametrize(
    ("made", "wrapping"),
    [
        ("model", "wrapped"),
        ("model.module", "unwrapped"),
        ("accelerator.unwrap_model(model)", "unwrapped"),
        ("accelerator.unwrap_model(model).get_decoder()", "unwrapped"),
        ("accelerator.unwrap_model(model).layers", "unwrapped"),
        ("getattr(model, 'module', model)", "unwrapped"),
        ("model.module if hasattr(model, 'module') else model", "unwrapped"),
        ("model.module.to('cpu')", "unwrapped"),
        ("__import__('copy').deepcopy(model)", None),
        ("deepcopy(accelerator.unwrap_model(model))", None),
        ("AutoModel.from_pretrained('y')", None),
        ("accelerator.unwrap_model(somebodys())", None),
        ("torch.nn.DataParallel(AutoModel.from_pretrained('y')).module", None),
    ],
)
def test_what_a_wrapper_holds(tmp_path, made, wrapping):
    text = "from copy import deepcopy\n" + LOOP.format(f"chosen = {made}\n    accelerator.backward(chosen(loader))")
    found = [each[1] for each in forwards(tmp_path, text) if "chosen(" in each[0]]
    assert found == ([] if wrapping is None else [wrapping])


@pytest.mark.parametrize(
    ("before", "trained"),
    [
        ("", True),
        ("model.requires_grad_(False)", False),
        ("model.requires_grad_(False).requires_grad_(True)", True),
        ("model.eval()", False),
        ("model.eval()\n    model.train()", True),
        ("model.train(False)", False),
        ("model.requires_grad_(False)\n    model.train()", False),
    ],
)
def test_frozen_models_have_no_gradients_to_synchronise(tmp_path, before, trained):
    text = LOOP.format(f"{before or 'pass'}\n    accelerator.backward(model.module(loader))")
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    project = Project((tmp_path,))
    events = Engine(project).analyse(project.module(path))
    (event,) = [each for each in events if isinstance(each, ModelCalled) and each.function.name == "main"]
    assert event.model.grad is trained
