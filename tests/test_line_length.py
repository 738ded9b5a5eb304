"""Lines that a fix makes longer stay within the limit of the project's formatter, or of the file itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest
from test_fix_properties import BROKEN, FIXTURES, identity, linter, plain

from trl_lint.fixes.support.breaking import on_several_lines
from trl_lint.fixes.support.joining import joined
from trl_lint.fixes.support.wrapping import in_one, wrapped
from trl_lint.linter.rewriting.line_length import USUAL, limit_for

LOGGED = """\
class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        loss = model(**inputs).loss
        self._metrics["train"]["a_long_name_of_a_loss"] = loss.detach().mean()
        self.log({"loss": loss.detach().mean().item()})
        return loss
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = short(a)", "x = short(a)"),
        ("logs['a'] = self.gather(values.mean()).mean()", "logs['a'] = (\n    self.gather(values.mean()).mean()\n)"),
        ("dataset = dataset.map(function, batched=True)", "dataset = dataset.map(\n    function, batched=True\n)"),
        (
            "recorder.add(epoch=epoch, step=step, loss=gather(loss))",
            "recorder.add(\n    epoch=epoch,\n    step=step,\n    loss=gather(loss),\n)",
        ),
        ("return self.gather(some_loss).mean().item()", "return self.gather(some_loss).mean().item()"),
        ("return self.gather(some_losses).mean().item()", "return (\n    self.gather(some_losses).mean().item()\n)"),
        ("function(*given, **keywords, more=more_of_it())", "function(\n    *given, **keywords, more=more_of_it()\n)"),
        ("x = one_name_that_is_longer_than_a_line_may_be_here", "x = one_name_that_is_longer_than_a_line_may_be_here"),
        ("self.accelerator.log({'x': 1})  # with a comment", "self.accelerator.log({'x': 1})  # with a comment"),
        (
            "first, second = accelerator.gather(one), another",
            "first, second = (\n    accelerator.gather(one),\n    another,\n)",
        ),
        (
            "return first_one + gather(second_one), third",
            "return first_one + gather(second_one), third",
        ),
        (
            "return first_one + gather(second_one), thirds",
            "return (\n    first_one + gather(second_one),\n    thirds,\n)",
        ),
        (
            "logs = {'loss': gather(loss).mean(), 'rate': rate}",
            "logs = {\n    'loss': gather(loss).mean(),\n    'rate': rate,\n}",
        ),
        (
            "logs = [gather(loss).mean(), gather(rate), 1]",
            "logs = [\n    gather(loss).mean(),\n    gather(rate),\n    1,\n]",
        ),
        ("logs = {'a_key': one_name_that_is_longer_than_a_line_is}",) * 2,
        # If one step is not enough, brackets are split until all lines fit.
        (
            "loss = self.gather(torch.tensor(total - last, device=self.device)).mean() / steps",
            "loss = self.gather(\n    torch.tensor(\n        total - last, device=self.device\n    )\n).mean() / steps",
        ),
        (
            "self.log({'loss': self.gather(loss).mean(), 'rate': rate})",
            "self.log(\n    {\n        'loss': self.gather(loss).mean(),\n        'rate': rate,\n    }\n)",
        ),
        (
            "logs = {'loss': accelerator.gather(detached_loss).mean(), 'rate': rate}",
            "logs = {\n    'loss': accelerator.gather(\n        detached_loss\n    ).mean(),\n    'rate': rate,\n}",
        ),
        # Calls in a row are put on separate lines.
        (
            "logs['a'] = self.gather((first - second).mean()).mean().cpu()",
            "logs['a'] = (\n    self.gather((first - second).mean())\n    .mean()\n    .cpu()\n)",
        ),
        # A statement on several lines, not in a formatter's way, is written anew.
        (
            "x = torch.zeros((some, unwrapped(model).config.dim),\n                device=own, dtype=half)",
            "x = torch.zeros(\n    (some, unwrapped(model).config.dim),\n    device=own,\n    dtype=half,\n)",
        ),
        (
            "logs['a'] = (\n    self.gather((first - second).mean()).mean().cpu()\n)",
            "logs['a'] = (\n    self.gather((first - second).mean())\n    .mean()\n    .cpu()\n)",
        ),
    ],
)  # fmt: skip
def test_a_line_is_broken_as_formatters_break_it(line: str, expected: str):
    statement = cst.ensure_type(cst.parse_statement(line + "\n"), cst.SimpleStatementLine)
    new = cst.Module([wrapped(statement, 44, "", "    ")]).code
    assert new == expected + "\n"
    compile(f"def f():\n    {line}" if "return" in line else new, "new.py", "exec")


