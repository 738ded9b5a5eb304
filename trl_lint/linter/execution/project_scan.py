"""What the files of a project show about how it is run, and which of them a launch refers to by path."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from trl_lint.domain.engines import SaidOptions
from trl_lint.launch.judge.built_classes import BuiltClasses
from trl_lint.launch.judge.engines import FileEngines
from trl_lint.launch.judge.scanned_files import JSON, YAML
from trl_lint.launch.judge.starts import HOME, SHELL_SCRIPTS, BareStart, LaunchEngines
from trl_lint.linter.execution.importers import Importers
from trl_lint.linter.execution.named_programs import ProgramStart, StartsOfPrograms, folder_of, is_around, parts_of


class FileScan(NamedTuple):
    """A file of a project, by its path relative to the project's folder, and what it shows."""

    name: str
    shown: FileEngines

    @property
    def folder(self) -> PurePosixPath:
        return folder_of(self.name)


class ProjectScan(NamedTuple):
    """What all files of a project show.

    Attributes:
        whole: Whether all of them have been scanned.
        importers: The Python files and their imports.
        below: The programs that its launches name, as they name them, and that are in nested projects.
        built: The classes that its settings name.
        said: What its files say of options that are no code.
        launches, bare: The starts of several processes, and of one with plain `python`, by the program that they name.
        spread: The starts of several processes by Python code.
        one_device: Whether settings build the Trainers, and all that are named are for one device.
    """

    files: tuple[FileScan, ...]
    whole: bool
    importers: Importers
    launches: StartsOfPrograms[LaunchEngines]
    bare: StartsOfPrograms[BareStart]
    spread: StartsOfPrograms[ProgramStart]
    below: frozenset[str] = frozenset()
    built: BuiltClasses = BuiltClasses()
    said: SaidOptions | None = None
    one_device: bool = False


def with_scripts_followed(files: Sequence[FileScan]) -> list[FileScan]:
    """What files show, without the launches of shell scripts that say themselves which programs they start.

    Of another script, the program is not known.
    """
    launching = [each for each in files if each.shown.launches]
    clear = {PurePosixPath(each.name).name for each in launching if all(one.program for one in each.shown.launches)}
    kept = []
    for each in files:
        scripts = [(launch, _script_of(launch)) for launch in each.shown.launches]
        left = [replace(launch, program="") if script else launch for launch, script in scripts if script not in clear]
        kept.append(each._replace(shown=replace(each.shown, launches=tuple(left))) if scripts else each)
    return kept


def _script_of(launch: LaunchEngines) -> str:
    """The name of the shell script that a launch starts; "" if it starts a program."""
    return PurePosixPath(launch.program).name if launch.program.endswith(SHELL_SCRIPTS) else ""


def all_launches(project: ProjectScan) -> list[LaunchEngines]:
    """The launches of several processes that files of a project show."""
    return [launch for each in project.files for launch in each.shown.launches]


def started_names(project: ProjectScan) -> set[str]:
    """The file names of the programs that commands in files of a project start."""
    programs = {launch.program for launch in all_launches(project)}
    programs |= {start.program for each in project.files for start in each.shown.bare}
    return {PurePosixPath(each).name for each in programs} - {""}


def launches_of(project: ProjectScan, programs: Collection[str]) -> list[LaunchEngines]:
    """The launches that start one of these programs."""
    return [launch for _, launch in project.launches.of(programs)]


def is_named(path: str, names: Collection[tuple[str, ...]]) -> bool:
    """Whether a path ends with one of these."""
    parts = tuple(path.split("/"))
    return any(parts[-len(name) :] == name for name in names)


def is_of_another(project: ProjectScan, file: FileScan, program: PurePosixPath) -> bool:
    """Whether a Python file that shows an engine, such as settings, lies with other programs, away from this one."""
    is_code = file.name.endswith(".py") and file.shown.engines
    if not is_code or str(program) in project.importers.programs_of(file.name):
        return False
    folders = project.importers.folders_of_programs
    return any(each in folders and not is_around(each, program.parent) for each in (file.folder, *file.folder.parents))


def may_be_named(path: str, names: Collection[str]) -> bool:
    """Whether a file is one of those named, also if the name starts above the project's folder."""
    parts = tuple(path.split("/"))
    named = set(map(parts_of, names))
    return is_named(path, named - {()}) or (len(parts) > 1 and any(each[-len(parts) :] == parts for each in named))


