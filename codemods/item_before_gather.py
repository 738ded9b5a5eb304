"""Hand a tensor to the collective: `gather(x.sum().item())` becomes `gather(x.sum()).sum().item()`."""

from __future__ import annotations

import libcst as cst
from libcst.codemod.visitors import AddImportsVisitor

from trl_lint.codemods.base import FindingCommand
from trl_lint.rewriting.gathers import rewritten


class ItemBeforeGatherCommand(FindingCommand):
    DESCRIPTION = "Hand tensors, not Python numbers, to collectives (TRL001)."
    CODE = "TRL001"

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        problem = self.problem_at(original_node)
        if problem is None:
            return updated_node
        argument = next(arg for arg in original_node.args if _holds(arg, problem.plan.tensor))
        index = original_node.args.index(argument)
        if problem.plan.factory:
            AddImportsVisitor.add_needed_import(self.context, "torch")
        return rewritten(updated_node, updated_node.args[index], problem.plan)


def _holds(arg: cst.Arg, tensor: cst.BaseExpression) -> bool:
    """Whether the tensor stands inside the argument."""
    todo: list[cst.CSTNode] = [arg.value]
    while todo:
        node = todo.pop()
        if node is tensor:
            return True
        todo.extend(node.children)
    return False
