"""Open notebooks: for the editor each cell is a document, while all code cells together are one module.

A notebook is linted as the file that it would be saved as, so that the results are those of the command line; the
findings in a cell are shown, and fixed, in the document of that cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types

from trl_lint.findings import Edit, Position
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.frontends.server.documents import Version
from trl_lint.launch.parsers.notebook_json import FORMAT
from trl_lint.linter.cells.notebook import read_notebook
from trl_lint.linter.cells.places import lines_with_ends
from trl_lint.linter.rewriting.text_edits import edited, edits_between

# Request all cells: text cells count, too, and only the cells tell which language they are in.
SYNC = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(types.NotebookDocumentFilterPattern("**/*.ipynb", scheme="file"))]
)


@dataclass(frozen=True)
class NotebookVersion(Version):
    """One version of a notebook: its text is its JSON. cells: the documents of its code cells, by their numbers."""

    cells: Mapping[int, Version]

    @property
    def shown(self) -> Sequence[Version]:
        return tuple(self.cells.values())

    def text_at(self, place: Position) -> Version | None:
        return self.cells.get(place.cell)

    def placed(self, uri: str, position: types.Position) -> tuple[Version, Position] | None:
        for number, cell in self.cells.items():
            if cell.uri == uri:
                return cell, replace(cell.coordinates.place(position), cell=number)
        return None

    def changes(self, edits: Sequence[Edit]) -> Iterator[tuple[Version, Sequence[Edit]]]:
        for number, cell in self.cells.items():
            own = [each for each in edits if each.start.cell == number]
            if own:
                yield cell, edits_between(cell.text, _edited(cell.text, own))

    def changes_to(self, text: str) -> Iterator[tuple[Version, Sequence[Edit]]]:
        new = read_notebook(self.path, text.encode("utf-8")).texts
        for number, cell in self.cells.items():
            if new.get(number, cell.text) != cell.text:
                yield cell, edits_between(cell.text, new[number])


def _edited(text: str, edits: Iterable[Edit]) -> str:
    """The text of a cell after edits, which assume a final line end; it is removed again if there was none."""
    edits_in_cell = [Edit(replace(each.start, cell=0), replace(each.end, cell=0), each.content) for each in edits]
    new = edited("".join(lines_with_ends(text)), edits_in_cell)
    return new if not text or text[-1] in "\r\n" else new.removesuffix("\n").removesuffix("\r")


class Notebook:
    """A notebook as the editor has it. encoding: the unit in which columns are counted."""

    def __init__(self, uri: str, path: Path, opened: types.DidOpenNotebookDocumentParams, encoding: str) -> None:
        self._uri, self._path, self._encoding = uri, path, encoding
        self._cells = list(opened.notebook_document.cells)
        self._texts: dict[str, Version] = {}
        self._languages: dict[str, str] = {}
        self._open(opened.cell_text_documents)

    def change(self, change: types.NotebookDocumentChangeEvent) -> None:
        """Apply a change: of the list of cells and their order, of their kinds, or of their texts."""
        cells = change.cells
        if cells is None:
            return
        if cells.structure is not None:
            self._arrange(cells.structure)
        changed = {each.document: each for each in cells.data or ()}
        self._cells = [changed.get(each.document, each) for each in self._cells]
        for content in cells.text_content or ():
            self._change_text(content)

    def _arrange(self, structure: types.NotebookDocumentCellChangeStructure) -> None:
        array = structure.array
        self._cells[array.start : array.start + array.delete_count] = array.cells or ()
        for closed in structure.did_close or ():
            self._texts.pop(closed.uri, None)
        self._open(structure.did_open or ())

    def _open(self, documents: Iterable[types.TextDocumentItem]) -> None:
        for each in documents:
            self._languages[each.uri] = each.language_id
            self._texts[each.uri] = self._cell(each.uri, each.version, each.text)

    def _change_text(self, content: types.NotebookDocumentCellContentChanges) -> None:
        """Change the text of a cell, in parts or as a whole."""
        uri, number = content.document.uri, content.document.version
        for change in content.changes if uri in self._texts else ():
            text = change.text
            if isinstance(change, types.TextDocumentContentChangePartial):
                before = self._texts[uri]
                start, end = map(before.coordinates.place, (change.range.start, change.range.end))
                text = edited(before.text, [Edit(start, end, change.text)])
            self._texts[uri] = self._cell(uri, number, text)

    def _cell(self, uri: str, number: int, text: str) -> Version:
        return Version(uri, self._path, number, Coordinates(text, self._encoding))

    def version(self, number: int) -> NotebookVersion:
        """The current version of the notebook. number: the editor's version number."""
        texts = [self._texts.get(each.document) for each in self._cells]
        is_code = [each.kind == types.NotebookCellKind.Code for each in self._cells]
        rows = [
            {
                "cell_type": "code" if code else "markdown",
                "metadata": {"vscode": {"languageId": self._languages.get(each.document, "")}},
                "source": text.text if text is not None else "",
            }
            for each, text, code in zip(self._cells, texts, is_code, strict=True)
        ]
        whole = json.dumps({"cells": rows, "metadata": {}, "nbformat": FORMAT, "nbformat_minor": 5})
        cells = {at: text for at, (text, code) in enumerate(zip(texts, is_code, strict=True), 1) if text and code}
        return NotebookVersion(self._uri, self._path, number, Coordinates(whole, self._encoding), cells)
