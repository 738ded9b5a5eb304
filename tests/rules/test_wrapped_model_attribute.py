"""TRL002: where it speaks, what it says, and what it leaves alone."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown, trainer

SNIPPETS = Snippets("TRL002")


def hook(body: str, name: str = "training_step") -> str:
    """A Trainer subclass with one overridden step."""
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    return trainer(f"def {name}(self, model, inputs, *args, **kwargs):\n{indented}").replace(
        " " * 12, " " * 8
    )


def test_a_finding_says_what_where_why_and_how():
    text = hook("if model.config.is_encoder_decoder:\n    pass")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "model.config"
    assert (finding.code, finding.name) == ("TRL002", "wrapped-model-attribute")
    assert finding.message == (
        "`.config` is read from a wrapped model: AttributeError under DDP and DataParallel, "
        "another object under DeepSpeed"
    )
    assert [step.text for step in finding.because] == ["`model` is the wrapped model"]
    assert text.splitlines()[finding.because[0].start.line - 1].lstrip().startswith("def training_step")
    assert finding.help == (
        "unwrap it first (`accelerator.unwrap_model(model).config`), or cache what you need in `__init__` "
        "from the bare model"
    )
    assert finding.fix is None
    assert finding.url.endswith("#trl002-wrapped-model-attribute")


def test_a_call_has_a_help_of_its_own():
    finding = SNIPPETS.finding(hook("model.generate(**inputs)"))
    assert finding.message.startswith("`.generate` is called on a wrapped model")
    assert "never for a forward whose gradients are needed" in finding.help


def test_a_chain_leads_from_prepare():
    text = loop("print(model.config)")
    (step,) = SNIPPETS.finding(text).because
    assert step.text == "it is prepared here"
    assert "accelerator.prepare(" in text.splitlines()[step.start.line - 1]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (hook("print(model.config)", "compute_loss"), "model.config"),
        (hook("print(model.config)", "prediction_step"), "model.config"),
        (hook("print(self.model_wrapped.config)"), "self.model_wrapped.config"),
        (hook("bare = model\nprint(bare.config.vocab_size)"), "bare.config"),
        (hook("print(model.my_own_attribute)"), "model.my_own_attribute"),
        (hook("self._read(model)") + "    def _read(self, m):\n        return m.config\n", "m.config"),
        (loop("def read(m):\n    return m.config\nread(model)"), "m.config"),
        (loop("model.config.use_cache = False"), "model.config"),
        (
            "import torch\ndef f(net: torch.nn.Module):\n    m = torch.nn.DataParallel(net)\n    m.config\n",
            "m.config",
        ),
    ],
)
def test_wrapped_models_are_followed(text, where):
    assert shown(text, SNIPPETS.finding(text)) == where


@pytest.mark.parametrize(
    "body",
    [
        "print(self.model.config)",
        "print(self.accelerator.unwrap_model(model).config)",
        "model = self.accelerator.unwrap_model(model)\nprint(model.config)",
        "print(model.module.config)",
        "print(model.training, list(model.parameters()), model.device_ids)",
        "model.train()\nmodel.eval()\nmodel(**inputs)",
        "if hasattr(model, 'config'):\n    print(model.config)",
        "print(getattr(model, 'config', None))",
        "try:\n    config = model.config\nexcept AttributeError:\n    config = None",
        "if hasattr(model, 'module'):\n    model = model.module\nprint(model.config)",
        "while hasattr(model, 'module'):\n    model = model.module\nprint(model.config)",
        "print(unknown(model).config)",
        "print(inputs.config, self.args.config)",
    ],
)
def test_right_code_in_a_hook_is_silent(body):
    assert SNIPPETS.findings(hook(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "print(accelerator.unwrap_model(model).config)",
        "print(model.module.config)",
        "print(optimizer.param_groups, loader.dataset)",
        "model.eval()\nprint(model.training)",
        "if hasattr(model, 'config'):\n    print(model.config)",
    ],
)
def test_right_code_in_a_loop_is_silent(body):
    assert SNIPPETS.findings(loop(body)) == []


def test_what_is_read_before_it_is_wrapped_is_right():
    text = loop("print(config)").replace(
        "    model, optimizer", "    config = model.config\n    model, optimizer"
    )
    assert SNIPPETS.findings(text) == []


def test_a_configuration_cached_in_the_constructor_is_right():
    text = trainer("""
        def __init__(self, model, *args, **kwargs):
            super().__init__(model, *args, **kwargs)
            self.is_encoder_decoder = self.model.config.is_encoder_decoder
            self.vocab_size = model.config.vocab_size

        def training_step(self, model, inputs, num_items_in_batch=None):
            return self.is_encoder_decoder
    """)
    assert SNIPPETS.findings(text) == []


def test_the_model_of_a_callback_is_bare():
    text = (
        "from transformers import TrainerCallback\n"
        "class C(TrainerCallback):\n"
        "    def on_step_end(self, args, state, control, model=None, **kwargs):\n"
        "        print(model.config)\n"
    )
    assert SNIPPETS.findings(text) == []
