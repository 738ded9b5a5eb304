"""Code that only runs with options which the commands do not give that start a program as several processes.

For example, with `torchrun --nproc_per_node 8 run.py --fold 3`:

    if args.fold: save(rows)                 all processes may get there
    if args.mode == "prepare": save(rows)    another command may start one process for that: which do is not known
    if not args.dry: save(rows)              all processes get there, as `--dry` is not given
    if "cache" in cfg["data"]: save(rows)    these, too: a file with settings says how a job goes, not which one it is
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import below, holder_name, is_literal_none, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module


def given_to(program: Module) -> frozenset[str]:
    """The options that commands give to a program which they start as several processes, as far as all are known."""
    launches = program.engines().given_options.launches
    return frozenset(name for launch in launches for name, _ in launch)


def left_out(tree: cst.Module, given: Collection[str]) -> frozenset[int]:
    """The ids of the nodes in branches of a file that need other options than these."""
    ids = (inside for options, inside in _branches(tree) if not options.issubset(given))
    return frozenset[int]().union(*ids)


@tree_cache(8)
def _branches(tree: cst.Module) -> tuple[tuple[frozenset[str], frozenset[int]], ...]:
    """The branches for options: the names of these, and the ids of the nodes in the branch."""
    asking = ((frozenset(_options_of(each.test)), each.body) for each in of_class(tree, cst.If))
    return tuple((options, frozenset(map(id, below(body)))) for options, body in asking if options)


def _options_of(test: cst.BaseExpression) -> Iterator[str]:
    """The options that a test is only met with: `args.mode == "prepare"`, `opt.fold and opt.save`."""
    match test:
        case cst.BooleanOperation(operator=cst.And()):
            yield from _options_of(test.left)
            yield from _options_of(test.right)
        case cst.BooleanOperation():
            either = [[*_options_of(test.left)], [*_options_of(test.right)]]
            yield from (name for names in either if all(either) for name in names)
        case cst.Comparison(left, [cst.ComparisonTarget(operator, other)]):
            is_unmet = isinstance(operator, (cst.Equal, cst.Is)) and is_literal_none(other)
            if not is_unmet and not isinstance(operator, (cst.NotEqual, cst.NotIn)):
                yield from _options_of(left)
        case cst.Attribute(attr=cst.Name(name)) if SETTINGS_OBJECT.fits(holder_name(test).lower()):
            yield name
