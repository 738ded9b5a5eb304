"""The projects in a tree and their files that may say how they are run; and whether all of that is as it was.

A project is the nearest folder around a file that declares what it needs (`pyproject.toml`, `requirements.txt`, …),
because the examples of a large repository each run in their own way; a folder `src` is part of the one around it.
Nested projects and tests do not count; a folder of tests can be asked about by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trl_lint import files
from trl_lint.launch.judge.scanned_files import LARGEST, is_wanted
from trl_lint.linter.files.budget import Budget, TooLarge
from trl_lint.linter.files.discovery import PathProblem, find_files, is_of_tests, names_project
from trl_lint.linter.store.cache import digest
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from typing import TypedDict

    class ProjectState(TypedDict):
        """What answers about files depend on, except what is in those files themselves.

        projects: by file, the project it belongs to. contents: by project, a digest of the names and contents of its
        files. programs: by the path of a program, the project it belongs to; "" if there is no such file. lightning:
        see `may_run_lightning`; None if nothing depends on it.
        """

        projects: dict[str, str]
        contents: dict[str, str]
        programs: dict[str, str]
        lightning: bool | None


# Limits of a scan: files that are read, and names that are listed.
MOST_FILES = 4000
MOST_NAMES = 200_000


class ProjectFiles:
    """The projects below a folder. top: the folder; nothing above it is looked at."""

    def __init__(self, settings: Settings, top: Path) -> None:
        self._settings = settings
        self.top = top
        self._projects: dict[Path, Path] = {}
        self._contents: dict[str, str] = {}
        self._programs: dict[str, str] = {}
        self._lightning: bool | None = None

    @classmethod
    def of(cls, settings: Settings, roots: Sequence[Path]) -> ProjectFiles:
        """roots: as returned by `discovery.import_roots`, the project's folder first."""
        return cls(settings, Path(os.path.abspath(next(iter(roots), settings.root or Path.cwd()))))

    def state(self, asked: Iterable[Path]) -> ProjectState:
        """What the answers about these files, which have been given, depend on."""
        projects = {str(path): str(self.project_of(path.parent)) for path in asked}
        contents, programs = dict(self._contents), dict(self._programs)
        return {"projects": projects, "contents": contents, "programs": programs, "lightning": self._lightning}

    def are_as_in(self, state: ProjectState) -> bool:
        """Whether answers would be the same as in an earlier state."""
        return (
            bool(state["projects"])
            and all(str(self.project_of(Path(path).parent)) == each for path, each in state["projects"].items())
            and all(self._project_of_program(path) == each for path, each in state["programs"].items())
            and all(self._digest_of(project) == each for project, each in state["contents"].items())
            and (state["lightning"] is None or state["lightning"] == self.may_run_lightning())
        )

    def may_run_lightning(self) -> bool:
        """Whether a file below the top may have Lightning run a model."""
        if self._lightning is None:
            from trl_lint.linter.execution.lightning_trees import may_run_lightning

            self._lightning = may_run_lightning(self.top)
        return self._lightning

    def project_of(self, folder: Path) -> Path:
        """The nearest folder around that is a project; else the top, or the folder itself if it is outside the top."""
        passed: list[Path] = []  # no recursion: folders may be nested deeper than calls can be
        while folder not in self._projects:
            passed.append(folder)
            if self.top not in folder.parents or _is_project(folder):
                self._projects[folder] = folder
            else:
                folder = folder.parent
        self._projects.update(dict.fromkeys(passed, self._projects[folder]))
        return self._projects[folder]

    def is_below_top(self, folder: Path) -> bool:
        """Whether a folder is the top, or below it."""
        return folder == self.top or self.top in folder.parents

    def read(self, project: Path, visit: Callable[[Path, bytes], None]) -> bool:
        """Visit the files of a project with their contents, without those that the settings or git exclude.

        Returns: whether these are all of them.
        """
        digests: list[tuple[str, str]] = []
        budget, is_whole = Budget(is_wanted, MOST_NAMES, MOST_FILES), True
        try:
            for path in self._files(project, budget):
                content = content_of(path)
                digests.append((str(path), digest(content)))
                visit(path, content)
        except TooLarge:
            is_whole = False
        is_whole = is_whole and budget.files > 0
        self._contents[str(project)] = digest(repr((is_whole, self._is_alone(project), digests)).encode())
        return is_whole

    def read_alone(self, project: Path, visit: Callable[[Path, bytes], None]) -> bool:
        """Visit the files of a project that was read before, if there is no other one below it or around.

        Returns: whether these are all files that may use what is in them.
        """
        return self._is_alone(project) and self.read(project, visit)

    def _is_alone(self, project: Path) -> bool:
        return project == self.top and not any(project in each.parents for each in self._projects.values())

    def _digest_of(self, project: str) -> str:
        """A digest of the names and contents of the files of a project."""
        self.read(Path(project), lambda path, content: None)
        return self._contents[project]

    def lies_below(self, project: Path, folder: PurePosixPath, program: str) -> bool:
        """Whether a program that a file in a folder names is in a nested project."""
        for path in (os.path.abspath(start / program) for start in (project / folder, project)):
            if project in Path(path).parents:
                self._programs[path] = self._project_of_program(path)
                if self._programs[path]:
                    return self._programs[path] != str(project)
        return False

    def _project_of_program(self, path: str) -> str:
        return str(self.project_of(Path(path).parent)) if os.path.isfile(path) else ""

    def _files(self, project: Path, budget: Budget) -> Iterator[Path]:
        counts: dict[Path, bool] = {}
        exclude = self._settings.exclude
        for path in find_files([project], root=self._settings.root, exclude=exclude, wanted=budget.is_wanted):
            if isinstance(path, PathProblem):
                continue
            folder = path.parent
            if folder not in counts:
                is_part = self.project_of(folder) == project and not is_of_tests(folder, project)
                counts[folder] = folder == project or is_part
            if counts[folder]:
                yield path


def _is_project(folder: Path) -> bool:
    """Whether a folder declares what its code needs, and is not where the project around it has its code."""
    if not names_project(folder):
        return False
    from trl_lint.knowledge.heuristics import SOURCE_FOLDER

    return not SOURCE_FOLDER.fits(folder.name)


def content_of(path: Path) -> bytes:
    """The content of a file, up to the size limit; empty if it can't be read."""
    try:
        return files.read(path, LARGEST)
    except OSError:
        return b""
