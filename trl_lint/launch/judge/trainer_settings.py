"""On how many devices the Trainers run that settings build: those of a group of hydra's settings.

configs/trainer/default.yaml    _target_: lightning.pytorch.trainer.Trainer
                                devices: 1
configs/trainer/ddp.yaml        defaults: [default]
                                devices: 4                      only if something names it
configs/train.yaml              defaults:
                                  - trainer: default            names the first one
configs/experiment/gan.yaml       - override /trainer: gpu
README.md                       python train.py trainer=ddp trainer.devices=4

Projects that begin with a template have files for several devices that nothing names.
Source: https://hydra.cc/docs/advanced/defaults_list/, lightning/pytorch/trainer/trainer.py `Trainer`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath, PurePosixPath
from typing import NamedTuple

from trl_lint.launch.judge.scanned_files import LARGEST, YAML

_GROUP = rb"\w*(?:trainer|fabric)\w*"
_IS_GROUP = re.compile(_GROUP.decode())
_WORDS = (b"trainer", b"fabric", b"Trainer", b"Fabric", b"Accelerator", b"LightningCLI")
_COUNTS = rb"(?:devices|gpus|num_devices|num_nodes|strategy)"
_BUILDS = re.compile(rb"(?m)^_target_:[ \t]*[\"']?[\w.]+\.(?:Trainer|Fabric)\b")
_DEVICES = re.compile(rb"(?m)^(?:devices|gpus|num_devices):[ \t]*([^#\n]*)")
_NAMES = re.compile(rb"(?m)^[ \t]*-[ \t]+(?:override[ \t]+)?/?(?:[\w-]+/)*(%b):[ \t]*[\"']?([\w./-]+)" % _GROUP)
_ASKS = re.compile(rb"(?<![\w.])(%b)=([\w./,-]+)" % _GROUP)
_BASE = re.compile(rb"(?m)^[ \t]*-[ \t]+[\"']?([\w./-]+)[\"']?[ \t]*(?:#.*)?$|^defaults:[ \t]*\[([\w./-]+)\]")
_BLOCK = re.compile(rb"(?m)^(%b):[ \t]*(?:#.*)?\r?\n((?:(?:[ \t]+.*|[ \t]*|#.*)\r?\n)*)" % _GROUP)
_CHANGED_IN_BLOCK = re.compile(rb"(?m)^[ \t]+(%b):[ \t]*([^#\n]*)" % _COUNTS)
_CHANGED = re.compile(rb"(?<!\w)(%b)\.(%b)[ \t]*[=:][ \t]*([^\s;#]*)" % (_GROUP, _COUNTS))
# What each match of `_ASKS` and `_CHANGED` contains: it begins with letters, so it is found many times faster.
_MAY_SET = re.compile(rb"(?:trainer|fabric)\w*(?:=|\.%b)" % _COUNTS)
_IN_BRACES = re.compile(rb"(?m)^(%b):[ \t]*\{[^}]*\b%b:" % (_GROUP, _COUNTS))
_NODES = re.compile(rb"(?m)^num_nodes:[ \t]*([^#\n]*)")
_ONE = re.compile(rb"[\"']?[01][\"']?|\[[ \t]*\d+[ \t]*\]|null")
# A strategy that is left to Lightning starts one process for one device; devices that are left to it are all.
_ALONE = re.compile(rb"auto|null")
_MAKES = re.compile(rb"\b(?:Trainer|Fabric|Accelerator|LightningCLI)\(")


class TrainerSettings(NamedTuple):
    """What a file says about Trainers that settings build.

    Attributes:
        builds: Whether it is settings that build one.
        devices: On how many devices, as it is written, or machines, if these are several; "" if it does not say.
        bases: The files of its group that it adds to, by their names without the ending.
        named: Groups with the files of them that settings take by default, or that others replace these with.
        asked: The same, where it may mean something else: what a command passes, an argument of a call.
        changed: The groups whose number of devices it sets to more than one, or may set so.
        makes: Whether it is code that makes a Trainer, or the like, by itself.
    """

    builds: bool = False
    devices: str = ""
    bases: tuple[str, ...] = ()
    named: frozenset[tuple[str, str]] = frozenset()
    asked: frozenset[tuple[str, str]] = frozenset()
    changed: frozenset[str] = frozenset()
    makes: bool = False


_NOTHING = TrainerSettings()


def trainer_settings(path: PurePath, data: bytes) -> TrainerSettings:
    """What a file says about them."""
    in_group = path.suffix in YAML and _IS_GROUP.fullmatch(path.parent.name) is not None
    if len(data) > LARGEST or not (in_group or any(word in data for word in _WORDS)):
        return _NOTHING
    may_set = _MAY_SET.search(data) is not None
    set_to = _CHANGED.findall(data) if may_set else ()
    changed = {group for group, name, value in set_to if not _is_one(name, value)}
    changed |= set(_IN_BRACES.findall(data))
    asked = _choices(_ASKS.findall(data) if may_set else ())
    if path.suffix not in YAML:
        makes = path.suffix == ".py" and _MAKES.search(data) is not None
        return TrainerSettings(asked=asked, changed=_texts(changed), makes=makes)
    changed |= {group for group, block in _BLOCK.findall(data) if _is_changed(block)}
    return TrainerSettings(
        builds=_BUILDS.search(data) is not None,
        devices=_text(_devices(data)),
        bases=tuple(_stem(one or other) for one, other in _BASE.findall(data)),
        named=_choices(_NAMES.findall(data)),
        asked=asked,
        changed=_texts(changed),
    )


def are_of_one_device(files: Iterable[tuple[str, TrainerSettings]]) -> bool:
    """Whether settings build the Trainers of a project, and all that anything names are for one device.

    files: by their paths in the project.
    """
    known = [(PurePosixPath(path), each) for path, each in files if each is not _NOTHING]
    folders = {path.parent for path, each in known if each.builds}
    if not folders or any(each.makes for _, each in known):
        return False
    groups = [{path.stem: each for path, each in known if path.parent == folder} for folder in sorted(folders)]
    names = [folder.name for folder in sorted(folders)]
    outside = [each for path, each in known if path.parent not in folders]
    if any(name in each.changed for each in outside for name in names):
        return False
    return all(_is_of_one(name, group, outside) for name, group in zip(names, groups, strict=True))


def _is_of_one(name: str, group: Mapping[str, TrainerSettings], others: Iterable[TrainerSettings]) -> bool:
    """Whether files name some of a group, and all of these are for one device."""
    chosen = set[str]()
    for each in others:
        chosen |= {choice for of, choice in each.named if of == name}
        chosen |= {choice for of, choice in each.asked if of == name and choice in group}
    chosen -= {"null"}
    return bool(chosen) and all(_has_one_device(choice, group, len(group)) for choice in chosen)


def _has_one_device(name: str, group: Mapping[str, TrainerSettings], deepest: int) -> bool:
    """Whether settings are for one device, or say nothing and are added to such. deepest: how many may be so."""
    settings = group.get(name)
    if settings is None or deepest < 0:
        return False
    if settings.devices:
        return _ONE.fullmatch(settings.devices.encode()) is not None and settings.devices != "null"
    return any(_has_one_device(base, group, deepest - 1) for base in settings.bases)


def _devices(data: bytes) -> bytes:
    """On how many devices a file says that a Trainer runs, or else on how many machines, if these are several."""
    devices, nodes = _first(_DEVICES, data), _first(_NODES, data)
    return nodes if nodes and not _is_one(b"num_nodes", nodes) else devices


def _first(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    found = pattern.search(data)
    return b"" if found is None else found[1].strip()


def _is_changed(block: bytes) -> bool:
    return any(not _is_one(name, value.strip()) for name, value in _CHANGED_IN_BLOCK.findall(block))


def _is_one(name: bytes, value: bytes) -> bool:
    return (_ALONE if name == b"strategy" else _ONE).fullmatch(value) is not None


def _choices(found: Iterable[tuple[bytes, bytes]]) -> frozenset[tuple[str, str]]:
    return frozenset((_text(group), _stem(each)) for group, choices in found for each in choices.split(b",") if each)


def _stem(choice: bytes) -> str:
    return PurePosixPath(_text(choice).removesuffix(".yaml")).name


def _texts(found: Iterable[bytes]) -> frozenset[str]:
    return frozenset(map(_text, found))


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")
