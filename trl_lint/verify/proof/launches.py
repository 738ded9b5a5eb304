"""Trainings that a launch file starts with bare `python`, as programs that can be run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from trl_lint import files
from trl_lint.launch.checker import JudgedLaunch, checked
from trl_lint.launch.commands.commands import Word
from trl_lint.launch.judge.gpus import VISIBLE
from trl_lint.launch.training.launch_project import LaunchProject
from trl_lint.linter.files.discovery import import_roots
from trl_lint.settings import Settings
from trl_lint.verify.processes.launcher import LaunchError
from trl_lint.verify.proof.session import BARE, Subject


def launches(path: Path, settings: Settings) -> tuple[JudgedLaunch, ...]:
    """The launches of a file that TRL004 reports, even if the file does not mention GPUs.

    Raises:
        LaunchError: the file, or a part of it, can't be read.
    """
    project = replace(LaunchProject.of(settings, import_roots(settings.root, [path.parent])), unknown=True)
    try:
        found = checked(path, files.read(path), project)
    except OSError as error:
        raise LaunchError(f"{path}: cannot read: {error.strerror}") from None
    if found.remark:
        raise LaunchError(f"{path}: {found.remark}")
    return found.launches


def subject(launch: JudgedLaunch, settings: Settings) -> Subject:
    """The program of a launch, with its arguments and environment variables.

    Raises:
        LaunchError: the script is outside the project, or an argument is known only to the shell.
    """
    start, finding = launch.start, launch.finding
    place = f"{finding.path}:{finding.start.row}"
    if launch.script is None:
        raise LaunchError(f"{place}: {start.path} does not lie in this project")
    script = start.module_name if start.module else str(launch.script)
    environment = {name: value for name, value in start.environment.items() if value is not None}
    return Subject(
        place,
        script,
        settings.root or launch.script.parent,
        tuple(_known(start.arguments, place)),
        is_module=start.module is not None,
        launcher=BARE,
        # The number of GPUs is chosen by the session.
        environment=tuple(pair for pair in environment.items() if pair[0] not in VISIBLE),
        program_files=(launch.script,),
    )


def _known(words: Iterable[Word], place: str) -> Iterator[str]:
    for word in words:
        if word.value is None:
            raise LaunchError(f"{place}: what `{word.raw}` stands for is not known here")
        yield word.value
