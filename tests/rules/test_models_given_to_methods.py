"""TRL009: methods of a library's trainer that run the model that they are passed."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Applicability
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL009")

LOGPS = 'logps = self._get_per_token_logps({}, inputs["ids"], inputs["mask"], 3)\nreturn -logps.mean()'
TAKEN = "bare = self.accelerator.unwrap_model(model)\n"


def step(body: str, trainer: str = "GRPOTrainer", name: str = "compute_loss") -> str:
    """A trainer of TRL with one method of this body."""
    head = f"from trl import {trainer}\nimport torch\n\n\nclass Own({trainer}):\n"
    return head + indent(f"def {name}(self, model, inputs, *args, **kwargs):\n{indent(body, '    ')}\n", "    ")


def test_a_finding_names_the_method_and_the_model() -> None:
    text = step(LOGPS.format("self.model"))
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'self._get_per_token_logps(self.model, inputs["ids"], inputs["mask"], 3)'
    assert finding.message.startswith(
        "`self._get_per_token_logps` runs the module inside the wrapper, `self.model`, and is called where gradients "
    )
    assert finding.help == "pass the wrapped model instead"
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    "text",
    [
        step(LOGPS.format("self.accelerator.unwrap_model(model)")),
        step(TAKEN + LOGPS.format("bare")),
        step(LOGPS.format("model.module")),
        step("return super().compute_loss(self.model, inputs)"),
        step("return super().training_step(self.model, inputs)", name="training_step"),
        step("return self.concatenated_forward(self.model, inputs)['loss']", "CPOTrainer"),
    ],
)
def test_the_bare_model_is_reported(text: str) -> None:
    assert SNIPPETS.finding(text).code == "TRL009"


@pytest.mark.parametrize(
    "text",
    [
        step(LOGPS.format("model")),
        step(LOGPS.format("self.model_wrapped")),
        step(LOGPS.format("self.ref_model")),
        step("with torch.no_grad():\n" + indent(LOGPS.format("self.model"), "    ")),
        step("return super().compute_loss(model, inputs)"),
        step(LOGPS.format("self.model"), name="prediction_step"),
        step(LOGPS.format("self.model"), name="look_at"),
        step(
            'one = self._get_per_token_logps(model, inputs["ids"], inputs["mask"], 3)\n'
            'two = self._get_per_token_logps(self.model, inputs["ids"], inputs["mask"], 3)\n'
            "return (one - two).mean()"
        ),
    ],
)
def test_what_is_right_is_not(text: str) -> None:
    assert SNIPPETS.findings(text) == []


def test_the_fix_passes_the_wrapped_model() -> None:
    bare = step(TAKEN + LOGPS.format("bare"))
    assert SNIPPETS.mended(bare, unsafe=True) == step(LOGPS.format("model"))


@pytest.mark.parametrize(
    ("release", "loss", "is_reported"),
    [
        ("0.17.0", "self.compute_liger_loss(bare, inputs)", True),
        ("0.18.0", "self.compute_liger_loss(bare, inputs)", False),  # it is passed the bare model there
        ("0.19.0", "self._get_per_token_logps_and_entropies(bare, inputs)[0].mean()", False),
        ("0.21.0", "self._get_per_token_logps_and_entropies(bare, inputs)[0].mean()", True),
        ("1.15.0", "self._get_per_token_logps_and_entropies(model=bare, input_ids=inputs).mean()", True),
    ],
)
def test_what_a_method_is_passed_depends_on_the_release(release: str, loss: str, is_reported: bool) -> None:
    snippets = Snippets("TRL009", Settings(target_trl=release))
    assert bool(snippets.findings(step(f"{TAKEN}return {loss}"))) is is_reported
