"""What an editor offers to do about findings: mend one, silence one, mend all that can be mended safely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types

from trl_lint.findings import Edit, Finding
from trl_lint.frontends.server.diagnostics import SOURCE, JsonData
from trl_lint.frontends.server.documents import Linted, Version
from trl_lint.linter.text_edits import edits_between

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)


def is_asked_for(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is among those that an editor asks for: itself, or a kind that it is one of."""
    return not only or any(kind == each or kind.startswith(f"{each}.") for each in map(_word, only))


def _word(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def has_safe_fix(found: Iterable[types.Diagnostic]) -> bool:
    return any(fix["safe"] for each in found if (fix := _data_of(each).get("fix")) and isinstance(fix, dict))


def is_about(found: types.Diagnostic, version: Version) -> bool:
    """Whether a diagnostic that an editor hands back is one of ours, and about the text as it is now."""
    return found.source == SOURCE and _data_of(found).get("version") == version.number


def finding_of(found: types.Diagnostic, linted: Linted) -> Finding | None:
    """The finding that a diagnostic tells."""
    place = _data_of(found).get("place")
    known = (each for each in linted.findings if [each.start.line, each.start.column] == place)
    return next((each for each in known if each.code == found.code), None)


def mending(found: types.Diagnostic, edits: Sequence[Edit], version: Version, versioned: bool) -> types.CodeAction:
    """The action that mends one finding by these edits. versioned: as for `workspace_edit`."""
    fix = _data_of(found).get("fix")
    assert isinstance(fix, dict)
    changes = [version.coordinates.text_edit(each) for each in edits]
    return types.CodeAction(
        str(fix["title"]),
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[found],
        is_preferred=bool(fix["safe"]),
        edit=workspace_edit(changes, version, versioned),
    )


def silencing(found: types.Diagnostic, edit: Edit, version: Version, versioned: bool) -> types.CodeAction:
    """The action that silences one finding by an edit."""
    return types.CodeAction(
        f"Silence {found.code} here with a `# noqa` comment",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[found],
        edit=workspace_edit([version.coordinates.text_edit(edit)], version, versioned),
    )


def fix_all(version: Version) -> types.CodeAction:
    """The action that mends all that can be mended safely; its edit is still to be made."""
    return types.CodeAction(
        "Fix all that trl-lint can fix safely",
        kind=FIX_ALL,
        data={"uri": version.uri, "version": version.number},
    )


def rewriting(version: Version, text: str, versioned: bool) -> types.WorkspaceEdit:
    """The edit that turns a document into a text."""
    edits = [version.coordinates.text_edit(each) for each in edits_between(version.text, text)]
    return workspace_edit(edits, version, versioned)


def workspace_edit(edits: Sequence[types.TextEdit], version: Version, versioned: bool) -> types.WorkspaceEdit:
    """Edits of a document. versioned: whether the editor can be told which state of it they are for."""
    if not versioned:
        return types.WorkspaceEdit(changes={version.uri: list(edits)})
    document = types.OptionalVersionedTextDocumentIdentifier(version.uri, version.number)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])


def _data_of(found: types.Diagnostic) -> JsonData:
    return found.data if isinstance(found.data, dict) else {}