@pytest.mark.parametrize(
    "line",
    [
        'logger.info(f"loss of this step is {accelerator.gather(loss).mean().item()} and more text")',
        "total = add_up(  # of all ranks\n    accelerator.gather(first_loss), accelerator.gather(second_loss_of_all))",
    ],
)
def test_texts_are_not_broken_and_comments_stay(line: str):
    statement = cst.ensure_type(cst.parse_statement(line), cst.SimpleStatementLine)
    new = on_several_lines(statement, 60, "", "    ")
    if new is not None:
        code = cst.Module([new]).code
        assert ("# of all ranks" in code) is ("# of all ranks" in line)
        assert "{accelerator.gather(loss).mean().item()}" in code or 'f"' not in code


def statement_of(text: str) -> cst.SimpleStatementLine:
    return cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = stack([(\n    a * b\n).sum(), n])", "x = stack([(a * b).sum(), n])"),
        ("x = (\n    f(a)\n    .mean()\n)", "x = f(a).mean()"),
        ("f(\n    a,\n    b=[\n        1,\n    ],\n)", "f(a, b=[1])"),
        ("x = a + \\\n    b", "x = a + b"),
        ("return (\n    a\n    or b\n)", "return a or b"),
        ("x = (\n    a,\n)", None),  # no tuple without its comma
        ("f(  # why\n    a\n)", None),
        ('f(\n    """a\nb"""\n)', None),
    ],
)
def test_lines_are_joined(text: str, expected: str | None):
    new = joined(statement_of(text))
    assert (None if new is None else cst.Module([new]).code.rstrip("\n")) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Only its length had opened the brackets.
        ("logs.append(\n    self.gather(a_mean).mean().item()\n)", "a_mean.item()", "logs.append(a_mean.item())"),
        ("logs.append(\n    a.item()\n)", "self.gather(a_long_name).mean().item()", None),
        ("logs.append(\n    self.gather(a_mean).mean().item(),\n)", "a_mean.item()", None),
        ("logs.append(self.gather(\n    a_mean).mean().item())", "a_mean.item()", None),
        ("logs.append(  # why\n    self.gather(a_mean).mean().item()\n)", "a_mean.item()", None),
    ],
)
def test_a_statement_that_is_short_now_is_on_one_line(before: str, after: str, expected: str | None):
    old = statement_of(before)
    call = cst.ensure_type(cst.ensure_type(old.body[0], cst.Expr).value, cst.Call)
    changed = old.with_deep_changes(call.args[0], value=cst.parse_expression(after))
    new = in_one(old, changed, 44, "")
    assert (None if new is None else cst.Module([new]).code.rstrip("\n")) == expected


def test_a_long_line_is_not_broken_because_it_is_put_into_a_block(tmp_path: Path):
    steps = "".join(f".map(tokenize, batched=True, fn_kwargs={{'step': {step}}})" for step in range(3))
    line = f"dataset = load_dataset('a/b'){steps}"
    path = tmp_path / "train.py"
    path.write_text(
        "from accelerate import Accelerator\nfrom datasets import load_dataset\n\naccelerator = Accelerator()\n"
        f"{line}\nother = {'a' * len(line)}\n"
    )
    command = [sys.executable, "-m", "trl_lint", "--fix", "--unsafe-fixes", "--select", "TRL012", str(path)]
    subprocess.run(command, check=False, capture_output=True)
    assert f"with accelerator.main_process_first():\n    {line}\n" in path.read_text()


def test_a_line_of_several_is_broken_and_the_others_stay():
    text = (
        "log(\n    {  # every step\n        'a': accelerator.gather(some_loss).mean(),\n"
        "        'text': 'a line that was longer than a line may be before',\n    }\n)\n"
    )
    statement = cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)
    known = [line for line in text.splitlines() if "gather" not in line]
    new = cst.Module([wrapped(statement, 44, "", "    ", known)]).code
    opened = "accelerator.gather(\n            some_loss\n        ).mean(),"
    assert new == text.replace("accelerator.gather(some_loss).mean(),", opened)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n"),
        ("pyproject.toml", "[tool.black]\nline-length = 100\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n\n[tool.black]\n"),
        ("ruff.toml", "line-length = 100\n"),
        (".flake8", "[flake8]\nmax-line-length = 100\n"),
        ("setup.cfg", "[flake8]\nmax_line_length = 100\n"),
        ("tox.ini", "[pycodestyle]\nmax-line-length = 100\n"),
    ],
)
def test_the_project_says_how_long_lines_are(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content)
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    assert limit_for(folder / "a.py", "x" * 140) == 100


