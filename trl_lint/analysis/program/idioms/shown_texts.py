"""The expressions whose values are in a text that a call shows or writes.

print(f"loss {loss}", accuracy)             `loss`, `accuracy`
file.write("%d %f\\n" % (step, loss))        `step`, `loss`
line = f"loss {loss}"
file.write(line + "\\n")                     `loss`, if nothing else is assigned to `line`
file.write(json.dumps({"loss": loss}))      `{"loss": loss}`
file.write(str(loss))                       `loss`
writer.writerow([step, loss])               `step`, `loss`, if the call is asked for rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, last_name

# Functions that make a text of their first argument.
_MAKE_TEXTS = frozenset({"dumps", "pformat", "repr", "str"})
_TEXTS = (cst.ConcatenatedString, cst.FormattedString, cst.SimpleString)
# How many names are looked up: a text may be made of a text.
_DEEPEST = 3


def shown_by(root: cst.CSTNode, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """The expressions whose values a call shows, also those inside texts. root: the code around it."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name("format"))):
            yield from (arg.value for arg in call.args)
        case _:
            yield from shown_in(root, (arg.value for arg in call.args))


def shown_in(root: cst.CSTNode, texts: Iterable[cst.BaseExpression]) -> Iterator[cst.BaseExpression]:
    """The same for some of the arguments of a call."""
    for each in texts:
        yield from _parts(root, each, _DEEPEST)


def cells_of(row: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The cells of a row that is written out: a list, a tuple, or a dict; of anything else, the thing itself."""
    match row:
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            return [each.value for each in elements]
        case cst.Dict(elements=elements):
            return [each.value for each in elements]
    return [row]


def _parts(root: cst.CSTNode, expression: cst.BaseExpression, deepest: int) -> Iterator[cst.BaseExpression]:
    match expression:
        case cst.FormattedString():
            yield from (part.expression for part in expression.parts if isinstance(part, cst.FormattedStringExpression))
        case cst.ConcatenatedString():
            yield from _parts(root, expression.left, deepest)
            yield from _parts(root, expression.right, deepest)
        case cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo(), right=cst.Tuple(elements=elements)):
            yield from (element.value for element in elements)
        case cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo()):
            yield expression.right
        case cst.BinaryOperation(operator=cst.Add()) if _is_text(expression):
            yield from _parts(root, expression.left, deepest)
            yield from _parts(root, expression.right, deepest)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name("format"))):
            yield from shown_by(root, expression)
        case cst.Call(func=func, args=[cst.Arg(value=value), *_]) if last_name(func) in _MAKE_TEXTS:
            yield from _parts(root, value, deepest)
        case cst.Name(name):
            made = assigned_once(root, name) if deepest else None
            if made is not None and _is_text(made):
                yield from _parts(root, made, deepest - 1)
            else:
                yield expression
        case _:
            yield expression


def _is_text(expression: cst.BaseExpression) -> bool:
    """Whether an expression is written as a text."""
    match expression:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case cst.BinaryOperation(left=left, operator=cst.Modulo()):
            return isinstance(left, _TEXTS)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name("format"))):
            return True
        case cst.Call(func=func, args=[_, *_]):
            return last_name(func) in _MAKE_TEXTS
    return isinstance(expression, _TEXTS)
