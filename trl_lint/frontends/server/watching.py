"""The files that an editor is asked to watch: those on disk that the lint of a document may depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from trl_lint.files import PROJECT_MARKS
from trl_lint.launch.judge.scanned_files import JSON, is_wanted
from trl_lint.launch.parsers.readers import BY_BEGINNING, BY_NAME, BY_SUFFIX

_SETTINGS = ".toml"  # whatever its name, settings may extend it
_IGNORED = ".gitignore"


def is_of_settings(path: Path, named: Iterable[Path]) -> bool:
    """Whether a file may determine which files are linted, and how. named: those that settings name."""
    return path.suffix == _SETTINGS or path.name == _IGNORED or path in named


@cache
def patterns() -> tuple[str, ...]:
    """Patterns for the names of files that may matter to any project."""
    suffixes = (_SETTINGS, *(each for each in (*BY_SUFFIX, JSON) if is_wanted(f"x{each}")))
    names = (*BY_NAME, *PROJECT_MARKS, _IGNORED, *(f"{each}*" for each in BY_BEGINNING), *(f"*{e}" for e in suffixes))
    return tuple(sorted({_in_any_case(each) for each in names}))


def _in_any_case(name: str) -> str:
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in name)


def watchers() -> list[types.FileSystemWatcher]:
    """The watchers for files in the open folders."""
    return [types.FileSystemWatcher(f"**/{each}") for each in patterns()]


class Watched:
    """What one editor has been asked to watch."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._asked = 0
        self._files: set[Path] = set()

    def register(self, watchers: Sequence[types.FileSystemWatcher]) -> None:
        """Ask the editor to report changes of such files, if it can."""
        capabilities = self._capabilities()
        if capabilities is None or not capabilities.dynamic_registration or not watchers:
            return
        self._asked += 1
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        name = f"watched-files-{self._asked}"
        registration = types.Registration(name, types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        self._server.client_register_capability(types.RegistrationParams([registration]))

    def register_files(self, paths: Iterable[Path]) -> None:
        """Ask it to watch these files as well, unless `watchers` already covers them."""
        new = sorted(path for path in {*paths} - self._files if not self._is_covered(path))
        self._files.update(paths)
        capabilities = self._capabilities()
        if capabilities is not None and capabilities.relative_pattern_support:
            self.register([types.FileSystemWatcher(types.RelativePattern(p.parent.as_uri(), p.name)) for p in new])
        else:
            self.register([types.FileSystemWatcher(path.as_posix()) for path in new])

    def _is_covered(self, path: Path) -> bool:
        workspace = self._server.workspace
        tops = [to_fs_path(each) for each in (*workspace.folders, workspace.root_uri) if each]
        return any(top and path.is_relative_to(top) for top in tops) and any(map(path.match, patterns()))

    def _capabilities(self) -> types.DidChangeWatchedFilesClientCapabilities | None:
        workspace = self._server.client_capabilities.workspace
        return workspace.did_change_watched_files if workspace else None
