"""Notebooks in the language server: each cell is a separate document for the editor, and all are one module."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

pytest.importorskip("pygls", reason="pygls is not installed")
pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")
import pytest_asyncio
from lsp_client import SECONDS, applied, editor
from lsprotocol import types

from trl_lint.findings import Edit, Position
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.frontends.server.documents import Version
from trl_lint.frontends.server.notebooks import NotebookVersion

pytestmark = pytest.mark.asyncio(loop_scope="module")
# The last cell can only be judged with the class of the second; a character of two units is before its call.
IMPORTS = "%pip install trl\nfrom transformers import Trainer"
BASE = 'class Base(Trainer):\n    def show(self, value):\n        self.log({"loss": value})'
MINE = """class Mine(Base):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        "😀"; self.show(loss.item())
        return loss"""
TEXT = "# Notes"
CELLS = (IMPORTS, BASE, (types.NotebookCellKind.Markup, TEXT), MINE)
NOTEBOOKS = types.ClientCapabilities(
    notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities())
)


class Notebook:
    """A notebook that is open in an editor. Its cells are named by letters, in the order in which they were added."""

    def __init__(self, editor, path):
        self.editor, self.uri, self.path = editor, path.as_uri(), path
        self.number, self.language = 0, "python"
        self.order, self.texts, self.versions, self.kinds = [], {}, {}, {}

    def cell_uri(self, name):
        return f"vscode-notebook-cell:{self.path}#{name}"

    def _new(self, *cells):
        """Cells, and their documents."""
        made, documents = [], []
        for each in cells:
            kind, text = each if isinstance(each, tuple) else (types.NotebookCellKind.Code, each)
            uri = self.cell_uri("abcdefgh"[len(self.versions)])
            self.texts[uri], self.versions[uri], self.kinds[uri] = text, 1, kind
            made.append(types.NotebookCell(kind, uri))
            language = self.language if kind is types.NotebookCellKind.Code else "markdown"
            documents.append(types.TextDocumentItem(uri, language, 1, text))
        return made, documents

    def open(self, *cells):
        made, documents = self._new(*cells)
        self.order = [each.document for each in made]
        self.number = 1
        notebook = types.NotebookDocument(self.uri, "jupyter-notebook", 1, made)
        self.editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))

    def changed(self, **what):
        self.number += 1
        self.editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(version=self.number, uri=self.uri),
                types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**what)),
            )
        )

    def arrange(self, start, count, *cells):
        """Replace cells by new ones."""
        made, documents = self._new(*cells)
        gone = [types.TextDocumentIdentifier(each) for each in self.order[start : start + count]]
        self.order[start : start + count] = [each.document for each in made]
        array = types.NotebookCellArrayChange(start, count, made)
        self.changed(structure=types.NotebookDocumentCellChangeStructure(array, documents, gone))

    def move_last_to_the_front(self):
        """As editors report it: a cell is removed and added at another place; its document stays open."""
        last = self.order.pop()
        self.order.insert(0, last)
        cells = [types.NotebookCell(self.kinds[each], each) for each in self.order]
        array = types.NotebookCellArrayChange(0, len(cells), cells)
        self.changed(structure=types.NotebookDocumentCellChangeStructure(array))

    def replace(self, name, old, new):
        """Change a part of the text of a cell."""
        uri = self.cell_uri(name)
        before, _, _ = self.texts[uri].partition(old)
        start = types.Position(before.count("\n"), units(before.rpartition("\n")[2]))
        *above, last = (before + old).split("\n")
        span = types.Range(start, types.Position(len(above), units(last)))
        self.texts[uri] = self.texts[uri].replace(old, new, 1)
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        change = types.TextDocumentContentChangePartial(span, new)
        self.changed(text_content=[types.NotebookDocumentCellContentChanges(document, [change])])

    def close(self):
        documents = [types.TextDocumentIdentifier(each) for each in self.order]
        identifier = types.NotebookDocumentIdentifier(self.uri)
        self.editor.client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(identifier, documents))

    async def told(self, name, lines):
        """The diagnostics of a cell, once they are in these lines, from 0."""

        async def once_there():
            while (found := self.shown(name)) is None or [each.range.start.line for each in found] != list(lines):
                await asyncio.sleep(0.01)
            return found

        return await asyncio.wait_for(once_there(), SECONDS)

    def shown(self, name):
        """The diagnostics that the editor shows in a cell; None if it has received none for it nor for any other."""
        found = self.editor.client.diagnostics.get(self.cell_uri(name))
        return None if found is None else list(found)

    async def actions(self, name, found, only=None):
        document = types.TextDocumentIdentifier(self.cell_uri(name))
        asked = types.CodeActionParams(document, found[0].range, types.CodeActionContext(found, only=only))
        return list(await self.editor.client.text_document_code_action_async(asked) or [])

    async def hover(self, name, line, column):
        document = types.TextDocumentIdentifier(self.cell_uri(name))
        asked = types.HoverParams(document, types.Position(line, column))
        return await self.editor.client.text_document_hover_async(asked)

    def make(self, edit):
        """Apply the edits of an action, cell by cell; return the new texts of the cells."""
        for uri, edits in edit.changes.items():
            self.texts[uri] = applied(self.texts[uri], edits)
        return [self.texts[each] for each in self.order]

    def saved(self):
        cells = [
            {
                "cell_type": "code" if self.kinds[each] is types.NotebookCellKind.Code else "markdown",
                "metadata": {},
                "source": self.texts[each],
            }
            for each in self.order
        ]
        self.path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), encoding="utf-8")
        return self.path


def units(text):
    return len(text.encode("utf-16-le")) // 2


def command_line(path, *options):
    command = [sys.executable, "-m", "trl_lint", "--no-cache", "--output-format", "json", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent).stdout


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server():
    async with editor(NOTEBOOKS) as found:
        yield found


@pytest.fixture
def folder(tmp_path):
    """More rules than the default set: these notebooks start no processes."""
    (tmp_path / "pyproject.toml").write_text('[tool.trl-lint]\nselect = ["ALL"]\n', encoding="utf-8")
    return tmp_path


@pytest.fixture
def notebook(server, folder):
    made = Notebook(server, folder / "train.ipynb")
    yield made
    made.close()


async def test_it_says_what_the_command_line_says(notebook):
    notebook.open(*CELLS)
    (found,) = await notebook.told("d", [3])
    (expected,) = json.loads(command_line(notebook.saved()))
    assert (expected["cell"], found.code) == (4, expected["code"])
    row, column = expected["location"]["row"], expected["location"]["column"]
    # The character before it takes two units, of which the command line counts one.
    assert (found.range.start.line + 1, found.range.start.character) == (row, column)
    assert not notebook.shown("a") and not notebook.shown("b")
    assert found.message.split("\n")[0] in expected["message"]
    related = [(each.location.uri, each.location.range.start.line) for each in found.related_information]
    assert (notebook.cell_uri("d"), 1) in related


async def test_it_follows_changes_of_the_cells(notebook):
    notebook.open(*CELLS)
    await notebook.told("d", [3])
    notebook.replace("b", "self.log(", "print(")
    await notebook.told("d", [])
    notebook.replace("b", "print(", "self.log(")
    await notebook.told("d", [3])
    notebook.replace("d", '"😀"; ', '"😀"\n        ')
    (moved,) = await notebook.told("d", [4])
    assert moved.range.start.character == 8
    notebook.arrange(1, 1)  # the base is gone
    await notebook.told("d", [])
    notebook.arrange(1, 0, BASE)
    await notebook.told("d", [4])
    notebook.move_last_to_the_front()  # a class is no base for code before it
    await notebook.told("d", [])


async def test_a_cell_that_is_removed_has_no_diagnostics_any_more(notebook):
    notebook.open(*CELLS)
    await notebook.told("d", [3])
    notebook.arrange(3, 1)
    await notebook.told("d", [])


async def test_a_cell_that_is_no_python_says_so(notebook):
    notebook.open(*CELLS)
    await notebook.told("d", [3])
    notebook.replace("b", "class Base(", "class Base((")
    (found,) = await notebook.told("b", [0])
    assert found.message.startswith("cannot parse: ") and found.code is None


async def test_a_quick_fix_changes_cells_as_fix_does(notebook):
    notebook.open(*CELLS)
    found = await notebook.told("d", [3])
    path = notebook.saved()
    (fix,) = [each for each in await notebook.actions("d", found, ["quickfix"]) if each.is_preferred]
    (all_fixes,) = await notebook.actions("d", found, ["source.fixAll"])
    assert all_fixes.edit.changes == fix.edit.changes
    after = notebook.make(fix.edit)
    command_line(path, "--fix")
    fixed = ["".join(each["source"]) for each in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    assert after == fixed != [IMPORTS, BASE, TEXT, MINE]


async def test_a_finding_in_a_cell_can_be_silenced(notebook):
    notebook.open(*CELLS)
    found = await notebook.told("d", [3])
    (action,) = [each for each in await notebook.actions("d", found) if "noqa" in each.title]
    assert notebook.make(action.edit)[3] == MINE.replace("item())", "item())  # noqa: TRL003")


async def test_a_name_in_a_cell_tells_its_fact_and_where_it_comes_from(notebook):
    notebook.open(*CELLS)
    await notebook.told("d", [3])
    line = MINE.splitlines()[3]
    column = units(line[: line.index("loss")])
    shown = await notebook.hover("d", 3, column)
    assert shown.contents.value.startswith("`loss`: differs between ranks")
    assert "- cell 4, line 2: `inputs` is this rank's own data" in shown.contents.value
    assert "unreduced-metric (TRL003)" in shown.contents.value
    assert (shown.range.start.line, shown.range.start.character) == (3, column)
    assert await notebook.hover("c", 0, 3) is None


async def test_a_notebook_that_is_closed_has_no_diagnostics_any_more(server, folder):
    notebook = Notebook(server, folder / "train.ipynb")
    notebook.open(*CELLS)
    await notebook.told("d", [3])
    notebook.close()
    await notebook.told("d", [])


async def test_an_editor_that_asks_for_diagnostics_is_sent_those_of_cells(folder):
    document = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    asking = types.ClientCapabilities(text_document=document, notebook_document=NOTEBOOKS.notebook_document)
    async with editor(asking) as other:
        notebook = Notebook(other, folder / "train.ipynb")
        notebook.open(*CELLS)
        await notebook.told("d", [3])
        cell = types.TextDocumentIdentifier(notebook.cell_uri("d"))
        report = await other.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(cell))
        assert list(report.items) == []  # otherwise it would show each of them twice


async def test_all_fixes_of_all_cells_are_those_of_the_command_line(notebook):
    cells = (IMPORTS, BASE, MINE, MINE.replace("Mine", "Other"))
    notebook.open(*cells)
    found = await notebook.told("d", [3])
    path = notebook.saved()
    (action,) = await notebook.actions("b", found, ["source.fixAll.trl-lint"])
    command_line(path, "--fix")
    fixed = ["".join(each["source"]) for each in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    after = notebook.make(action.edit)
    assert after == fixed
    assert [old != new for old, new in zip(cells, after, strict=True)] == [False, False, True, True]


async def test_a_notebook_knows_the_unsaved_text_of_what_it_imports(notebook, server):
    helper = notebook.path.parent / "base.py"
    helper.write_text(f"from transformers import Trainer\n\n\n{BASE}\n", encoding="utf-8")
    notebook.open("from transformers import Trainer\nfrom base import Base", MINE)
    await notebook.told("b", [3])
    await server.open(helper)
    server.type(helper, helper.read_text(encoding="utf-8").replace("self.log(", "print("))
    await notebook.told("b", [])


async def test_columns_of_cells_are_counted_as_was_agreed(folder):
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf8])
    async with editor(
        types.ClientCapabilities(general=general, notebook_document=NOTEBOOKS.notebook_document)
    ) as other:
        notebook = Notebook(other, folder / "train.ipynb")
        notebook.open(*CELLS)
        (found,) = await notebook.told("d", [3])
        line = MINE.splitlines()[3]
        assert found.range.start.character == len(line[: line.index("self")].encode())


async def test_cells_of_other_languages_are_left_out(notebook):
    notebook.language = "r"
    notebook.open(*CELLS)
    for name in "abd":
        await notebook.told(name, [])


@pytest.mark.parametrize(
    "text, after", [("a\nb", "a\nb\nc"), ("a\nb\n", "a\nb\nc\n"), ("a", "a\nc"), ("a\r\n", "a\r\nc\n")]
)
async def test_a_line_behind_the_last_of_a_cell_begins_a_line(tmp_path, text, after):
    cell = Version("cell", tmp_path, 1, Coordinates(text))
    notebook = NotebookVersion("notebook", tmp_path, 1, Coordinates("{}"), {2: cell})
    end = Position(len(text.split()) + 1, 1, cell=2)
    ((changed, edits),) = notebook.changes([Edit(end, end, "c\n")])
    assert changed is cell
    assert applied(text, [cell.coordinates.text_edit(each) for each in edits]) == after
