"""The options that commands give to a program, also in the settings that they name.

For example:

    torchrun train.py --epochs 3 --push-to-hub        epochs, push_to_hub
    accelerate launch train.py --config sft.yaml      config, and what has a value in that file
    torchrun train.py conf/small.py                   what that file names, if it is all of the settings
    python train.py --epochs 1                        epochs; no launch of several processes, so its value is left out
    torchrun train.py --config $SETTINGS              config, and what any file of the project turns on

    sft.yaml: epochs: 3
              push_to_hub: false                      not given: it is off
              hub: {owner: us}                        hub and owner: what reads a group may take each for an option
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.domain.engines import GivenOptions
from trl_lint.knowledge.heuristics import SETTINGS_OPTION
from trl_lint.launch.judge.scanned_files import YAML
from trl_lint.launch.judge.starts import LaunchEngines
from trl_lint.linter.execution.named_programs import parts_of
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan, all_launches, is_of_one

_Options = frozenset[tuple[str, str]]
# Settings of a training have fewer bytes than this.
_LARGEST = 50_000
_NAME = re.compile(rb"[A-Za-z_]\w*")
# Settings in Python that begin with others, as mmcv and Python have it, or read them, are not all in one file.
_GOES_ON = re.compile(
    rb"\b_base_\b|\bread_base\b|\bimport[ \t(\\]*\*|\bfrom[ \t]+\."
    rb"|(?:\b(?:exec|eval|open|fromfile|get_config|import_module|read_text)|load\w*)\("
)


def options_given(project: ProjectScan, programs: Collection[str], folder: Path) -> GivenOptions:
    """The options that commands give to these programs. folder: that of the project."""
    launches = project.launches.of(programs)
    if not project.whole or not launches:
        return GivenOptions()
    if _starts_unknown(project):
        return GivenOptions(said=project.said)
    bare = frozenset[str]().union(*(start.options for _, start in project.bare.of(programs)))
    names = _names([_options_of(project, folder, file, launch) for file, launch in launches], bare)
    several = [_known_options(folder, *each) for each in launches if not is_of_one(project, each[1])]
    return GivenOptions(names, frozenset(filter(None, several)) if all(several) else frozenset(), project.said)


def _names(known: Sequence[_Options | None], bare: frozenset[str]) -> frozenset[str] | None:
    if None in known:
        return None
    return bare.union(*({name for name, _ in options or ()} for options in known))


def _starts_unknown(project: ProjectScan) -> bool:
    """Whether a launch of the project may be one of any program. One that gives nothing is only a word of a text."""
    return any(not each.program and each.options != frozenset() for each in all_launches(project))


def _options_of(project: ProjectScan, folder: Path, file: str, launch: LaunchEngines) -> _Options | None:
    """The options that a launch in a file of the project may give; None if there may be others.

    Settings in a variable may be any of the project. A file after an option of another name may be data, but what it
    has counts as given: `-c small.yml`.
    """
    any_settings = _any_settings(project) if any(_is_open(*each) for each in launch.values) else frozenset()
    if any_settings is None:
        return None
    closed = replace(launch, values=frozenset(each for each in launch.values if not _is_open(*each)))
    known = _known_options(folder, file, closed)
    others = (value for _, value in launch.values if value.endswith(YAML))
    given = (_settings(folder, PurePosixPath(file), each) or frozenset() for each in others)
    return None if known is None else known.union(launch.values, any_settings, *given)


def _is_open(option: str, value: str) -> bool:
    """Whether an option names settings by a variable."""
    return not value and SETTINGS_OPTION.fits(f"--{option}")


def _known_options(folder: Path, file: str, launch: LaunchEngines) -> _Options | None:
    """The options of a launch in a file of the project; None if it gives none, or some may be unknown.

    A program that gets no options has them from elsewhere, unless it gets settings: `train.py sft.yaml`.
    """
    bare = launch.names - {launch.configuration, *(value for _, value in launch.values)}
    by_code = [_settings_in_code(folder, PurePosixPath(file), each) for each in launch.code]
    if launch.options is None or not (launch.options or bare or (by_code and None not in by_code)):
        return None
    found = set(launch.values).union(*filter(None, by_code))
    for each in [*bare, *(value for name, value in launch.values if SETTINGS_OPTION.fits(f"--{name}"))]:
        settings = _settings(folder, PurePosixPath(file), each)
        if settings is None:
            return None
        found |= settings
    return frozenset(found)


def _any_settings(project: ProjectScan) -> _Options | None:
    """What the settings of a project may give where a command names them by a variable; None if it has none."""
    said = project.said
    return None if said is None or not said.off else frozenset((each, "") for each in said.on)


def _settings(folder: Path, file: PurePosixPath, named: str) -> _Options | None:
    """The settings in a file that a command of a file of the project names; None if they can't be read."""
    return _options_in(_content(folder, file, named))


