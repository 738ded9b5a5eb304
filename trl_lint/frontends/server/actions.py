"""The code actions offered for findings: fix one, silence one, apply all safe fixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from lsprotocol import types

from trl_lint.findings import Edit, Finding
from trl_lint.frontends.server.diagnostics import SOURCE, JsonData
from trl_lint.frontends.server.documents import Linted, Version

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)


def is_requested(kind: str, only: Sequence[str] | None) -> bool:
    """Whether an editor requests a kind of action: the kind itself, or one that includes it."""
    return not only or any(kind == each or kind.startswith(f"{each}.") for each in map(_word, only))


def _word(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def has_safe_fix(linted: Linted) -> bool:
    diagnostics = chain.from_iterable(linted.diagnostics.values())
    return any(fix["safe"] for each in diagnostics if (fix := _data_of(each).get("fix")) and isinstance(fix, dict))


def is_about(found: types.Diagnostic, version: Version) -> bool:
    """Whether a diagnostic that an editor sends back is from this server, and about the current text."""
    return found.source == SOURCE and _data_of(found).get("version") == version.number


def finding_of(found: types.Diagnostic, linted: Linted) -> Finding | None:
    """The finding shown by a diagnostic."""
    place = _data_of(found).get("place")
    starts = ((each, each.start) for each in linted.findings if each.code == found.code)
    return next((each for each, start in starts if [start.cell, start.line, start.column] == place), None)


def fixing_action(
    found: types.Diagnostic, edits: Sequence[Edit], version: Version, versioned: bool
) -> types.CodeAction:
    """The action that fixes one finding with these edits. versioned: see `workspace_edit`."""
    fix = _data_of(found).get("fix")
    assert isinstance(fix, dict)
    return types.CodeAction(
        str(fix["title"]),
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[found],
        is_preferred=bool(fix["safe"]),
        edit=workspace_edit(version.changes(edits), versioned),
    )


def silencing_action(found: types.Diagnostic, edit: Edit, version: Version, versioned: bool) -> types.CodeAction:
    """The action that silences one finding with an edit."""
    return types.CodeAction(
        f"Silence {found.code} here with a `# noqa` comment",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[found],
        edit=workspace_edit(version.changes([edit]), versioned),
    )


def fix_all(version: Version) -> types.CodeAction:
    """The action that applies all safe fixes; its edit is computed later."""
    return types.CodeAction(
        "Fix all that trl-lint can fix safely",
        kind=FIX_ALL,
        data={"uri": version.uri, "version": version.number},
    )


def rewriting_edit(version: Version, text: str, versioned: bool) -> types.WorkspaceEdit:
    """The edit that replaces the text of a document."""
    return workspace_edit(version.changes_to(text), versioned)


def workspace_edit(changes: Iterable[tuple[Version, Sequence[Edit]]], versioned: bool) -> types.WorkspaceEdit:
    """Edits by document. versioned: whether the editor supports edits for a given version of a document."""
    edits = [
        (each, [each.coordinates.text_edit(edit) for edit in edits_of_document]) for each, edits_of_document in changes
    ]
    if not versioned:
        return types.WorkspaceEdit(changes={each.uri: edits_of_document for each, edits_of_document in edits})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(each.uri, each.number), list(edits_of_document)
            )
            for each, edits_of_document in edits
        ]
    )


def _data_of(found: types.Diagnostic) -> JsonData:
    return found.data if isinstance(found.data, dict) else {}
