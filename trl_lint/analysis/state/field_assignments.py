"""The assignments to fields of objects in the text of a file, by the names in them alone.

    cfg.out, cfg.debug = out, False         by_field: {"out": ["cfg.out, cfg.debug = …"], "debug": ["cfg.debug = …"]}
    cfg.out = (folder
               + name)                      by_field: {"out": ["cfg.out = (folder + name)"]}
    _C.LR = 0.1                             defaults: {"_C.LR = 0.1"}
    if debug:
        _C.LR = 0.2                         no default

A file is scanned once, however many fields are asked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from trl_lint.analysis.program.project.logical_lines import rest_of_line

# `.name =`, `.name |=`, `setattr(x, "name",`, and a line of several targets. All begin with the rare part, or at a
# line: a file is scanned once.
_TARGET = re.compile(r"\.(\w+)\s*[|&]?=(?!=)")
_TARGETS = re.compile(r"^[ \t]*((?:[\w.]+[ \t]*,[ \t]*)+)[\w.]+[ \t]*=(?!=)", re.MULTILINE)
_SET_BY_NAME = re.compile(r"""\bsetattr\(\s*(\w+),\s*["'](\w+)["'],""")
_OWNED = re.compile(r"\.(\w+)[ \t]*,")
# A literal, a list of literals or its beginning, or an empty node of a configuration.
_LITERAL = r"""(?:"[^"]*"|'[^']*'|[-+\d.][\w.+-]*|True|False|None)"""
_DEFAULT = re.compile(
    rf"\w+\.\w+[ \t]*=[ \t]*(?:{_LITERAL}|[\[(][ \t\[(]*(?:{_LITERAL}[ \t,\[\]()]+)*(?:{_LITERAL})?[ \t\])]*"
    r"|(?:CN|CfgNode)\(\))[ \t]*(?:#.*)?"
)
# The endings of a line that continues on the next one.
_OPEN = ("(", "[", "{", ",")
# What a line has that may continue on the next one.
_GOES_ON = re.compile(r"[(\[{\\]")
# How many characters of a statement are searched for a word that refers to the rank.
_MOST_READ = 400


class FieldAssignments(NamedTuple):
    """The assignments of a file to fields of any object: each from the last word before the dot on, on one line.

    by_field: those to each field. defaults: those that give a field a literal whenever the file runs.
    """

    by_field: dict[str, list[str]]
    defaults: frozenset[str]


@lru_cache(maxsize=64)  # checked at every key, for all files of the project
def in_text(text: str) -> FieldAssignments:
    found: dict[str, list[str]] = defaultdict(list)
    at_top, indented = set[str](), set[str]()
    for match in _TARGET.finditer(text):
        line = _from_owner(text, match.start())
        found[match[1]].append(line)
        is_indented = text[text.rfind("\n", 0, match.start()) + 1].isspace()
        (indented if is_indented else at_top).add(line)
    for match in _SET_BY_NAME.finditer(text):
        found[match[2]].append(f"{match[1]}.{match[2]} ={value_at(text, match.end(), 1)}")
    for match in _TARGETS.finditer(text):
        if text[max(0, match.start() - _MOST_READ) : match.start()].rstrip().endswith(_OPEN):
            continue  # a call's arguments: `args.output_dir, is_main_process=accelerator.is_main_process`
        for target in _OWNED.finditer(text, match.start(1), match.end(1)):
            found[target[1]].append(_from_owner(text, target.start()))
    return FieldAssignments(found, frozenset(each for each in at_top - indented if _DEFAULT.fullmatch(each)))


@lru_cache(maxsize=256)
def is_bound_at_line(text: str, name: str) -> bool:
    """Whether any line of a file begins with an assignment to a name, maybe among others, or passes it by keyword."""
    targets = rf"(?:[\w.]+[ \t]*,[ \t]*)*{re.escape(name)}\b[^=\n]*=(?!=)"
    return re.search(rf"^[ \t]*\(?{targets}|\b{re.escape(name)}[ \t]*:=", text, re.MULTILINE) is not None


def word_before(text: str, dot: int) -> str:
    """The word that ends at a dot; "" if none does."""
    start = dot
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:dot]


def path_before(text: str, dot: int) -> list[str]:
    """The words of the object whose field a dot takes, the last one first: `["DIST", "cfg"]` of `cfg.DIST.RANK`."""
    words = [word_before(text, dot)]
    while words[-1] and text[(before := dot - len(words[-1]) - 1) : before + 1] == ".":
        dot = before
        words.append(word_before(text, dot))
    return words


def value_at(text: str, place: int, depth: int = 0) -> str:
    """The rest of a statement from a place in it, on one line; of a line of comments, the rest of that.

    depth: how many brackets are open there.
    """
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place, place + _MOST_READ)
    rest = text[place : end if end >= 0 else place + _MOST_READ]
    goes_on = (depth or _GOES_ON.search(rest) is not None) and "#" not in text[start:place]
    return rest_of_line(text, place, _MOST_READ, depth) if goes_on else rest


def _from_owner(text: str, dot: int) -> str:
    """The rest of a statement from the word before a dot on."""
    return word_before(text, dot) + value_at(text, dot)
