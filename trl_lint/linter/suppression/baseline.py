"""A baseline: a file with the findings of an old code base that are not reported again.

A finding is identified by its file and its fingerprint (`fingerprints.py`), each with a count. If a function or a file
is renamed, its entries still apply, as long as the finding is gone from the old place.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from trl_lint import files
from trl_lint.findings import Finding
from trl_lint.linter.files.discovery import around_project, display_path
from trl_lint.linter.files.writing import write_whole
from trl_lint.linter.linter import Linter
from trl_lint.linter.runner import FileResult
from trl_lint.linter.suppression.fingerprints import Fingerprint, fingerprints
from trl_lint.linter.suppression.unused_noqa import judged_in
from trl_lint.rules import find_rule
from trl_lint.settings import ConfigError, Settings

FORMAT = 1


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A finding in a baseline. path: relative to the folder of the baseline, with `/`."""

    path: str
    mark: Fingerprint


class _EntryRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The written form of an entry."""

    code: str
    name: str = ""
    scope: str = msgspec.field(name="in", default="")
    statement: str
    count: int = 1


class _Head(msgspec.Struct, rename="kebab"):
    """What a baseline of any version has."""

    trl_lint_baseline: int


class _File(_Head):
    """The written form of a baseline. paths: what was linted when it was written."""

    paths: list[str]
    findings: dict[str, list[_EntryRow]]


@dataclass(slots=True)
class Baseline:
    """The entries of a file, each with its count, and the paths that were linted then."""

    path: Path
    paths: tuple[str, ...] = ()
    entries: Counter[Entry] = field(default_factory=Counter)

    def entry(self, path: Path, fingerprint: Fingerprint) -> Entry:
        return Entry(self.below(path), fingerprint)

    def below(self, path: Path) -> str:
        """A path as it is written here."""
        try:
            return Path(os.path.relpath(path, self.path.parent)).as_posix()
        except ValueError:  # another drive
            return path.as_posix()

    def place(self, path: str) -> Path:
        return Path(os.path.normpath(self.path.parent / path))

    def is_covered_by(self, named: Iterable[Path]) -> bool:
        """Whether a run on these paths covers everything that the baseline is about."""
        folders = [Path(os.path.abspath(each)) for each in named]
        return all(any(self.place(path).is_relative_to(each) for each in folders) for path in self.paths)

    def write(self) -> str | None:
        """Write it to its file; return why that failed, or None."""
        return write_whole(self.path, _written(self).encode())


def path_of(settings: Settings) -> Path | None:
    """Where the baseline of a project is, if the settings name one.

    Raises:
        ConfigError: it is not a valid path.
    """
    if not settings.baseline:
        return None
    if "\0" in settings.baseline:
        raise ConfigError("baseline: a path has no NUL")
    return Path(os.path.abspath((settings.root or Path.cwd()) / os.path.expanduser(settings.baseline)))


def read(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        ConfigError: it can't be read, or is not a baseline.
    """
    return _parsed(path, _content(path))


def read_to_write(path: Path) -> Baseline:
    """The baseline that is overwritten: an empty one if there is none, or one of another version.

    Raises:
        ConfigError: the file can't be read, or is not a baseline.
    """
    if not os.path.exists(path):  # also for a dangling link
        return Baseline(path)
    content = _content(path)
    return _parsed(path, content) if _version(path, content) == FORMAT else Baseline(path)


def _content(path: Path) -> object:
    """The JSON content of a baseline. Names of files that are not UTF-8 contain lone surrogates."""
    try:
        return json.loads(files.read(path))
    except OSError as error:
        hint = "; --write-baseline makes it" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(f"{display_path(path)}: cannot read the baseline: {error.strerror}{hint}") from None
    except (ValueError, RecursionError) as error:
        raise _no_baseline(path, error) from None


def _version(path: Path, content: object) -> int:
    try:
        return msgspec.convert(content, _Head).trl_lint_baseline
    except msgspec.ValidationError as error:
        raise _no_baseline(path, error) from None


def _parsed(path: Path, content: object) -> Baseline:
    if _version(path, content) != FORMAT:
        raise ConfigError(f"{display_path(path)}: a baseline of another version of trl-lint; write it again")
    try:
        found = msgspec.convert(content, _File)
    except msgspec.ValidationError as error:
        raise _no_baseline(path, error) from None
    entries: Counter[Entry] = Counter()
    for name, rows in found.findings.items():
        for row in rows:
            entries[Entry(name, Fingerprint(row.code, row.scope, row.statement))] += max(row.count, 0)
    return Baseline(path, tuple(found.paths), entries)


