"""Blocks of Python in Markdown and reStructuredText, if they are requested."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import trl_lint
from trl_lint.frontends.cli import main
from trl_lint.settings import Settings

BUG = """\
from accelerate import Accelerator
accelerator = Accelerator()
model, loader = accelerator.prepare(model, loader)

for batch in loader:
    loss = model(**batch).loss
    total = accelerator.gather(loss.item())
"""
FIXED = BUG.replace("loss.item())", "loss).mean().item()")
SESSION = "".join(
    f"... {line}" if line.startswith("    ") else f">>> {line}" for line in BUG.replace("\n\n", "\n").splitlines(True)
)
READ_CONFIG = """\
>>> from accelerate import Accelerator
>>> accelerator = Accelerator()
>>> model = accelerator.prepare(model)
>>> for batch in loader:
...     logits = model(**batch).logits.reshape(-1, model.config.vocab_size)
...     accelerator.backward(logits.sum())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*args: str, stdin: str | None = None):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    return runs.invoke(main, list(args), input=stdin)


def found(*args: str, stdin: str | None = None) -> list[str]:
    lines = call("--output-format=concise", "--extend-include=*.md,*.rst", *args, stdin=stdin).stdout.splitlines()
    return [match[1] for line in lines if (match := re.match(r"(\S+?:[\d:]+: TRL\d+)", line))]


def indented(text: str, by: str) -> str:
    return "".join(by + line if line.strip() else by.rstrip() + line for line in text.splitlines(keepends=True))


