"""Which engines a project is shown to run under, and on how many processes: a look at all its files, once, and only
where there is a finding.

A project here is the nearest folder around a file that says what it needs (`pyproject.toml`, `requirements.txt`, …), as
the examples of a large repository are each run in their own way; what lies below in a project of its own, and what is
for tests only, does not count. The setting `engines` answers for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

from trl_lint import files
from trl_lint.domain.engines import HAND_ON_ATTRIBUTES, EnginesInUse, ShownEngine, TrainingEngine
from trl_lint.knowledge.heuristics import TEST_FOLDER
from trl_lint.launch.judge.engines import (
    HOME,
    JSON,
    LARGEST,
    BareStart,
    Group,
    LaunchEngines,
    is_document,
    is_program,
    is_wanted,
    may_start_group,
)
from trl_lint.linter.execution.importers import Importer, Importers
from trl_lint.linter.execution.project_scan import (
    FileScan,
    ProjectScan,
    all_launches,
    is_around,
    is_chosen,
    is_named,
    launches_of,
    may_be_named,
    names_one,
    parts_of,
    settings_in_use,
    settings_meant,
)
from trl_lint.linter.execution.scan_cache import ScanCache
from trl_lint.linter.files.budget import Budget, TooLarge
from trl_lint.linter.files.discovery import PathProblem, find_files, names_project
from trl_lint.linter.store.cache import digest
from trl_lint.settings import Settings

# So many files of a project are looked at, out of so many names.
MOST_FILES = 4000
MOST_NAMES = 200_000


@dataclass(slots=True)
class ProjectEngines:
    """The engines of the projects in a tree.

    top: the folder of the whole, above which nothing is looked at. asked: what is known of a project, by its folder.
    looks: what is known of its files.
    """

    settings: Settings
    top: Path
    asked: dict[Path, ProjectScan] = field(default_factory=dict)
    looks: ScanCache = field(default_factory=ScanCache)
    _projects: dict[Path, Path] = field(default_factory=dict)
    _in_use: dict[Path, EnginesInUse] = field(default_factory=dict)  # by file

    @classmethod
    def of(cls, settings: Settings, roots: Sequence[Path]) -> ProjectEngines:
        """roots: as `discovery.import_roots` gives them, the project's folder first."""
        return cls(settings, Path(os.path.abspath(next(iter(roots), settings.root or Path.cwd()))))

    def engines_for(self, path: Path) -> EnginesInUse:
        """What a file is shown to be run under."""
        if self.settings.engines:
            shown = tuple(ShownEngine(TrainingEngine(word)) for word in self.settings.engines)
            return EnginesInUse(shown, only=True)
        path = Path(os.path.abspath(path))
        if path not in self._in_use:
            project = self._project_of(path.parent)
            inside = PurePosixPath(path.relative_to(project).as_posix())
            self._in_use[path] = _summed_up(self._known(project), inside, is_program=_is_program(path))
        return self._in_use[path]

    def answers(self) -> dict[str, str]:
        """What was said so far, by the files that were asked about, as something that can be kept and compared."""
        return {str(path): self.answer(str(path)) for path in self._in_use}

    def answer(self, path: str) -> str:
        """What stands for all that there is to say of one file."""
        return digest(_written(self.engines_for(Path(path))).encode())

    def _known(self, project: Path) -> ProjectScan:
        if project not in self.asked:
            self.asked[project] = self._look(project)
        return self.asked[project]

    def _look(self, project: Path) -> ProjectScan:
        """What the files of a project show, those that settings and git leave out left out."""
        found: list[FileScan] = []
        importers: list[Importer] = []
        budget, whole = Budget(is_wanted, MOST_NAMES, MOST_FILES), True
        try:
            for path in self._files(project, budget):
                name = path.relative_to(project).as_posix()
                shown, imports = self.looks.at(path, _content(path))
                if not shown.is_silent:
                    found.append(FileScan(name, shown))
                if path.suffix == ".py":
                    importers.append(Importer(name, imports, shown.program, shown.group))
        except TooLarge:
            whole = False
        self.looks.save()
        starts = ((each.folder, launch.program) for each in found for launch in each.shown.launches)
        below = frozenset(path for folder, path in starts if path and self._lies_below(project, folder, path))
        programs = Importers(_with_groups(project, _with_started(importers, found)))
        return ProjectScan(tuple(found), whole and budget.files > 0, programs, below)

    def _lies_below(self, project: Path, folder: PurePosixPath, program: str) -> bool:
        """Whether a program that a file in a folder names lies in a project below this one."""
        for path in (Path(os.path.abspath(start / program)) for start in (project / folder, project)):
            if project in path.parents and os.path.isfile(path):
                return self._project_of(path.parent) != project
        return False

    def _files(self, project: Path, budget: Budget) -> Iterator[Path]:
        exclude = self.settings.exclude
        for path in find_files([project], root=self.settings.root, exclude=exclude, wanted=budget.is_wanted):
            if isinstance(path, PathProblem) or self._project_of(path.parent) != project:
                continue
            if not any(TEST_FOLDER.fits(part) for part in path.relative_to(project).parts[:-1]):
                yield path

    def _project_of(self, folder: Path) -> Path:
        """The nearest folder around that is a project; else the top, or the folder itself where it lies elsewhere."""
        passed: list[Path] = []  # no recursion: folders may lie deeper in each other than calls may
        while folder not in self._projects:
            passed.append(folder)
            if self.top not in folder.parents or names_project(folder):
                self._projects[folder] = folder
            else:
                folder = folder.parent
        self._projects.update(dict.fromkeys(passed, self._projects[folder]))
        return self._projects[folder]


