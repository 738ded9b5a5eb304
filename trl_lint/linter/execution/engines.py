"""Which training engines a project runs under, and with how many processes.

All files of the project (see `project_files.py`) are scanned, once, and only if there is a finding. The setting
`engines` overrides all of this.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trl_lint.domain.engines import EnginesInUse, GivenOptions, SaidOptions, ShownEngine, TrainingEngine
from trl_lint.knowledge.heuristics import folder_of_copy
from trl_lint.launch.judge.built_classes import BuiltClasses, built_classes, united
from trl_lint.launch.judge.engines import is_program
from trl_lint.launch.judge.scanned_files import JSON, is_document
from trl_lint.launch.judge.starts import LaunchEngines
from trl_lint.launch.judge.trainer_settings import TrainerSettings, are_of_one_device, trainer_settings
from trl_lint.linter.execution.given_options import options_given
from trl_lint.linter.execution.groups_of_others import with_groups_of_others
from trl_lint.linter.execution.importers import Importer, Importers, with_built
from trl_lint.linter.execution.known_launches import are_all_known, as_started_around, chosen_by, start_others_only
from trl_lint.linter.execution.lightning_code import LightningCode
from trl_lint.linter.execution.lightning_use import with_lightning
from trl_lint.linter.execution.missing_modules import with_missing
from trl_lint.linter.execution.named_programs import ProgramStart, StartsOfPrograms, is_around, parts_of
from trl_lint.linter.execution.on_one_node import is_on_one_node
from trl_lint.linter.execution.one_process_starts import (
    bare_starts,
    is_one_process,
    is_one_process_itself,
    is_one_started_as_one,
    is_started_on_several,
    see_one_gpu,
)
from trl_lint.linter.execution.own_folders import as_started_beside
from trl_lint.linter.execution.own_stages import with_own_stage
from trl_lint.linter.execution.passed_over import with_uses
from trl_lint.linter.execution.project_files import ProjectFiles, content_of
from trl_lint.linter.execution.project_scan import (
    FileScan,
    ProjectScan,
    all_launches,
    is_chosen,
    is_named,
    is_of_another,
    is_of_one,
    launches_of,
    settings_in_use,
    several_shown,
    started_names,
    started_on_several,
    with_scripts_followed,
)
from trl_lint.linter.execution.said_options import Said, said_by, said_in
from trl_lint.linter.execution.scan_cache import ScanCache
from trl_lint.linter.execution.starts_of_groups import with_groups
from trl_lint.linter.store.cache import digest
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.execution.project_files import ProjectState


@dataclass(slots=True)
class ProjectEngines:
    """The engines of the projects in a tree.

    Attributes:
        files: The files of these projects.
        asked: What is known of a project, by its folder.
        looks: The scans of files.
    """

    settings: Settings
    files: ProjectFiles
    asked: dict[Path, ProjectScan] = field(default_factory=dict)
    looks: ScanCache = field(default_factory=ScanCache)
    _in_use: dict[Path, EnginesInUse] = field(default_factory=dict)  # by file
    _lightning: LightningCode | None = None  # of the project that was asked about last

    @classmethod
    def of(cls, settings: Settings, roots: Sequence[Path]) -> ProjectEngines:
        """roots: as returned by `discovery.import_roots`, the project's folder first."""
        return cls(settings, ProjectFiles.of(settings, roots))

    def engines_for(self, path: Path) -> EnginesInUse:
        """The engines and processes that a file is shown to run under."""
        if self.settings.engines:
            shown = tuple(ShownEngine(TrainingEngine(word)) for word in self.settings.engines)
            return EnginesInUse(shown, only=True)
        if path not in self._in_use:
            path = Path(os.path.abspath(path))
        if path not in self._in_use:
            project = self.files.project_of(path.parent)
            known = self._known(project)
            inside = PurePosixPath(path.relative_to(project).as_posix())
            programs = {str(inside), *known.importers.programs_of(str(inside))}
            names = {PurePosixPath(each).name for each in programs}
            around = self._started_from(project, names)
            found = _summed_up(known, inside, is_program=_is_program(path))
            if not found.launched:
                found = as_started_around(found, [self._known(Path(each)) for each in sorted(around)], names)
            found = with_groups_of_others(found, known, str(inside), project)
            found = with_own_stage(found, known, str(inside))
            found = as_started_beside(found, path, project, self._known)
            given = GivenOptions() if around else options_given(known, programs, project)
            others = not around and start_others_only(known, programs)
            found = found._replace(started_from=around, home=str(project), given_options=given, others_started=others)
            found = found._replace(one_device=known.one_device and not found.launched)
            around_it = self._with_around(project)
            found = with_missing(found, path, around_it)
            self._in_use[path] = with_lightning(
                with_uses(found, path, around_it), path, around_it, self.files, self._lightning_code
            )
        return self._in_use[path]

    def _lightning_code(self, project: Path) -> LightningCode:
        if self._lightning is None or self._lightning.home != project:
            self._lightning = LightningCode(project, self._known(project))
        return self._lightning

    def _with_around(self, project: Path) -> dict[Path, ProjectScan]:
        """What is known of a project, and of those around it, by folder."""
        return {each: self._known(each) for each in (project, *sorted(self._projects_around(project)))}

    def _started_from(self, project: Path, names: Set[str]) -> frozenset[str]:
        """The projects around one with a command for a program of one of these names."""
        around = self._projects_around(project)
        return frozenset(str(each) for each in around if not names.isdisjoint(started_names(self._known(each))))

    def _projects_around(self, project: Path) -> set[Path]:
        around = takewhile(self.files.is_below_top, project.parents)
        return {self.files.project_of(each) for each in around} - {project}

    def answers(self) -> dict[str, str]:
        """The answers so far, per file, in a form that can be stored and compared."""
        return {str(path): self.answer(str(path)) for path in self._in_use}

    def answer(self, path: str) -> str:
        """A digest of everything known about how one file is run."""
        return digest(_written(self.engines_for(Path(path))).encode())

    def state(self) -> ProjectState:
        """What the answers so far depend on."""
        return self.files.state(self._in_use)

    def _known(self, project: Path) -> ProjectScan:
        if project not in self.asked:
            self.asked[project] = self._look(project)
        return self.asked[project]

    def _look(self, project: Path) -> ProjectScan:
        """Scan the files of a project."""
        found: list[FileScan] = []
        importers: list[Importer] = []
        built: list[BuiltClasses] = []
        said: list[Said] = []
        trainers: list[tuple[str, TrainerSettings]] = []

        def visit(path: Path, content: bytes) -> None:
            name = path.relative_to(project).as_posix()
            shown, imports = self.looks.at(path, content)
            built.append(built_classes(path, content))
            said.append(said_in(path, content))
            trainers.append((name, trainer_settings(path, content)))
            if not shown.is_silent:
                found.append(FileScan(name, shown))
            if path.suffix == ".py":
                importer = Importer(name, imports, shown.program, shown.group, shown.trains, wraps=shown.wraps)
                importers.append(importer)

        is_whole = self.files.read(project, visit)
        self.looks.save()
        found = with_scripts_followed(found)
        starts = ((each.folder, launch.program) for each in found for launch in each.shown.launches)
        below = frozenset(path for folder, path in starts if path and self.files.lies_below(project, folder, path))
        importers = with_built(importers, {name for each in found for name in each.shown.built})
        programs = Importers(
            with_groups(project, _with_started(importers, found), lambda each: self.files.read_alone(project, each))
        )
        launches = StartsOfPrograms(((each.name, one) for each in found for one in each.shown.launches), programs.code)
        bare = StartsOfPrograms(((each.name, one) for each in found for one in each.shown.bare), programs.code)
        by_code = ((each.name, ProgramStart(path)) for each in found for path in sorted(each.shown.spread))
        spread = StartsOfPrograms(by_code, programs.code)
        has_one = is_whole and are_of_one_device(trainers)
        return ProjectScan(
            tuple(found), is_whole, programs, launches, bare, spread, below, united(built), said_by(said), has_one
        )


