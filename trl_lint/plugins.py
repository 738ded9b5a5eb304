"""What other packages add: rules with their fixes, and rows about libraries.

A package declares this by an entry point in the group `trl_lint.plugins`, which names a package. A project enables it
by the name of that entry point (`plugins = ["our-rules"]` in `[tool.trl-lint]`): the findings must not depend on what
happens to be installed. The plugin may have the same parts as this package:

    our_rules/rules/odd_root.py     one rule per module, as in `trl_lint/rules/`
    our_rules/fixes/odd_root.py     its fix, in a module with the name of the rule
    our_rules/rows.py               ROWS: what calls of a library do, as in `trl_lint/knowledge/`
    our_rules/reports/table.py      an output format: a class `Report`
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from trl_lint.settings import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType

GROUP = "trl_lint.plugins"


@cache
def has_module(name: str) -> bool:
    """Whether a module exists, here or in a plugin, even if the plugin lacks the package that would contain it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def modules_in(plugin: str, part: str) -> Iterator[ModuleType]:
    """The modules in a part of a plugin: "rules", "reports".

    Raises:
        ConfigError: there is no such plugin, or it can't be imported.
    """
    package = _module_in(plugin, part)
    for found in pkgutil.iter_modules(package.__path__) if package is not None else ():
        yield _imported(plugin, f"{package.__name__}.{found.name}")  # type: ignore[union-attr]


def rows_of(plugins: tuple[str, ...]) -> tuple[object, ...]:
    """The rows about libraries in plugins.

    Raises:
        ConfigError: there is no such plugin, or it can't be imported.
    """
    modules = (_module_in(plugin, "rows") for plugin in plugins)
    return tuple(row for module in modules for row in getattr(module, "ROWS", ()))


def report_of(name: str, plugins: tuple[str, ...]) -> type[object]:
    """The class of an output format of a plugin. name: `PLUGIN:NAME`; plugins: those that the project uses.

    Raises:
        ConfigError: there is no such format, or the plugin is not used, or can't be imported.
    """
    plugin, _, module = name.partition(":")
    if plugin not in plugins:
        raise ConfigError(f"--output-format {name}: `{plugin}` is not among the `plugins` of the settings")
    found = {each.__name__.rpartition(".")[2]: each for each in modules_in(plugin, "reports")}
    report = getattr(found.get(module.replace("-", "_")), "Report", None)
    if not isinstance(report, type):
        raise ConfigError(f"--output-format {name}: the plugin has no such format")
    return report


def folders_of(plugins: tuple[str, ...]) -> list[str]:
    """The folders with the code of plugins: the whole top-level package, because a plugin may use the rest of it."""
    tops = [_imported(plugin, _entry(plugin).value.partition(".")[0]) for plugin in plugins]
    return [folder for top in tops for folder in getattr(top, "__path__", ())]


def _module_in(plugin: str, part: str) -> ModuleType | None:
    package = _imported(plugin, _entry(plugin).value)
    if not hasattr(package, "__path__"):
        raise ConfigError(f"plugins: `{plugin}` is not a package: its entry point names `{package.__name__}`")
    name = f"{package.__name__}.{part}"
    return None if find_spec(name) is None else _imported(plugin, name)


@cache
def _entry(plugin: str) -> EntryPoint:
    from importlib.metadata import entry_points

    found = {each.name: each for each in entry_points(group=GROUP)}
    if plugin not in found:
        known = f"; installed: {', '.join(f'`{name}`' for name in sorted(found))}" if found else ""
        raise ConfigError(f"plugins: `{plugin}` is not installed{known}")
    return found[plugin]


def _imported(plugin: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"plugins: `{plugin}` can't be imported: {message}") from None