# A document, and the places of its findings.
DOCUMENTS = {
    "fence.md": (f"# Title\n\n```python\n{BUG}```\n", ["10:13"]),
    "info.md": (f"~~~~{{.python .numberLines}}\n{BUG}~~~~\n", ["8:13"]),
    "cell.md": (f"```{{code-cell}} ipython3\n%pip install trl\n{BUG}```\n", ["9:13"]),
    "list.md": (f"- item:\n\n{indented(f'```py{chr(10)}{BUG}```{chr(10)}', '  ')}", ["10:15"]),
    "quote.md": (indented(f"```py\n{BUG}```\n", "> "), ["8:15"]),
    "session.md": (f"```pycon\n{SESSION}3\n```\n", ["7:17"]),
    "indented.md": (f"Text:\n\n{indented(SESSION, '    ')}", ["8:21"]),
    "two.md": (f"```python\n{BUG}```\n\n```python\n{BUG}```\n", ["8:13", "18:13"]),
    "alone.md": (f"```python\n{BUG[: BUG.index('for')]}```\n\n```python\n{BUG[BUG.index('for') :]}```\n", []),
    "other.md": (f"```js\n{BUG}```\n\n```\n{BUG}```\n\n    {BUG}", []),
    "block.rst": (f"Title\n=====\n\n.. code-block:: python\n   :linenos:\n\n{indented(BUG, '   ')}", ["13:16"]),
    "test.rst": (f".. testcode::\n\n{indented(BUG, '  ')}", ["9:15"]),
    "session.rst": (f"Text.\n\n{SESSION}3\n\nText.\n", ["8:17"]),
    "literal.rst": (f"Text::\n\n{indented(SESSION, '  ')}", ["8:19"]),
    "blank.rst": (f"{SESSION.replace('>>> for', chr(10) + '>>> for')}", ["7:17"]),
    "parted.rst": (f"{SESSION.replace('>>> for', chr(10) + 'Then:' + chr(10) * 2 + '>>> for')}", []),
    "other.rst": (f".. code-block:: js\n\n{indented(BUG, '  ')}\nText::\n\n{indented(BUG, '  ')}", []),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_blocks(folder, name):
    text, places = DOCUMENTS[name]
    Path(name).write_text(text, encoding="utf-8")
    assert found() == [f"{name}:{each}: TRL001" for each in places]


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_fixes_stay_inside_their_blocks(folder, name, line_end):
    text, _ = DOCUMENTS[name]
    before = text.replace("\n", line_end).encode()
    Path(name).write_bytes(before)
    places = found()
    call("--fix", "--extend-include=*.md,*.rst")
    old, new = before.splitlines(keepends=True), Path(name).read_bytes().splitlines(keepends=True)
    changed = {number for number, (one, other) in enumerate(zip(old, new, strict=True), 1) if one != other}
    assert changed == {int(each.split(":")[1]) for each in places}
    for number in changed:
        assert new[number - 1] == old[number - 1].replace(b"loss.item())", b"loss).mean().item()")
    assert found() == []


def test_without_being_asked_nothing_is_linted(folder):
    Path("a.md").write_text(f"```python\n{BUG}```\n")
    assert call("--output-format=concise").stdout == ""
    assert call("a.md", "--output-format=concise").stdout == ""


def test_the_setting(folder):
    for name in ("docs/a.md", "b.md"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"```python\n{BUG}```\n")
    Path("pyproject.toml").write_text('[tool.trl-lint]\nextend-include = ["docs/"]\n')
    assert call("--output-format=concise").stdout.startswith("docs/a.md:8:13: TRL001")
    assert found("--extend-include=b.md") == ["b.md:8:13: TRL001", "docs/a.md:8:13: TRL001"]
    (finding,) = trl_lint.check(".")
    assert (finding.path, str(finding.start)) == (str(folder / "docs" / "a.md"), "8:13")
    assert len(trl_lint.check(folder, Settings(extend_include=("*.md",)))) == 2


def test_python_in_files_of_another_name(folder):
    Path("train.txt").write_text(BUG)
    assert found("--extend-include=*.txt") == ["train.txt:7:13: TRL001"]


def test_standard_input(folder):
    text = f"```python\n{BUG}```\n"
    assert found("--stdin-filename=docs/a.md", stdin=text) == ["docs/a.md:8:13: TRL001"]
    done = call("--stdin-filename=a.md", "--extend-include=*.md", "--fix", stdin=text)
    assert done.stdout == text.replace(BUG, FIXED)


def test_comments_and_settings_silence(folder):
    Path("a.md").write_text(f"```python\n{BUG}```\n".replace("item())\n", "item())  # noqa: TRL001\n"))
    assert found() == []
    Path("a.md").write_text(f"```python\n{BUG}```\n")
    assert found("--per-file-ignores=*.md:TRL001") == []


@pytest.mark.parametrize(
    "text",
    [
        BUG.replace("item())\n", "item(),\n        )  # noqa: TRL001\n"),  # of the next line
        f"{BUG}```\n\n```python\n# flake8: noqa: TRL001\n",  # of another block
    ],
)
def test_a_comment_means_in_a_block_what_it_means_in_a_file(folder, text):
    """It applies to its line or its block, for findings and for fixes."""
    Path("a.md").write_text(f"```python\n{text}```\n")
    Path("a.py").write_text(text.partition("```")[0])
    assert found("--select=TRL001") == ["a.md:8:13: TRL001", "a.py:7:13: TRL001"]
    done = call("--extend-include=*.md", "--select=TRL001", "--fix", ".")
    assert (done.exit_code, done.stderr) == (0, "")
    assert found("--select=TRL001") == []


def test_a_comment_at_the_end_of_a_string_counts_for_its_beginning(folder):
    text = BUG.replace("item())\n", 'item()), """ some\n    text"""\n')
    Path("a.md").write_text(f"```python\n{text}```\n\n```\n{SESSION}```\n")
    (row, _) = json.loads(call("--output-format=json", "--extend-include=*.md").stdout)
    assert (row["location"]["row"], row["noqa_row"]) == (8, 9)
    before = Path("a.md").read_text()
    assert call("--extend-include=*.md", "--add-noqa", ".").exit_code == 0
    assert found() == []
    lines = Path("a.md").read_text().splitlines()
    assert next(old for old, new in zip(before.splitlines(), lines, strict=True) if old != new) == '    text"""'
    assert "".join(f"{line.partition('  # noqa: ')[0]}\n" for line in lines) == before


def test_results_are_kept(folder, monkeypatch):
    monkeypatch.delenv("TRL_LINT_NO_CACHE")
    Path("a.md").write_text(f"```python\n{BUG}```\n\n```python\n{BUG}```\n")
    runs = [json.loads(call("--output-format=json", "--extend-include=*.md").stdout) for _ in range(2)]
    assert runs[0] == runs[1]
    assert [each["location"]["row"] for each in runs[0]] == [8, 18]
    Path("a.md").write_text(f"\n```python\n{BUG}```\n")
    (row,) = json.loads(call("--output-format=json", "--extend-include=*.md").stdout)
    assert (row["location"]["row"], row["because"][0]["location"]["row"]) == (9, 5)
    assert row["fix"]["edits"][0]["location"] == {"row": 9, "column": 36}


def test_a_block_that_is_no_python_is_passed_over(folder):
    broken = BUG.replace("Accelerator()", "<yours>")
    Path("a.md").write_text(f"```python\n{broken}```\n\n```python\n{BUG}```\n\n```python\n{broken}```\n")
    done = call("--output-format=concise", "--extend-include=*.md")
    assert done.exit_code == 1
    assert done.stdout.startswith("a.md:18:13: TRL001")
    remark = "a.md: not looked at: the block at 3:15, which is not valid Python: invalid syntax (and 1 more)\n"
    assert done.stderr == remark
    named = call("a.md", "--output-format=concise", "--extend-include=*.md")
    assert (named.exit_code, named.stderr) == (2, remark)


@pytest.mark.parametrize("name", ["a.md", "a.rst"])
def test_a_new_line_of_a_session_gets_its_prompt(folder, name):
    lead, tail = ("```pycon\n", "```\n") if name.endswith("md") else ("Text.\n\n", "\nText.\n")
    Path(name).write_text(lead + READ_CONFIG.replace(">>> for", "3\n>>> for") + tail)
    call("--fix", "--extend-include=*.md,*.rst")
    new = ">>> config = accelerator.unwrap_model(model).config\n"
    mended = READ_CONFIG.replace("model.config", "config").replace(">>> for", f"3\n{new}>>> for")
    assert Path(name).read_text() == lead + mended + tail


def test_commands_and_code_of_a_document(folder):
    Path("train.py").write_text("from transformers import Trainer\nTrainer(model=make()).train()\n")
    text = f"```bash\nCUDA_VISIBLE_DEVICES=0,1 python train.py\n```\n\n```python\n{BUG}```\n"
    Path("a.md").write_text(text)
    assert found("a.md") == ["a.md:2:1: TRL004", "a.md:12:13: TRL001"]
    call("a.md", "--fix", "--extend-include=*.md")
    assert Path("a.md").read_text() == text.replace("python train", "accelerate launch train").replace(BUG, FIXED)


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"```python\nimport torch, accelerate # \xff gather prepare\n```\n", "its text is not UTF-8")],
)
def test_what_can_not_be_read(folder, content, line):
    Path("a.md").write_bytes(content)
    done = call("a.md", "--extend-include=*.md")
    assert done.exit_code == 2
    assert done.stderr == f"a.md: not looked at: {line}\n"


def test_patterns_beyond_reason(folder):
    Path("pyproject.toml").write_text(f"[tool.trl-lint]\nextend-include = {json.dumps(['*.md'] * 6000)}\n")
    done = call()
    assert (done.exit_code, done.stderr) == (2, "trl-lint: extend-include: more than 5,000 patterns\n")
