"""The edit that makes of a bare start of Python one with `accelerate launch`. All other bytes stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trl_lint.launch.bare import Start
from trl_lint.launch.commands import Form, Word
from trl_lint.launch.launchers import ACCELERATE_MODULE, ASSIGNMENTS, INTERPRETER, VERSIONED, X_OPTIONS

_LAUNCH = ("accelerate", "launch")
# Words that can be written without quotes in every form.
_PLAIN = re.compile(r"[\w./=+-]+\Z")
_GAP = re.compile(r"[ \t]+\Z")
# Prefixes of the shell itself: an assignment may not stand behind them, and `env` need not.
_COMMA = re.compile(r"\s*,\s*\Z")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the file's text from `start` to `end` (indices into the text, as those of a `Word`)."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made, which must not overlap."""
    for each in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: each.start] + each.text + text[each.end :]
    return text


def rewrite(start: Start, text: str) -> tuple[Edit, ...] | None:
    """The edits of the file's text that start the same with `accelerate launch`; None where none is exact."""
    word, form = start.interpreter, start.command.form
    if word is None or not word.exact or text[word.start : word.end] != word.raw:
        return None
    assignments = _carried(start.flags)
    module = _module_edit(start)
    if assignments is None or module is None:
        return None
    launch = _launcher(word, form)
    if launch is None:
        return None
    first, prepended = _with_assignments(start, assignments, launch)
    new = _written(first, word, text, form)
    gone = [_without(flag, text, form) for flag in _flags_to_drop(start)]
    if new is None or any(each is None for each in gone):
        return None
    edits = (*prepended, Edit(word.start, word.end, new), *(each for each in gone if each), *module)
    return _disjoint(edits)


def _disjoint(edits: tuple[Edit, ...]) -> tuple[Edit, ...] | None:
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    apart = all(one.end <= other.start for one, other in zip(ordered, ordered[1:], strict=False))
    return tuple(ordered) if apart else None


def _carried(flags: Sequence[Word]) -> list[str] | None:
    """The assignments that do what the interpreter's flags did, or None where the launcher has no such way."""
    found: list[str] = []
    values = [each.value or "" for each in flags]
    while values:
        value = values.pop(0)
        if value.startswith("-X"):
            option = X_OPTIONS.get(value[2:] or (values.pop(0) if values else ""))
            found.append(option or "")
        elif value == "-OO":
            found.append("PYTHONOPTIMIZE=2")
        else:
            found += [ASSIGNMENTS.get(letter, "") for letter in value[1:]]
    return None if "" in found else list(dict.fromkeys(found))


def _flags_to_drop(start: Start) -> Sequence[Word]:
    return start.flags


def _module_edit(start: Start) -> tuple[Edit, ...] | None:
    """`-m mod` stays as it is. Of `-um mod` and `-mmod` nothing is made: the launcher does not take them so."""
    if start.module is None:
        return ()
    words = start.command.words
    place = words.index(start.module)
    return () if words[place - 1].value == "-m" and not start.module.raw.startswith("-m") else None


def _launcher(word: Word, form: Form) -> list[str] | None:
    """What stands for the interpreter. One with a version, or in a variable, runs the launcher itself."""
    bare = word.raw.strip("\"'")
    if not INTERPRETER.match(bare) or VERSIONED.match(bare):
        return ["", "-m", ACCELERATE_MODULE]
    folder, slash, _ = bare.rpartition("/")
    return [folder + slash + _LAUNCH[0], _LAUNCH[1]] if not bare.endswith(".exe") else None


def _with_assignments(
    start: Start, assignments: Sequence[str], launch: list[str]
) -> tuple[list[str], tuple[Edit, ...]]:
    """The words that stand for the interpreter, with the assignments where they are allowed."""
    if not assignments:
        return launch, ()
    bare = start.command.form is Form.SHELL and not start.wrappers
    words = [*assignments] if bare else ["env", *assignments]
    # A variable or a version: its own word stays, and the assignments go in front of it.
    return [*words, *launch], ()


def _written(words: Sequence[str], word: Word, text: str, form: Form) -> str | None:
    """The words in the language that the command is written in; "" stands for the old word."""
    raws = [word.raw if not each else _quoted(each, word, form) for each in words]
    if any(each is None for each in raws):
        return None
    parts = [each for each in raws if each]
    if form is Form.SHELL:
        return " ".join(parts)
    if form is not Form.YAML_BLOCK:
        return ", ".join(parts)
    lead = _dash(word, text)
    return None if lead is None else f"\n{lead}".join(parts)


def _quoted(value: str, word: Word, form: Form) -> str | None:
    """One of our own words, quoted as its neighbour is."""
    if not _PLAIN.match(value):
        return None
    if form is Form.SHELL:
        return value
    quote = word.raw[:1] if word.raw[:1] in "\"'" else ""
    if form in (Form.JSON, Form.PYTHON):
        return f'{quote or chr(34)}{value}{quote or chr(34)}'
    return f"{quote}{value}{quote}"


def _dash(word: Word, text: str) -> str | None:
    """What stands before the word on its line, where that is `- ` and nothing else."""
    line = text[text.rfind("\n", 0, word.start) + 1 : word.start]
    return line if re.fullmatch(r"[ ]*-[ ]+", line) else None


def _without(flag: Word, text: str, form: Form) -> Edit | None:
    """Take a flag away, with the gap or comma that belongs to it."""
    if not flag.exact or text[flag.start : flag.end] != flag.raw:
        return None
    if form is Form.YAML_BLOCK:
        return _without_line(flag, text)
    if form is not Form.SHELL:
        before = re.search(r"\s*,\s*\Z", text[: flag.start][-200:])
        return Edit(flag.start - len(before[0]), flag.end, "") if before else None
    before = re.search(r"[ \t]+\Z", text[: flag.start][-200:])
    after = re.match(r"[ \t]+", text[flag.end : flag.end + 200])
    line = text[text.rfind("\n", 0, flag.start) + 1 : flag.start]
    if before and line.strip():
        return Edit(flag.start - len(before[0]), flag.end, "")
    return Edit(flag.start, flag.end + len(after[0]), "") if after else None


def _without_line(flag: Word, text: str) -> Edit | None:
    first = text.rfind("\n", 0, flag.start)
    last = text.find("\n", flag.end)
    rest = text[flag.end : last if last >= 0 else len(text)]
    return Edit(first, flag.end, "") if first >= 0 and _dash(flag, text) and not rest.strip() else None
