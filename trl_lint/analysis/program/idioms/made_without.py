"""Names that code makes where an option, or a parameter, does not say one.

if args.output_dir is None:
    args.output_dir = make()
save(args.output_dir)                                      `make()`, without `output_dir`
save(args.output_dir or make())                            the same
save(args.output_dir if args.output_dir else make())       the same
save(os.path.join(args.output_dir, "last"))                the same, where it is assigned as above
args.output_dir = agree_on(args.output_dir)
save(args.output_dir)                                      nothing: it is assigned once more
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import (
    assignments,
    below,
    inwards,
    is_literal_none,
    is_main_guard,
    keyword_value,
    last_name,
    of_class,
    parts_of_target,
    precedes,
    resolved,
)

# Methods and functions whose last argument is the value of what is missing: `config.get("name", value)`.
ADDS_OPTION = "add_argument"
_DEFAULTS = frozenset({"get", "getattr", "getenv", "pop", "setdefault"})
# Calls that put a path together, or make it a text.
_PUT_TOGETHER = frozenset({"Path", "format", "join", "str"})


class MadeWithout(NamedTuple):
    """What makes a name (`value`) where the option is not given."""

    value: cst.BaseExpression
    option: str


def made_without(root: cst.CSTNode, expression: cst.BaseExpression) -> Iterator[MadeWithout]:
    """What makes a name, or a part of it, without an option."""
    found = _assigned(root, expression)
    if found is not None:
        yield found
        return
    for each in parts_of_name(root, expression):
        if isinstance(each, (cst.BooleanOperation, cst.IfExp)):
            found = _alternative(each)
        elif isinstance(each, (cst.Attribute, cst.Name)):
            found = _assigned(root, each)
        else:
            continue
        if found is not None:
            yield found


def parts_of_name(root: cst.CSTNode, expression: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """What a name, or a path, is put together from; nothing if other functions make something of it."""
    made = resolved(root, expression)
    if all(last_name(each.func) in _PUT_TOGETHER for each in of_class(made, cst.Call)):
        yield from below(made)


def _alternative(choice: cst.BooleanOperation | cst.IfExp) -> MadeWithout | None:
    match choice:
        case cst.BooleanOperation(left=option, operator=cst.Or(), right=value):
            return MadeWithout(value, last_name(option)) if last_name(option) else None
        case cst.IfExp(test=test, body=option, orelse=value) if _is_given(test, option):
            return MadeWithout(value, last_name(option)) if last_name(option) else None
        case cst.IfExp(test=test, body=value, orelse=option) if _is_missing(test, option):
            return MadeWithout(value, last_name(option)) if last_name(option) else None
    return None


def _is_given(test: cst.BaseExpression, option: cst.BaseExpression) -> bool:
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=none)]):
            return is_literal_none(none) and left.deep_equals(option)
    return test.deep_equals(option)


def _is_missing(test: cst.BaseExpression, option: cst.BaseExpression) -> bool:
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Is(), comparator=none)]):
            return is_literal_none(none) and left.deep_equals(option)
        case cst.UnaryOperation(operator=cst.Not(), expression=asked):
            return asked.deep_equals(option)
    return False


def _assigned(root: cst.CSTNode, name: cst.BaseExpression) -> MadeWithout | None:
    """What an `if` assigns to an option that is not given, if nothing else sets it, or its object after that."""
    bound = [(each, value) for target, value in assignments(root) for each in parts_of_target(target)]
    values = [(target, value) for target, value in bound if target.deep_equals(name)]
    if len(values) != 1:
        return None
    target, value = values[0]
    if any(_is_owner(each, name) and precedes(root, target, each) for each, _ in bound):
        return None
    tests = [(each.test, holds) for each, holds in ifs_around(root, target) if not is_main_guard(each.test)]
    is_only = len(tests) == 1 and tests[0][1] and _is_missing(tests[0][0], name)
    return MadeWithout(value, last_name(name)) if is_only else None


def _is_owner(target: cst.BaseExpression, name: cst.BaseExpression) -> bool:
    return isinstance(name, cst.Attribute) and target.deep_equals(name.value)


def option_around(root: cst.CSTNode, node: cst.CSTNode) -> str:
    """The option without which a place is reached, "" if there is none."""
    for outer, inner in inwards(root, node):
        match outer:
            case cst.If(test=test, body=body) if inner is not test:
                option = _tested(test, given=inner is not body)
            case cst.IfExp(test=test, body=body) if inner is not test:
                option = _tested(test, given=inner is not body)
            case cst.BooleanOperation(left=left, operator=cst.Or(), right=right) if inner is right:
                option = last_name(left)
            case cst.Call(func=func, args=[*_, cst.Arg(value=cst.SimpleString() as name), last]) if inner is last:
                option = str(name.evaluated_value) if last_name(func) in _DEFAULTS else ""
            case _:
                continue
        if option:
            return option
    return ""


def _tested(test: cst.BaseExpression, *, given: bool) -> str:
    """The option of which a test asks whether it is given, or whether it is not."""
    match test:
        case cst.Attribute() | cst.Name() if given:
            return last_name(test)
        case cst.UnaryOperation(operator=cst.Not(), expression=asked) if not given:
            return last_name(asked)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=none)]):
            is_asked = isinstance(operator, cst.IsNot if given else cst.Is) and is_literal_none(none)
            return last_name(left) if is_asked else ""
    return ""


def sets_true(root: cst.CSTNode, owner: cst.BaseExpression, name: str) -> bool:
    """Whether a function makes an object with an option that is true, or sets that option of it."""
    for target, value in assignments(root):
        is_made = isinstance(value, cst.Call) and target.deep_equals(owner)
        given = keyword_value(value, name) if is_made else None
        if isinstance(target, cst.Attribute) and target.attr.value == name and target.value.deep_equals(owner):
            given = value
        if isinstance(given, cst.Name) and given.value == "True":
            return True
    return False


def declares_true(cls: cst.ClassDef, name: str) -> bool:
    """Whether a class declares a field that is true by default: `load_best_model_at_end: bool = True`."""
    fields = (each for each in of_class(cls, cst.AnnAssign) if isinstance(each.target, cst.Name))
    values = [each.value for each in fields if last_name(each.target) == name]
    return any(isinstance(each, cst.Name) and each.value == "True" for each in values)


def fields_set(tree: cst.CSTNode, name: str) -> list[cst.Attribute]:
    """Where a file sets a field of this name, of any object."""
    bound = (each for assigned, _ in assignments(tree) for each in parts_of_target(assigned))
    return [each for each in bound if isinstance(each, cst.Attribute) and each.attr.value == name]


def is_only_assignment(tree: cst.CSTNode, root: cst.CSTNode, target: cst.Attribute) -> bool:
    """Whether a field is set here in any case, and nowhere else in the file. root: the function, or the file itself."""
    return fields_set(tree, target.attr.value) == [target] and all(
        is_main_guard(each.test) for each, _ in ifs_around(root, target)
    )
