"""The classes that settings have a program build, as models of their own or as parts of others.

model:
  target: ldm.LatentDiffusion           whole: nothing around it has a target
  params:
    first_stage_config:
      target: ldm.AutoencoderKL         a part of the model around it
name: VQModel                           may be anything, so it counts as whole, too
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


class BuiltClasses(NamedTuple):
    """The unqualified names of the classes that settings name.

    whole: those that may be built as models of their own. parts: those that are built as parts of others. modules: the
    dotted names of the modules that have them.
    """

    whole: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

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
    """The unqualified names of the classes that a settings file names; none for other files."""
    if path.suffix not in YAML or len(data) > LARGEST:
        return BuiltClasses()
    blocks: list[_Block] = []
    modules = set(_MODULE.findall(data))
    named = {name for item in _ITEM.findall(data) for name in _CLASS.findall(item)}
    block = _Block(-1, None)
    for line in _LINE.finditer(data):
        start, key, value = line.groups(b"")
        value = _COMMENT.sub(b"", value)
        block = _block_at(len(start), block, is_item=b"-" in start)
        if key in _KEYS:
            module, _, block.target = value.strip(b" \t\r\"'").rpartition(b".")
            modules.add(module)
            blocks.append(block)
        else:
            named.update(_CLASS.findall(value))
    parts = {each.target for each in blocks if each.is_part}
    whole = {each.target for each in blocks if not each.is_part} | named
    found = (whole, parts, modules - {b""})
    return BuiltClasses(*(frozenset(each.decode("utf-8", "replace") for each in names) for names in found))


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
