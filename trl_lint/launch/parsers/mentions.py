"""Commands that a text only mentions: in a sentence, in a block of another language, in a string of a script.

    Run `python train.py --epochs 3` on one GPU.          README.md
    CMD="python train.py --seed $1"; eval $CMD            run.sh
    CMD="python -m package --seed $1"; $CMD               run.sh
    script=train.py; python $script                       run.sh, with a variable that is assigned at least once
    script: "../scripts/plot.py"                          Snakefile: starts it as `python` does

They say how a program is meant to be started if no command certainly runs it. They are not reported as wrong: a
sentence is no place for a fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from trl_lint.launch.commands.commands import Command
from trl_lint.launch.parsers import readers

_KINDS = frozenset({readers.SHELL, readers.MARKDOWN, readers.RESTRUCTURED})
_SHELL = PurePath("mentioned.sh")
_CONTINUES = re.compile(r"\\\r?\n[ \t]*")
_COMMENT = re.compile(r"[ \t]*#")
# A variable that holds the interpreter, and one that holds a program.
_PYTHON = re.compile(r"[\"']?\$\{?PYTHON\w*(?::?-[^}\s]*)?\}?[\"']?(?=[ \t])")
_PROGRAM = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)=[\"']?([\w./-]+\.py)[\"']?[ \t]*$", re.MULTILINE)
_COMMAND = re.compile(
    r"(?:\b[A-Z_]+=[^\s\"'`]+[ \t]+)*(?:\b(?:nohup|time|proxychains4?)[ \t]+)?"
    r"(?<![\w./$-])(?:python[\d.]*|torchrun|accelerate|deepspeed|uv run)[ \t]+"
    r"[^\"'`]*?(?:\.py|(?<=[ \t])-m[ \t]+[A-Za-z_][\w.]*)(?!\w)[^\"'`)]*"
)
# A variable that may hold a launcher, before or after Python: `python $prefix train.py`.
_OPEN = re.compile(r"python[\d.]*[ \t]+[\"']?\$")
_OPEN_BEFORE = re.compile(r"\$\{?\w+\}?[ \t]*$")
# Commands that start several processes of the command after them.
_STARTS_SEVERAL = re.compile(r"\b(?:srun|mpirun|mpiexec|jsrun|ibrun|aprun|torchrun|deepspeed|accelerate|parallel)\b")
# How many commands of a text are read: more are the log of a run.
_MOST = 200


def mentioned(path: PurePath, data: bytes) -> Iterator[Command]:
    """The commands that a text mentions, including those that are also found as commands of a script."""
    front = readers.front_end(path)
    if front == readers.SNAKEMAKE:
        yield from _scripts(data)
    if front not in _KINDS:
        return
    text = _CONTINUES.sub(" ", data.decode("utf-8", "replace"))
    programs = _PROGRAM.findall(text)
    lines = [line for line in text.splitlines() if _may_be_one(line, bool(programs))]
    for line in lines[:_MOST]:
        filled = _filled_in(line, programs)
        for found in _COMMAND.finditer(filled):
            before = filled[: found.start()]
            if _OPEN.search(found[0]) or _OPEN_BEFORE.search(before) or _STARTS_SEVERAL.search(before):
                continue
            yield from readers.all_commands(_SHELL, found[0].encode())


def _scripts(data: bytes) -> Iterator[Command]:
    """The programs that Snakemake itself starts with Python."""
    from trl_lint.launch.parsers import snakemake

    for program in snakemake.scripts(data.decode("utf-8", "replace")):
        yield from readers.all_commands(_SHELL, f"python {program}".encode())


def _may_be_one(line: str, has_programs: bool) -> bool:
    return (".py" in line or " -m " in line or (has_programs and "$" in line)) and not _COMMENT.match(line)


def _filled_in(line: str, programs: list[tuple[str, str]]) -> str:
    """A line with the variables that hold Python or a program replaced. Of several values the last one is taken."""
    line = _PYTHON.sub("python", line)
    for name, program in reversed(programs):
        line = re.sub(rf"[\"']?\$(?:{name}\b|\{{{name}\}})[\"']?", program, line)
    return line
