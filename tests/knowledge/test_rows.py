"""Rows compared with the sources of releases: one inside each span, and those just outside of it.

What a row says about a name (class, method, parameters and their positions, attribute) is read with `ast` from wheels;
nothing is imported. By default the releases of `CHOSEN` are read: each row has one inside its span there, and one
outside. With TRL_LINT_EVERY_RELEASE=1 in the environment, those right at the bounds are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sources
from sources import ClassSource, Library, Signature

from evaluation import releases
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Attribute, Class, Collective, Function, Hook, Row, Sink, Store

RELEASES = {
    "accelerate": (
        "0.34.2 1.0.1 1.1.1 1.2.1 1.3.0 1.4.0 1.5.2 1.6.0 1.7.0 1.8.1 1.9.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0"
    ),
    "transformers": (
        "4.36.2 4.37.2 4.38.2 4.39.3 4.40.2 4.41.2 4.42.4 4.43.4 4.44.2 4.45.2 4.46.1 4.46.2 4.46.3 "
        "4.47.1 4.48.3 4.49.0 4.50.3 4.51.3 4.52.4 4.53.3 4.54.1 4.55.4 4.56.2 4.57.6 5.0.0 5.1.0 5.2.0 "
        "5.3.0 5.4.0 5.5.4 5.6.2 5.7.0 5.8.1 5.9.0 5.10.4 5.11.0 5.12.1 5.13.1 5.14.1 5.15.1 5.16.1 "
        "5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0 5.24.0"
    ),
    "trl": (
        "0.2.1 0.3.0 0.4.2 0.4.7 0.5.0 0.6.0 0.7.0 0.7.2 0.7.3 0.7.4 0.7.5 0.7.10 0.7.11 0.8.0 0.8.1 "
        "0.8.2 0.9.2 0.9.3 0.9.4 0.9.6 0.10.1 0.11.0 0.11.4 0.12.0 0.12.2 0.13.0 0.14.0 0.15.0 0.15.2 "
        "0.16.0 0.16.1 0.17.0 0.18.0 0.18.2 0.19.0 0.20.0 0.21.0 0.22.0 0.22.2 0.23.0 0.23.1 0.24.0 "
        "0.25.0 0.25.1 0.26.0 0.26.2 0.27.0 0.28.0 0.29.0 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 1.5.0 1.5.1 1.6.0 "
        "1.7.0 1.8.0 1.9.0 1.9.2 1.10.0 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0 1.16.0"
    ),
}
CHOSEN = {
    "accelerate": "0.34.2 1.15.0",
    "transformers": "4.36.2 4.46.1 4.47.1 4.51.3 5.24.0",
    "trl": (
        "0.2.1 0.5.0 0.8.0 0.10.1 0.12.0 0.13.0 0.14.0 0.15.0 0.16.1 0.17.0 0.21.0 0.24.0 1.5.0 1.7.0 1.14.0 1.16.0"
    ),
}
# Rows whose span begins before the oldest release that is listed: transformers 4.29.2 has no `Trainer.accelerator`,
# 4.30.0 has one.
SINCE_EARLIER = {"transformers.Trainer.accelerator": "4.30"}
EVERY = bool(os.environ.get("TRL_LINT_EVERY_RELEASE"))

# Bounds at which only the body of a method changes: a name that it uses on one side only.
WITNESSES = {
    "trl.CPOTrainer.get_batch_loss_metrics": "gather_for_metrics",
    "trl.DPOTrainer.get_batch_loss_metrics": "gather_for_metrics",
    "trl.ORPOTrainer.get_batch_loss_metrics": "gather_for_metrics",
}
# Methods whose result is computed by another one.
DELEGATED = {
    f"trl.{name}.compute_loss": f"trl.{name}.get_batch_loss_metrics"
    for name in ("BCOTrainer", "CPOTrainer", "DPOTrainer", "KTOTrainer", "ORPOTrainer")
}
# It forwards missing attributes to another class at run time.
BASES_AT_RUN_TIME = frozenset({"accelerate.AcceleratorState"})


def listed(package: str) -> tuple[str, ...]:
    return tuple((RELEASES if EVERY else CHOSEN)[package].split())


def package_of(row: Row) -> str:
    return row.name.partition(".")[0]


ROWS = tuple(row for row in library.ROWS if package_of(row) in RELEASES)


def inside(row: Row) -> tuple[str, ...]:
    """The releases in which a row is looked up: the newest and the oldest listed ones of its span."""
    holding = [version for version in listed(package_of(row)) if library.in_span(row, version)]
    return tuple(dict.fromkeys((holding[0], holding[-1]))) if holding else ()


def outside(row: Row) -> tuple[str, ...]:
    """The releases nearest to the bounds of a row's span in which it must not hold."""
    versions = listed(package_of(row))
    holding = [index for index, version in enumerate(versions) if library.in_span(row, version)]
    found = []
    if holding and row.since and holding[0] > 0:
        found.append(versions[holding[0] - 1])
    if holding and row.until and holding[-1] + 1 < len(versions):
        found.append(versions[holding[-1] + 1])
    return tuple(found)


