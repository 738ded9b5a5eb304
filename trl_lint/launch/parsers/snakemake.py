"""Snakemake: what rules have a shell run, and the programs that they name.

    rule train:
        resources: gpu=2                                    two GPUs
        shell: "python train.py {input} "                   a command; adjacent literals are joined
               "--output {output}"
    rule test:
        run:
            shell(f"torchrun test.py {options}")            a command, too
    rule plot:
        script: "../scripts/plot.py"                        a program

A file is read by its words, because only Snakemake itself can parse it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from trl_lint.launch.commands.commands import CommandContext, Commands, Hint, HintKind, Unreadable
from trl_lint.launch.commands.source_map import Passage, align, joined, opaque
from trl_lint.launch.commands.templates import without_braces
from trl_lint.launch.parsers import shell

LARGEST = 500_000
# A literal that is never closed ends with its line, or with the file.
_STRING = (
    r"(?:\"{3}(?:[^\"\\]|\\(?:.|\Z)|\"(?!\"\"))*(?:\"{3}|\Z)"
    r"|'{3}(?:[^'\\]|\\(?:.|\Z)|'(?!''))*(?:'{3}|\Z)"
    r"|\"(?:[^\"\\\n]|\\(?:.|\Z))*(?:\"|(?=\n)|\Z)"
    r"|'(?:[^'\\\n]|\\(?:.|\Z))*(?:'|(?=\n)|\Z))"
)
_TOKEN = re.compile(
    rf"{_STRING}|#[^\n]*"
    r"|^[ \t]*(?P<rule>rule|checkpoint|use[ \t]+rule)\b"
    r"|^[ \t]+(?P<key>script|resources)[ \t]*:|(?<![\w.])(?P<shell>shell)[ \t]*[:(]",
    re.DOTALL | re.MULTILINE,
)
_LITERAL = re.compile(rf"(?P<prefix>[A-Za-z]{{0,2}})(?P<quoted>{_STRING})", re.DOTALL)
# White space, comments and line breaks between adjacent literals.
_BETWEEN = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")
# What may be added to a literal: `OPTIONS`, `config["options"]`, `options_of(genome)`.
_OPERAND = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]\n]*\])?(?:\([^()\n]*\))?")
_CHOICE = re.compile(r"(?:if|or|and|for)\b")
_ALL = re.compile(r".+", re.DOTALL)
# A text without one of these starts no Python.
_NEEDLE = re.compile(r"py|uv run|torchrun|accelerate|deepspeed", re.IGNORECASE)
_DIRECTIVE = re.compile(r"^[ \t]*\w+[ \t]*:", re.MULTILINE)
_GPUS = re.compile(r"\b(?:nvidia_|amd_|num_|n_?)?gpus?[ \t]{0,9}=[ \t]{0,9}(\d+)\b")
_PROGRAM = re.compile(r"[\w./-]+\.py")


@dataclass(slots=True)
class _Rule:
    """The places after `shell:`, `shell(` and `script:` in a rule, or in front of all rules. gpus: what it asks for."""

    shells: list[int] = field(default_factory=list)
    scripts: list[int] = field(default_factory=list)
    gpus: tuple[Hint, ...] = ()


def commands(text: str) -> Commands:
    """The commands that rules, and the Python code in them, have a shell run."""
    if len(text) > LARGEST:
        raise Unreadable(f"a Snakemake file of {len(text)} characters is not looked at")
    context = CommandContext("snakemake")
    for rule in _rules(text):
        inside = replace(context, hints=rule.gpus)
        for place in rule.shells:
            passage = _string(text, place)
            if passage is not None and _NEEDLE.search(passage.text):
                yield from shell.read(without_braces(passage), inside)


def scripts(text: str) -> Iterator[str]:
    """The Python programs that `script:` names. Snakemake starts each as one process."""
    for place in (each for rule in _rules(text) for each in rule.scripts):
        passage = _string(text, place)
        if passage is not None and _PROGRAM.fullmatch(passage.text):
            yield passage.text


def _rules(text: str) -> list[_Rule]:
    rules = [_Rule()]
    for token in _TOKEN.finditer(text):
        if token["rule"]:
            rules.append(_Rule())
        elif token["shell"]:
            rules[-1].shells.append(token.end())
        elif token["key"] == "script":
            rules[-1].scripts.append(token.end())
        elif token["key"]:
            rules[-1].gpus = tuple(_amounts(text, token.end()))
    return rules


def _amounts(text: str, start: int) -> Iterator[Hint]:
    """What the `resources:` that start here say about GPUs."""
    after = _DIRECTIVE.search(text, start)
    resources = text[start : after.start() if after else len(text)]
    found = _GPUS.search(resources)
    if found:
        yield Hint(HintKind.GPUS, found[1], found[0])
    elif "gpu" in resources.lower():
        yield Hint(HintKind.GPUS, "?", "resources")


def _string(file: str, place: int) -> Passage | None:
    """The text of the literals at a place, and of what is added to them; None if it can't be read."""
    pieces: list[Passage] = []
    place = _after_blanks(file, place)
    if file[place : place + 1] == "(":
        place = _after_blanks(file, place + 1)
    while literal := _LITERAL.match(file, place):
        piece = _contents(file, literal)
        if piece is None:
            return None
        pieces.append(piece)
        place = _after_blanks(file, literal.end())
        while file[place : place + 1] == "+":
            start, place = place, _after_blanks(file, place + 1)
            if _LITERAL.match(file, place):
                break
            operand = _OPERAND.match(file, place)
            if operand is None:
                return None
            pieces.append(Passage.between(file, start, operand.end()).replaced(_ALL, opaque))
            place = _after_blanks(file, operand.end())
    return joined(pieces) if pieces and not _CHOICE.match(file, place) else None


def _after_blanks(file: str, place: int) -> int:
    between = _BETWEEN.match(file, place)
    return between.end() if between else place


def _contents(file: str, literal: re.Match[str]) -> Passage | None:
    """The text of one literal; None if it can't be read."""
    prefix, quoted = literal["prefix"].lower(), literal["quoted"]
    quotes = 3 if len(quoted) >= 6 and quoted[:3] in ('"""', "'''") else 1
    start, end = literal.start("quoted") + quotes, literal.end() - quotes
    if end < start or quoted[:quotes] != quoted[-quotes:] or "b" in prefix:
        return None
    if "r" in prefix or "\\" not in quoted:
        return Passage.between(file, start, end)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(quoted)
    except (SyntaxError, ValueError):
        return None
    return align(file, start, end, value)
