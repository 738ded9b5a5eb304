"""Whether a model is called with what another one has computed, and gradients of that: that one may be what is trained.

For example, in the step of the generator, whose optimizer leaves the gradients of `self.d` for its own step to reset:

    fake = self.g(z)
    loss = self.d.module(fake).mean()             the gradients go on to `self.g`
    loss = self.d.module(fake.detach()).mean()    they end here
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.result_uses import Forwards, is_detached
from trl_lint.analysis.program.syntax import assignments, below, contexts_around, of_class, self_attribute


def gets_result_of(root: cst.CSTNode, node: cst.CSTNode, forwards: Forwards, ignored: frozenset[str]) -> bool:
    """Whether a call is passed the result of one of these forwards, with its gradients.

    root: the function (or module) of the call. ignored: contexts in which such a forward does not count.
    """
    results: set[str] = set()  # the names, and the attributes of `self`, that hold such a result
    for statement in of_class(root, cst.SimpleStatementLine):
        if any(each is node for each in below(statement)):
            passed = node.args if isinstance(node, cst.Call) else ()
            return any(_carries(root, each.value, forwards, results) for each in passed)
        for target, value in assignments(statement):
            bound = set(map(_named, below(target))) - _UNNAMED
            is_result = not ignored & contexts_around(root, statement) and _carries(root, value, forwards, results)
            results = results | bound if is_result else results - bound
    return False


def _carries(root: cst.CSTNode, code: cst.CSTNode, forwards: Forwards, results: set[str]) -> bool:
    held = (each for each in below(code) if _named(each) in results)
    return any(not is_detached(root, each) for each in (*forwards.calls_in(code), *held))


def _named(node: cst.CSTNode) -> str:
    """The name that a node is, or the attribute of `self`."""
    return node.value if isinstance(node, cst.Name) else self_attribute(node) and f"self.{self_attribute(node)}"


_UNNAMED = frozenset({"", "self"})