def _no_baseline(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{display_path(path)}: not a baseline of trl-lint: {' '.join(str(error).split())}")


def _written(baseline: Baseline) -> str:
    """The text of the file: one entry per line, so that two branches that change it can be merged."""
    by_path: dict[str, list[str]] = {}
    for entry, count in sorted(baseline.entries.items()):
        rule = find_rule(entry.mark.code)
        row = _EntryRow(
            code=entry.mark.code,
            name=rule.name if rule else "",
            scope=entry.mark.scope,
            statement=entry.mark.statement,
            count=count,
        )
        text = msgspec.json.format(msgspec.json.encode(row), indent=0).decode()
        by_path.setdefault(entry.path, []).append(f"      {text}")
    files_of = [f"    {json.dumps(path)}: [\n" + ",\n".join(rows) + "\n    ]" for path, rows in by_path.items()]
    body = "{\n" + ",\n".join(files_of) + "\n  }" if files_of else "{}"
    head = f'  "trl-lint-baseline": {FORMAT},\n  "paths": {json.dumps(list(baseline.paths))},\n'
    return "{\n" + head + f'  "findings": {body}\n}}\n'


def of(settings: Settings) -> Baseline | None:
    """The baseline that the settings name, if they name one.

    Raises:
        ConfigError: it can't be read, or is not a baseline.
    """
    path = path_of(settings)
    return None if path is None else read(path)


def without_known(results: Sequence[FileResult], linter: Linter) -> list[FileResult]:
    """The results without what is in the baseline of the linter's settings.

    Raises:
        ConfigError: it can't be read, or is not a baseline.
    """
    baseline = of(linter.settings)
    return list(results) if baseline is None else match(baseline, results, linter).results


# --- hiding ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """A finding of this run."""

    number: int  # of its result
    finding: Finding
    entry: Entry


@dataclass(slots=True)
class Matched:
    """A run compared with a baseline: the results without known findings, and the entries that remain valid."""

    results: list[FileResult]
    left: Counter[Entry]


def match(baseline: Baseline, results: Sequence[FileResult], linter: Linter) -> Matched:
    """Hide what is in the baseline. Entries of files that were not looked at are kept."""
    found = list(_found(baseline, results, linter))
    by_path = {each.path: each for each in results}
    known = Counter(baseline.entries)
    left: Counter[Entry] = Counter()
    hidden: set[int] = set()
    for key_of in (_same, _elsewhere_in_file, _in_another_file):
        if key_of is _elsewhere_in_file:
            for entry in [each for each in known if not _may_be_gone(baseline, each, by_path, linter)]:
                left[entry] += known.pop(entry)
        _match(found, known, left, hidden, key_of)
    return Matched(_without(results, found, hidden), +left)


_Likeness = Callable[[Entry], tuple[str, ...]]


def _same(entry: Entry) -> tuple[str, ...]:
    return entry.path, entry.mark.code, entry.mark.scope, entry.mark.statement


def _elsewhere_in_file(entry: Entry) -> tuple[str, ...]:
    return entry.path, entry.mark.code, entry.mark.statement


def _in_another_file(entry: Entry) -> tuple[str, ...]:
    return entry.mark.code, entry.mark.scope, entry.mark.statement


def _match(
    found: Sequence[_Found], known: Counter[Entry], left: Counter[Entry], hidden: set[int], key_of: _Likeness
) -> None:
    """Assign a similar entry to each finding that is not hidden yet, and record the finding as the new entry."""
    free: dict[tuple[str, ...], list[Entry]] = {}
    for entry in sorted(+known):
        free.setdefault(key_of(entry), []).append(entry)
    for place, each in enumerate(found):
        entries = free.get(key_of(each.entry))
        if place not in hidden and entries:
            known[entries[0]] -= 1
            if not known[entries[0]]:
                entries.pop(0)
            left[each.entry] += 1
            hidden.add(place)


def _found(baseline: Baseline, results: Sequence[FileResult], linter: Linter) -> Iterator[_Found]:
    for number, result in enumerate(results):
        # Findings that the linter recorded as unasked have places in the text that it was given.
        others = linter.unasked(result.path) if result.before is None else ()
        findings = (*result.findings, *others)
        marks = fingerprints(findings, result.path, result.source)
        for finding, fingerprint in zip(findings, marks, strict=True):
            yield _Found(number, finding, baseline.entry(result.path, fingerprint))


def _may_be_gone(baseline: Baseline, entry: Entry, by_path: Mapping[Path, FileResult], linter: Linter) -> bool:
    """Whether this run would have found what an entry is about; otherwise the entry is kept."""
    path = baseline.place(entry.path)
    result = by_path.get(path)
    if result is None:
        return not os.path.lexists(path)
    return result.understood and result.problem is None and entry.mark.code in judged_in(linter, path)


def _without(results: Sequence[FileResult], found: Sequence[_Found], hidden: set[int]) -> list[FileResult]:
    remaining = []
    known: dict[int, set[int]] = {}
    for place in hidden:
        known.setdefault(found[place].number, set()).add(id(found[place].finding))
    for number, result in enumerate(results):
        kept = tuple(each for each in result.findings if id(each) not in known.get(number, ()))
        remaining.append(result._replace(findings=kept, hidden=len(result.findings) - len(kept)))
    return remaining


# --- writing --------------------------------------------------------------------------------------------


def updated(before: Baseline, results: Sequence[FileResult], linter: Linter, named: Sequence[Path]) -> Baseline:
    """The findings of a run, and the entries of the old baseline that the run says nothing about.

    A run on a part of the project removes nothing, because it lacks findings that other files bring to light.
    """
    new, by_path = Baseline(before.path), {each.path: each for each in results}
    folders = [Path(os.path.abspath(each)) for each in named]
    for result in results:
        for fingerprint in fingerprints(result.findings, result.path, result.source):
            new.entries[new.entry(result.path, fingerprint)] += 1
    is_whole = bool(around_project(named, linter.roots))
    for entry, count in before.entries.items():
        is_below = any(before.place(entry.path).is_relative_to(each) for each in folders)
        if not (is_whole and is_below and _may_be_gone(before, entry, by_path, linter)):
            new.entries[entry] = max(count, new.entries[entry])
    others = [each for each in before.paths if not any(before.place(each).is_relative_to(one) for one in folders)]
    new.paths = tuple(sorted({*others, *map(new.below, folders)}))
    return new