def _with_started(files: Sequence[Importer], found: Sequence[FileScan]) -> list[Importer]:
    """The Python files of a project; what commands start is a program, even without `if __name__ == "__main__":`."""
    shown = [each.shown for each in found]
    started = {parts_of(start.program) for each in shown for start in each.launches}
    started |= {parts_of(start.program) for each in shown for start in each.bare}
    started -= {()}
    names = {parts[-1] for parts in started}
    return [
        replace(each, program=each.program or (PurePosixPath(each.path).name in names and is_named(each.path, started)))
        for each in files
    ]


def _written(value: object) -> str:
    """A value as text that is the same in each process (the order of a set's members differs between processes)."""
    if isinstance(value, SaidOptions):
        return value.digest
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_written, value)))}}}"
    if is_dataclass(value):
        value = tuple(getattr(value, each.name) for each in fields(value))
    return f"({', '.join(map(_written, value))})" if isinstance(value, tuple) else repr(value)


def _is_program(path: Path) -> bool:
    return path.suffix == ".py" and is_program(content_of(path))


def _summed_up(project: ProjectScan, asks: PurePosixPath, *, is_program: bool) -> EnginesInUse:
    """Combine what all files show about one file; for each engine, the nearest file that shows it.

    A document is about what is below its folder: that of a library tells its users how they may train. A program says
    something about itself and about files that may be part of it; other programs are not, and their launches are not
    its own. For a file that is part of programs, those programs count whose launches are shown.
    """
    started = launches_of(project, {str(asks)})
    is_program = is_program or bool(started)  # even without `if __name__ == "__main__":`
    programs = frozenset({str(asks)}) if is_program else project.importers.programs_of(str(asks))
    own = started if is_program else launches_of(project, programs)
    found = _speaking_of(project, asks, programs, own, is_program=is_program)
    shown = _nearest(project, asks, own, found)
    one_node = is_on_one_node(project, programs, own)
    launched = any(each.shown.launches for each in found)
    at_once = any(not launch.by_program for each in found for launch in each.shown.launches)
    users = project.importers.programs_of(str(asks))
    one_process = is_one_process(project, str(asks), users)
    is_one = not is_started_on_several(project, {*programs, *users})
    some_one_process = is_one and is_one_started_as_one(project, programs, users)
    only = project.whole and are_all_known(found, {each.engine for each in shown})
    alone = _options_of_one_process(project, str(asks)) if is_program else frozenset[str]()
    own_engines = chosen_by(found, programs)
    imported = project.importers.is_imported(str(asks)) or project.built.are_in(asks)
    no_group = _have_no_group(project, {*programs, *users}, is_one=is_one)
    processes = one_node, launched, one_process, some_one_process
    several = several_shown(project, programs or {str(asks)})
    elsewhere = is_program and _is_started_elsewhere(project, str(asks))
    use = EnginesInUse(shown, only, *processes, own_engines, alone, imported, no_group, several, elsewhere)
    one_gpu = one_process and see_one_gpu(project, str(asks), users)
    lone = bool(users) and is_program and is_one_process_itself(project, str(asks))
    several_at_once = started_on_several(project, str(asks))
    return use._replace(at_once=at_once, one_gpu=one_gpu, started_on_several=several_at_once, main_one_process=lone)


