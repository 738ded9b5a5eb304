"""Which files of a project may start a process group: not those whose functions for that are called nowhere.

For example:

    dist.py     def setup_distributed(): dist.init_process_group("nccl")     named nowhere else but in imports:
    train.py    from dist import setup_distributed, get_rank                 neither starts a group, and what
                device = int(os.environ["LOCAL_RANK"])                       it reads of a job does not either
    infer.py    from dist import setup_distributed                           if a file of the project calls it,
                setup_distributed()                                          all of them may start one
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from trl_lint.knowledge.engines import READS_JOB
from trl_lint.launch.judge.engines import Group, may_start_group, use_of_group
from trl_lint.launch.judge.uncalled_starts import named_in, reads_names_of, starting_functions, without
from trl_lint.linter.execution.importers import Importer
from trl_lint.linter.execution.project_files import content_of

# Visits all files of a project; returns whether these are all that may name what is in them.
Reading = Callable[[Callable[[Path, bytes], None]], bool]


def with_groups(project: Path, files: list[Importer], read: Reading) -> list[Importer]:
    """The Python files of a project, marked where they may start a process group, if any file needs one.

    project: its folder. Most files that use a group and start one do so at their top, or in a method.
    """
    using = [each for each in files if each.group is not Group.NONE]
    if not any(each.group is not Group.STARTS or _starting_in(project, each) for each in using):
        return files
    marked = [
        replace(each, group=Group.STARTS)
        if each.group is Group.NONE and may_start_group(content_of(project / each.path))
        else each
        for each in files
    ]
    uncalled = _uncalled(project, [each for each in marked if each.group is Group.STARTS], read)
    return [_without(each, project, uncalled) for each in marked] if uncalled else marked


def _starting_in(project: Path, file: Importer) -> frozenset[str]:
    return starting_functions(content_of(project / file.path))


def _uncalled(project: Path, starting: Sequence[Importer], read: Reading) -> frozenset[str]:
    """The functions with all starts of a group of a file, which no file of the project names."""
    found = {each.path: _starting_in(project, each) for each in starting}
    names = frozenset[str]().union(*found.values())
    # Most of them are called by one of these, which saves reading the others.
    for each in starting if names else ():
        names -= named_in(content_of(project / each.path), names, is_python=True)
    return _unnamed(names, {PurePosixPath(path).stem for path, held in found.items() if held & names}, read)


def _unnamed(names: frozenset[str], modules: Collection[str], read: Reading) -> frozenset[str]:
    """Those names that no file may use. modules: the names of the files that define them."""
    if not names:
        return names
    used = set[str]()

    def visit(path: Path, content: bytes) -> None:
        is_python = path.suffix == ".py"
        by_text = is_python and reads_names_of(content, modules)
        used.update(names if by_text else named_in(content, names - used, is_python=is_python))

    is_whole = read(visit)
    return names - used if is_whole else frozenset()


def _without(file: Importer, project: Path, uncalled: Collection[str]) -> Importer:
    """A file that may start a group, if it may do so without these functions."""
    if file.group is not Group.STARTS:
        return file
    code = content_of(project / file.path)
    rest = without(code, uncalled)
    if rest == code or may_start_group(READS_JOB.sub(b"", rest.lower())):
        return file
    return replace(file, group=use_of_group(rest))
