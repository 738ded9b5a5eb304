"""How Lightning runs a file's modules: whether it does, as parts of which, and whether the programs start several
processes for it.

For example:

    strategies.py    def strategy_for(gpus):
                         return DDPStrategy() if gpus > 1 else SingleDeviceStrategy("cuda")
    train.py         from strategies import strategy_for
                     from model import Model              model.py may be run by several processes,
    names.json       "model": "VAE"                       and vae.py, which nothing imports, if all programs do so
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.domain.engines import EnginesInUse
from trl_lint.knowledge.lightning_runs import IMPORTED, LOGS, NAMES_STRATEGY, PACKAGE, may_run
from trl_lint.linter.execution.made_elsewhere import made_elsewhere
from trl_lint.linter.execution.only_parts import only_parts
from trl_lint.linter.execution.project_files import ProjectFiles, content_of
from trl_lint.linter.execution.project_scan import ProjectScan


def with_lightning(
    found: EnginesInUse, path: Path, projects: Mapping[Path, ProjectScan], files: ProjectFiles
) -> EnginesInUse:
    """What is known, and how Lightning runs what is in a file, if it may log with Lightning.

    Only then is the tree searched. projects: the file's own project, and those around it, by folder.
    """
    home = Path(found.home)
    if not projects[home].importers.import_one_of(IMPORTED) or LOGS.search(content_of(path)) is None:
        return found
    untrained = only_parts(path, projects) | made_elsewhere(path, projects, home)
    return found._replace(
        lightning=files.may_run_lightning(),
        untrained=untrained,
        lightning_several=_is_run_by_several(path, home, projects[home]),
    )


def _is_run_by_several(path: Path, home: Path, project: ProjectScan) -> bool:
    """Whether a program that may run a file names a strategy of several processes, itself or in a file that it imports.

    If nothing imports the file, all programs that have Lightning run something have to.
    """
    inside, importers = path.relative_to(home).as_posix(), project.importers
    users = importers.programs_of(inside) | ({inside} & importers.programs)
    naming = {user for each in _naming(home, project) for user in (each, *importers.programs_of(each))}
    if users or importers.is_imported(inside):
        return not naming.isdisjoint(users)
    running = {each for each in importers.programs if may_run(content_of(home / each))}
    return bool(running) and running.issubset(naming)


def _naming(home: Path, project: ProjectScan) -> Iterator[str]:
    """The files of a project whose code names a strategy of several processes."""
    for each in project.importers.code:
        content = content_of(home / each)
        if PACKAGE.search(content) is not None and NAMES_STRATEGY.search(code_of(content)) is not None:
            yield each
