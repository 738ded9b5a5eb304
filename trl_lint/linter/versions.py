"""Which releases the user's code runs with, and what is known of them with the user's own names."""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint.releases import Releases
from trl_lint.settings import Settings


def versions_of(settings: Settings) -> Releases:
    """The releases of trl and transformers that the user's code runs with, as far as they are known."""
    configured = {"trl": settings.target_trl, "transformers": settings.target_transformers}
    return Releases({name: version for name, version in configured.items() if version})


def known_of(settings: Settings, releases: Releases | None = None) -> Mapping[str, str]:
    """The releases in use, with what the settings say of names of the user's own."""
    versions = versions_of(settings) if releases is None else releases
    if not settings.own_names():
        return versions
    from trl_lint.knowledge.custom import rows_of
    from trl_lint.knowledge.library import Extended

    return Extended(versions, rows_of(settings))
