"""Where to put an import that new code needs: among related imports, in the order of isort.

What a script sets up before it imports a library (`os.environ[…] = …`, `sys.path.insert(…)`) stays before it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, last_name
from trl_lint.fixes.support.edits import Edit, ExtendImport, Import, Insert
from trl_lint.fixes.support.scope import dotted
from trl_lint.fixes.support.tree import text_of

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

_ImportStatement: TypeAlias = cst.Import | cst.ImportFrom
# The key by which the imports of one section are sorted.
_Order: TypeAlias = Callable[[cst.SimpleStatementLine], tuple[bool, str] | tuple[str, bool]]


class _Section(IntEnum):
    """isort's sections, in order."""

    FUTURE = 0
    STANDARD = 1
    LIBRARY = 2
    LOCAL = 3


# Libraries that import another one themselves: after them it is imported already, whatever a script sets up later.
_IMPORTED_BY = {
    "accelerate": frozenset({"accelerate", "transformers", "trl"}),
    "torch": frozenset({"accelerate", "peft", "torch", "transformers", "trl"}),
}
# Libraries that patch others when imported, and have to come first.
_COMES_FIRST = frozenset({"unsloth"})
# What sets up the environment of later imports: calls by their last name, and methods of these objects.
_SETUP_FUNCTIONS = frozenset({"addsitedir", "load_dotenv", "putenv"})
_SETUP_OBJECTS = frozenset({"environ", "os.environ", "sys.path"})
_SETUP_METHODS = frozenset({"append", "extend", "insert", "setdefault", "update"})
_NOQA = re.compile(r"#\s*noqa:\s*E402\s*")
_LONGEST = 119


def has_place(module: Module, needed: Import, node: cst.CSTNode) -> bool:
    """Whether there is a place for an import, for code at this node."""
    return _edits_for_module(module, (needed,), (node,)) is not None


def edits_for(module: Module, needed: Iterable[Import], used: Iterable[cst.CSTNode]) -> list[Edit]:
    """The edits that import these for code at these nodes; each import must have a place by itself."""
    grouped: dict[str, dict[Import, None]] = {}
    for each in needed:
        grouped.setdefault(each.module if each.name else f"{each.module} itself", {})[each] = None
    places = tuple(used)
    return [edit for group in grouped.values() for edit in _edits_for_module(module, tuple(group), places) or ()]


def bound_at_top(module: Module, wanted: Import, *used: cst.CSTNode) -> str:
    """The name by which a module's imports before the code at these nodes provide what is wanted; "" for none."""
    lines = _before(module.tree, used)
    found = (
        _name_of(small, alias, wanted) for line in lines for small in _imports_of(line) for alias in _aliases(small)
    )
    return min(filter(None, found), key=lambda name: name != _name_bound_by(wanted), default="")


def _edits_for_module(module: Module, needed: Sequence[Import], used: Sequence[cst.CSTNode]) -> list[Edit] | None:
    """The edits for imports from one module; None if there is no place for them."""
    missing = [each for each in needed if bound_at_top(module, each, *used) != _name_bound_by(each)]
    if not missing:
        return []
    statements = _before(module.tree, used)
    merged = _merged(statements, missing)
    if merged is not None:
        return [merged]
    first = missing[0]
    names = ", ".join(sorted(each.name for each in missing if each.name))
    line = f"from {first.module} import {names}" if names else f"import {first.module}"
    return _new_line(module, statements, first, line)


def _name_bound_by(needed: Import) -> str:
    """The name that a plain import of what is needed binds."""
    return needed.name or needed.module.partition(".")[0]


def _name_of(small: _ImportStatement, alias: cst.ImportAlias, wanted: Import) -> str:
    """The name by which an import provides what is wanted; "" if it does not."""
    if isinstance(small, cst.ImportFrom):
        if wanted.name is None or _module_of(small) != wanted.module or alias.evaluated_name != wanted.name:
            return ""
        return alias.evaluated_alias or wanted.name
    if wanted.name is not None:
        return ""
    if alias.asname is None:
        return wanted.module if f"{alias.evaluated_name}.".startswith(f"{wanted.module}.") else ""
    return alias.evaluated_alias or "" if alias.evaluated_name == wanted.module else ""


def _aliases(small: _ImportStatement) -> Sequence[cst.ImportAlias]:
    return () if isinstance(small.names, cst.ImportStar) else small.names


# --- lines and blocks -----------------------------------------------------------------------------------


def _before(tree: cst.Module, used: Sequence[cst.CSTNode]) -> Sequence[cst.BaseStatement]:
    """The statements of a module before all code at these nodes."""
    inside = {id((*ancestors(tree, node), node)[1]) if node is not tree else 0 for node in used}
    for index, statement in enumerate(tree.body):
        if id(statement) in inside:
            return tree.body[:index]
    return tree.body


