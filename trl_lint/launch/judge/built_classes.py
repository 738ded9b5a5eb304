"""The classes that settings have a program build, as models of their own or as parts of others.

model:
  target: ldm.LatentDiffusion           whole: nothing around it has a target
  params:
    first_stage_config:
      target: ldm.AutoencoderKL         a part of the model around it
name: VQModel                           may be anything, so it counts as whole, too

Elsewhere, what is written for hydra counts as whole: `train.py model._target_=ldm.VQModel`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

from trl_lint.launch.judge.scanned_files import LARGEST, YAML

# The keys whose value is the dotted name of what is built: of latent diffusion, hydra, and LightningCLI.
_KEYS = frozenset({b"target", b"_target_", b"class_path"})
_LINE = re.compile(rb"""(?m)^([ \t]*(?:-[ \t]+)*)["']?([\w.-]+)["']?[ \t]*:(?:[ \t]+(.*)|[ \t]*$)""")
_ITEM = re.compile(rb"(?m)^[ \t]*-[ \t]+([^:#\n]*)$")
_COMMENT = re.compile(rb"(?:^|[ \t])#.*")
# The module of a class, and a class, by its name.
_MODULE = re.compile(rb"\b(\w+(?:\.\w+)*)\.[A-Z]\w*")
_CLASS = re.compile(rb"\b[A-Z]\w*[a-z]\w*")
# Where commands, documents and code say what hydra builds, with what they say if that is a text.
_HYDRA = b"_target_"
_SAID = re.compile(
    rb"""\b_target_(?:["']?[ \t]*(?:(?::[^=\n"']*)?=(?!=)|:)|["']\][ \t]*=(?!=))[ \t]*(["']?)([\w.]*)(.?)"""
)
# What may follow it in a command or a document; a variable may not.
_AFTER = frozenset({b"", *(bytes([each]) for each in b" \t\r`,;)]}\\\"'")})


class BuiltClasses(NamedTuple):
    """The unqualified names of the classes that settings name.

    whole: those that may be built as models of their own. parts: those that are built as parts of others. modules: the
    dotted names of the modules that have them. open: what stands where a variable, or code, says what hydra builds.
    """

    whole: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()

    def are_in(self, path: PurePath) -> bool:
        """Whether one of them is in a file, from whatever folder it is imported."""
        parts = path.parent.parts if path.stem == "__init__" else path.with_suffix("").parts
        return any(".".join(parts[start:]) in self.modules for start in range(len(parts)))


class _Block:
    """A mapping: the column of its keys, the one around it, and the class that it builds."""

    def __init__(self, column: int, outer: _Block | None) -> None:
        self.column = column
        self.outer = outer
        self.target = b""

    @property
    def is_part(self) -> bool:
        """Whether a mapping around it builds something, too."""
        outer = self.outer
        while outer is not None and not outer.target:
            outer = outer.outer
        return outer is not None


def built_classes(path: PurePath, data: bytes) -> BuiltClasses:
    """The unqualified names of the classes that a file names, which has settings, or is any other one for hydra."""
    if len(data) > LARGEST:
        return BuiltClasses()
    if path.suffix not in YAML:
        return _said_in(data, is_code=path.suffix == ".py") if _HYDRA in data else BuiltClasses()
    blocks: list[_Block] = []
    modules = set(_MODULE.findall(data))
    named = {name for item in _ITEM.findall(data) for name in _CLASS.findall(item)}
    to_be_chosen = set[bytes]()
    block = _Block(-1, None)
    for line in _LINE.finditer(data):
        start, key, value = line.groups(b"")
        value = _COMMENT.sub(b"", value)
        block = _block_at(len(start), block, is_item=b"-" in start)
        if key in _KEYS:
            module, _, block.target = value.strip(b" \t\r\"'").rpartition(b".")
            modules.add(module)
            blocks.append(block)
            to_be_chosen |= {value} if key == _HYDRA and b"$" in value else set()
        else:
            named.update(_CLASS.findall(value))
    parts = {each.target for each in blocks if each.is_part}
    whole = {each.target for each in blocks if not each.is_part} | named
    return _as_text(whole, parts, modules, to_be_chosen)


def _said_in(data: bytes, *, is_code: bool) -> BuiltClasses:
    """What a file that is no settings says of what hydra builds. In code, only a text in quotes is known."""
    whole, modules, to_be_chosen = set[bytes](), set[bytes](), set[bytes]()
    for each in _SAID.finditer(data):
        module, _, name = each[2].rpartition(b".")
        is_closed = each[3] == each[1] if each[1] else not is_code and each[3] in _AFTER
        if module and name and is_closed:
            whole.add(name)
            modules.add(module)
        else:
            to_be_chosen.add(each[0])
    return _as_text(whole, set(), modules, to_be_chosen)


def _as_text(*found: set[bytes]) -> BuiltClasses:
    return BuiltClasses(*(frozenset(each.decode("utf-8", "replace") for each in names - {b""}) for names in found))


def united(found: Iterable[BuiltClasses]) -> BuiltClasses:
    """The classes that several files name."""
    each_kind = zip(*found, strict=True)
    return BuiltClasses(*(frozenset[str]().union(*names) for names in each_kind))


def _block_at(column: int, block: _Block, *, is_item: bool) -> _Block:
    """The mapping that has a key in this column, after a line in another one. is_item: whether it begins there."""
    around: _Block | None = block
    while around is not None and (around.column > column or (is_item and around.column == column)):
        around = around.outer
    return around if around is not None and around.column == column else _Block(column, around)
