"""TRL013: what it reports, its messages, and what it leaves alone."""

from __future__ import annotations

import pytest
from snippets import Snippets, shown, trainer

from trl_lint.findings import Applicability
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL013", Settings(engines=("fsdp",)))
NEWER = Snippets("TRL013", Settings(target_trl="1.5.0", engines=("deepspeed-zero3",)))


def hook(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in ("bare = self.accelerator.unwrap_model(model)", *lines))
    return trainer(f"def compute_loss(self, model, inputs, *args):\n{body}")


def test_a_finding_says_what_where_why_and_how():
    text = hook("return self.fused(inputs['x'], bare.lm_head.weight)")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "bare.lm_head.weight"
    assert finding.message.endswith(
        "under FSDP (see the setting `engines`) it is only this rank's part, which may be empty"
    )
    assert finding.because[0].text == "`model` is the wrapped model"
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize("engines", [("ddp",), ("deepspeed",), ("ddp", "deepspeed")])
def test_where_nothing_shards_the_parameters_it_is_silent(engines):
    text = hook("return self.fused(inputs['x'], bare.lm_head.weight)")
    assert Snippets("TRL013", Settings(engines=engines)).findings(text) == []


@pytest.mark.parametrize("bias", ["head.bias", "bias=head.bias", "bias=getattr(head, 'bias', None)"])
def test_a_bias_beside_its_weight_is_not_told_again(bias):
    text = hook("head = bare.lm_head", f"return self.fused(head.weight, {bias})")
    assert shown(text, SNIPPETS.finding(text)) == "head.weight"
    other = hook("head = bare.lm_head", f"return self.fused(bare.other.weight, {bias})")
    assert len(SNIPPETS.findings(other)) == 2


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (("head = bare.get_output_embeddings()", "return self.fused(weight=head.weight)"), "head.weight"),
        (("weight = bare.lm_head.weight", "return self.fused(weight)"), "bare.lm_head.weight"),
        (("return torch.nn.functional.linear(inputs['x'], bare.lm_head.weight)",), "bare.lm_head.weight"),
        (("return self.fused(getattr(bare.lm_head, 'bias', None))",), "getattr(bare.lm_head, 'bias', None)"),
        (("return self.fused(self.model.lm_head.weight)",), "self.model.lm_head.weight"),
    ],
)
def test_parameters_are_followed(lines, where):
    text = hook(*lines)
    assert shown(text, SNIPPETS.finding(text)) == where


@pytest.mark.parametrize(
    "lines",
    [
        ("with deepspeed.zero.GatheredParameters([bare.lm_head.weight]):", "    self.fused(bare.lm_head.weight)"),
        ("with FSDP.summon_full_params(model):", "    self.fused(bare.lm_head.weight)"),
        ("print(isinstance(bare.lm_head.weight, torch.Tensor), hasattr(bare.lm_head, 'bias'))",),
        ("parameters = []", "parameters.append(bare.lm_head.weight)"),
        ("self.fused(self.ref_model.lm_head.weight)",),
        ("self.fused(bare.lm_head.weight.dtype)",),
        ("self.own(bare.lm_head.weight)",),
    ],
)
def test_right_code_is_left_alone(lines):
    own = "\n\ndef own(self, weight):\n    with gathered(weight):\n        return weight.sum()\n"
    assert SNIPPETS.findings(hook(*lines) + own.replace("\n", "\n    ")) == []


def test_inside_the_wrappers_forward_it_is_still_a_shard():
    text = "from trl.models.utils import _ForwardRedirection\n" + trainer(
        "def __init__(self, *args):\n    super().__init__(*args)\n    self.redirect = _ForwardRedirection()\n\n"
        "def compute_loss(self, model, inputs):\n    bare = self.accelerator.unwrap_model(model)\n"
        "    return self.redirect(model, bare, self.inner, bare, inputs)\n\n"
        "def inner(self, module, inputs):\n    return self.fused(inputs, module.lm_head.weight)"
    )
    assert shown(text, NEWER.finding(text)) == "module.lm_head.weight"
