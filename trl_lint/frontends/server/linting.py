"""Lint a document once: the same findings as the command line reports for its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types

from trl_lint import files
from trl_lint.analysis.interprocedural.rerunning import Interrupted
from trl_lint.analysis.program.project.reparsing import reparsed
from trl_lint.findings import Edit, Finding, Position
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.frontends.server.diagnostics import TRUST, diagnostic, place_of, syntax_error
from trl_lint.frontends.server.documents import Linted, Version
from trl_lint.frontends.server.projects import Projects
from trl_lint.linter import runner
from trl_lint.linter.decoding import decode
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.linter.suppression.add_noqa import silencing_edit


def lint(projects: Projects, version: Version, is_stale: Callable[[], bool], *, afresh: bool = False) -> Linted:
    """The result of linting a document; any failure is part of the result.

    is_stale: whether the result is no longer needed. afresh: start from scratch, even if an incremental lint would do.

    Raises:
        Interrupted: it has become stale.
    """
    path, source = version.path, version.source
    if is_stale():
        raise Interrupted
    try:
        if projects.is_excluded(path):
            return Linted(version)
        kept = None if afresh else projects.update(path, source)
        linter = projects.live(path, is_stale) if kept is None else kept
        if not linter.matters(path, source):
            return Linted(version)
        reuse_trees(linter, path, source)
        found = projects.without_known(runner.check(linter, path, source), linter).findings
        # If a notebook is open as text, positions in its cells are not positions in the text.
        findings = tuple(each for each in found if version.text_at(each.start) is not None)
        elsewhere = _coordinates_in(projects, version)
        diagnostics = _by_document(version, ((each.start, diagnostic(each, version, elsewhere)) for each in findings))
        projects.keep(path, linter)
        return Linted(version, diagnostics, findings, settled=kept is None)
    except SourceError as error:
        diagnostics = _by_document(version, [(place_of(error), syntax_error(error, version))])
        return Linted(version, diagnostics, error=error)
    except Exception as error:
        return Linted(version, trouble=runner.internal_error(path, error))


def _by_document(
    version: Version, found: Iterable[tuple[Position, types.Diagnostic]]
) -> dict[str, tuple[types.Diagnostic, ...]]:
    """Diagnostics, by the document that shows their positions."""
    by_uri: dict[str, tuple[types.Diagnostic, ...]] = {}
    for place, each in found:
        shown_version = version.text_at(place)
        if shown_version is not None:
            by_uri[shown_version.uri] = (*by_uri.get(shown_version.uri, ()), each)
    return by_uri


def fixed_text(projects: Projects, version: Version) -> str:
    """The text that `trl-lint --fix` would write; the same text if nothing is fixed, or if that fails."""
    path, source = version.path, version.source
    if projects.is_excluded(path):
        return version.text
    linter = projects.linter(path, can_fix=True)
    # A tree assembled from parts is good enough for linting; the written text must come from a fully parsed tree.
    linter.trees = {each: tree for each, tree in linter.trees.items() if each != path}
    result = runner.run_one(path, source, linter, lambda *asked: runner.propose(*asked, unsafe=False))
    return version.text if result.problem else decode(result.source)


def edits_for(finding: Finding, version: Version) -> tuple[tuple[Edit, ...], Edit | None]:
    """The edits that fix a finding, if it has an applicable fix, and the edit that silences it."""
    silence = silencing_edit(version.path, version.source, finding)
    if finding.fix is None or finding.fix.applicability not in TRUST:
        return (), silence
    try:
        return finding.fix.edits(), silence
    except Exception:  # a failure of the tool itself: the finding can still be silenced
        return (), silence


def reuse_trees(linter: Linter, path: Path, source: bytes) -> None:
    """Parse a text with few changes: all other functions of the previous tree are kept."""
    code = linter.modules(path, source).get(path)
    if code is None:
        return
    known = linter.trees.get(path)
    if known is None or known[0] != code:
        tree = reparsed(decode(code), None if known is None else known[1])
        if tree is not None:
            linter.trees[path] = (code, tree)


def _coordinates_in(projects: Projects, version: Version) -> Callable[[Path], Coordinates]:
    """The coordinates of other files; each is read once, and only if a diagnostic mentions it."""
    known: dict[Path, Coordinates] = {}

    def of(path: Path) -> Coordinates:
        if path not in known:
            try:
                source = projects.overlay[path] if path in projects.overlay else files.read(path)
            except OSError:
                source = b""
            known[path] = Coordinates(decode(source), version.coordinates.encoding)
        return known[path]

    return of
