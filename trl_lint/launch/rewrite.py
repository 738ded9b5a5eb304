"""The edit that makes of a bare start of Python one with `accelerate launch`. All other bytes stay."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trl_lint.launch.commands.commands import Form, Word
from trl_lint.launch.judge.launchers import ACCELERATE_MODULE, ASSIGNMENTS, INTERPRETER, VERSIONED, X_OPTIONS
from trl_lint.launch.judge.python_invocation import Start

_LAUNCH = ("accelerate", "launch")
# Words that can be written without quotes in every form.
_PLAIN = re.compile(r"[\w./=+-]+\Z")
# Forms in which blanks part words.
_LINES = (Form.SHELL, Form.LINE)
_REFERENCE = re.compile(r"\$[({]\w+[)}]\Z")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace the file's text from `start` to `end` (indices into the text, as those of a `Word`)."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Sequence[TextEdit]) -> str:
    """The text with edits made, which must not overlap."""
    pieces: list[str] = []
    last = 0
    for each in sorted(edits, key=lambda edit: edit.start):
        pieces += [text[last : each.start], each.text]
        last = each.end
    return "".join([*pieces, text[last:]])


def rewrite(start: Start, text: str) -> tuple[TextEdit, ...] | None:
    """The edits of the file's text that start the same with `accelerate launch`; None where none is exact."""
    word, form = _as_written(start.interpreter, text), start.command.form
    if word is None:
        return None
    assignments = _carried(start.flags)
    launch = _launcher(word)
    if assignments is None or launch is None or not _takes_module(start):
        return None
    new = _written([*_assigned(start, assignments), *launch], word, text, form)
    gone = [_without(flag, text, form) for flag in start.flags]
    if new is None or any(each is None for each in gone):
        return None
    return _disjoint((TextEdit(word.start, word.end, new), *(each for each in gone if each)))


def _as_written(word: Word | None, text: str) -> Word | None:
    """The interpreter as the file has it; `$(PY)` of a Makefile stands where its value was read."""
    if word is None:
        return None
    raw = text[word.start : word.end]
    if word.exact:
        return word if raw == word.raw else None
    return replace(word, raw=raw) if _REFERENCE.match(raw) else None


def _disjoint(edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...] | None:
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    apart = all(one.end <= other.start for one, other in itertools.pairwise(ordered))
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


def _takes_module(start: Start) -> bool:
    """`-m mod` stays as it is. Of `-um mod` and `-mmod` nothing is made: the launcher does not take them so."""
    if start.module is None:
        return True
    place = start.command.words.index(start.module)
    return start.command.words[place - 1].value == "-m"


def _launcher(word: Word) -> list[str] | None:
    """What stands for the interpreter. One with a version, or in a variable, runs the launcher itself."""
    bare = word.raw.strip("\"'")
    if "$" in bare or not INTERPRETER.match(bare) or VERSIONED.match(bare):
        return ["", "-m", ACCELERATE_MODULE]
    folder, slash, _ = bare.rpartition("/")
    return [folder + slash + _LAUNCH[0], _LAUNCH[1]] if not bare.endswith(".exe") else None


def _assigned(start: Start, assignments: Sequence[str]) -> list[str]:
    """The words that set these variables: only at the very front of a shell command can that be done without `env`."""
    bare = start.command.form is Form.SHELL and not start.wrappers
    return [*assignments] if bare or not assignments else ["env", *assignments]


def _written(words: Sequence[str], word: Word, text: str, form: Form) -> str | None:
    """The words in the language that the command is written in; "" stands for the old word."""
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
    """One of our own words, quoted as its neighbour is."""
    if not _PLAIN.match(value):
        return None
    if form in _LINES:
        return value
    quote = word.raw[:1] if word.raw[:1] in "\"'" else ""
    if form in (Form.JSON, Form.PYTHON):
        return f"{quote or chr(34)}{value}{quote or chr(34)}"
    return f"{quote}{value}{quote}"


def _dash(word: Word, text: str) -> str | None:
    """What stands before the word on its line, where that is `- ` and nothing else."""
    line = text[text.rfind("\n", 0, word.start) + 1 : word.start]
    return line if re.fullmatch(r"[ ]*-[ ]+", line) else None


def _without(flag: Word, text: str, form: Form) -> TextEdit | None:
    """Take a flag away, with the gap or comma that belongs to it."""
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
