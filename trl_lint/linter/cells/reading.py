"""Select the reader for a file that contains Python in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trl_lint.findings import Position
from trl_lint.launch.parsers.readers import NOTEBOOK, front_end
from trl_lint.linter.cells.document import CodeDocument
from trl_lint.linter.cells.places import CodePart, NotInside


def document_of(path: Path, source: bytes, may_matter: Callable[[bytes], bool]) -> CodeDocument:
    """A notebook or a documentation file; of the latter, broken blocks that may matter are marked."""
    document = _read(path, source)
    return document if front_end(path) == NOTEBOOK else _without_broken(document, may_matter)


def round_trip(document: CodeDocument, part: CodePart, text: str) -> tuple[str, str]:
    """The text of a part after its file was written with this one and read again; and why that is impossible, or ""."""
    try:
        changed = document.changed(part.changes(text))
    except NotInside as reason:
        return text, str(reason)
    parts = _read(document.path, changed).parts
    if len(parts) != len(document.parts):
        return text, "it would change the blocks of the file"
    return parts[document.parts.index(part)].text, ""


def _read(path: Path, source: bytes) -> CodeDocument:
    if front_end(path) == NOTEBOOK:
        from trl_lint.linter.cells import notebook

        return notebook.read_notebook(path, source)
    from trl_lint.linter.cells import blocks

    return blocks.read_blocks(path, source)


def _without_broken(document: CodeDocument, may_matter: Callable[[bytes], bool]) -> CodeDocument:
    """Mark blocks that are not valid Python, with a remark: examples may have gaps."""
    from trl_lint.linter.files.sources import python_error

    errors = {part: python_error(part.source) for part in document.parts if may_matter(part.source)}
    broken = {part: error for part, error in errors.items() if error is not None}
    if not broken:
        return document
    part, (line, column, message) = next(iter(broken.items()))
    more = f" (and {len(broken) - 1} more)" * (len(broken) > 1)
    place = part.to_file(Position(line, column))
    remark = f"not looked at: the block at {place}, which is not valid Python: {message}{more}"
    return replace(document, remark=remark, broken=frozenset(each.path for each in broken))
