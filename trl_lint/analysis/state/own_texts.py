"""Settings to which a program gives a text that each process has of its own: drawn, or made from its clock.

digest = hashlib.sha1(str(datetime.now()).encode()).hexdigest()
args.name = f"{args.name}_{digest}"              `args.name` and `vars(args)["name"]` unknown, in its files
config["run"] = uuid.uuid4().hex                 `config["run"]`, too
args = TrainingArguments(output_dir=drawn)       `self.args.output_dir`, too: what a class is passed
config = replace(config, folder=drawn)           `config.folder`, too: a copy of a dataclass
self.folder = Path(out) / uuid.uuid4().hex       `cfg.folder`, in the `__post_init__` of a dataclass
args.name = f"run_{random.randint(0, 999)}"      where the file has not seeded it (`drawn_numbers`)
args.name = f"{args.name}_{time.time()}"         with parts of a second
args.name = f"{args.name}_{date}"                not own: the time in seconds is often the same one, as text
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.import_lines import files_in_reach, linted_and_imported
from trl_lint.analysis.program.project.logical_lines import logical_lines, on_one_line
from trl_lint.analysis.program.project.notes import noted, noted_of_linted
from trl_lint.analysis.state import drawn_numbers
from trl_lint.domain import ranks
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT
from trl_lint.knowledge.python import DRAW_NAMES, MAKE_NAMES, READ_CLOCKS
from trl_lint.knowledge.random_draws import DRAW_NUMBERS
from trl_lint.knowledge.schema import SETTING

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.analysis.state.frame import Frame


def _calls(names: frozenset[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(each.rpartition('.')[2] for each in names))})\("


_DRAWN = re.compile(_calls(DRAW_NAMES))
_MADE = re.compile(_calls(MAKE_NAMES))
_CLOCK = re.compile(_calls(READ_CLOCKS | {drawn_numbers.DRAWN}))
_NUMBER = re.compile(rf"\b{drawn_numbers.DRAWN}\(")
# All functions that draw numbers have this in their names, or in those of their modules.
_RANDOM = "rand"
_MAY_DRAW = re.compile(_calls(frozenset(DRAW_NUMBERS)))
# A time that is put into a text where it is read.
_READS_TIME = "time.time"
_TIMED = re.compile(r"=[^\n=]*(?:[\"']|\bstr\()[^\n]*\btime\.time(?:_ns)?\(\)")
_TIMES = re.compile(r"^[ \t]*(\w+)[ \t]*=[ \t]*time\.time(?:_ns)?\(\)", re.MULTILINE)
# What shows that a number is put into a text.
_TEXT = re.compile(r"[\"']|\bstr\(")
# Where an expression goes on in the next line.
_GOES_ON = re.compile(r"(?<=[,(\[{])[ \t]*\n[ \t]*")
_NAMED = re.compile(r"^[ \t]*(\w+)[ \t]*=(?!=)[ \t]*([^\n]*)", re.MULTILINE)
_FIELD = re.compile(r"\b(\w+)\.(\w+)[ \t]*\+?=(?!=)[ \t]*([^\n]*)")
_KEY = re.compile(r"""\[[ \t]*["'](\w+)["'][ \t]*\][ \t]*\+?=(?!=)[ \t]*([^\n]*)""")
# The body of what completes an object of a dataclass, whose fields are settings.
_COMPLETED = re.compile(r"^([ \t]+)def __post_init__\(self[^\n]*\n((?:\1[ \t]+[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)
_CALLED = re.compile(r"(\w+)\(")
_WORD = re.compile(r"\w+")
_VARIABLE = re.compile(r"(?<![\w.])\w+")
# A call of a class, by its capital letter, or one that copies an object of a dataclass, with the name of the object;
# and what delimits its arguments.
_CREATED = re.compile(r"\b(\w+)[ \t]*=[ \t]*(?:(?:\w+\.)*[A-Z]\w*\(|(?:dataclasses\.)?replace\((?=[ \t]*\w+[ \t]*,))")
_BRACKET = re.compile(r"[](){},[]")
_TEXT_CALLS = frozenset({
    "Path", "absolute", "abspath", "date", "digest", "encode", "expanduser", "format", "hexdigest", "int", "isoformat",
    "item", "join", "joinpath", "lower", "range", "replace", "resolve", "str", "strftime", "time", "timestamp", "upper",
    drawn_numbers.DRAWN,
}) | {each.rpartition(".")[2] for each in DRAW_NAMES | MAKE_NAMES | READ_CLOCKS}  # fmt: skip
# How many names a text may pass through before it is put into the settings.
_MOST_STEPS = 3


def unless_own(frame: Frame, name: object, value: Value) -> Value:
    """What is read from settings under a name; unknown instead if its program puts a text of its own there."""
    is_setting = value.rank == ranks.SETTING or value is SETTING
    return UNKNOWN if is_setting and isinstance(name, str) and is_own(frame, name) else value


def is_own(frame: Frame, name: str) -> bool:
    """Whether a program that a file is part of puts a text of the process's own into settings under a name."""
    project, path = frame.engine.project, frame.module.path
    setters = _setters(project).get(name, ())
    return any(_reaches(project, setter, path) or _reaches(project, path, setter) for setter in setters)


def _reaches(project: Project, importer: Path, path: Path) -> bool:
    """Whether a file imports another one, even indirectly, as far as is known."""
    reached = project.notes.cached((_reaches, importer), partial(files_in_reach, project, importer))
    return reached is None or path in reached


@noted_of_linted
def _setters(project: Project) -> dict[str, list[Path]]:
    """The files that put such a text into settings, by the name that it has there."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in linted_and_imported(project):
        # Once per file, because an editor or a benchmark adds one file after the other to those that are linted.
        for name in _names_set(project, path):
            found[name].append(path)
    return found


@noted
def _names_set(project: Project, path: Path) -> frozenset[str]:
    """The names under which a file puts such a text into settings."""
    text = project.text(path).decode("utf-8", "replace")
    if not _may_have_own(text) or is_test_file(path):
        return frozenset()
    code = drawn_numbers.marked(_with_whole_lines(project.code(path).decode("utf-8", "replace")))
    own = _own_names(code)
    return frozenset((*_fields_of(code, own), *_fields_passed(code, own)))


def _with_whole_lines(code: str) -> str:
    """The code of a file, without comments, with each logical line on one line; as far as is clear, if they are not."""
    lines = logical_lines(code)
    if lines is None:
        return _GOES_ON.sub("", code)
    return "".join(f"{on_one_line(code[line.start : line.end])}\n" for line in lines)


def _may_have_own(text: str) -> bool:
    if _DRAWN.search(text) is not None or (_RANDOM in text and _MAY_DRAW.search(text) is not None):
        return True
    if (_READS_TIME in text and _may_name_by_time(text)) or drawn_numbers.FINE_TEXT.search(text) is not None:
        return True
    return _MADE.search(text) is not None and _CLOCK.search(text) is not None


def _may_name_by_time(text: str) -> bool:
    """Whether a file puts the time that it reads into a text, at once or from a variable."""
    names = {each[1] for each in _TIMES.finditer(text)}
    return _TIMED.search(text) is not None or any(f"{{{each}}}" in text or f"str({each})" in text for each in names)


def _fields_of(text: str, own: _OwnNames) -> Iterator[str]:
    """The names under which a file, without comments, puts such a text into settings."""
    for owner, field, value in _FIELD.findall(text):
        if SETTINGS_OBJECT.fits(owner) and own.are_in(value):
            yield field
    yield from (key for key, value in _KEY.findall(text) if own.are_in(value))
    for _, body in _COMPLETED.findall(f"{text}\n"):
        for line in logical_lines(body) or ():
            set_here = _FIELD.findall(body[line.start : line.end].replace("\n", " "))
            yield from (field for owner, field, value in set_here if owner == "self" and own.are_in(value))


def _fields_passed(code: str, own: _OwnNames) -> Iterator[str]:
    """The names under which it passes such a text to a class of settings."""
    for call in _CREATED.finditer(code):
        for argument in _arguments(code, call.end()) if SETTINGS_OBJECT.fits(call[1]) else ():
            name, _, value = argument.partition("=")
            if _WORD.fullmatch(name.strip()) and own.are_in(value):
                yield name.strip()


def _arguments(code: str, start: int) -> Iterator[str]:
    """The texts of the arguments of a call, from the end of its opening parenthesis."""
    depth = 0
    for each in _BRACKET.finditer(code, start):
        if depth == 0 and each[0] in ",)]}":
            yield code[start : each.start()]
            start = each.end()
        depth += (each[0] in "([{") - (each[0] in ")]}")
        if depth < 0:
            return


class _OwnNames:
    """The variables of a file that hold the time, a drawn number, or a text of the process's own."""

    def __init__(self) -> None:
        self.clocks: set[str] = set()
        self.numbers: set[str] = set()
        self.own: set[str] = set()

    def add(self, name: str, value: str) -> None:
        """Note the assignment `name = value`."""
        if self.tell_time_in(value):
            self.clocks.add(name)
        if self.is_number_in(value) and _only_makes_texts(value):
            self.numbers.add(name)
        if self.are_in(value):
            self.own.add(name)

    def count(self) -> int:
        return len(self.clocks) + len(self.numbers) + len(self.own)

    def are_in(self, value: str) -> bool:
        """Whether it is a text with one of its own, or the digest of a clock, and nothing else is made of that."""
        if not _only_makes_texts(value):
            return False
        is_digest = _MADE.search(value) is not None and self.tell_time_in(value)
        is_number = _TEXT.search(value) is not None and self.is_number_in(value)
        is_text = is_digest or is_number or _DRAWN.search(value) is not None
        return is_text or not self.own.isdisjoint(_WORD.findall(value))

    def tell_time_in(self, value: str) -> bool:
        return _CLOCK.search(value) is not None or not self.clocks.isdisjoint(_WORD.findall(value))

    def is_number_in(self, value: str) -> bool:
        return _NUMBER.search(value) is not None or not self.numbers.isdisjoint(_VARIABLE.findall(value))


def _only_makes_texts(value: str) -> bool:
    return set(_CALLED.findall(value)) <= _TEXT_CALLS


def _own_names(text: str) -> _OwnNames:
    names = _OwnNames()
    assigned = [(name, value) for name, value in _NAMED.findall(text) if not SETTINGS_OBJECT.fits(name)]
    for _ in range(_MOST_STEPS):
        before = names.count()
        for name, value in assigned:
            names.add(name, value)
        if names.count() == before:
            break
    return names
