"""The parts of an editor that talk to the language server: pytest-lsp's client, and a folder."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

SECONDS = 60
COMMAND = (sys.executable, "-m", "trl_lint", "server")


class Editor:
    """A client and its open files. It sends whole texts, as the server asks for."""

    def __init__(self, client: LanguageClient, told: types.InitializeResult) -> None:
        self.client = client
        self.told = told
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.registered: list[types.Registration] = []  # the files that the server has asked to be notified of

    async def open(self, path: Path, text: str | None = None) -> list[types.Diagnostic]:
        """Open a file, if a text is given with that unsaved text, and wait for its diagnostics."""
        text = path.read_text(encoding="utf-8") if text is None else text
        uri = path.as_uri()
        self.versions[uri], self.texts[uri] = 1, text
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.told_of(path)

    def type(self, path: Path, text: str) -> None:
        uri = path.as_uri()
        self.versions[uri] += 1
        self.texts[uri] = text
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def retype(self, path: Path, text: str) -> list[types.Diagnostic]:
        """Change a text, and wait for its diagnostics."""
        self.type(path, text)
        return await self.told_of(path)

    def save(self, path: Path) -> None:
        document = types.TextDocumentIdentifier(path.as_uri())
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, path: Path) -> None:
        document = types.TextDocumentIdentifier(path.as_uri())
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def changed(self, path: Path) -> None:
        """A watched file has changed on the disk."""
        change = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))

    async def told_of(self, path: Path) -> list[types.Diagnostic]:
        """The next diagnostics for the newest text of a file."""
        while True:
            waiting = self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            told = await asyncio.wait_for(waiting, SECONDS)
            if told.uri == path.as_uri() and told.version == self.versions[told.uri]:
                return list(told.diagnostics)

    async def pulled(self, path: Path) -> list[types.Diagnostic]:
        """The diagnostics of a file, on request."""
        document = types.TextDocumentIdentifier(path.as_uri())
        report = await self.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        return list(report.items)

    async def actions(
        self, path: Path, found: Sequence[types.Diagnostic] = (), only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        """The actions offered for some diagnostics; without any, for the whole text."""
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        about = types.CodeActionContext(list(found), only=list(only) if only else None)
        asked = types.CodeActionParams(
            types.TextDocumentIdentifier(path.as_uri()), found[0].range if found else whole, about
        )
        return list(await self.client.text_document_code_action_async(asked) or [])

    async def hover(self, path: Path, line: int, column: int) -> str:
        """The hover text at a position, which counts from 0."""
        document = types.TextDocumentIdentifier(path.as_uri())
        asked = types.HoverParams(document, types.Position(line, column))
        shown = await self.client.text_document_hover_async(asked)
        return "" if shown is None else shown.contents.value

    def after(self, path: Path, edit: types.WorkspaceEdit) -> str:
        """The text of a file after an edit, whose columns count UTF-16 units."""
        edits = edit.document_changes[0].edits if edit.document_changes else (edit.changes or {}).get(path.as_uri(), [])
        return applied(self.texts[path.as_uri()], edits)


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    lines = text.split("\n")

    def offset(place: types.Position) -> int:
        above = sum(len(line) + 1 for line in lines[: place.line])
        before = lines[place.line].encode("utf-16-le")[: 2 * place.character].decode("utf-16-le")
        return above + len(before)

    for each in sorted(edits, key=lambda each: offset(each.range.start), reverse=True):
        text = text[: offset(each.range.start)] + each.new_text + text[offset(each.range.end) :]
    return text


@asynccontextmanager
async def editor(
    capabilities: types.ClientCapabilities | None = None,
    command: Sequence[str] = COMMAND,
    folder: Path | None = None,
) -> AsyncIterator[Editor]:
    """An editor with its own server, which has to end by itself."""
    client = make_test_lsp_client()
    await client.start_io(*command)
    registered: list[types.Registration] = []

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        registered.extend(params.registrations)

    asked = types.InitializeParams(
        capabilities=capabilities or types.ClientCapabilities(), root_uri=folder.as_uri() if folder else None
    )
    found = Editor(client, await client.initialize_session(asked))
    found.registered = registered
    yield found
    await asyncio.wait_for(client.shutdown_session(), SECONDS)
    assert client._server is not None and client._server.returncode == 0
    await client.stop()
