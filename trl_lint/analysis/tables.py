"""The lowest layer of the interpreter: identities, and the knowledge tables for the releases in use."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from trl_lint.analysis.project import Project
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Attribute, Class, Hook


class Tables:
    """What is known of libraries. `versions` are their releases in use, where known."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        self.project = project
        self.versions: Mapping[str, str] = versions or library.NO_VERSIONS
        self._serial = itertools.count(1)
        self._stores: dict[Any, int] = {}
        self._attributes: dict[tuple[str, str], Attribute | None] = {}
        self._methods: dict[tuple[str, str], Any] = {}
        self._hooks: dict[str, dict[str, tuple[Hook, ...]]] = {}

    def fresh(self) -> int:
        return next(self._serial)

    def store_identity(self, owner: Any, name: str) -> int:
        key = (owner, name)
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

    def class_row(self, name: str) -> Class | None:
        return next(
            (row for row in library.holding(library.rows(name), self.versions) if isinstance(row, Class)),
            None,
        )