def _imports_of(statement: cst.BaseStatement) -> Sequence[_ImportStatement]:
    """The imports of a line that contains nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return ()
    found = [each for each in statement.body if isinstance(each, (cst.Import, cst.ImportFrom))]
    return found if len(found) == len(statement.body) else ()


def _import_blocks(statements: Sequence[cst.BaseStatement]) -> list[list[cst.SimpleStatementLine]]:
    """The groups of adjacent lines that import."""
    blocks: list[list[cst.SimpleStatementLine]] = [[]]
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine) and _imports_of(statement):
            blocks[-1].append(statement)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _module_of(small: _ImportStatement) -> str:
    """The first module that an import names, with the dots of a relative import."""
    if isinstance(small, cst.Import):
        return small.names[0].evaluated_name
    return "." * len(small.relative) + dotted(small.module)


def _package_of(line: cst.SimpleStatementLine) -> str:
    """The top-level package that a line imports from; "" for a relative import."""
    return _module_of(_imports_of(line)[0]).partition(".")[0]


def _section(module: Module, root: str) -> _Section:
    """The section of imports from a top-level package in this file."""
    if root == "__future__":
        return _Section.FUTURE
    if root in sys.stdlib_module_names:
        return _Section.STANDARD
    return _Section.LOCAL if not root or _is_near(module, root) else _Section.LIBRARY


def _is_near(module: Module, root: str) -> bool:
    """Whether a module of that name is next to the file, or next to the package that contains it."""
    folders = (module.path.parent, module.top)
    return any(os.path.isdir(folder / root) or os.path.isfile(folder / f"{root}.py") for folder in folders)


# --- the place ------------------------------------------------------------------------------------------


def _new_line(module: Module, statements: Sequence[cst.BaseStatement], needed: Import, line: str) -> list[Edit] | None:
    """The edit that puts a line into the right block."""
    root = needed.module.partition(".")[0]
    section = _section(module, root)
    blocks = _import_blocks(statements)
    same_package = [block for block in blocks if any(_package_of(each) == root for each in block)]
    bringing = [block for block in blocks if any(_package_of(each) in _IMPORTED_BY.get(root, ()) for each in block)]
    block = next((found[-1] for found in (same_package, bringing) if found), None)
    if block is None:
        if _sets_up(module.tree):
            return None
        same_section = [each for each in blocks if any(_section(module, _package_of(one)) is section for one in each)]
        block = next((found[-1] for found in (same_section, blocks) if found), None)
    if block is None:
        return _at_the_top(module.tree, line)
    return [_in_block(module, block, section, line)]


def _sets_up(tree: cst.Module) -> bool:
    """Whether code changes the environment or the path of later imports."""
    for node in below(tree):
        match node:
            case cst.Call(func=func) if last_name(func) in _SETUP_FUNCTIONS:
                return True
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in _SETUP_METHODS:
                if dotted(owner) in _SETUP_OBJECTS:
                    return True
            case cst.AssignTarget(target=target) | cst.AugAssign(target=target):
                if dotted(target.value if isinstance(target, cst.Subscript) else target) in _SETUP_OBJECTS:
                    return True
    return False


def _at_the_top(tree: cst.Module, line: str) -> list[Edit] | None:
    """Before the first statement of a file without imports, after its docstring."""
    start = 1 if tree.get_docstring() is not None else 0
    if len(tree.body) > start:
        return [Insert(tree.body[start], line)]
    return None


def _in_block(module: Module, block: list[cst.SimpleStatementLine], section: _Section, line: str) -> Insert:
    """Put the line among those of its section, otherwise between the neighbouring sections."""
    same_section = [each for each in block if _section(module, _package_of(each)) is section]
    if same_section and _order_of(same_section) is None:
        same_section = _related_part(same_section, _package_of(_line_of(line))) or same_section
    if same_section:
        order = None if "isort:" in module.text else _order_of(same_section)
        anchor, behind = _neighbour(block, same_section, _line_of(line), order)
        return Insert(anchor, f"{line}{_noqa_of(anchor)}", behind)
    earlier = [each for each in block if _section(module, _package_of(each)) < section]
    if earlier:
        return Insert(earlier[-1], f"\n{line}{_noqa_of(earlier[-1])}", behind=True)
    return Insert(block[0], f"{line}{_noqa_of(block[0])}")


def _neighbour(
    block: Sequence[cst.SimpleStatementLine],
    lines: Sequence[cst.SimpleStatementLine],
    new: cst.SimpleStatementLine,
    order: _Order | None,
) -> tuple[cst.SimpleStatementLine, bool]:
    """Of the lines of a section in a block, the one next to which an import comes, and whether it comes behind it."""
    if order is None:
        related = [each for each in lines if _package_of(each) in _IMPORTED_BY.get(_package_of(new), ())]
        start = next((index for index, each in enumerate(block) if related and each is related[-1]), len(block))
        after = list(takewhile(lambda each: any(each is line for line in lines), block[start:]))
        return (after or lines)[-1], True
    earlier = [each for each in lines if order(each) <= order(new)]
    later = lines[len(earlier) :]
    # Lines of the same form (`from … import …`) may be in a group or a place of their own.
    if earlier and (not later or _form(earlier[-1]) == _form(new) or _form(later[0]) != _form(new)):
        return earlier[-1], True
    return later[0], False


def _form(line: cst.SimpleStatementLine) -> type[_ImportStatement]:
    return type(_imports_of(line)[0])


def _line_of(text: str) -> cst.SimpleStatementLine:
    return cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)


def _related_part(lines: Sequence[cst.SimpleStatementLine], root: str) -> list[cst.SimpleStatementLine]:
    """Of lines separated by blank lines, the group that contains a library which imports this package.

    A sorted one, if there is any. A project's own packages are often in a separate group after the libraries.
    """
    parts: list[list[cst.SimpleStatementLine]] = [[]]
    for line in lines:
        if any(each.comment is None for each in line.leading_lines):
            parts.append([])
        parts[-1].append(line)
    related = [part for part in parts if any(_package_of(line) in _IMPORTED_BY.get(root, ()) for line in part)]
    in_order = [part for part in related if _order_of(part) is not None]
    return next(iter((*in_order, *related)), [])


def _order_of(lines: Sequence[cst.SimpleStatementLine]) -> _Order | None:
    """The key by which lines of one section are sorted; None if they are not, or may not be."""
    if any(_package_of(line) in _COMES_FIRST for line in lines):
        return None
    orders: tuple[_Order, ...] = (_straight_first, _by_module)
    for order in orders:
        keys = [order(line) for line in lines]
        if keys == sorted(keys):
            return order
    return None


def _straight_first(line: cst.SimpleStatementLine) -> tuple[bool, str]:
    small = _imports_of(line)[0]
    return isinstance(small, cst.ImportFrom), _module_of(small).lower()


def _by_module(line: cst.SimpleStatementLine) -> tuple[str, bool]:
    is_from, name = _straight_first(line)
    return name, is_from


def _noqa_of(line: cst.SimpleStatementLine) -> str:
    """The comment of a neighbour for linters that want all imports at the top."""
    comment = line.trailing_whitespace.comment
    return f"  {comment.value}" if comment is not None and _NOQA.fullmatch(comment.value) else ""


# --- extending an import --------------------------------------------------------------------------------


def _merged(statements: Sequence[cst.BaseStatement], needed: Sequence[Import]) -> ExtendImport | None:
    """The last import from the same module, with the missing names."""
    for line in reversed([line for block in _import_blocks(statements) for line in block]):
        for small in _imports_of(line):
            if isinstance(small, cst.ImportFrom) and needed[0].name and _module_of(small) == needed[0].module:
                return _extended(line, small, [each.name for each in needed if each.name])
    return None


def _extended(line: cst.SimpleStatementLine, small: cst.ImportFrom, names: Iterable[str]) -> ExtendImport | None:
    """An import with more names, in its order; None if that would be too long or lose a comment."""
    aliases = list(_aliases(small))
    if not aliases or "#" in text_of(small) or "\\" in text_of(small):
        return None
    in_order = [_isort_key(each.evaluated_name) for each in aliases]
    is_sorted = in_order == sorted(in_order)
    commas = [each.comma for each in aliases]
    between = next((each for each in commas[:-1]), cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    if len(aliases) == 1 and isinstance(small.lpar, cst.LeftParen):
        return None
    for name in names:
        later = [
            at for at, each in enumerate(aliases) if is_sorted and _isort_key(each.evaluated_name) > _isort_key(name)
        ]
        aliases.insert(later[0] if later else len(aliases), cst.ImportAlias(cst.Name(name)))
    last = commas[-1]
    aliases = [each.with_changes(comma=between) for each in aliases[:-1]] + [aliases[-1].with_changes(comma=last)]
    new = small.with_changes(names=aliases)
    if max(map(len, text_of(line.with_deep_changes(small, names=aliases)).splitlines())) > _LONGEST:
        return None
    return ExtendImport(small, new)


def _isort_key(name: str) -> tuple[int, str]:
    """isort's order of names: constants, classes, then the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower()
