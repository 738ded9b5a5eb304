"""The edit that turns a start with plain Python into one with `accelerate launch`. All other bytes are kept."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trl_lint.launch.commands.commands import Form, Word
from trl_lint.launch.judge.launchers import ACCELERATE_MODULE, ASSIGNMENTS, INTERPRETER, VERSIONED, X_OPTIONS
from trl_lint.launch.judge.python_invocation import Start

_LAUNCH = ("accelerate", "launch")
# Words that need no quotes in any form.
_PLAIN = re.compile(r"[\w./=+-]+\Z")
# Forms in which blanks separate words.
_LINES = (Form.SHELL, Form.LINE)
_REFERENCE = re.compile(r"\$[({]\w+[)}]\Z")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace the file's text from `start` to `end` (indices into the text, as in a `Word`)."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after applying edits, which must not overlap."""
    pieces: list[str] = []
    last = 0
    for each in sorted(edits, key=lambda edit: edit.start):
        pieces += [text[last : each.start], each.text]
        last = each.end
    return "".join([*pieces, text[last:]])


def rewrite(start: Start, text: str) -> tuple[TextEdit, ...] | None:
    """The edits that start the same with `accelerate launch`; None if no exact edit is possible."""
    word, form = _as_written(start.interpreter, text), start.command.form
    if word is None:
        return None
    assignments = _flag_assignments(start.flags)
    launch = _launcher(word)
    if assignments is None or launch is None or not _takes_module(start):
        return None
    new = _written([*_assigned(start, assignments), *launch], word, text, form)
    removals = [_without(flag, text, form) for flag in start.flags]
    if new is None or any(each is None for each in removals):
        return None
    return _disjoint((TextEdit(word.start, word.end, new), *(each for each in removals if each)))


def _as_written(word: Word | None, text: str) -> Word | None:
    """The interpreter as written in the file; a reference such as `$(PY)` of a Makefile replaces its value."""
    if word is None:
        return None
    raw = text[word.start : word.end]
    if word.exact:
        return word if raw == word.raw else None
    return replace(word, raw=raw) if _REFERENCE.match(raw) else None


def _disjoint(edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...] | None:
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    are_disjoint = all(one.end <= other.start for one, other in itertools.pairwise(ordered))
    return tuple(ordered) if are_disjoint else None


def _flag_assignments(flags: Sequence[Word]) -> list[str] | None:
    """The assignments with the effect of the interpreter's flags; None if the launcher has no equivalent."""
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


def _takes_module(start: Start) -> bool:
    """`-m mod` is kept. `-um mod` and `-mmod` are not rewritten, as the launcher does not accept them."""
    if start.module is None:
        return True
    place = start.command.words.index(start.module)
    return start.command.words[place - 1].value == "-m"


def _launcher(word: Word) -> list[str] | None:
    """The words that replace the interpreter. One with a version, or in a variable, runs the launcher as a module."""
    bare = word.raw.strip("\"'")
    if "$" in bare or not INTERPRETER.match(bare) or VERSIONED.match(bare):
        return ["", "-m", ACCELERATE_MODULE]
    folder, slash, _ = bare.rpartition("/")
    return [folder + slash + _LAUNCH[0], _LAUNCH[1]] if not bare.endswith(".exe") else None


def _assigned(start: Start, assignments: Sequence[str]) -> list[str]:
    """The words that set these variables: without `env`, only possible at the very front of a shell command."""
    bare = start.command.form is Form.SHELL and not start.wrappers
    return [*assignments] if bare or not assignments else ["env", *assignments]


def _written(words: Sequence[str], word: Word, text: str, form: Form) -> str | None:
    """The words in the language of the command; "" keeps the old word."""
    raws = [word.raw if not each else _quoted(each, word, form) for each in words]
    if any(each is None for each in raws):
        return None
    parts = [each for each in raws if each]
    if form in _LINES:
        return " ".join(parts)
    if form is not Form.YAML_BLOCK:
        return ", ".join(parts)
    lead = _dash(word, text)
    return None if lead is None else f"{_line_end(text)}{lead}".join(parts)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _quoted(value: str, word: Word, form: Form) -> str | None:
    """A new word, quoted like its neighbour."""
    if not _PLAIN.match(value):
        return None
    if form in _LINES:
        return value
    quote = word.raw[:1] if word.raw[:1] in "\"'" else ""
    if form in (Form.JSON, Form.PYTHON):
        return f"{quote or chr(34)}{value}{quote or chr(34)}"
    return f"{quote}{value}{quote}"


def _dash(word: Word, text: str) -> str | None:
    """The text before the word on its line, if it is a YAML dash (`- `) and nothing else."""
    line = text[text.rfind("\n", 0, word.start) + 1 : word.start]
    return line if re.fullmatch(r"[ ]*-[ ]+", line) else None


def _without(flag: Word, text: str, form: Form) -> TextEdit | None:
    """Remove a flag, with the gap or comma that belongs to it."""
    if not flag.exact or "$" in flag.raw or text[flag.start : flag.end] != flag.raw:
        return None
    if form is Form.YAML_BLOCK:
        return _without_line(flag, text)
    if form not in _LINES:
        before = re.search(r"\s*,\s*\Z", text[max(0, flag.start - 200) : flag.start])
        return TextEdit(flag.start - len(before[0]), flag.end, "") if before else None
    before = re.search(r"[ \t]+\Z", text[max(0, flag.start - 200) : flag.start])
    after = re.match(r"[ \t]+", text[flag.end : flag.end + 200])
    line = text[text.rfind("\n", 0, flag.start) + 1 : flag.start]
    if before and line.strip():
        return TextEdit(flag.start - len(before[0]), flag.end, "")
    return TextEdit(flag.start, flag.end + len(after[0]), "") if after else None


def _without_line(flag: Word, text: str) -> TextEdit | None:
    first = text.rfind("\n", 0, flag.start)
    last = text.find("\n", flag.end)
    rest = text[flag.end : last if last >= 0 else len(text)]
    if first > 0 and text[first - 1] == "\r":
        first -= 1
    return TextEdit(first, flag.end, "") if first >= 0 and _dash(flag, text) and not rest.strip() else None
