"""Whether a test asks for the elements of a tensor, as for answers that are done, or for sizes.

For example:

    if done.all(): break                                         for elements
    if done.sum().item() == len(ids): break                      for elements
    if at >= len(text): break                                    for a size
    if all(at >= len(text) for text in texts): break             for sizes
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class

# Not in torch_ops: what asks for elements, whether it is a function of Python's or of torch.
_ASK = frozenset({"all", "any", "equal", "item"})


def asks_for_elements(test: cst.CSTNode) -> bool:
    """Whether a call in a test asks for elements, and for no sizes."""
    asked = (each for each in of_class(test, cst.Call) if last_name(each.func) in _ASK)
    return any(not any(map(_asks_for_size, each.args)) for each in asked)


def _asks_for_size(part: cst.CSTNode) -> bool:
    return any(last_name(call.func) == "len" for call in of_class(part, cst.Call))
