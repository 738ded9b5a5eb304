"""Names of dicts, inferred from what the code does with them.

For example:

    data["labels"]                          only a mapping is read by a text
    for key in data: move(data[key])        the loop runs over its keys
    names = sorted(data)
    [data[name] for name in names]          so does this one

What is stored in them under a text:

    data = {"labels": labels}
    data["labels"] = shifted
    data = dict(labels=labels)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assignments, last_name, of_class, used_names
from trl_lint.analysis.program.tree_caches import tree_cache

_TEXTS = (cst.ConcatenatedString, cst.FormattedString, cst.SimpleString)


@tree_cache(64)
def read_by_key(root: cst.CSTNode) -> frozenset[str]:
    """The names that a piece of code subscripts with a text, or with the variable of a loop over the same name."""
    walked = set(map(_walked, of_class(root, cst.For))) | set(map(_walked, of_class(root, cst.CompFor)))
    walked |= {(mapping, key) for name, key in walked for mapping in _listed(root, name)}
    found: set[str] = set()
    for node in of_class(root, cst.Subscript):
        match node:
            case cst.Subscript(cst.Name(name), [cst.SubscriptElement(cst.Index(index))]):
                by_variable = isinstance(index, cst.Name) and (name, index.value) in walked
                if by_variable or isinstance(index, _TEXTS):
                    found.add(name)
    return frozenset(found)


def stored_under(root: cst.CSTNode, mapping: cst.BaseExpression, key: str) -> Iterator[cst.BaseExpression]:
    """The expressions that a piece of code stores in a dict, a display or the value of a name, under a text."""
    yield from _displayed(mapping, key)
    if not isinstance(mapping, cst.Name):
        return
    for target, value in assignments(root):
        match target:
            case cst.Name(mapping.value):
                yield from _displayed(value, key)
            case cst.Subscript(cst.Name(mapping.value), [cst.SubscriptElement(cst.Index(cst.SimpleString() as text))]):
                if text.evaluated_value == key:
                    yield value


def _displayed(node: cst.BaseExpression, key: str) -> Iterator[cst.BaseExpression]:
    """What a display of a dict, or a call of `dict`, has under a text."""
    match node:
        case cst.Dict(elements=elements):
            for each in elements:
                match each:
                    case cst.DictElement(key=cst.SimpleString() as text, value=value) if text.evaluated_value == key:
                        yield value
        case cst.Call(func=cst.Name("dict"), args=args):
            yield from (each.value for each in args if each.keyword is not None and each.keyword.value == key)


def comprehended(root: cst.CSTNode, name: cst.Name) -> str | None:
    """What a comprehension around the use of its variable runs over: `losses` of `{k: v for k, v in losses.items()}`.

    "" if it has no name. None if no comprehension binds the name.
    """
    for around in reversed(ancestors(root, name)):
        loop = around.for_in if isinstance(around, cst.BaseComp) else None
        while loop is not None:
            if name.value in used_names(loop.target):
                walked = _without_items(loop.iter)
                return last_name(walked) if isinstance(walked, (cst.Attribute, cst.Name)) else ""
            loop = loop.inner_for_in
    return None


def _without_items(node: cst.BaseExpression) -> cst.BaseExpression:
    """The `losses` of `losses.items()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=mapping, attr=cst.Name("items" | "values")), args=[]):
            return mapping
    return node


def _listed(root: cst.CSTNode, name: str) -> Iterator[str]:
    """The names whose keys a name lists: `losses` for `names` after `names = sorted(losses)`."""
    for node in of_class(root, cst.Assign):
        match node.targets, node.value:
            case (
                [cst.AssignTarget(cst.Name(target))],
                cst.Call(cst.Name("list" | "sorted"), [cst.Arg(cst.Name(mapping)), *_]),
            ) if target == name:
                yield mapping


def _walked(loop: cst.For | cst.CompFor) -> tuple[str, str]:
    """The name that a loop runs over, directly or as `sorted(name)`, and its variable; two empty names otherwise."""
    match loop.iter, loop.target:
        case ((cst.Name(name) | cst.Call(args=[cst.Arg(cst.Name(name))])), cst.Name(variable)):
            return name, variable
    return "", ""
