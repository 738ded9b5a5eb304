"""How a model is loaded where an option of the program for the number of GPUs chooses it, and what the launches give.

    parser.add_argument("--num_gpus", type=int, default=1)
    device_map = "auto" if args.num_gpus > 1 else {"": 0}            the option, tested for the text
    model = AutoModel.from_pretrained(name, device_map=device_map)

    torchrun --nproc_per_node 2 train.py --out runs                  on none of them, as the option is 1 by default
    python train.py --num_gpus 2                                     one process, which has its layers on two GPUs

By its name, such an option is the number of processes. It is what the command gives, though.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN, literal, outcome, tests_around
from trl_lint.analysis.program.idioms.made_without import ADDS_OPTION
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, assignments, keyword_value, last_name, of_class
from trl_lint.domain.engines import GivenOptions
from trl_lint.knowledge.backends import SPREADING
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT, WORLD_FIELD

_CHOOSES_PLACES = "device_map"


class OptionTest(NamedTuple):
    """A test of an option that chooses something. read: how the test reads it; default: UNKNOWN without one."""

    test: cst.BaseExpression
    holds: bool
    read: str
    option: str
    default: object

    def is_met(self, given: Mapping[str, str]) -> bool | None:
        """Whether it has its outcome with these options of a command; None if that is not known."""
        value = _number(given[self.option]) if self.option in given else self.default
        found = outcome(self.test, {self.read: value})
        return None if found is None else found is self.holds


def option_tests(module: Module, load: cst.CSTNode) -> tuple[OptionTest, ...]:
    """The tests of options for the number of GPUs with which a call spreads a model over all GPUs.

    They are around the call, or around the text that it is given, by itself or by a name.
    """
    if not isinstance(load, cst.Call) or not any(map(WORLD_FIELD.fits, _options(module))):
        return ()
    around = [each for each in ancestors(module.tree, load) if isinstance(each, cst.FunctionDef)]
    root = around[-1] if around else module.tree
    given = keyword_value(load, _CHOOSES_PLACES)
    chosen = [] if given is None else [given]
    if isinstance(given, cst.Name):
        chosen += [value for target, value in assignments(root) if target.deep_equals(given)]
    parts: list[cst.CSTNode] = [load]
    parts += (each for one in chosen for each in of_class(one, cst.SimpleString) if each.evaluated_value in SPREADING)
    tests = {id(test): (test, holds) for part in parts for test, holds in tests_around(root, part)}
    return tuple(found for test, holds in tests.values() for found in _of_options(module, test, holds))


def are_met(tests: Collection[OptionTest], given: GivenOptions) -> bool | None:
    """Whether all launches of several processes give the options for these outcomes; None if that is not known."""
    if not given.launches:
        return None
    found = {each.is_met(dict(launch)) for each in tests for launch in given.launches}
    return False if False in found else None if None in found else True


def _of_options(module: Module, test: cst.BaseExpression, holds: bool) -> Iterator[OptionTest]:
    for each in of_class(test, cst.Attribute):
        name = each.attr.value
        if WORLD_FIELD.fits(name) and isinstance(each.value, cst.Name) and SETTINGS_OBJECT.fits(each.value.value):
            declared = _options(module)
            if name in declared:
                yield OptionTest(test, holds, f"{each.value.value}.{name}", name, declared[name])


def _number(text: str) -> object:
    """The number that a command gives to an option; UNKNOWN for a variable."""
    return int(text) if text.isdecimal() else UNKNOWN


@noted
def _options(module: Module) -> dict[str, object]:
    """The options that a file adds to its command, with their defaults, by the name of the attribute."""
    found: dict[str, object] = {}
    for call in of_class(module.tree, cst.Call):
        if last_name(call.func) == ADDS_OPTION:
            for each in call.args:
                text = each.value.evaluated_value if isinstance(each.value, cst.SimpleString) else None
                if each.keyword is None and isinstance(text, str) and text.startswith("--"):
                    name = text.removeprefix("--").replace("-", "_")
                    found[name] = UNKNOWN if name in found else literal(module, keyword_value(call, "default"))
    return found
