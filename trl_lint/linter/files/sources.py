"""Whether a file that the user named can be analysed, checked even if the analysis has no reason to.

A file that can't matter is not parsed: below a folder, nobody asked about it. A named file is different: `all clear`
must not be reported for a text that cannot be understood.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.launch.parsers.readers import NOTEBOOK, front_end, is_launch_file
from trl_lint.linter.results import SourceError

if TYPE_CHECKING:
    from libcst import ParserSyntaxError

_PYTHON_SUFFIXES = frozenset({"", ".py", ".pyi", ".pyw"})
_PYTHON_SHEBANG = re.compile(rb"#!.*?python")


def is_known_kind(path: Path, source: bytes) -> bool:
    """Whether a file is Python, or of a kind that launch commands are read from; a file without a suffix may be."""
    known = path.suffix.lower() in _PYTHON_SUFFIXES or is_launch_file(path, source)
    return known or _PYTHON_SHEBANG.match(source[:200]) is not None


def unreadable(path: Path, source: bytes) -> str:
    """Why a file of a known kind can't be understood, as `:line:column: what` if it has a place; otherwise ""."""
    if not is_launch_file(path, source):
        error = python_error(source)
        return f":{error[0]}:{error[1]}: cannot parse: {error[2]}" if error else ""
    if front_end(path) == NOTEBOOK:
        return _unreadable_cell(path, source)
    try:
        return ": not looked at: a binary file" if b"\0" in source else source.decode() and ""
    except UnicodeDecodeError:
        return ": not looked at: its text is not UTF-8"


def _unreadable_cell(path: Path, source: bytes) -> str:
    from trl_lint.linter.cells.linting import broken_cell
    from trl_lint.linter.cells.notebook import read_notebook

    document = read_notebook(path, source)
    broken = next((found for part in document.parts if (found := broken_cell(part))), None)
    if broken is not None:
        return f":{broken[0]}: cannot parse: {broken[1]}"
    return f": {document.remark}" if document.remark else ""


def python_error(source: bytes) -> tuple[int, int, str] | None:
    """The first syntax error of a text, in Python's own words; None if it is valid, or nested too deeply to tell."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        text = source.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        return 1, 1, str(error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's code, and not wanted here
            compile(text, "", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return max(error.lineno or 1, 1), max(error.offset or 1, 1), error.msg
    except ValueError as error:  # null bytes
        return 1, 1, str(error)
    except (RecursionError, MemoryError):
        pass
    return None


def syntax_error(path: Path, source: bytes, error: ParserSyntaxError) -> SourceError:
    """The syntax error of a text, in Python's own words, which are better known than the parser's."""
    known = python_error(source)
    if known is not None:
        return SourceError(str(path), *known)
    message = str(error.message).partition("\n")[0]
    return SourceError(str(path), max(error.raw_line, 1), error.raw_column + 1, message or "syntax error")
