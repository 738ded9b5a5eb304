"""TRL023: which calls of `accumulate` count the same batch, which Accelerators accumulate, and the fix."""

from __future__ import annotations

import pytest
from snippets import LAST, Snippets
from started import findings_in

from trl_lint.findings import Applicability, Consequence, Finding

SNIPPETS = Snippets("TRL023")
HEAD = """\
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin
from diffusers import UNet2DConditionModel

"""
BODY = """\
            accelerator.backward(unet(batch) + text_encoder(batch))
            optimizer.step()
            optimizer.zero_grad()
"""
MAIN = """\
def train(args, unet, text_encoder, optimizer, loader):
    accelerator = Accelerator(ACCELERATOR)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    for batch in loader:
        WITH
"""
LINES = """\
with (
            accelerator.accumulate(unet),COMMENT
            accelerator.accumulate(text_encoder),
        ):"""
BOTH = "with accelerator.accumulate(unet), accelerator.accumulate(text_encoder):"
GIVEN = "gradient_accumulation_steps=args.steps"
NESTED = f"{HEAD}{MAIN}".replace(
    "        WITH\n",
    """\
        with accelerator.accumulate(unet):
            loss = unet(batch)
            with accelerator.accumulate(text_encoder):
                accelerator.backward(loss + text_encoder(batch))
                optimizer.step()
                optimizer.zero_grad()
""",
).replace("ACCELERATOR", GIVEN)
HELPER = """\
from accelerate import Accelerator

def step(accelerator, model, batch, optimizer):
    INSIDE
        accelerator.backward(model(batch))
        optimizer.step()
        optimizer.zero_grad()

def train(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.steps)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        AROUND
            step(accelerator, model, batch, optimizer)
"""


def program(statement: str = BOTH, accelerator: str = GIVEN) -> str:
    text = HEAD + MAIN.replace("ACCELERATOR", accelerator)
    return text.replace("        WITH\n", f"        {statement}\n{BODY}")


def found(statement: str = BOTH, accelerator: str = GIVEN) -> list[Finding]:
    return SNIPPETS.findings(program(statement, accelerator))


def test_a_finding_is_at_the_second_call():
    text = program()
    finding = SNIPPETS.finding(text)
    assert SNIPPETS.places(text) == ["accelerator.accumulate(text_encoder)"]
    assert finding.message == (
        "one `accumulate` is inside another, and each counts the batch, so that it counts twice: on several GPUs the "
        "gradients of `unet` are not averaged when the optimizer steps, and each rank trains its own copy"
    )
    assert [each.text for each in finding.because] == ["this `accumulate` counts the batch first"]
    assert finding.help == "count it once for all models: `with accelerator.accumulate(unet, text_encoder):`"
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        (BOTH, "with accelerator.accumulate(unet, text_encoder):"),
        (
            "with accelerator.accumulate(unet), open(args.log), accelerator.accumulate(text_encoder):",
            "with accelerator.accumulate(unet, text_encoder), open(args.log):",
        ),
        (
            "with open(args.log), accelerator.accumulate(unet), accelerator.accumulate(text_encoder):",
            "with open(args.log), accelerator.accumulate(unet, text_encoder):",
        ),
        (
            "with accelerator.accumulate(unet), \\\n            accelerator.accumulate(text_encoder):",
            "with accelerator.accumulate(unet, text_encoder):",
        ),
        (LINES.replace("COMMENT", ""), "with accelerator.accumulate(unet, text_encoder):"),
        (
            BOTH.replace("(unet)", "(unet), accelerator.accumulate(args.vae)"),
            "with accelerator.accumulate(unet, args.vae, text_encoder):",
        ),
        (
            "with accelerator.accumulate(unet), accelerator.accumulate(unet, *args.models):",
            "with accelerator.accumulate(unet, *args.models):",
        ),
    ],
)
def test_one_call_gets_the_models_of_all(statement: str, fixed: str):
    text = program(statement)
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == program(fixed)


@pytest.mark.parametrize(
    "statement",
    [
        "with accelerator.accumulate(unet) as nothing, accelerator.accumulate(text_encoder):",
        "with accelerator.accumulate(model=unet), accelerator.accumulate(text_encoder):",
        "with accelerator.accumulate(unet), accelerator.accumulate(args.find()):",
        "with accelerator.accumulate(unet), (accelerator.accumulate(text_encoder) if args.both else open(args.log)):",
        LINES.replace("COMMENT", "  # ours"),
    ],
)
def test_what_is_not_merged_has_a_hint(statement: str):
    (finding,) = found(statement)
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


def test_calls_of_three_models_count_three_times():
    statement = BOTH.replace("(unet)", "(unet), accelerator.accumulate(args.vae)")
    (finding,) = found(statement)
    assert "it counts 3 times: on several GPUs the gradients of some models" in finding.message


def test_an_old_release_takes_one_model(monkeypatch: pytest.MonkeyPatch):
    for release, applicability in (("0.21.0", Applicability.DISPLAY), ("0.22.0", Applicability.UNSAFE)):
        monkeypatch.setattr("trl_lint.releases.installed", lambda name, release=release: release)
        LAST.clear()
        fix = SNIPPETS.finding(program()).fix
        assert fix is not None and fix.applicability is applicability
    LAST.clear()


