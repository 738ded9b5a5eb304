"""The folders that a file adds to the search path of imports, as far as its text names them.

For example, in `tools/`:

    train.py        import _init_paths                          `train.py` finds what is in `lib`
                    from utils import create_logger
    _init_paths.py  def add_path(path):
                        sys.path.insert(0, path)
                    lib_path = os.path.join(here, "..", "lib")
                    add_path(lib_path)

Where a folder is is computed, so only how its path ends is known: `lib`. One above the file, of which not even that is
known, is written `.`:

    sys.path.append(os.path.join(os.path.dirname(__file__), os.path.pardir))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.analysis.program.project.source_text import code_of

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.import_search import ImportSearch

_SEARCH_PATH = b"sys.path."
# `sys.path.insert(0, os.path.join(here, "src"))`, and the texts in it.
_ADDS_FOLDER = re.compile(rb"\bsys\.path\.(?:append\(|insert\([ \t]*\d+[ \t]*,)\s*([^\n;]*)")
_TEXTS = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")
_FROM_ROOT = re.compile(rb"[ \t]*[\"']/(?!\.\.)")
_UPWARDS = re.compile(r"^(?:\.{0,2}/)+")
# `os.pardir`, `Path(__file__).parent.parent`, `dirname(dirname(__file__))`, and texts that are all dots.
_ABOVE = re.compile(rb"\bpardir\b|\.parent\.parent\b|\.parents\[[1-9]\]|\bdirname\([^()]*\bdirname\(")
# `path` and `str(path)`, up to the end of the call.
_ONE_NAME = re.compile(rb"[ \t]*(?:(?:str|os\.fspath)\([ \t]*)?([A-Za-z_]\w*)[ \t]*\)")
# `import _init_paths`: its code runs first.
_IMPORTS = re.compile(rb"^import[ \t]+(\w+)", re.MULTILINE)
# A folder around the file, whichever it is.
ABOVE = "."
# A name stands for a variable, which is a parameter of a function, whose argument is a variable.
_MOST_STEPS = 3


def folders_for(project: ImportSearch, path: Path, source: bytes) -> tuple[str, ...]:
    """How the folders end that a file adds, itself or by importing a file next to it that does so."""
    folders = [*added_folders(source)]
    for other in _files_imported(source):
        if other != path.name and project.holds(path.parent, other):
            folders += added_folders(project.text(path.parent / other))
    return tuple(dict.fromkeys(folders))


@lru_cache(maxsize=1024)
def _files_imported(source: bytes) -> tuple[str, ...]:
    """The names of the files that a file imports, if they are next to it."""
    return tuple(f"{name.decode()}.py" for name in _IMPORTS.findall(source))


@lru_cache(maxsize=256)
def added_folders(source: bytes) -> tuple[str, ...]:
    """How the folders end that a file adds to the search path of imports, as far as it names them.

    `sys.path.append("../lib")` and `sys.path.insert(0, str(here.parent / "lib"))` both add one named `lib`. A path from
    the root of a disk belongs to somebody's own machine.
    """
    if _SEARCH_PATH not in source:
        return ()
    code = code_of(source)
    added = (text for each in _ADDS_FOLDER.findall(code) for text in _meant(code, each, _MOST_STEPS))
    folders = (_folder(each) for each in added if not _FROM_ROOT.match(each))
    return tuple(dict.fromkeys(filter(None, folders)))


def _folder(argument: bytes) -> str:
    """How a folder ends; `.` if it is only known to be above the file, and nothing if that is not known either."""
    text = "/".join((double or single).decode(errors="replace") for double, single in _TEXTS.findall(argument))
    folder = _UPWARDS.sub("", text).strip("/")
    if folder.strip("."):
        return folder
    return ABOVE if _ABOVE.search(argument) or ".." in text else ""


def _meant(code: bytes, argument: bytes, steps: int) -> Iterator[bytes]:
    """What the text of an argument stands for: what its name is assigned, or what the callers of its function pass."""
    named = _ONE_NAME.match(argument)
    if named is None or not steps:
        yield argument
        return
    name = re.escape(named[1])
    yield from re.findall(rb"^[ \t]*%b[ \t]*=(?!=)([^\n;]*)" % name, code, re.MULTILINE)
    for function in re.findall(rb"^[ \t]*def[ \t]+(\w+)\([ \t]*%b\b" % name, code, re.MULTILINE):
        for passed in re.findall(rb"(?<!def )\b%b\(([^\n;]*)" % function, code):
            yield from _meant(code, passed, steps - 1)