def _nearest(
    project: ProjectScan, asks: PurePosixPath, own: Sequence[LaunchEngines], found: Sequence[FileScan]
) -> tuple[ShownEngine, ...]:
    """The engines that files show, each with the nearest file that shows it."""
    where: dict[TrainingEngine, ShownEngine] = {}
    named = settings_in_use(project, own)
    showing = [each for each in found if each.shown.engines]
    for each in sorted(showing, key=lambda each: (not is_chosen(each, named), _distance(each, asks.parent))):
        for engine in each.shown.engines:
            where.setdefault(engine, ShownEngine(engine, each.name, is_chosen(each, named)))
    return tuple(where[engine] for engine in TrainingEngine if engine in where)


def _have_no_group(project: ProjectScan, programs: Collection[str], *, is_one: bool) -> bool:
    """Whether programs use a process group that none of them starts, so that each process acts as if it were alone.

    is_one: whether none of them is started as several processes. Those that are fail where they need a group.
    """
    lack = project.importers.has_no_group if is_one else project.importers.fails_without_group
    return project.whole and bool(programs) and all(map(lack, programs))


def _speaking_of(
    project: ProjectScan,
    asks: PurePosixPath,
    programs: frozenset[str],
    own: Sequence[LaunchEngines],
    *,
    is_program: bool,
) -> list[FileScan]:
    """The files that say how a file is run, with what they show. programs: the file itself, or those it is part of."""
    found = [each for each in project.files if not is_document(each.name) or is_around(each.folder, asks.parent)]
    running = programs | project.importers.programs_of(str(asks))
    found = _without(found, (), _named_in_others(project, running) - _named_by(own))
    if is_program or own:
        found = [each for each in found if not each.shown.program or each.name in programs]
    others = launches_of(project, project.importers.programs - programs)
    if is_program:
        others += [each for each in all_launches(project) if each.program in project.below]
        apart = [each for each in others if each not in own]
        found = [each for each in found if not (_starts_only(each, apart) or is_of_another(project, each, asks))]
    if own:
        return _as_started(found, own)
    # The program that a launch starts may belong to a nested project, or no longer exist.
    not_own = [each for each in all_launches(project) if each.program] if is_program else others
    return _without(found, not_own, _named_by(others))


