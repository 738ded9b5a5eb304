"""The lowest layer of the interpreter: identities, and the knowledge tables for the installed releases."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trl_lint.analysis.program.definitions.creations import is_created
from trl_lint.analysis.program.definitions.templates import CONSTRUCTOR, completes, fills
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.state.interpreter import Interpreter
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Attribute, Class, Collective, Hook, Row


class Tables(Interpreter):
    """What is known of libraries. `versions` are their releases in use, if known."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        self.project = project
        self.versions: Mapping[str, str] = library.NO_VERSIONS if versions is None else versions
        # The configured rows of names of the project, which may be functions whose source is available.
        self.custom: Mapping[str, tuple[Row, ...]] = getattr(versions, "custom", {})
        # The collectives among them, and their operations: "gather" or the name of a reduction.
        self.reducers: tuple[tuple[str, str], ...] = tuple(_reducers(self.custom))
        self._custom_methods: dict[Any, tuple[Row, ...]] = {}
        self._any_release = library.of_any_release(self.versions)
        self._entered_by_libraries: dict[str, bool] = {}
        self._serial = itertools.count(1)
        # The places at which containers are allocated, numbered, and the number of that of each container.
        self._sites: dict[Hashable, int] = {}
        self._site_of: dict[int, int] = {}
        self._stores: dict[Any, int] = {}
        self._attributes: dict[tuple[str, str], Attribute | None] = {}
        self._methods: dict[tuple[str, str], Any] = {}
        self._hooks: dict[str, dict[str, tuple[Hook, ...]]] = {}

    def fresh(self, site: Hashable = None) -> int:
        identity = next(self._serial)
        if site is not None:
            self._site_of[identity] = self._sites.setdefault(site, len(self._sites))
        return identity

    def site_of(self, identity: int) -> Hashable:
        site = self._site_of.get(identity)
        return ("", identity) if site is None else site

    def store_identity(self, receiver: ClassInfo | str, name: str) -> int:
        key = (receiver, name)
        if key not in self._stores:
            self._stores[key] = self.fresh()
        return self._stores[key]

    def library_attribute(self, cls: str, name: str) -> Attribute | None:
        key = (cls, name)
        if key not in self._attributes:
            self._attributes[key] = library.attribute(cls, name, self.versions)
        return self._attributes[key]

    def library_method(self, cls: str, name: str) -> Any:
        key = (cls, name)
        if key not in self._methods:
            self._methods[key] = library.method(cls, name, self.versions)
        return self._methods[key]

    def library_hooks(self, cls: str) -> dict[str, tuple[Hook, ...]]:
        if cls not in self._hooks:
            self._hooks[cls] = library.hooks_of(cls, self.versions)
        return self._hooks[cls]

    def is_entry_class(self, cls: ClassInfo) -> bool:
        """Whether a library calls methods of this class itself, so that the class is analysed on its own."""
        return any(self._is_entered(base) for base in cls.library_bases())

    def is_mixed_in(self, base: ClassInfo | None, cls: ClassInfo) -> bool:
        """Whether the methods of a base work with what the class or its other bases have.

        It is part of a trainer or callback through these, or uses what the class defines. A base whose methods a
        library calls is analysed on its own; of such a base only empty methods count that the class fills.
        """
        if base is None or base is cls.origin:
            return False
        if self.is_entry_class(base):
            return fills(cls.origin, base)
        return self.is_entry_class(cls) or completes(cls.origin, base) or self.is_left_to_heirs(base)

    def is_left_to_heirs(self, base: ClassInfo) -> bool:
        """Whether a base has a constructor, and code in sight only makes objects of its heirs with it."""
        return CONSTRUCTOR in base.methods and not is_created(self.project, base)

    def _is_entered(self, base: str) -> bool:
        if base not in self._entered_by_libraries:
            self._entered_by_libraries[base] = bool(library.hooks_of(base, self._any_release))
        return self._entered_by_libraries[base]

    def is_subclass(self, cls: ClassInfo, canonical: str) -> bool:
        return any(library.is_subclass(base, canonical, self._any_release) for base in cls.library_bases())

    def class_row(self, name: str) -> Class | None:
        rows = library.holding(library.rows(name, self.versions), self.versions)
        return next((row for row in rows if isinstance(row, Class)), None)

    # --- configured names of the project ---

    def custom_name(self, path: Path, name: str, *, is_class: bool = False) -> str:
        """The configured dotted name for what a file defines (or imports) as `name`, else ""."""
        for module in self.project.names_of(path):
            dotted = library.canonical(f"{module}.{name}")
            if any(isinstance(row, Class) is is_class for row in self.custom.get(dotted, ())):
                return dotted
        return ""

    def custom_rows(self, function: FunctionInfo) -> tuple[Row, ...]:
        """The configured rows of a function of the project, or of one that it overrides."""
        if function.closure is not None:
            return ()
        if function not in self._custom_methods:
            self._custom_methods[function] = self._rows_for(function)
        return self._custom_methods[function]

    def _rows_for(self, function: FunctionInfo) -> tuple[Row, ...]:
        if function.cls is None:
            rows = self.custom.get(self.custom_name(function.module.path, function.name), ())
        else:
            rows = self._custom_member(function.cls, function.name)
        return tuple(row for row in rows if not isinstance(row, Attribute))

    def custom_attribute(self, cls: ClassInfo, name: str) -> Attribute | None:
        """The configured row for reading an attribute of a class of the project."""
        rows = self._custom_member(cls, name)
        return next((row for row in rows if isinstance(row, Attribute)), None)

    def _custom_member(self, cls: ClassInfo, name: str) -> tuple[Row, ...]:
        members = (self.custom.get(f"{base}.{name}") for base in cls.library_bases())
        return next((rows for rows in members if rows), ())


def _reducers(custom: Mapping[str, tuple[Row, ...]]) -> Iterator[tuple[str, str]]:
    for name, rows in custom.items():
        for row in rows:
            if isinstance(row, Collective) and row.result in ("gathered", "reduced"):
                yield name, row.reduction[2] if row.reduction is not None else "gather"