# --- a row and a release ---------------------------------------------------------------------------------


def owner_and_name(dotted: str) -> tuple[str, str]:
    """The class that a name belongs to ("" for a function), and its own name."""
    parts = dotted.split(".")
    is_method = len(parts) > 2 and parts[-2].lstrip("_")[:1].isupper()
    return (parts[-2] if is_method else "", parts[-1])


def definitions(source: Library, row: Row) -> Iterator[Signature]:
    """The functions or methods of that name, also those of a base."""
    cls, name = owner_and_name(row.name)
    if not cls:
        yield from source.functions.get(name, ())
        return
    for each in source.family(cls):
        if name in each.methods:
            yield each.methods[name]
        elif name in each.imported:
            for found in source.functions.get(name, ()):
                yield replace(found, parameters=found.parameters[1:])


def own_definitions(source: Library, name: str) -> list[Signature]:
    """The functions or methods of that dotted name, without those of a base."""
    cls, name = owner_and_name(name)
    if not cls:
        return source.functions.get(name, [])
    return [each.methods[name] for each in source.classes.get(cls, ()) if name in each.methods]


def assigned(source: Library, row: Row) -> frozenset[str] | None:
    """The expressions assigned to an attribute in the class or a base; None if it has none of that name."""
    cls, name = owner_and_name(row.name)
    return next((each.attributes[name] for each in source.family(cls) if name in each.attributes), None)


def wanted_parameters(row: Row) -> list[tuple[int, str]]:
    if isinstance(row, Collective):
        named = [
            row.operand,
            row.into,
            row.objects,
            row.reduction and row.reduction[:2],
            row.root and row.root[:2],
            *row.groups,
        ]
        return [each for each in named if each and each[0] >= 0]
    if isinstance(row, Sink):
        return [row.payload]
    if isinstance(row, Hook):
        names = list(row.parameters)
        # Callbacks get the rest by keyword.
        return list(enumerate(names[:3] if row.name.startswith("transformers.TrainerCallback.") else names))
    if isinstance(row, Function) and row.switch is not None:
        return [row.switch]
    if row.effect is not None and row.effect.path is not None:
        return [row.effect.path]
    return []


def fault(source: Library, row: Row) -> str:
    """Why the row does not fit the release; empty if it does."""
    cls, name = owner_and_name(row.name)
    if isinstance(row, Class):
        found = source.classes.get(name, [])
        if not found:
            return "no such class"
        above = {base for each in source.family(name) for base in each.bases}
        bases = {base.rpartition(".")[2] for base in row.bases}
        for parameter, place in row.places.items():
            inits = [each.methods["__init__"] for each in found if "__init__" in each.methods]
            if any(parameter in each.parameters and not each.has(place, parameter) for each in inits):
                return f"`{parameter}` is at another place of its parameters"
        return "" if bases <= above or row.name in BASES_AT_RUN_TIME else f"its bases are {sorted(above - {name})}"
    if isinstance(row, (Attribute, Store)):
        return "" if assigned(source, row) is not None else f"no such attribute of {cls}"
    found = list(definitions(source, row))
    if not found:
        if isinstance(row, Collective) and cls and assigned(source, row) is not None:
            return ""  # an attribute that holds a function
        return "not defined"
    wanted = wanted_parameters(row)
    if any(all(each.has(*parameter) for parameter in wanted) for each in found):
        return ""
    return f"parameters {wanted} but found {[each.parameters for each in found]}"


