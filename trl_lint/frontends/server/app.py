"""The server: which requests it answers, and when it lints a document."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from trl_lint import __version__
from trl_lint.analysis.interprocedural.rerunning import Interrupted
from trl_lint.frontends.server import actions, hovering, watching
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.frontends.server.documents import Document, Linted, Version
from trl_lint.frontends.server.linting import edits_for, fixed_text, lint
from trl_lint.frontends.server.notebooks import SYNC, Notebook, NotebookVersion
from trl_lint.frontends.server.projects import Projects
from trl_lint.frontends.server.worker import Worker
from trl_lint.linter.results import SourceError

# Seconds between a change and the lint: after a pause in typing, and while typing. Other open documents that the change
# may affect can wait longer, and so can the full lint of a document after an incremental one.
AFTER_A_PAUSE, WHILE_TYPING, FOR_OTHERS, FROM_THE_START = 0.005, 0.15, 1.0, 2.0
_Result = TypeVar("_Result")


class TrlLintServer(LanguageServer):
    """Lints the open documents, one at a time and always in their newest version."""

    def __init__(self) -> None:
        # Request whole texts: pygls applies partial changes incorrectly to texts with form feeds, because it treats
        # these as line ends.
        super().__init__(
            "trl-lint",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=SYNC,
        )
        # Partial changes are sent for cells anyway, and pygls warns about them; the texts of cells are kept in
        # `notebooks`.
        logging.getLogger("pygls.workspace.text_document").setLevel(logging.CRITICAL)
        self.documents: dict[str, Document] = {}
        self.notebooks: dict[str, Notebook] = {}
        self.worker = Worker()
        self._texts = 0  # the number of texts received
        self.projects = Projects(self._report_settings_error)
        self.watched = watching.Watched(self)
        self._scheduled: dict[str, asyncio.Task[None]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._messages_shown: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        for method, handler in self._handlers().items():
            self.feature(method, _OPTIONS.get(method))(partial(handler))  # pygls sets attributes on it

    def _handlers(self) -> dict[str, Callable[..., object]]:
        return {
            types.INITIALIZED: self.on_initialized,
            types.TEXT_DOCUMENT_DID_OPEN: self.on_open,
            types.TEXT_DOCUMENT_DID_CHANGE: self.on_change,
            types.TEXT_DOCUMENT_DID_SAVE: self.on_save,
            types.TEXT_DOCUMENT_DID_CLOSE: self.on_close,
            types.NOTEBOOK_DOCUMENT_DID_OPEN: self.on_notebook_open,
            types.NOTEBOOK_DOCUMENT_DID_CHANGE: self.on_notebook_change,
            types.NOTEBOOK_DOCUMENT_DID_CLOSE: self.on_notebook_close,
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: self.on_watched_files,
            types.TEXT_DOCUMENT_DIAGNOSTIC: self.on_diagnostic,
            types.TEXT_DOCUMENT_CODE_ACTION: self.on_code_action,
            types.CODE_ACTION_RESOLVE: self.on_resolve,
            types.TEXT_DOCUMENT_HOVER: self.on_hover,
        }

    def shutdown(self) -> None:
        self.worker.stop()
        super().shutdown()  # type: ignore[no-untyped-call]

    # --- client capabilities ---

    @property
    def _pulls(self) -> bool:
        """Whether the editor requests diagnostics: if they were also pushed, it would show each of them twice."""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def _pushes(self, version: Version) -> bool:
        """Whether to send diagnostics unasked: some editors request them for texts but not for cells."""
        return not self._pulls or isinstance(version, NotebookVersion)

    @property
    def _versioned(self) -> bool:
        """Whether the editor supports edits for a given version of a document."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        return bool(edit and edit.document_changes)

    @property
    def _resolves(self) -> bool:
        """Whether the edit of an action can be computed once the user has chosen it."""
        document = self.client_capabilities.text_document
        action = document.code_action if document else None
        return bool(action and action.resolve_support and "edit" in action.resolve_support.properties)

    # --- documents ---

    async def on_initialized(self, params: types.InitializedParams) -> None:
        self._loop = asyncio.get_running_loop()
        self.watched.register(watching.watchers())

    async def on_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._on_text(document.uri, document.version, document.text)

    async def on_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        self._on_text(document.uri, document.version, self.workspace.get_text_document(document.uri).source)

    async def on_save(self, params: types.DidSaveTextDocumentParams) -> None:
        # Not all editors watch files: the saved file may contain the settings.
        self._reload(settings=True)

    async def on_watched_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        paths = [Path(name) for each in params.changes if (name := to_fs_path(each.uri))]
        settings = any(watching.is_of_settings(each, self.projects.named) for each in paths)
        if settings or await self._in_worker(partial(self.projects.any_matters, paths)):
            self._reload(settings=settings)

    async def on_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._closed(params.text_document.uri)

    async def on_notebook_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        path = _path_of(uri)
        if path is not None:
            self.notebooks[uri] = Notebook(uri, path, params, self._encoding)
            self._on_version(self.notebooks[uri].version(params.notebook_document.version))

    async def on_notebook_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        notebook = self.notebooks.get(params.notebook_document.uri)
        if notebook is not None:
            notebook.change(params.change)
            self._on_version(notebook.version(params.notebook_document.version))

    async def on_notebook_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self.notebooks.pop(params.notebook_document.uri, None)
        self._closed(params.notebook_document.uri)

    def _closed(self, uri: str) -> None:
        self._locks.pop(uri, None)
        task = self._scheduled.pop(uri, None)
        if task is not None:
            task.cancel()
        document = self.documents.pop(uri, None)
        if document is None:
            return
        if self._pushes(document.now):
            for each in {*document.sent, *(each.uri for each in document.now.shown)}:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each, []))
        self._schedule_others(FOR_OTHERS, document.now)  # its unsaved text is gone

    @property
    def _encoding(self) -> str:
        """The agreed unit in which columns are counted."""
        encoding = self.workspace.position_encoding
        agreed = encoding.value if isinstance(encoding, types.PositionEncodingKind) else encoding
        return agreed or types.PositionEncodingKind.Utf16.value

    def _on_text(self, uri: str, number: int, text: str) -> None:
        path = _path_of(uri)
        if path is not None:
            self._on_version(Version(uri, path, number, Coordinates(text, self._encoding)))

    def _on_version(self, version: Version) -> None:
        document = self.documents.setdefault(version.uri, Document(version))
        document.now = version
        self._texts += 1
        now = asyncio.get_running_loop().time()
        paused = now - document.changed_at > WHILE_TYPING
        document.changed_at = now
        if self._pushes(version):
            self._schedule(AFTER_A_PAUSE if paused else WHILE_TYPING, version.uri)
        self._schedule_others(FOR_OTHERS, version)

    def _schedule_others(self, seconds: float, changed: Version) -> None:
        """Lint the other open documents again: they may import the changed one."""
        for uri, document in self.documents.items():
            if uri != changed.uri and _may_concern(changed, document.now):
                self._schedule(seconds, uri, again=True)

    def _reload(self, *, settings: bool) -> None:
        """Lint all open documents again, because files on disk have changed."""
        self._messages_shown.clear()
        self.projects.forget(settings=settings)
        for uri in self.documents:
            self._schedule(AFTER_A_PAUSE, uri, again=True)

    # --- linting ---

    def _schedule(self, seconds: float, uri: str, *, again: bool = False) -> None:
        """Lint a document later, and cancel its previously scheduled lint.

        again: even if its own text is unchanged.
        """
        before = self._scheduled.get(uri)
        if before is not None:
            before.cancel()
        self._scheduled[uri] = asyncio.get_running_loop().create_task(self._lint_later(seconds, uri, again))

    async def _lint_later(self, seconds: float, uri: str, again: bool) -> None:
        await asyncio.sleep(seconds)
        document = self.documents.get(uri)
        if document is None:
            return
        if again:
            document.linted = None
        linted = await self.linted(uri)
        if linted is None:
            return
        self._show(document, linted)
        if not linted.settled:
            await self._confirm(document, linted)

    async def _confirm(self, document: Document, linted: Linted) -> None:
        """After a pause in typing, check whether a full lint of a document gives the same result."""
        settled = None
        while settled is None:
            await asyncio.sleep(FROM_THE_START)
            if document.linted is not linted:
                return
            settled = await self._in_worker(partial(self._lint_from_start, linted.version, self._texts))
        if document.linted is linted:
            document.linted = settled
            self._show(document, settled)
        self.worker.tidy(is_pause=True)

    def _show(self, document: Document, linted: Linted) -> None:
        """Send the diagnostics to the editor if they have changed."""
        if document.sent == linted.to_send:
            return
        if self._pushes(linted.version):
            before, document.sent = document.sent, linted.to_send
            for uri, (number, found) in linted.to_send.items():
                if before.get(uri) != (number, found):
                    self.text_document_publish_diagnostics(
                        types.PublishDiagnosticsParams(uri, list(found), version=number)
                    )
            for uri in before.keys() - linted.to_send.keys():  # removed cells
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        elif self._refreshes:
            self.workspace_diagnostic_refresh(None)

    @property
    def _refreshes(self) -> bool:
        """Whether the server can tell the editor to request diagnostics again."""
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.diagnostics and workspace.diagnostics.refresh_support)

    async def linted(self, uri: str) -> Linted | None:
        """The lint result for the newest text of a document; None if it is no longer open."""
        async with self._locks.setdefault(uri, asyncio.Lock()):
            while (document := self.documents.get(uri)) is not None and not document.is_linted():
                version = document.now
                document.linted = await self._in_worker(partial(self._lint, document, version))
                self._show_trouble(document.linted)
                self.watched.register_files(self.projects.named)
                self.worker.tidy(is_pause=False)
            return document.linted if document is not None else None

    def _lint(self, document: Document, version: Version) -> Linted | None:
        """The result of a lint; None if a newer text has made it obsolete."""
        try:
            return lint(self.projects, version, lambda: document.now is not version)
        except Interrupted:
            return None

    def _lint_from_start(self, version: Version, texts: int) -> Linted | None:
        """The result of a full lint; None if the text of any document has changed meanwhile."""
        try:
            return lint(self.projects, version, lambda: self._texts != texts, afresh=True)
        except Interrupted:
            return None

    async def _in_worker(self, work: Callable[[], _Result]) -> _Result:
        overlay = {each.now.path: each.now.source for each in self.documents.values()}

        def with_open_texts() -> _Result:
            self.projects.overlay = overlay
            return work()

        return await self.worker.do(with_open_texts)

    # --- messages to the user ---

    def _show_trouble(self, linted: Linted | None) -> None:
        if linted is not None and linted.trouble:
            self._show_message(linted.trouble)

    def _report_settings_error(self, text: str) -> None:
        """Report an error in the settings; called in the worker's thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._show_message, text)

    def _show_message(self, text: str) -> None:
        """Show a message to the user, only once until something changes on disk."""
        if text not in self._messages_shown:
            self._messages_shown.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"trl-lint: {text}"))

    # --- requests of the editor ---

    def _shown_in(self, uri: str) -> Document | None:
        """The document that an editor shows under a URI: the text itself or, for a cell, its notebook."""
        documents = (each for each in self.documents.values() if any(shown.uri == uri for shown in each.now.shown))
        return next(documents, None)

    async def on_diagnostic(self, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        linted = await self.linted(uri)
        if linted is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        document = self.documents[uri]
        document.sent = linted.to_send
        if not linted.settled:
            self._schedule(0, uri)  # this also checks later whether the result is still the same
        return types.RelatedFullDocumentDiagnosticReport(list(linted.diagnostics.get(uri, ())))

    async def on_code_action(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = self._shown_in(params.text_document.uri)
        if document is None:
            return []
        only, version = params.context.only, document.now
        offered: list[types.CodeAction] = []
        if actions.is_requested(types.CodeActionKind.QuickFix.value, only):
            for each in await self._diagnostics_asked_about(params, document):
                offered += await self._quick_fixes(each, version)
        if actions.is_requested(actions.FIX_ALL, only) and document.now is version:
            offered += await self._fix_all(version)
        return offered if document.now is version else []

    async def _diagnostics_asked_about(
        self, params: types.CodeActionParams, document: Document
    ) -> Iterable[types.Diagnostic]:
        """The diagnostics that actions are requested for: those sent back, otherwise those that overlap the range."""
        sent_back = [each for each in params.context.diagnostics if actions.is_about(each, document.now)]
        if sent_back:
            return sent_back
        linted = await self.linted(document.now.uri)
        first, last = params.range.start, params.range.end
        found = linted.diagnostics.get(params.text_document.uri, ()) if linted is not None else ()
        return [each for each in found if each.range.start <= last and first <= each.range.end]

    async def _quick_fixes(self, found: types.Diagnostic, version: Version) -> list[types.CodeAction]:
        """The actions that fix and silence one finding."""
        linted = await self.linted(version.uri)
        if linted is None or linted.version is not version:
            return []
        finding = actions.finding_of(found, linted)
        if finding is None:
            return []
        edits, silence = await self._in_worker(partial(edits_for, finding, version))
        offered = [actions.fixing_action(found, edits, version, self._versioned)] if edits else []
        if silence is not None:
            offered.append(actions.silencing_action(found, silence, version, self._versioned))
        return offered

    async def _fix_all(self, version: Version) -> list[types.CodeAction]:
        linted = await self.linted(version.uri)
        if linted is None or linted.version is not version or not actions.has_safe_fix(linted):
            return []
        action = actions.fix_all(version)
        if not self._resolves:
            action = await self._resolved(action, version)
        return [action] if self._resolves or action.edit is not None else []

    async def on_resolve(self, action: types.CodeAction) -> types.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        document = self.documents.get(str(data.get("uri")))
        if document is None or document.now.number != data.get("version"):
            return action  # the text has changed: the editor does nothing
        return await self._resolved(action, document.now)

    async def _resolved(self, action: types.CodeAction, version: Version) -> types.CodeAction:
        text = await self._in_worker(partial(fixed_text, self.projects, version))
        if text != version.text:
            action.edit = actions.rewriting_edit(version, text, self._versioned)
        return action

    async def on_hover(self, params: types.HoverParams) -> types.Hover | None:
        document = self._shown_in(params.text_document.uri)
        placed = document.now.placed(params.text_document.uri, params.position) if document is not None else None
        if document is None or placed is None:
            return None
        version, (text, place) = document.now, placed
        in_comment = await self._in_worker(partial(hovering.rule_in_comment, self.projects, text, place))
        if in_comment is not None:
            return hovering.hover([in_comment[0].page], in_comment[1])
        try:
            names = await self._in_worker(partial(hovering.names_at, self.projects, version, place))
        except SourceError:
            names = ()
        known = names[:1]
        linted = document.linted if document.is_linted() else None
        rules = await self._in_worker(partial(hovering.rules_at, self.projects, linted, place))
        pages = [rule.page for rule in rules]
        parts = [hovering.markdown_of(each, version) for each in known] + pages
        return hovering.hover(parts, text.coordinates.span(known[0].start, known[0].end) if known else None)


def _path_of(uri: str) -> Path | None:
    """The path of a document; None for one that is not in a file, which belongs to no project."""
    name = to_fs_path(uri)
    return None if name is None else Path(os.path.abspath(name))


def _may_concern(changed: Version, other: Version) -> bool:
    """Whether another document may import a changed one."""
    if isinstance(other, NotebookVersion):
        return changed.path.suffix == ".py"
    return changed.path.suffix == other.path.suffix


_OPTIONS: dict[str, object] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier="trl-lint"
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[types.CodeActionKind(each) if each == "quickfix" else each for each in actions.KINDS],
        resolve_provider=True,
    ),
}