def _settings_in_code(folder: Path, file: PurePosixPath, named: str) -> _Options | None:
    """What a Python file that a command names may set: anything that it mentions; None if others may set more."""
    text = _content(folder, file, named)
    if not 0 < len(text) <= _LARGEST or _GOES_ON.search(text) or _imports_beside(folder, file, named, text):
        return None
    return frozenset((each.decode(), "") for each in _NAME.findall(text))


def _imports_beside(folder: Path, file: PurePosixPath, named: str, text: bytes) -> bool:
    """Whether settings in Python import others: from a folder that they are in, or a file beside them."""
    lines = import_lines(text)
    first = {each.partition(".")[0] for module, names in lines for each in ((module,) if module else names)}
    beside = (each.with_name(f"{name}.py") for each in _places(folder, file, named) for name in first)
    return not first.isdisjoint(parts_of(named)[:-1]) or any(map(os.path.isfile, beside))


def _content(folder: Path, file: PurePosixPath, named: str) -> bytes:
    """What is in a file that a command of a file of the project names; nothing if it is not there."""
    return next(filter(None, (content_of(each) for each in _places(folder, file, named))), b"")


def _places(folder: Path, file: PurePosixPath, named: str) -> Iterator[Path]:
    """Where a file that a command names may be: commands are typed in the folder of their file, or in one around it.

    On somebody's disk the path of the project is a part of it.
    """
    parts = parts_of(named)
    for start in range(len(parts) if named.startswith("/") else min(1, len(parts))):
        yield from (folder / around / Path(*parts[start:]) for around in file.parents)


@lru_cache(maxsize=256)
def _options_in(text: bytes) -> _Options | None:
    """The options in a YAML or JSON file; None if it is no mapping, or larger than settings are."""
    values = _mapping(text) if 0 < len(text) <= _LARGEST else None
    if values is None:
        return None
    top = {(str(name), _written(value)) for name, value in values.items() if _is_given(value)}
    below = (name for group in _groups_below(values) for name, value in group.items() if _is_given(value))
    return frozenset(top | {(str(name), "") for name in below})


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ""


def _written(value: object) -> str:
    return "" if isinstance(value, (dict, list)) else str(value)


def _groups_below(values: dict[object, object]) -> list[dict[object, object]]:
    """The groups in a mapping, also in lists, each once: an alias may stand for one in many places."""
    found: list[dict[object, object]] = []
    waiting: list[dict[object, object] | list[object]] = [values]
    seen = {id(values)}
    while waiting:
        around = waiting.pop()
        members = around.values() if isinstance(around, dict) else around
        new = [each for each in members if isinstance(each, (dict, list)) and id(each) not in seen]
        seen.update(map(id, new))
        found += (each for each in new if isinstance(each, dict))
        waiting += new
    return found


def _mapping(text: bytes) -> dict[object, object] | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).load(text.decode("utf-8", "replace"))
    except (YAMLError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