def _with_started(files: Sequence[Importer], found: Sequence[FileScan]) -> list[Importer]:
    """The Python files of a project: what commands start is a program, even without `if __name__ == "__main__":`."""
    shown = [each.shown for each in found]
    started = {parts_of(start.program) for each in shown for start in each.launches}
    started |= {parts_of(start.program) for each in shown for start in each.bare}
    started -= {()}
    names = {parts[-1] for parts in started}
    return [
        replace(each, program=each.program or (PurePosixPath(each.path).name in names and is_named(each.path, started)))
        for each in files
    ]


def _with_groups(project: Path, files: list[Importer]) -> list[Importer]:
    """The Python files of a project, with those that may start a process group, if any asks for one."""
    if not any(each.group is Group.ASKS for each in files):
        return files
    return [
        replace(each, group=Group.STARTS)
        if each.group is Group.NONE and may_start_group(_content(project / each.path))
        else each
        for each in files
    ]


def _content(path: Path) -> bytes:
    """What is in a file, as far as that is read; nothing where it can't be."""
    try:
        return files.read(path, LARGEST)
    except OSError:
        return b""


def _written(value: object) -> str:
    """A value as text that is the same in each process: a set has its members in another order in each."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_written, value)))}}}"
    if is_dataclass(value):
        value = tuple(getattr(value, each.name) for each in fields(value))
    return f"({', '.join(map(_written, value))})" if isinstance(value, tuple) else repr(value)


def _is_program(path: Path) -> bool:
    return path.suffix == ".py" and is_program(_content(path))


def _summed_up(project: ProjectScan, asks: PurePosixPath, *, is_program: bool) -> EnginesInUse:
    """What all files together say of a file: of each engine, the nearest of them.

    A document speaks of what lies below it: that of a library tells its users how they may train. A program speaks of
    itself and of what may be a part of it, which other programs are not; nor are their launches its own. Of a part of
    programs, those speak whose launches are shown.
    """
    started = launches_of(project, {str(asks)})
    is_program = is_program or bool(started)  # without `if __name__ == "__main__":`
    programs = frozenset({str(asks)}) if is_program else project.importers.programs_of(str(asks))
    own = started if is_program else launches_of(project, programs)
    found = _speaking_of(project, asks, programs, own, is_program=is_program)
    shown = _nearest(project, asks, own, found)
    one_node = bool(own) and all(launch.one_node for launch in own)
    launched = any(each.shown.launches for each in found)
    users = project.importers.programs_of(str(asks))
    one_process = _is_one_process(project, str(asks), users)
    is_one = not _is_started_on_several(project, {*programs, *users})
    some_one_process = is_one and _is_one_started_as_one(project, programs, users)
    own_code = [each.shown.beside for each in found if is_program and each.name == str(asks)]
    only = project.whole and _are_all_known(found, {each.engine for each in shown})
    alone = _options_of_one_process(project, str(asks)) if is_program else frozenset[str]()
    own_engines = next(iter(own_code), ())
    imported = project.importers.is_imported(str(asks))
    drops_last = _drop_last(project, {*programs, *users})
    no_group = is_one and _have_no_group(project, programs)
    processes = one_node, launched, one_process, some_one_process
    return EnginesInUse(shown, only, *processes, own_engines, alone, imported, drops_last, no_group)


def _nearest(
    project: ProjectScan, asks: PurePosixPath, own: Sequence[LaunchEngines], found: Sequence[FileScan]
) -> tuple[ShownEngine, ...]:
    """The engines that files show, each with the nearest file that does."""
    where: dict[TrainingEngine, ShownEngine] = {}
    named = settings_in_use(project, own)
    for each in sorted(found, key=lambda each: (not is_chosen(each, named), _distance(each, asks.parent))):
        for engine in each.shown.engines:
            where.setdefault(engine, ShownEngine(engine, each.name, is_chosen(each, named)))
    return tuple(where[engine] for engine in TrainingEngine if engine in where)


def _is_one_started_as_one(project: ProjectScan, programs: Collection[str], users: Collection[str]) -> bool:
    """Whether one of these is started as one process: a file that is a program, or programs that it is a part of."""
    if any(_is_started_as_one(project, each) for each in {*programs, *users}):
        return True
    return any(_is_beside_bare(project, each) for each in programs)


def _have_no_group(project: ProjectScan, programs: Collection[str]) -> bool:
    """Whether programs ask for a process group that none of them starts: each of its processes takes itself for one."""
    return project.whole and bool(programs) and all(map(project.importers.has_no_group, programs))


def _speaking_of(
    project: ProjectScan,
    asks: PurePosixPath,
    programs: frozenset[str],
    own: Sequence[LaunchEngines],
    *,
    is_program: bool,
) -> list[FileScan]:
    """The files that say something of a file, and what they do. programs: it, or those that it is a part of."""
    found = [each for each in project.files if not is_document(each.name) or is_around(each.folder, asks.parent)]
    if is_program or own:
        found = [each for each in found if not each.shown.program or each.name in programs]
    others = launches_of(project, project.importers.programs - programs)
    if is_program:
        others += [each for each in all_launches(project) if each.program in project.below]
        apart = [each for each in others if each not in own]
        found = [each for each in found if not _starts_only(each, apart)]
    if own:
        return _as_started(found, own)
    # The program that a launch starts may be that of another project below, or gone.
    not_own = [each for each in all_launches(project) if each.program] if is_program else others
    return _without(found, not_own, _named_by(others))


def _is_one_process(project: ProjectScan, file: str, users: Collection[str]) -> bool:
    """Whether all that starts a file in sight, or else all programs that import it, starts one process.

    users: the programs that import it.
    """
    if _is_started_on_several(project, {file, *users}):
        return False
    if _is_started_as_one(project, file) or _says_that_it_is_one(project, file):
        return True
    return bool(users) and all(_is_started_as_one(project, each) for each in users)


def _is_started_on_several(project: ProjectScan, programs: Collection[str]) -> bool:
    return not all(_is_of_one(project, launch) for launch in launches_of(project, programs))


def _is_of_one(project: ProjectScan, launch: LaunchEngines) -> bool:
    """Whether a launch is of one process: it says so, or leaves that to settings that do.

    The default in the home folder is taken for one of those that the project ships.
    """
    if launch.one_process or launch.counted or (launch.engines and not launch.configuration):
        return launch.one_process
    meant = [each.shown.one_process for each in settings_meant(project.files, launch)]
    return bool(meant) and all(meant)


def _is_started_as_one(project: ProjectScan, program: str) -> bool:
    """Whether commands in other files start a program, and each of them starts one process of it."""
    started = launches_of(project, {program})
    return all(_is_of_one(project, launch) for launch in started) if started else _is_bare(project, program)


def _says_that_it_is_one(project: ProjectScan, program: str) -> bool:
    """The same of a program that nothing but its own text speaks of.

    It says nothing of what it imports: the scripts of a library show how they are tried out.
    """
    return not launches_of(project, {program}) and _is_bare(project, program, own=True)


def _is_bare(project: ProjectScan, program: str, *, own: bool = False) -> bool:
    """Whether bare python starts a program, and nothing may start it on several processes."""
    if any(not launch.program for launch in all_launches(project)):
        return False  # it may be this one
    if any(_spawns(project, each, program) for each in project.files):
        return False
    return bool(_bare_starts(project, program, own=own))


def _is_beside_bare(project: ProjectScan, program: str) -> bool:
    """Whether nothing starts a program, and bare python those beside it, in a project that shows no other way."""
    shown = [each.shown for each in project.files]
    if program not in project.importers.programs or any(each.launches or each.engines or each.spawns for each in shown):
        return False
    folder = PurePosixPath(program).parent
    beside = (each for each in project.importers.programs if PurePosixPath(each).parent == folder)
    return any(_bare_starts(project, each, own=False) for each in beside)


def _bare_starts(project: ProjectScan, program: str, *, own: bool) -> list[BareStart]:
    """own: whether a program's own text counts."""
    starts = ((each, start) for each in project.files for start in each.shown.bare if own or each.name != program)
    return [start for each, start in starts if names_one(project, each, start.program, {program})]


