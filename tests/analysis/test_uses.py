"""Whether the result of a call is used."""

from __future__ import annotations

import libcst as cst
import pytest

from trl_lint.analysis.program.idioms.result_uses import is_dropped
from trl_lint.analysis.program.syntax import below


@pytest.mark.parametrize(
    ("body", "dropped"),
    [
        ("call()", True),
        ("return call()", False),
        ("x = call()", True),
        ("x = call()\n    return x", False),
        ("x = call()\n    x = 1\n    return x", True),
        ("x = call()\n    x.y = 1", False),
        ("x = 1\n    use(x)\n    x = call()", True),
        ("x, y = call()", False),
        ("self.x = call()", False),
        ("use(call())", False),
        # After a condition, a name bound on the other branch is not rebound.
        ("if a:\n        x = call()\n    else:\n        x = 1\n    return x", False),
        ("if a:\n        x = 1\n    elif self:\n        x = call()\n    else:\n        x = 2\n    return x", False),
        ("if a:\n        x = call()\n    else:\n        x = 1\n        use(x)", True),
        ("if a:\n        x = call()\n    else:\n        x = 1\n    x = 2\n    return x", True),
        ("x = call()\n    if a:\n        x = 1\n    return x", False),
        ("x = call()\n    if a:\n        x = 1", True),
        ("x = call()\n    x = x + 1\n    return x", False),
        ("for i in a:\n        x = call()", True),
        ("x = call()\n    if a: x = 1\n    return x", False),
        # A block that rebinds it uses its own value.
        ("x = call()\n    for i in a:\n        x = 1\n        use(x)", True),
        ("x = call()\n    for i in a:\n        x = 1\n    use(x)", False),
        ("x = call()\n    for i in a:\n        use(x)\n        x = 1", False),
        # Code before it in a loop runs after it in the next iteration.
        ("for i in a:\n        use(x)\n        x = call()", False),
        ("while a:\n        x = call()\n        x = 1", False),
    ],
)
def test_what_is_kept_is_used(body: str, dropped: bool) -> None:
    module = cst.parse_module(f"def f(self, a):\n    {body}\n")
    (call,) = (
        node
        for node in below(module)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "call"
    )
    assert is_dropped(module.body[0], call) is dropped
    assert is_dropped(module, call) is dropped