def same(row: Row, ours: Library, theirs: Library) -> bool:
    """Whether a row's name means the same in both releases, according to the sources."""
    _, name = owner_and_name(row.name)
    if isinstance(row, Class):
        return bases_of(ours, name) == bases_of(theirs, name)
    if isinstance(row, (Attribute, Store)):
        return assigned(ours, row) == assigned(theirs, row)
    for dotted in {row.name, DELEGATED.get(row.name, row.name)}:
        one, other = own_definitions(ours, dotted), own_definitions(theirs, dotted)
        if {each.parameters for each in one} != {each.parameters for each in other}:
            return False
        witness = WITNESSES.get(dotted)
        if {witness in each.names for each in one} != {witness in each.names for each in other}:
            return False
    return True


def bases_of(source: Library, name: str) -> set[str]:
    found: list[ClassSource] = source.classes.get(name, [])
    return {base for each in found for base in each.bases}


# --- the tests -------------------------------------------------------------------------------------------


def sources_of(package: str, version: str) -> Library:
    try:
        return sources.library(package, version)
    except releases.IndexUnreachable as problem:
        pytest.skip(str(problem))


def test_the_names_of_every_witness_are_read():
    assert {name.rpartition(".")[2] for name in WITNESSES} == sources.WITH_NAMES


def test_every_span_has_a_release_inside_and_one_outside():
    assert [f"{row.name} [{row.since}, {row.until})" for row in ROWS if not inside(row)] == []
    bounded = [row for row in ROWS if (row.since or row.until) and row.name not in SINCE_EARLIER]
    assert [f"{row.name} [{row.since}, {row.until})" for row in bounded if not outside(row)] == []


PAIRS = [(package, version) for package in RELEASES for version in listed(package)]
# Trainers' arguments are added and removed; their rows have no spans, as they hold whenever the arguments exist.
SPANLESS = tuple(row for row in ROWS if package_of(row) == "trl" and not row.since and not row.until)


@pytest.mark.index
@pytest.mark.parametrize(("package", "version"), PAIRS, ids=lambda value: value)
def test_rows_fit_the_releases_inside_their_spans(package, version):
    checked = [row for row in ROWS if package_of(row) == package and version in inside(row) and row not in SPANLESS]
    source = sources_of(package, version) if checked else Library()
    assert {row.name: problem for row in checked if (problem := fault(source, row))} == {}


@pytest.mark.index
@pytest.mark.parametrize(("package", "version"), PAIRS, ids=lambda value: value)
def test_rows_do_not_fit_the_releases_outside_their_spans(package, version):
    checked = [row for row in ROWS if package_of(row) == package and version in outside(row)]
    source = sources_of(package, version) if checked else Library()
    wrong = [
        f"{row.name} [{row.since}, {row.until})"
        for row in checked
        if not fault(source, row) and same(row, sources_of(package, nearest(row, version)), source)
    ]
    assert wrong == []


def nearest(row: Row, version: str) -> str:
    """The release inside the span that is next to one outside."""
    versions = listed(package_of(row))
    step = 1 if row.since and versions.index(version) < versions.index(inside(row)[0]) else -1
    return versions[versions.index(version) + step]


@pytest.mark.index
def test_rows_without_a_span_fit_some_release():
    found = [sources_of("trl", version) for version in listed("trl")]
    faults = {row.name: {fault(source, row) for source in found} for row in SPANLESS}
    assert {name: problems for name, problems in faults.items() if "" not in problems} == {}