def _options_of_one_process(project: ProjectScan, program: str) -> frozenset[str]:
    """The options that a program is given where it is started as one process, and never by launches of several."""
    started = launches_of(project, {program})
    several = [launch.options for launch in started if not _is_of_one(project, launch)]
    if not several or None in several:
        return frozenset()
    alone = [launch.options or frozenset() for launch in started if _is_of_one(project, launch)]
    alone += [start.options for start in _bare_starts(project, program, own=True)]
    return frozenset[str]().union(*alone).difference(*(each or () for each in several))


def _drop_last(project: ProjectScan, programs: Collection[str]) -> bool:
    """Whether all launches of these programs ask for full batches only; without launches in sight, the programs."""
    asking = [each.name for each in project.files if each.shown.drops_last]
    started = {program: launches_of(project, {program}) for program in programs}
    if not any(started.values()):
        return bool(programs) and all(each in asking for each in programs)
    return all(
        launch.drops_last or program in asking or any(may_be_named(name, launch.names) for name in asking)
        for program, launches in started.items()
        for launch in launches
    )


def _spawns(project: ProjectScan, file: FileScan, program: str) -> bool:
    """Whether a file is a program that makes processes itself, or a part of it that makes the ranks of a job."""
    if file.name == program:
        return file.shown.spawns
    return file.shown.spawns_ranks and program in project.importers.programs_of(file.name)