def _is_started_elsewhere(project: ProjectScan, program: str) -> bool:
    """Whether another file has a command that starts a program; of somebody else's, one outside of the copy."""
    copied = folder_of_copy(PurePosixPath(program))
    files = {file for starts in (project.launches, project.bare) for file, _ in starts.of((program,))}
    return any(file != program and not (copied and file.startswith(copied)) for file in files)


def _options_of_one_process(project: ProjectScan, program: str) -> frozenset[str]:
    """The options that a program gets when started as one process, and never in a launch of several processes."""
    started = launches_of(project, {program})
    several = [launch.options for launch in started if not is_of_one(project, launch)]
    if not several or None in several:
        return frozenset()
    alone = [launch.options or frozenset() for launch in started if is_of_one(project, launch)]
    alone += [start.options for start in bare_starts(project, program, own=True)]
    return frozenset[str]().union(*alone).difference(*(each or () for each in several))


def _as_started(found: Sequence[FileScan], own: Sequence[LaunchEngines]) -> list[FileScan]:
    """What files show about a program started by these launches.

    Other launches do not count, nor do settings that no launch of the program names, provided that the launches are
    known completely.
    """
    told = all(launch.whole for launch in own)
    named = _named_by(own)
    # Settings files may name those of DeepSpeed.
    by_settings = any(launch.configuration or TrainingEngine.DEEPSPEED in launch.engines for launch in own)
    kept = []
    for each in found:
        launches = tuple(launch for launch in each.shown.launches if launch in own)
        counts = not told or launches or each.name.endswith(".py") or (by_settings and each.name.endswith(JSON))
        beside = each.shown.beside if counts or is_named(each.name, named) else ()
        kept.append(_with(each, beside, launches))
    return kept


def _without(
    found: Sequence[FileScan], others: Sequence[LaunchEngines], named: Collection[tuple[str, ...]]
) -> list[FileScan]:
    """What files show, without the launches of other programs and the settings that these name."""
    kept = []
    for each in found:
        launches = tuple(launch for launch in each.shown.launches if launch not in others)
        beside = () if each.shown.beside and is_named(each.name, named) else each.shown.beside
        kept.append(_with(each, beside, launches))
    return kept


def _with(file: FileScan, beside: tuple[TrainingEngine, ...], launches: tuple[LaunchEngines, ...]) -> FileScan:
    """A file that shows only these; the same where that changes nothing, as in most files."""
    shown = file.shown
    if (len(beside), len(launches)) == (len(shown.beside), len(shown.launches)):
        return file
    return FileScan(file.name, replace(shown, beside=beside, launches=launches))


def _starts_only(file: FileScan, others: Collection[LaunchEngines]) -> bool:
    """Whether a document or a script only starts other programs, so that it says nothing about this one."""
    launches = file.shown.launches
    return bool(launches) and not file.name.endswith(".py") and all(each in others for each in launches)


def _named_by(launches: Sequence[LaunchEngines]) -> set[tuple[str, ...]]:
    """The settings files that launches name, as the parts of their paths."""
    return {parts_of(name) for launch in launches for name in (*launch.names, launch.configuration)} - {()}


def _named_in_others(project: ProjectScan, programs: Collection[str]) -> set[tuple[str, ...]]:
    """The settings files that only the code of other programs names, as the parts of their paths."""
    if not programs:
        return set()
    own, others = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for each in project.files:
        if each.name.endswith(".py") and each.shown.names:
            runs = project.importers.programs_running(each.name)
            is_own = not runs or not runs.isdisjoint(programs)
            (own if is_own else others).update(map(parts_of, each.shown.names))
    return others - own - {()}


def _distance(file: FileScan, folder: PurePosixPath) -> tuple[bool, int, str]:
    """How far a file is from a folder. Files that start a training come before code that could be started so."""
    pairs = zip(file.folder.parts, folder.parts, strict=False)
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return file.name.endswith(".py"), len(file.folder.parts) + len(folder.parts) - 2 * shared, file.name
