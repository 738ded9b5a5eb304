"""The folders that a file adds to the search path of imports, as far as its text names them.

For example, in `tools/`:

    train.py        import _init_paths                          `train.py` finds what is in `lib`
                    from utils import create_logger
    _init_paths.py  def add_path(path):
                        sys.path.insert(0, path)
                    lib_path = os.path.join(here, "..", "lib")
                    add_path(lib_path)

Where a folder is is computed, so only how its path ends is known: `lib`.
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
_ADDS_FOLDER = re.compile(rb"\bsys\.path\.(?:append\(|insert\([ \t]*\d+[ \t]*,)([^\n;]*)")
_TEXTS = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")
_FROM_ROOT = re.compile(rb"[ \t]*[\"']/(?!\.\.)")
_UPWARDS = re.compile(r"^(?:\.{0,2}/)+")
# `path` and `str(path)`, up to the end of the call.
_ONE_NAME = re.compile(rb"[ \t]*(?:(?:str|os\.fspath)\([ \t]*)?([A-Za-z_]\w*)[ \t]*\)")
# `import _init_paths`: its code runs first.
_IMPORTS = re.compile(rb"^import[ \t]+(\w+)", re.MULTILINE)
# A name stands for a variable, which is a parameter of a function, whose argument is a variable.
_MOST_STEPS = 3


def folders_for(project: ImportSearch, path: Path, source: bytes) -> tuple[str, ...]:
    """How the folders end that a file adds, itself or by importing a file next to it that does so."""
    folders = [*added_folders(source)]
    for name in _IMPORTS.findall(source):
        other = path.parent / f"{name.decode()}.py"
        if other != path and project.has_file(other):
            folders += added_folders(project.text(other))
    return tuple(dict.fromkeys(folders))


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
    texts = (
        "/".join((double or single).decode(errors="replace") for double, single in _TEXTS.findall(each))
        for each in added
        if not _FROM_ROOT.match(each)
    )
    folders = (_UPWARDS.sub("", each).strip("/") for each in texts)
    return tuple(dict.fromkeys(each for each in folders if each.strip(".")))


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