def settings_in_use(project: ProjectScan, own: Sequence[LaunchEngines]) -> set[tuple[str, ...]] | None:
    """The settings files that launches name, and those that these name in turn, as parts of their paths.

    own: the launches of the program in question. Launches that may start it count as well; if there are neither, those
    of other programs do. None if nothing is known, because no named file exists. If launches of the program name no
    settings, they use none of those that others name; if they give the number of processes, which Accelerate's settings
    would have, they use none of those.
    """
    every = all_launches(project)
    used = _settings_of(project, [each for each in every if each in own or not each.program] or every)
    if used or not own:
        return used or None
    if _settings_of(project, every):
        return set()
    if not all(each.pattern == HOME and each.counted and not each.engines for each in own):
        return None
    return {PurePosixPath(each.name).parts for each in project.files if each.shown.one_process is None}


def _settings_of(project: ProjectScan, launches: Sequence[LaunchEngines]) -> set[tuple[str, ...]]:
    named = {parts_of(name) for launch in launches for name in (*launch.names, launch.configuration)} - {()}
    used = [each for each in project.files if _is_settings(each) and is_named(each.name, named)]
    by_variable = (launch for launch in launches if not launch.configuration and launch.pattern != HOME)
    used += [each for launch in by_variable for each in settings_meant(project.files, launch)]
    return {PurePosixPath(each.name).parts for each in used} | {
        parts_of(name) for each in used for name in each.shown.names
    }


def settings_meant(files: Sequence[FileScan], launch: LaunchEngines) -> list[FileScan]:
    """The settings files that a launch names or may refer to.

    If it names none, those next to it, above, or in a folder there show what its author uses.
    """
    if launch.configuration:
        parts = parts_of(launch.configuration)
        return [each for each in files if parts and is_named(each.name, (parts,))]
    settings = [each for each in files if each.shown.one_process is not None]
    if launch.pattern == HOME:
        folders = [each.folder for each in files if launch in each.shown.launches]
        return [each for each in settings if any(is_around(each.folder.parent, folder) for folder in folders)]
    pattern = "/".join(parts_of(launch.pattern))
    return [each for each in settings if fnmatchcase(each.name, pattern) or fnmatchcase(each.name, f"*/{pattern}")]


def is_of_one(project: ProjectScan, launch: LaunchEngines) -> bool:
    """Whether a launch starts one process: it says so, or leaves that to settings that do.

    Settings of the project replace the default in the home folder.
    """
    if launch.one_process or launch.counted or (launch.engines and not launch.configuration):
        return launch.one_process
    meant = [each.shown.one_process for each in settings_meant(project.files, launch)]
    return bool(meant) and all(meant)


def several_shown(project: ProjectScan, programs: Collection[str]) -> str:
    """The first file with a launch of one of these programs that says that it starts several on a machine, or ""."""
    return next((file for file, launch in project.launches.of(programs) if _is_of_several(project, launch)), "")


def started_on_several(project: ProjectScan, program: str) -> str:
    """The first file with a launch of a program that says that it starts several processes before it runs, or ""."""
    launches = ((file, launch) for file, launch in project.launches.of({program}) if not launch.by_program)
    return next((file for file, launch in launches if _is_of_several(project, launch)), "")


def _is_of_several(project: ProjectScan, launch: LaunchEngines) -> bool:
    """Whether a launch gives a number of processes, or names settings that do, and that is not one on each machine."""
    if launch.one_process or launch.counted:
        return not (launch.one_process or launch.one_each)
    meant = [each.shown.one_process for each in settings_meant(project.files, launch)] if launch.configuration else []
    return bool(meant) and not any(meant)


def is_chosen(file: FileScan, in_use: Collection[tuple[str, ...]] | None) -> bool:
    """Whether a file is not a settings file that launches ignore in favour of others. in_use: see `settings_in_use`."""
    return in_use is None or not _is_settings(file) or is_named(file.name, in_use)


def _is_settings(file: FileScan) -> bool:
    """Whether a file contains settings and starts nothing itself."""
    return file.name.endswith((JSON, *YAML)) and not file.shown.launches
