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

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.domain.engines import EnginesInUse
from trl_lint.knowledge.lightning_runs import IMPORTED, LOGS
from trl_lint.linter.execution.lightning_code import LightningCode
from trl_lint.linter.execution.made_elsewhere import made_elsewhere
from trl_lint.linter.execution.only_parts import only_parts
from trl_lint.linter.execution.project_files import ProjectFiles, content_of
from trl_lint.linter.execution.project_scan import ProjectScan
from trl_lint.linter.execution.unvalidated import unvalidated


def with_lightning(
    found: EnginesInUse,
    path: Path,
    projects: Mapping[Path, ProjectScan],
    files: ProjectFiles,
    code_in: Callable[[Path], LightningCode],
) -> EnginesInUse:
    """What is known, and how Lightning runs what is in a file, if it may log with Lightning.

    Only then is the tree searched. projects: the file's own project, and those around it, by folder. code_in: the code
    of a project.
    """
    home = Path(found.home)
    if not projects[home].importers.import_one_of(IMPORTED) or LOGS.search(content_of(path)) is None:
        return found
    code = code_in(home)
    return found._replace(
        lightning=files.may_run_lightning(),
        untrained=only_parts(path, projects) | made_elsewhere(path, projects, code),
        unvalidated=unvalidated(path, projects, code),
        lightning_several=_is_run_by_several(path, code),
    )


def _is_run_by_several(path: Path, code: LightningCode) -> bool:
    """Whether a program that may run a file names a strategy of several processes, itself or in a file that it imports.

    If nothing imports the file, all programs that have Lightning run something have to: they make its class by a name.
    If only files that are no programs do, those that import it may tell, too: a package names its programs in its
    metadata, `main = "package.cli:main"`.
    """
    inside, importers = path.relative_to(code.home).as_posix(), code.importers
    users = importers.programs_running(inside)
    naming = {user for each in code.naming for user in (each, *importers.programs_of(each))}
    if users:
        return not naming.isdisjoint(users)
    if importers.is_imported(inside):
        around = {user for each in code.naming for user in (each, *importers.users_of(each))}
        if any(_runs_what_it_imports(each) for each in around & importers.users_of(inside)):
            return True
    running = importers.programs & code.running
    return bool(running) and running.issubset(naming)


def _runs_what_it_imports(path: str) -> bool:
    """Whether a file may be what a package names as its program: not one that makes its parts known, or tests them."""
    where = PurePosixPath(path)
    return where.name != "__init__.py" and not is_test_file(where)