def _as_started(found: Sequence[FileScan], own: Sequence[LaunchEngines]) -> list[FileScan]:
    """What files say of a program that these launches start: neither other launches count, nor settings that no launch
    of it names, as far as all that it is launched with is known.
    """
    told = all(launch.whole for launch in own)
    named = _named_by(own)
    # Settings name those of DeepSpeed in turn.
    by_settings = any(launch.configuration or TrainingEngine.DEEPSPEED in launch.engines for launch in own)
    kept = []
    for each in found:
        launches = tuple(launch for launch in each.shown.launches if launch in own)
        counts = not told or launches or each.name.endswith(".py") or (by_settings and each.name.endswith(JSON))
        beside = each.shown.beside if counts or is_named(each.name, named) else ()
        kept.append(FileScan(each.name, replace(each.shown, beside=beside, launches=launches)))
    return kept


def _without(
    found: Sequence[FileScan], others: Sequence[LaunchEngines], named: Collection[tuple[str, ...]]
) -> list[FileScan]:
    """What files say less what launches of other programs do, and settings that those name."""
    kept = []
    for each in found:
        launches = tuple(launch for launch in each.shown.launches if launch not in others)
        beside = () if is_named(each.name, named) else each.shown.beside
        kept.append(FileScan(each.name, replace(each.shown, beside=beside, launches=launches)))
    return kept


def _starts_only(file: FileScan, others: Collection[LaunchEngines]) -> bool:
    """Whether a document or a script starts other programs, and nothing else: of these it says how they are run."""
    launches = file.shown.launches
    return bool(launches) and not file.name.endswith(".py") and all(each in others for each in launches)


def _named_by(launches: Sequence[LaunchEngines]) -> set[tuple[str, ...]]:
    """The settings that launches name, as the parts of their paths."""
    return {parts_of(name) for launch in launches for name in (*launch.names, launch.configuration)} - {()}


def _distance(file: FileScan, folder: PurePosixPath) -> tuple[bool, int, str]:
    """How far a file is from a folder. How a training is started says more than the code that can be started so."""
    pairs = zip(file.folder.parts, folder.parts, strict=False)
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return file.name.endswith(".py"), len(file.folder.parts) + len(folder.parts) - 2 * shared, file.name


def _are_all_known(found: Sequence[FileScan], shown: Collection[TrainingEngine]) -> bool:
    """Whether each launch in sight says for certain under which engine, and none of them is DDP."""
    launches = [launch for each in found for launch in each.shown.launches]
    if not launches or TrainingEngine.DDP in shown:
        return False
    return all(_is_known(launch, found) for launch in launches)


def _is_known(launch: LaunchEngines, found: Sequence[FileScan]) -> bool:
    if launch.certain or launch.pattern == HOME:
        return launch.certain
    meant = [each.shown.engines for each in settings_meant(found, launch)]
    return bool(meant) and all(engines and HAND_ON_ATTRIBUTES.issuperset(engines) for engines in meant)
