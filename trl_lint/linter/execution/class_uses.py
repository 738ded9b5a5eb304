"""What the code of a project does with a class, found by its name: whether it makes objects of it, or only asks for it.

from nets import Net            nothing yet
isinstance(model, Net)          a question
class Deep(Net): ...            an heir, whose uses count as well
model = Net(depth=2)            a use, and so is any other one
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from trl_lint.analysis.program.project.import_lines import IMPORT_LINES
from trl_lint.analysis.program.project.source_text import code_of

# Code that names a class and makes no object of it: a test of what an object is, `super(Net, self)`.
_ASKS = rb"\b(?:isinstance|issubclass|super)\((?:[^()]|\([^()]*\))*\)"
_CLASSES = rb"(?m)^[ \t]*class[ \t]+(\w+)[ \t]*(?:\([^()]*\))?[ \t]*:"
_HEIRS = rb"(?m)^[ \t]*class[ \t]+(\w+)[ \t]*\([^()]*\b%b\b[^()]*\)"
_RENAMED = rb"\b%b[ \t]+as\b"
_WORD = rb"\b%b\b"


def classes_in(content: bytes) -> frozenset[str]:
    """The names of the classes of a file."""
    return frozenset(each.decode("utf-8", "replace") for each in re.findall(_CLASSES, content))


def heirs_of(cls: str, contents: Iterable[bytes]) -> frozenset[str]:
    """The names of the classes that inherit from a class, even indirectly."""
    found: set[str] = set()
    waiting = [cls]
    while waiting:
        name = waiting.pop().encode()
        heirs = re.compile(_HEIRS % name)
        new = {each.decode() for code in contents if name in code for each in heirs.findall(code_of(code))} - found
        found |= new
        waiting += new
    return frozenset(found)


def is_renamed(names: Collection[str], contents: Iterable[bytes]) -> bool:
    """Whether code may know one of these classes under another name."""
    renamed, texts = _any_of(_RENAMED, names), _texts(names)
    candidates = (each for each in contents if _has_one(texts, each) and renamed.search(each) is not None)
    return any(renamed.search(code_of(each)) is not None for each in candidates)


def other_names(names: Collection[str], contents: Iterable[bytes]) -> frozenset[str]:
    """The names that imports give one of these classes: `from nets import Net as Own`."""
    renamed, texts = _any_of(_RENAMED + rb"[ \t]+(\w+)", names), _texts(names)
    codes = (code_of(each) for each in contents if _has_one(texts, each) and renamed.search(each) is not None)
    return frozenset(each.decode("utf-8", "replace") for code in codes for each in renamed.findall(code))


def is_used(names: Collection[str], content: bytes) -> bool:
    """Whether the code of a file does anything with one of these classes but to ask for it, or to inherit from it."""
    if not _has_one(_texts(names), content):
        return False
    word = _any_of(_WORD, names)
    return word.search(content) is not None and word.search(_without_questions(content)) is not None


def _without_questions(content: bytes) -> bytes:
    """The code of a file without the imports, the heads of classes and the tests of what an object is."""
    code = code_of(content)
    for pattern in (IMPORT_LINES, _CLASSES, _ASKS):
        code = re.sub(pattern, b"", code)
    return code


def _texts(names: Collection[str]) -> list[bytes]:
    """Names as they are looked for first: a plain text is found in a fraction of the time."""
    return [each.encode() for each in names]


def _has_one(texts: Collection[bytes], content: bytes) -> bool:
    return any(each in content for each in texts)


def _any_of(pattern: bytes, names: Collection[str]) -> re.Pattern[bytes]:
    return re.compile(pattern % b"(?:%b)" % b"|".join(re.escape(each).encode() for each in sorted(names)))
