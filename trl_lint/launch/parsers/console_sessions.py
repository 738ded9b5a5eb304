"""Console sessions and shell examples in documentation, without prompts and output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trl_lint.launch.commands.commands import CommandContext, Commands, Hint, HintKind
from trl_lint.launch.commands.source_map import Passage, joined, splitlines_spans
from trl_lint.launch.commands.templates import without_placeholders
from trl_lint.launch.parsers import shell
from trl_lint.launch.parsers.shell_words import assigned

SHELLS = frozenset({"bash", "sh", "shell", "zsh", "shell-script", "bash-script"})
SESSIONS = frozenset(
    {
        "console",
        "shell-session",
        "shellsession",
        "bash-session",
        "sh-session",
        "terminal",
        "text",
        "plaintext",
        "txt",
        "none",
    }
)
# Writers often mark a shell command as Python; no Python code looks like one.
_PYTHON = frozenset({"python", "python3", "py", "ipython"})
_PROMPT = re.compile(
    r"[ \t]*(?:\([\w.-]+\)[ \t]*)?(?:[\w.-]+@[\w.-][^\s$#%]*[ \t]*)?[$%][ \t]+|[ \t]*[\u276f\u279c][ \t]+"
)
_CONTINUED = re.compile(r"[ \t]*>[ \t]")
_GAP = re.compile(r"\n(?:[ \t]*\r?\n)+")
# "With LoRA:", right above a command.
_LABEL = re.compile(r"\s*[^\s:][^\n]*:[ \t]*\r?\n")
_MAGIC = re.compile(r"[ \t]*!(?=[ \t]*[\w./$])")
# How a shell line begins in a block without a language.
_COMMAND = re.compile(
    r"[ \t]*(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)*"
    r"(?:(?:sudo|nohup|env|time|srun|uv run|poetry run)\b[^\n]*?[ \t])?"
    r"(?:python[\d.]*|accelerate|torchrun|deepspeed|pip|git|cd|export|mkdir|bash|sh|docker|conda|source|uv|wget|curl"
    r"|huggingface-cli|hf|sbatch|echo|unzip|tar)[ \t]+(?![=(:,.])[^\s)]"
)


# Words of blocks that start something for GPUs.
_LAUNCHES = ("python", "uv run", "accelerate", "torchrun", "deepspeed")


def may_launch(text: str) -> bool:
    """Whether a block of code may start Python, or several processes of it."""
    return any(needle in text for needle in _LAUNCHES)


def read(passage: Passage, language: str, surroundings: CommandContext) -> Commands:
    """The commands of a block of documentation in this language ("": none given)."""
    if not may_launch(passage.text):
        return
    passage = without_placeholders(passage)
    prompted = list(_lines_with(passage, _PROMPT, _CONTINUED))
    if prompted and language not in _PYTHON:
        yield from shell.read(joined(prompted), surroundings)
    elif language in SHELLS or (language in SESSIONS | _PYTHON | {""} and _looks_like_shell(passage.text)):
        yield from shell.read(joined(list(_without_magic(passage))), surroundings)
    elif language in _PYTHON | {""}:
        for each in _lines_with(passage, _MAGIC, None):
            yield from shell.read(each, surroundings)


def paragraphs(passage: Passage, surroundings: CommandContext) -> Commands:
    """The commands of plain text: of each paragraph that begins like a command, below its comments."""
    passage = without_placeholders(passage)
    start = 0
    for gap in [*_GAP.finditer(passage.text), None]:
        end = gap.end() if gap else len(passage.text)
        label = _LABEL.match(passage.text, start, end)
        first = label.end() if label else start
        if _looks_like_shell(passage.text[first:end]):
            note = (Hint(HintKind.NOTE, label[0].strip(), label[0].strip()),) if label else ()
            context = replace(surroundings, hints=surroundings.hints + note)
            yield from shell.read(passage.part(first, end), context)
        elif prompted := list(_lines_with(passage.part(start, end), _PROMPT, _CONTINUED)):
            yield from shell.read(joined(prompted), surroundings)
        start = end


def exported(passage: Passage, surroundings: CommandContext) -> Mapping[str, str | None]:
    """The environment after running this block, for the blocks that follow it."""
    if "export" not in passage.text:
        return surroundings.environment
    lines = list(_lines_with(passage, _PROMPT, _CONTINUED)) or [passage]
    script = shell.Script(joined(lines), surroundings, assigned(surroundings.environment))
    script.run()
    return script.variables.environment()


def _looks_like_shell(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and _COMMAND.match(lines[0]) is not None


def _without_magic(passage: Passage) -> Iterator[Passage]:
    for start, end in splitlines_spans(passage.text):
        match = _MAGIC.match(passage.text, start, end)
        yield passage.part(match.end() if match else start, end)


def _lines_with(passage: Passage, prompt: re.Pattern[str], continued: re.Pattern[str] | None) -> Iterator[Passage]:
    """The lines with a prompt, without it, and those that continue them."""
    open_line = False
    for start, end in splitlines_spans(passage.text):
        match = prompt.match(passage.text, start, end)
        if match is None and open_line:
            match = continued.match(passage.text, start, end) if continued else None
            yield passage.part(match.end() if match else start, end)
        elif match is not None:
            yield passage.part(match.end(), end)
        else:
            continue
        open_line = passage.text[start:end].rstrip("\r\n").endswith("\\")