@pytest.mark.parametrize("content", ["", "[tool.ruff\n", "[tool]\nruff = 3\n", "[tool.ruff]\nline-length = 'a'\n"])
def test_else_the_file_shows_it(tmp_path: Path, content: str):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text(content)
    assert limit_for(tmp_path / "a.py", "x = 1\n") == USUAL
    assert limit_for(tmp_path / "a.py", f"x = {'a' * 200}\n") == 204


def test_black_has_a_length_of_its_own(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.black]\ntarget-version = ['py310']\n")
    assert limit_for(tmp_path / "a.py", "x" * 140) == 88


def test_one_line_in_a_hundred_does_not_show_how_long_lines_are(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    long, usual = f"x = {'a' * 200}\n", f"x = {'a' * 130}\n"
    assert limit_for(tmp_path / "a.py", 100 * "x = 1\n" + long) == USUAL
    assert limit_for(tmp_path / "a.py", 100 * "x = 1\n" + long + usual) == 134
    assert limit_for(tmp_path / "a.py", 100 * "x = 1\n" + 2 * long) == 204


@pytest.mark.parametrize(
    "line",
    [
        f"# {'a' * 200}\n",
        f"x = 1  # {'a' * 200}\n",
        f"x = '{'a' * 200}'\n",
        f"x = f'{{a}}{'a' * 200}'\n",
        f'"""Text.\n\n{"a" * 200}\n"""\n',
    ],
)
def test_comments_and_texts_do_not_show_how_long_lines_of_code_are(tmp_path: Path, line: str):
    (tmp_path / ".git").mkdir()
    assert limit_for(tmp_path / "a.py", line) == USUAL
    assert limit_for(tmp_path / "a.py", f"{line}x = {'a' * 200}\n") == 204


OPENED = f"x = function(\n    {'a' * 60}, {'b' * 20}\n)\n"


def test_a_file_shows_that_black_has_formatted_it(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    assert limit_for(tmp_path / "a.py", 3 * OPENED) == 88
    assert limit_for(tmp_path / "a.py", 3 * OPENED.replace("b", "")) == USUAL  # nor would black have done this
    assert limit_for(tmp_path / "a.py", 2 * OPENED) == USUAL
    assert limit_for(tmp_path / "a.py", 3 * OPENED + f"x = {'a' * 90}\n") == USUAL
    assert limit_for(tmp_path / "a.py", 3 * OPENED + f"x = 1  # {'a' * 90}\n") == 88


# The shorter limit breaks more lines.
@pytest.mark.parametrize("length", [100, pytest.param(120, marks=pytest.mark.slow)])
def test_a_formatted_file_is_formatted_after_its_fixes(tmp_path: Path, length: int):
    (tmp_path / "pyproject.toml").write_text(f"[tool.ruff]\nline-length = {length}\n")
    for path in BROKEN:
        (tmp_path / f"{identity(path).replace('/', '_')}.py").write_text(plain(path))
    formatting = [sys.executable, "-m", "ruff", "format", "--no-cache", str(tmp_path)]
    subprocess.run(formatting, check=True, capture_output=True)
    fixing = linter(FIXTURES / "x.py")
    for path in BROKEN:
        copy = tmp_path / f"{identity(path).replace('/', '_')}.py"
        copy.write_bytes(fixing.fix(copy, copy.read_bytes(), unsafe=True).source)
    checked = subprocess.run([*formatting, "--check"], check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_a_mended_line_is_broken(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 84\n")
    path = tmp_path / "train.py"
    path.write_text("from transformers import Trainer\n\n\n" + LOGGED)
    command = [sys.executable, "-m", "trl_lint", "--fix", "--select", "TRL003", str(path)]
    subprocess.run(command, check=False, capture_output=True)
    text = path.read_text()
    assert "gather(" in text
    assert max(map(len, text.splitlines())) <= 84
