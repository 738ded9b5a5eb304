"""Which releases the user's code runs with, and what is known of them, including the user's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trl_lint.releases import Releases
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.knowledge.schema import Row


def versions_of(settings: Settings) -> Releases:
    """The releases of libraries that the user's code runs with, as far as known."""
    configured = {
        "trl": settings.target_trl,
        "transformers": settings.target_transformers,
        "pytorch_lightning": settings.lightning,
    }
    return Releases({name: version for name, version in configured.items() if version})


def known_of(settings: Settings, releases: Releases | None = None) -> Mapping[str, str]:
    """The releases in use, together with what the settings say about the user's own names."""
    versions = versions_of(settings) if releases is None else releases
    if not own_names(settings):
        return versions
    from trl_lint.knowledge.custom import rows_of
    from trl_lint.knowledge.library import Extended

    return Extended(versions, (*_rows_of_plugins(settings), *rows_of(settings)))


def own_names(settings: Settings) -> tuple[str, ...]:
    """The dotted names that the settings and the plugins in use mention."""
    return (*settings.own_names(), *(row.name for row in _rows_of_plugins(settings)))


def _rows_of_plugins(settings: Settings) -> tuple[Row, ...]:
    if not settings.plugins:
        return ()
    from trl_lint.knowledge.schema import Row
    from trl_lint.plugins import rows_of

    return tuple(row for row in rows_of(settings.plugins) if isinstance(row, Row))