@pytest.mark.parametrize(
    "accelerator",
    [
        GIVEN,
        "gradient_accumulation_steps=4",
        "gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=args.steps)",
        "deepspeed_plugin=args.plugin",
        "True, False, None, args.steps",
        "**dict(gradient_accumulation_steps=args.steps)",
    ],
)
def test_an_accelerator_that_may_accumulate(accelerator: str):
    assert len(found(accelerator=accelerator)) == 1


@pytest.mark.parametrize(
    "accelerator",
    [
        "",
        "gradient_accumulation_steps=1",
        'mixed_precision="fp16"',
        "**args.options",
        "gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=args.steps, sync_each_batch=True)",
    ],
)
def test_an_accelerator_that_does_not(accelerator: str):
    assert not found(accelerator=accelerator)


def test_a_constant_of_1_has_a_name():
    text = program(accelerator="gradient_accumulation_steps=STEPS")
    assert not SNIPPETS.findings(text.replace("\ndef train", "\nSTEPS = 1\ndef train"))
    assert len(SNIPPETS.findings(text.replace("\ndef train", "\nSTEPS = 2\ndef train"))) == 1


def test_the_number_may_be_set_later():
    line = "    accelerator.gradient_accumulation_steps = args.steps\n    unet, text"
    assert len(SNIPPETS.findings(program(accelerator="").replace("    unet, text", line, 1))) == 1


def test_one_statement_inside_another():
    finding = SNIPPETS.finding(NESTED)
    assert SNIPPETS.places(NESTED) == ["accelerator.accumulate(text_encoder)"]
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY
    assert SNIPPETS.mended(NESTED, unsafe=True) == NESTED


@pytest.mark.parametrize(
    "statement",
    [
        "with accelerator.accumulate(unet, text_encoder):",
        "with accelerator.accumulate(unet), args.accelerator.accumulate(text_encoder):",
        "with accelerator.accumulate(unet), accelerator.no_sync(text_encoder):",
        "with accelerator.accumulate(unet), args.meter.accumulate(text_encoder):",
    ],
)
def test_batches_that_are_counted_once(statement: str):
    assert not found(statement)


def test_one_statement_after_another():
    text = program("with accelerator.accumulate(unet):") + f"        with accelerator.accumulate(text_encoder):\n{BODY}"
    assert not SNIPPETS.findings(text)


def helper(
    inside: str = "with accelerator.accumulate(model):", around: str = "with accelerator.accumulate(model):"
) -> str:
    return HELPER.replace("INSIDE", inside).replace("AROUND", around)


def test_a_function_that_is_called_inside():
    finding = SNIPPETS.finding(helper())
    assert SNIPPETS.places(helper()) == ["step(accelerator, model, batch, optimizer)"]
    assert finding.message.startswith("this call enters one `accumulate` inside another, and each counts the batch")
    assert [each.text for each in finding.because] == [
        "this `accumulate` counts it again",
        "this `accumulate` counts the batch first",
    ]
    assert finding.help == "enter `accumulate` in one of the two functions only, and pass it all models"
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    "text",
    [
        helper(around="if batch:"),
        helper(inside="if batch:"),
        helper()
        .replace("def step(accelerator,", "def step(other,")
        .replace("    with accelerator", "    with other", 1),
        helper().replace("def train(", "other = Accelerator()\n\ndef train("),
    ],
)
def test_a_function_that_counts_once_or_for_another(text: str):
    assert not SNIPPETS.findings(text)


def test_a_function_in_between():
    text = helper().replace("            step(", "            again(")
    text = text.replace("def train(", "def again(*given):\n    step(*given)\n\ndef train(")
    assert SNIPPETS.places(text) == ["again(accelerator, model, batch, optimizer)"]


def test_an_accelerator_of_another_file(tmp_path):
    text = program().replace("    accelerator = Accelerator(gradient_accumulation_steps=args.steps)\n", "")
    text = text.replace("train(args, ", "train(accelerator: Accelerator, args, ")
    main = "from accelerate import Accelerator\nfrom loop import train\ntrain(Accelerator(NUMBER), args, *parts)\n"
    for number, count in (("", 0), ("gradient_accumulation_steps=8", 1)):
        files = {"loop.py": text, "main.py": main.replace("NUMBER", number)}
        assert len(findings_in(tmp_path, files, "loop.py", "TRL023")) == count


def test_a_model_that_is_not_prepared_is_counted_as_well():
    text = program().replace(
        "    unet, text", "    unet = UNet2DConditionModel.from_pretrained(args.name)\n    unet, text"
    )
    assert "the gradients of `unet`" in SNIPPETS.finding(text).message
    text = text.replace("unet, text_encoder, optimizer, loader = ", "text_encoder, optimizer, loader = ")
    text = text.replace("prepare(unet, ", "prepare(")
    assert SNIPPETS.finding(text).message == (
        "one `accumulate` is inside another, and each counts the batch, so that it counts twice: with an even number "
        "of accumulation steps the optimizer steps twice as often as asked for"
    )
