"""Results from which no backward pass starts, as only their numbers are used in a function.

For example:

    found = F.normalize(inner.embed(x), dim=-1)       its numbers only, if nothing else uses `found` or `alike`
    alike = F.cosine_similarity(found, wanted)
    rewards[0] = alike.item()
    return alike.detach(), alike > 0.5
    return alike                                      not only: the caller may start a backward pass
    step(alike).item()                                not only, if `step` is no function that just computes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class, value_names
from trl_lint.knowledge.torch import HOST_BUILTINS, WITHOUT_HISTORY

# Whether a call only computes its result from its arguments.
Computes: TypeAlias = Callable[[cst.Call], bool]


def gives_only_numbers(root: cst.CSTNode, node: cst.CSTNode, computes: Computes) -> bool:
    """Whether what a call computes is used, and what is computed from it, without its gradients.

    root: the function (or module) of the call.
    """
    if any(of_class(root, kind) for kind in (cst.Global, cst.Nonlocal)):
        return False
    uses = _Uses(root, computes)
    return not uses.keep_gradients(node) and uses.have_numbers


class _Uses:
    """The uses of a result in a function: all of a name count that it is bound to, in whatever order."""

    def __init__(self, root: cst.CSTNode, computes: Computes) -> None:
        self._root = root
        self._computes = computes
        self._followed: set[str] = set()
        self.have_numbers = False  # whether a use of numbers has been found

    def keep_gradients(self, node: cst.CSTNode) -> bool:
        """Whether the use of a value may be one with its gradients."""
        inner = node
        for outer in reversed(ancestors(self._root, node)):
            match outer:
                case _ if _takes_numbers(outer, inner):
                    self.have_numbers = True
                    return False
                case cst.Call() if inner is not outer.func and not self._computes(outer):
                    return True
                case cst.NamedExpr() | cst.Lambda() | cst.BaseCompoundStatement():
                    return True
                case cst.BaseSmallStatement():
                    return self._is_kept_by(outer)
            inner = outer
        return True

    def _is_kept_by(self, statement: cst.BaseSmallStatement) -> bool:
        match statement:
            case cst.Del():
                return False
            case cst.Assign(targets=targets):
                bound = [each.target for each in targets]
            case cst.AugAssign(target=target) | cst.AnnAssign(target=target):
                bound = [target]
            case _:
                return True
        return any(not isinstance(each, cst.Name) or self._is_kept_in(each.value) for each in bound)

    def _is_kept_in(self, name: str) -> bool:
        if name in self._followed:
            return False
        self._followed.add(name)
        mentions = [each for each in value_names(self._root) if each.value == name]
        return any(map(self.keep_gradients, (each for each in mentions if not self._is_target(each))))

    def _is_target(self, name: cst.Name) -> bool:
        return isinstance(ancestors(self._root, name)[-1], (cst.AnnAssign, cst.AssignTarget, cst.Param))


def _takes_numbers(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """Whether a node around a value makes something of it that has no gradients."""
    match outer:
        case cst.Attribute(attr=cst.Name(name)):
            return name in WITHOUT_HISTORY
        case cst.Call(func=cst.Name(name)):
            return inner is not outer.func and name in HOST_BUILTINS
    return isinstance(outer, cst.Comparison)
