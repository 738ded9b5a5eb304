"""Code of a program that runs only with one of its options: with one that commands give where they start one process,
or with one that no command gives.

For example:

    parser.add_argument("--do_pred", action="store_true")
    if args.do_pred or args.do_eval is not None:
        open(path, "w")

    if args.keep:
        trainer.add_callback(Keeper)        all of `class Keeper`, if nothing else names it

    torchrun train.py --epochs 3
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import alternatives, ifs_around, parts_of
from trl_lint.analysis.program.project.import_lines import files_in_reach
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import below, definitions_around, of_class
from trl_lint.knowledge.heuristics import SETTINGS_OPTION
from trl_lint.knowledge.transformers import OFF_BY_DEFAULT

# Declares an option, on the command line or as a field of a dataclass; declares it as off; sets it, but for what it is
# elsewhere (`model.config.name = args.name`). On the command line its words may have dashes between them.
_DECLARED = rb"[\"']--%b[\"']\s*,|^[ \t]+%b[ \t]*:[^=\n]+="
_OFF = (
    rb"[\"']--%b[\"']\s*,(?=(?:[^()]|\([^()]*\))*?(?:store_true|default\s*=\s*(?:None|False)\b))"
    rb"|^[ \t]+%b[ \t]*:[^=\n]+=\s*(?:field\(\s*(?:metadata\s*=\s*\{[^{}]*\}\s*,\s*)?default\s*=\s*)?(?:None|False)\b"
)
_SET = (
    rb"\b%b\b(?:[\"']\]?)?\s*=(?!=|[\s(]*(?:(?:None|False)\b|[\w.]*\b%b\b))"
    rb"|[\"']%b[\"']\s*:(?!\s*(?:(?:None|False)\b|[\w.]*\b%b\b))|[\"']--%b[\"'](?!\s*,)"
)
# Sets an option by default.
_ON = rb"[\"']--%b[\"'](?:[^()]|\([^()]*\))*?(?:store_false|default\s*=\s*(?!None\b|False\b))"


def is_behind_option(module: Module, node: cst.CSTNode, options: Collection[str]) -> bool:
    """Whether a node is in a branch taken only with one of these options, none of which is on by default."""

    def is_asked_for(names: Collection[str]) -> bool:
        return all(each in options and not _is_on(module, each) for each in names)

    return bool(options) and _is_behind(module, node, is_asked_for)


def is_behind_unused_option(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a branch taken only with options that are off by default, and that nothing sets: neither a
    command, of those that start the programs that the file is part of, nor code.
    """
    given = module.engines().given_options.names
    if given is None:
        return False
    # A recipe that turns on an option of the library may be there, though no command is shown with it.
    has_recipes = any(SETTINGS_OPTION.fits(f"--{each}") for each in given)
    known = given if has_recipes else given | OFF_BY_DEFAULT

    def is_unused(names: Collection[str]) -> bool:
        return known.isdisjoint(names) and all(_is_off(project, module, each) for each in names)

    return _is_behind(module, node, is_unused)


def _is_behind(module: Module, node: cst.CSTNode, wanted: Callable[[Collection[str]], bool], depth: int = 2) -> bool:
    """Whether a node is in a branch for `wanted` options, or in a definition that is only named in such ones."""
    if any(wanted({_option(each) for each in alternatives(test)}) for test in _tests_around(module, node)):
        return True
    definition = next(iter(definitions_around(module.tree, node)), None)
    if not depth or definition is None or definition.decorators or module.engines().imported:
        return False
    inside = set(map(id, below(definition)))
    names = (each for each in of_class(module.tree, cst.Name) if each.value == definition.name.value)
    uses = [each for each in names if id(each) not in inside]
    return bool(uses) and all(_is_behind(module, each, wanted, depth - 1) for each in uses)


def _is_off(project: Project, module: Module, option: str) -> bool:
    """Whether the linted files and those that the module imports declare an option, as off, and do not set it."""
    return project.of_linted((_is_off, module.path, option), partial(_is_declared_off, project, module, option))


def _is_declared_off(project: Project, module: Module, option: str) -> bool:
    reached = files_in_reach(project, module.path)
    if reached is None or not option:
        return False
    found = [_occurrences(project.code(each), option.encode()) for each in {*reached, *project.linted}]
    is_declared = option in OFF_BY_DEFAULT or any(declared for declared, _, _ in found)
    return is_declared and all(each == off and not on for each, off, on in found)


def _occurrences(code: bytes, option: bytes) -> tuple[int, int, int]:
    """How often code declares an option, declares it as off, and sets it."""
    if option not in code and option.replace(b"_", b"-") not in code:
        return 0, 0, 0
    wanted = (re.compile(_about(option, each), re.MULTILINE) for each in (_DECLARED, _OFF, _SET))
    declared, off, on = (len(each.findall(code)) for each in wanted)
    return declared, off, on


def _is_on(module: Module, option: str) -> bool:
    """Whether an option is on by default."""
    return re.search(_about(option.encode(), _ON), module.source or b"") is not None


def _about(option: bytes, pattern: bytes) -> bytes:
    """A pattern for an option: `keep_best`, and on the command line also `--keep-best`."""
    dashed = b"--" + option.replace(b"_", b"[-_]")
    return pattern.replace(b"--%b", dashed).replace(b"%b", option)


def _tests_around(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions that hold at a node because of the branches around it."""
    for branch, holds in ifs_around(module.tree, node):
        yield from parts_of(branch.test) if holds else ()


def _option(test: cst.CSTNode) -> str:
    """The attribute that a test reads: `args.name`, `args.name is not None`; "" for another test."""
    match test:
        case cst.Comparison(
            left=cst.Attribute(attr=cst.Name(value=name)),
            comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name(value="None"))],
        ):
            return name
        case cst.Comparison(
            left=cst.Attribute(attr=cst.Name(value=name)),
            comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.Is(), comparator=cst.Name(value="True"))],
        ):
            return name
        case cst.Call(
            func=cst.Name(value="getattr"),
            args=[_, cst.Arg(value=cst.SimpleString() as text), cst.Arg(value=cst.Name(value="False" | "None"))],
        ):
            return str(text.raw_value)
        case cst.Attribute(attr=cst.Name(value=name)):
            return name
    return ""
