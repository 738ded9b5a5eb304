"""TRL001: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from snippets import LOOP, Snippets, loop, shown, trainer

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL001")
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


# --- the finding ----------------------------------------------------------------------------------------


def test_a_finding_says_what_where_why_and_how():
    text = loop("total = accelerator.gather(loss.item())")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.gather(loss.item())"
    assert (finding.code, finding.name) == ("TRL001", "item-before-gather")
    assert finding.message == (
        "`gather` gets a Python number (`loss.item()`), not a tensor: it works under bare python and fails as soon "
        "as a process group exists (torchrun, accelerate launch)"
    )
    (step,) = finding.because
    assert step.text == "each rank gets its own batches from this loader"
    assert finding.because[0].start.line < finding.start.line
    assert finding.help == "pass the tensor itself, repeat its reduction on the result, and call `.item()` last"


def test_a_chain_leads_from_the_hook_s_parameter():
    text = trainer("""
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            self.tokens = self.accelerator.gather_for_metrics(inputs["attention_mask"].sum().item())
            return super().compute_loss(model, inputs, return_outputs)
    """)
    finding = SNIPPETS.finding(text)
    assert [step.text for step in finding.because] == ["`inputs` is this rank's own data"]
    assert text.splitlines()[finding.because[0].start.line - 1].lstrip().startswith("def compute_loss")


def test_a_chain_leads_from_the_loader():
    text = loop("total = accelerator.gather(mask.sum().item())").replace(
        "    accelerator = ", "    loader = torch.utils.data.DataLoader(data)\n    accelerator = "
    )
    finding = SNIPPETS.finding(text)
    assert [step.text for step in finding.because] == ["each rank gets its own batches from this loader"]
    line = text.splitlines()[finding.because[0].start.line - 1]
    assert line.lstrip().startswith("model, optimizer, loader = accelerator.prepare")


@pytest.mark.parametrize(
    ("call", "launch"),
    [
        ("accelerator.gather_for_metrics(loss.item())", "works under bare python"),
        ("accelerator.reduce(loss.item(), 'mean')", "fails on any launch"),
        ("accelerator.pad_across_processes(loss.item())", "fails on any launch"),
    ],
)
def test_the_message_says_on_which_launch_it_shows(call, launch):
    assert launch in SNIPPETS.finding(loop(f"total = {call}")).message


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("{'loss': loss.item()}", "a dict of Python numbers (loss)"),
        ("[loss.item()]", "a list of Python numbers"),
        ("mask.sum().tolist()", "a Python number (`mask.sum().tolist()`)"),
    ],
)
def test_the_message_says_what_is_handed_over(argument, what):
    assert f"gets {what}, not" in SNIPPETS.finding(loop(f"total = accelerator.gather({argument})")).message


@pytest.mark.parametrize(
    "body",
    [
        "value = loss.item()\nalias = value\ntotal = accelerator.gather(alias)",
        "count, value = len(mask), loss.item()\ntotal = accelerator.gather(value)",
        "value = 0.0\nvalue += loss.item()\ntotal = accelerator.gather(value)",
        "values = {'loss': loss.item()}\ntotal = accelerator.gather(values['loss'])",
        "gather = accelerator.gather\ntotal = gather(loss.item())",
        "def host(x):\n    return x.item()\ntotal = accelerator.gather(host(loss))",
        "from accelerate.utils import gather as g\ntotal = g(loss.item())",
        "import torch.distributed as dist\ndist.all_reduce(loss.item())",
    ],
)
def test_numbers_are_followed(body):
    assert [finding.code for finding in SNIPPETS.findings(loop(body))] == ["TRL001"]


@pytest.mark.parametrize(
    "body",
    [
        "total = accelerator.gather(loss)",
        "total = accelerator.gather(loss).mean().item()",
        "total = accelerator.gather(torch.tensor(loss.item(), device=accelerator.device))",
        "total = accelerator.gather(torch.tensor([len(mask)], device=loss.device))",
        "total = accelerator.gather_for_metrics([loss.item()])",
        "total = accelerator.gather_for_metrics((loss.item(), len(mask)))",
        "total = accelerator.gather_for_metrics(loss.item(), use_gather_object=True)",
        "from accelerate.utils import gather_object\ntotal = gather_object([loss.item()])",
        "total = accelerator.gather({'loss': loss})",
        "import torch.distributed as dist\ndist.all_gather_object([None], loss.item())",
        "total = sum([loss.item()])",
        "def gather(x):\n    return x\ntotal = gather(loss.item())",
        "total = accelerator.gather(unknown(loss))",
        "from functools import reduce\ntotal = reduce(max, [loss.item()])",
    ],
)
def test_right_code_is_silent(body):
    assert SNIPPETS.findings(loop(body)) == []


# --- the applicability of the fix -----------------------------------------------------------------------


def test_the_norm_of_the_gradients_is_a_tensor():
    norm = "norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
    assert SNIPPETS.findings(loop(norm + "accelerator.gather(norm)")) == []
    assert SNIPPETS.findings(loop(norm + "accelerator.gather(norm.item())"))


def test_the_norm_that_a_trainer_logs_is_no_number_for_certain():
    body = """
        def _maybe_log_save_evaluate(self, tr_loss, grad_norm, *args, **kwargs):
            norms = self.accelerator.gather({})
            super()._maybe_log_save_evaluate(tr_loss, grad_norm, *args, **kwargs)
    """
    assert SNIPPETS.findings(trainer(body.format("grad_norm"))) == []
    assert SNIPPETS.findings(trainer(body.format("float(grad_norm)")))


@pytest.mark.parametrize(
    ("body", "applicability", "reason"),
    [
        ("{}", SAFE, ""),
        ("if accelerator.num_processes > 1:\n    {}", SAFE, ""),
        ("if step % 10 == 0:\n    {}", SAFE, ""),
        (
            "try:\n    risky(step)\nexcept ValueError:\n    {}",
            DISPLAY,
            "some ranks may not get here",
        ),
        (
            "try:\n    risky(step)\n    {}\nexcept ValueError:\n    pass",
            UNSAFE,
            "it is not known whether all ranks get here together",
        ),
        ("try:\n    {}\nexcept ValueError:\n    print('lost')\n    raise", SAFE, ""),
        ("if unknown(step):\n    {}", UNSAFE, "it is not known whether all ranks get here together"),
        ("if accelerator.is_main_process:\n    {}", DISPLAY, "some ranks may not get here"),
        ("if loss.item() > 1:\n    {}", DISPLAY, "some ranks may not get here"),
    ],
)
def test_control_decides_how_far_a_fix_is_trusted(body, applicability, reason):
    text = loop(body.format("total = accelerator.gather(loss.item())"))
    fix = SNIPPETS.finding(text).fix
    assert (fix.applicability, fix.reason) == (applicability, reason)
    mended = text.replace("loss.item())\n", "loss).mean().item()\n")
    assert SNIPPETS.mended(text) == (mended if applicability is SAFE else text)
    assert SNIPPETS.mended(text, unsafe=True) == (text if applicability is DISPLAY else mended)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("total = accelerator.gather({'loss': loss.item()})", "a container of numbers"),
        ("total = accelerator.gather(loss.item(), *rest)", "starred"),
        ("total = accelerator.gather(loss.item(), **rest)", "starred"),
        ("for value in accelerator.gather(loss.item()):\n    print(value)", "one value per rank"),
        ("total = accelerator.gather(loss.item())[0]", "one value per rank"),
        ("first, second = accelerator.gather(loss.item())", "one value per rank"),
        ("total = max(accelerator.gather(loss.item()))", "one value per rank"),
        ("total = accelerator.gather(loss.item()).tolist()", "one value per rank"),
        ("total = accelerator.gather(loss.item()).std()", "one value per rank"),
        ("total = accelerator.gather(loss.item()).shape", "one value per rank"),
        ("values = accelerator.gather(loss.item())\nprint(values[0])", "one value per rank"),
        ("values = accelerator.gather(loss.item())\nprint(values.std())", "one value per rank"),
        ("values = accelerator.gather(loss.item())\nprint(values.mean(), values)", "one value per rank"),
        ("a = b = accelerator.gather(loss.item())\nprint(a, b[0])", "one value per rank"),
        ("values: list = accelerator.gather(loss.item())\nprint(values[0])", "one value per rank"),
        ("print(values := accelerator.gather(loss.item()), values.std())", "one value per rank"),
        ("total = accelerator.gather(mask.float().std().item())", "is not known"),
        ("total = accelerator.gather(mask.sum().item() + 1)", "is not known"),
        ("total = accelerator.gather(loss.item() * len(mask))", "is not known"),
        ("total = accelerator.pad_across_processes(loss.item())", "does not combine the ranks' values"),
        ("import torch.distributed as dist\ndist.all_reduce(loss.item())", "in place"),
        ("total = accelerator.gather(\n    loss.mean()  # of this batch\n    .item()\n)", "a comment"),
    ],
)
def test_what_is_the_author_s_to_say_is_a_hint(body, reason):
    text = loop(body)
    fix = SNIPPETS.finding(text).fix
    assert fix.applicability is DISPLAY
    assert reason in fix.reason
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_what_a_comment_silences_is_not_mended():
    text = loop("total = accelerator.gather(loss.item())  # noqa: TRL001")
    assert SNIPPETS.mended(text) == text


# --- what the fix writes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # one value per rank: `gather_for_metrics` would cut those of some ranks
        ("gather_for_metrics(mask.sum().item())", "gather(mask.sum()).sum().item()"),
        # the local reduction stays inside, and is repeated outside
        ("gather(loss.mean().item())", "gather(loss.mean()).mean().item()"),
        ("gather(mask.max().item())", "gather(mask.max()).max().item()"),
        ("gather(mask.amin().item())", "gather(mask.amin()).amin().item()"),
        ("gather(torch.sum(mask).item())", "gather(torch.sum(mask)).sum().item()"),
        ("gather((mask == 1).sum().item())", "gather((mask == 1).sum()).sum().item()"),
        # no reduction: one float is averaged
        ("gather(loss.item())", "gather(loss).mean().item()"),
        ("gather(loss.detach().item())", "gather(loss.detach()).mean().item()"),
        # the whole conversion to a number is removed
        ("gather(float(loss))", "gather(loss).mean().item()"),
        ("gather(int((mask == 1).sum()))", "gather((mask == 1).sum()).sum().item()"),
        # a conversion that decides the number's type stays
        ("gather(int(mask.sum()))", "int(accelerator.gather(mask.sum()).sum())"),
        ("gather(float(mask.sum()))", "float(accelerator.gather(mask.sum()).sum())"),
        ("gather(mask.sum().cpu().item())", "gather(mask.sum()).sum().item()"),
        ("gather(mask.sum().cpu().numpy().item())", "gather(mask.sum()).sum().item()"),
        ("gather(float(loss.mean().cpu()))", "gather(loss.mean()).mean().item()"),
        ('gather(loss.to("cpu").item())', "gather(loss).mean().item()"),
        ("gather(mask.sum().tolist())", "gather(mask.sum()).sum().item()"),
        # an outer reduction is kept and not doubled
        ("gather(mask.sum().item()).sum().item()", "gather(mask.sum()).sum().item()"),
        ("gather(loss.item()).mean()", "gather(loss).mean()"),
        ("gather(loss.item()).max().item()", "gather(loss).max().item()"),
        ("gather(loss.item()).float().mean()", "gather(loss).float().mean()"),
        # a conversion without a reduction
        ("gather(loss.item()).item()", "gather(loss).mean().item()"),
        ("gather(loss.item()).cpu()", "gather(loss).mean().cpu()"),
        # integers are cast before a mean
        ("gather(mask.sum().item()).mean()", "gather(mask.sum().float()).mean()"),
        ("gather((mask == 1).sum().item()).mean()", "gather((mask == 1).sum().float()).mean()"),
        ("gather(mask.sum().item()).float().mean()", "gather(mask.sum()).float().mean()"),
        # numbers become tensors
        ("gather(len(mask))", "gather(torch.tensor(len(mask), device=accelerator.device)).sum().item()"),
        (
            "gather(mask.numel()).float().mean()",
            "gather(torch.tensor(mask.numel(), device=accelerator.device)).float().mean()",
        ),
        (
            "gather(len(mask)).mean()",
            "gather(torch.tensor(len(mask), device=accelerator.device).float()).mean()",
        ),
        # reduce has its reduction already
        ('reduce(loss.item(), "mean")', 'reduce(loss, reduction="mean").item()'),
        ('reduce(loss.item(), reduction="mean")', 'reduce(loss, reduction="mean").item()'),
        ("reduce(loss.item())", "reduce(loss).item()"),
        ("reduce(loss.item()).item()", "reduce(loss).item()"),
        ('reduce(mask.sum().item(), "sum")', 'reduce(mask.sum(), reduction="sum").item()'),
        ('reduce(mask.sum().item(), "mean")', 'reduce(mask.sum().float(), reduction="mean").item()'),
        (
            'reduce(len(mask), "mean")',
            'reduce(torch.tensor(len(mask), device=accelerator.device).float(), reduction="mean").item()',
        ),
        # keywords and formatting stay
        ("gather(tensor=loss.item())", "gather(tensor=loss).mean().item()"),
        ("gather( loss.item() )", "gather( loss ).mean().item()"),
        ("gather((loss.item()))", "gather(loss).mean().item()"),
        ("gather(\n    loss.item(),  # here\n)", "gather(\n    loss,  # here\n).mean().item()"),
    ],
)
def test_the_rewrite(before, after):
    text = loop(f"total = accelerator.{before}")
    assert SNIPPETS.finding(text).fix.applicability is SAFE
    owner = "" if after.startswith(("int(", "float(")) else "accelerator."
    assert SNIPPETS.mended(text) == loop(f"total = {owner}{after}")


@pytest.mark.parametrize("number", ["loss.item() / 2", "round(loss.item(), 2)", "loss.item() + 1"])
def test_a_python_float_is_rounded_as_a_tensor_so_its_fix_is_unsafe(number):
    text = loop(f"total = accelerator.gather({number})")
    fix = SNIPPETS.finding(text).fix
    assert (fix.applicability, fix.reason) == (UNSAFE, "a Python float becomes a tensor, which rounds it")
    tensor = f"torch.tensor({number}, device=accelerator.device)"
    assert SNIPPETS.mended(text, unsafe=True) == loop(f"total = accelerator.gather({tensor}).mean().item()")


@pytest.mark.parametrize(
    ("before", "number", "tensor"),
    [
        ("cpu = loss.detach().cpu()", "cpu.item()", "cpu.to(accelerator.device)"),
        ("array = loss.detach().cpu().numpy()", "array.item()", "torch.tensor(array, device=accelerator.device)"),
    ],
)
def test_what_left_the_device_comes_back_to_it(before, number, tensor):
    text = loop(f"{before}\ntotal = accelerator.gather({number})")
    assert f"accelerator.gather({tensor}).mean().item()" in SNIPPETS.mended(text, unsafe=True)


def test_a_name_that_is_only_reduced_stays_a_tensor():
    text = loop("values = accelerator.gather(loss.item())\nprint(values.mean().item(), values.max())")
    assert SNIPPETS.mended(text) == text.replace("gather(loss.item())", "gather(loss)")


def test_uses_of_the_name_before_it_was_bound_do_not_count():
    text = loop("first = loss.std()\nloss = accelerator.gather(loss.item())\nprint(loss)")
    assert SNIPPETS.mended(text) == text.replace("gather(loss.item())", "gather(loss).mean().item()")


def test_several_in_one_statement():
    text = loop("share = accelerator.gather(mask.sum().item()) / accelerator.gather(len(mask))")
    device = "device=accelerator.device"
    assert SNIPPETS.mended(text) == loop(
        "share = accelerator.gather(mask.sum()).sum().item() / "
        f"accelerator.gather(torch.tensor(len(mask), {device})).sum().item()"
    )


def test_a_trainer_has_its_own_device():
    text = trainer("""
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            self.rows = self._nested_gather(len(inputs["input_ids"]))
            self.more = self.accelerator.gather(len(inputs["input_ids"]))
            return super().compute_loss(model, inputs, return_outputs)
    """)
    rows = 'torch.tensor(len(inputs["input_ids"]), device=self.{}.device)'
    assert SNIPPETS.mended(text) == text.replace(
        '_nested_gather(len(inputs["input_ids"]))', f"_nested_gather({rows.format('args')}).sum().item()"
    ).replace('.gather(len(inputs["input_ids"]))', f".gather({rows.format('accelerator')}).sum().item()")


# --- the file around the edit ---------------------------------------------------------------------------

COUNT = "total = accelerator.gather(len(mask))"
COUNTED = "total = accelerator.gather(torch.tensor(len(mask), device=accelerator.device)).sum().item()"


def test_a_missing_import_is_added():
    text = '"""Doc."""\n\nfrom __future__ import annotations\n\n' + loop(COUNT).replace("import torch\n", "")
    mended = SNIPPETS.mended(text)
    assert mended.count("import torch\n") == 1
    assert mended.replace("import torch\n", "") == text.replace(COUNT, COUNTED)


@pytest.mark.parametrize("there", ["import torch\n", "import torch.nn as nn\nimport torch\n"])
def test_an_import_that_is_there_is_not_added_again(there):
    text = loop(COUNT).replace("import torch\n", there)
    assert SNIPPETS.mended(text) == text.replace(COUNT, COUNTED)


def test_no_import_is_added_where_none_is_needed():
    text = loop("total = accelerator.gather(loss.item())").replace("import torch\n", "")
    assert "import torch" not in SNIPPETS.mended(text)


BYTES = (
    LOOP.replace("import torch\n", "import torch  # \xe4  \n\n\n")
    + "        # \xe9 odd  spacing \t\n"
    + "        total = accelerator.gather( loss.item() )  ;  more = [ 1,2 ]  # \xfc\n"
    + "        text = '''\xdf\n   kept   '''"
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("prefix", "encoding"),
    [("", "utf-8"), ("", "utf-8-sig"), ("# coding: latin-1\n", "latin-1"), ("#!/usr/bin/python\n", "utf-8")],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_everything_else_stays_to_the_byte(newline, prefix, encoding, end):
    source = (prefix + BYTES + end).replace("\n", newline).encode(encoding)
    result = SNIPPETS.fix(source)
    assert len(result.applied) == 1
    assert result.source == source.replace(b"gather( loss.item() )", b"gather( loss ).mean().item()")
    assert SNIPPETS.fix(result.source).source == result.source


def test_an_added_import_has_the_file_s_line_ends():
    source = loop(COUNT).replace("import torch\n", "").replace("\n", "\r\n").encode()
    mended = SNIPPETS.fix(source).source
    assert mended.count(b"\n") == mended.count(b"\r\n") == source.count(b"\n") + 1


# --- the codemod alone ----------------------------------------------------------------------------------


@pytest.mark.process  # `test_codemods.py` runs each codemod without one
def test_the_codemod_alone_applies_the_safe_fixes(tmp_path):
    unsafe = "if unknown(step):\n    low = accelerator.gather(loss.item())\n"
    broken, mended = (
        loop(f"{each}\n{unsafe}").replace("import torch\n", torch)
        for each, torch in ((COUNT, ""), (COUNTED, "import torch\n"))
    )
    path = tmp_path / "train.py"
    path.write_text(broken)
    (tmp_path / "other.py").write_text("x = 1\n")
    command = "trl_lint.codemods.ItemBeforeGatherCommand"
    for _ in range(2):  # the second run changes nothing
        done = subprocess.run(
            [sys.executable, "-m", "libcst.tool", "codemod", "-x", command, "--no-format", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert sorted(path.read_text().splitlines()) == sorted(mended.splitlines())
    assert (tmp_path / "other.py").read_text() == "x = 1\n"


def test_an_evaluation_keeps_the_gather_that_cuts_copies() -> None:
    text = LOOP.replace(
        "        loss = model(**batch).loss\n        accelerator.backward(loss)\n", "        loss = 0\n"
    )
    call = "found = accelerator.gather_for_metrics({}"
    text += "        " + call.format("mask.sum().item())\n")
    assert call.format("mask.sum()).sum().item()\n") in SNIPPETS.mended(text)
