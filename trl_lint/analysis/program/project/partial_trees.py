"""Trees of files that are only imported: the body of a function is parsed when it is first read.

    def f(x):            def f(x):
    y = g(x)    ->       0        (the number of the first unparsed body)
        return y

The text is parsed without its bodies; each is then replaced by a block that keeps its text. Apart from that, and from
the block to which a comment after all its statements belongs, the tree is that of the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import libcst as cst

from trl_lint.analysis.program.project.logical_lines import LogicalLine, logical_lines
from trl_lint.analysis.program.project.nesting import TooDeep, measure

_DEFINITION = re.compile(r" *(?:async +)?def ")
_INDENTATION = re.compile(r"[ \t]*")
# The replacement for a body that can not be parsed: an unbound name, so that the function's result is unknown.
_UNREADABLE = "def _():\n return __unreadable__\n"


def parsed(text: str) -> cst.Module:
    """The tree of a text.

    Raises:
        libcst.ParserSyntaxError: it is not valid Python.
        TooDeep: it is nested more deeply than can be parsed.
    """
    measure(text)
    with _without_validation():
        return cst.parse_module(text)


@contextmanager
def _without_validation() -> Iterator[None]:
    """Disable LibCST's validation of nodes, which is unnecessary for the output of a parser.

    It takes a seventh of the time of a parse. It is `CSTNode.__post_init__` of
    https://github.com/Instagram/LibCST/blob/main/libcst/_nodes/base.py, where a note says that a parse could do without
    it.
    """
    validation = "__post_init__"
    validates = getattr(cst.CSTNode, validation)
    setattr(cst.CSTNode, validation, lambda node: None)  # the parser's output is valid
    try:
        yield
    finally:
        setattr(cst.CSTNode, validation, validates)


def partly_parsed(text: str) -> cst.Module:
    """The tree of a text, in which bodies of functions are still unparsed.

    Raises:
        libcst.ParserSyntaxError: the text around the bodies is not valid Python.
        TooDeep: it is nested more deeply than can be parsed.
    """
    spans = bodies(text)
    if not spans:
        return parsed(text)
    parts: list[str] = []
    place = 0
    for number, (start, end) in enumerate(spans):
        indentation = _INDENTATION.match(text, start)
        parts += (text[place:start], indentation[0] if indentation else "", f"{number}\n")
        place = end
    try:
        tree = parsed("".join((*parts, text[place:])))
    except cst.ParserSyntaxError:
        return parsed(text)  # which raises the error, if there is one
    for function in functions_of(tree.body):
        body = function.body
        waits = _number_in(body)
        if waits is not None and isinstance(body, cst.IndentedBlock):
            start, end = spans[waits]
            object.__setattr__(function, "body", WaitingBlock.at(body, text[start:end], tree.default_indent))
    return tree


def is_whole(tree: cst.Module) -> bool:
    """Whether all of a tree can be parsed. All blocks are parsed after that."""
    blocks = (function.body for function in functions_of(tree.body))
    return all(block.is_readable() for block in blocks if isinstance(block, WaitingBlock))


class WaitingBlock(cst.IndentedBlock):
    """The body of a function, which is parsed when it is first read."""

    text: str
    default_indent: str
    first: cst.SimpleStatementLine

    @classmethod
    def at(cls, block: cst.IndentedBlock, text: str, default_indent: str) -> WaitingBlock:
        """A block with this text in the place of another one, whose white space it keeps."""
        block_at = object.__new__(cls)
        blanks = {"header": block.header, "footer": block.footer, "indent": block.indent}
        fields = {"text": text, "default_indent": default_indent, "first": block.body[0]}
        for name, value in {**blanks, **fields}.items():
            object.__setattr__(block_at, name, value)
        return block_at

    def __getattr__(self, name: str) -> object:
        if name != "body":
            raise AttributeError(name)
        if not self.is_readable():
            object.__setattr__(self, "body", _body_of(_UNREADABLE))
        return self.body

    def is_readable(self) -> bool:
        """Whether it can be parsed. It is parsed only once, as others hold references to its nodes."""
        known = vars(self)  # LibCST's copies of this block have a body, but no text
        if "text" in known and "is_read" not in known:
            try:
                self._read()
                object.__setattr__(self, "is_read", True)
            except (TooDeep, cst.ParserSyntaxError):
                object.__setattr__(self, "is_read", False)
        return bool(known.get("is_read", True))

    def share_statements(self, other: WaitingBlock) -> None:
        """Use the statements of another block with the same text, if that one is parsed."""
        if "is_read" in vars(other) and other.is_readable():
            leading = self.first.leading_lines
            first, *others = other.body
            if leading or other.first.leading_lines:
                first = first.with_changes(leading_lines=leading)
            object.__setattr__(self, "body", [first, *others])
            object.__setattr__(self, "is_read", True)

    def set_statements(self, body: Sequence[cst.BaseStatement]) -> None:
        """Use these statements, which have the same text, instead of its own."""
        object.__setattr__(self, "body", list(body))

    def _read(self) -> None:
        # The first block of a text determines its default indentation.
        first, *others = _body_of(f"if 0:\n{self.default_indent}0\ndef _():\n{self.text}")
        body = [first.with_changes(leading_lines=self.first.leading_lines), *others]
        object.__setattr__(self, "body", body)


def _body_of(text: str) -> Sequence[cst.BaseStatement]:
    """The body of the function at the end of a text."""
    function = parsed(text).body[-1]
    assert isinstance(function, cst.FunctionDef)
    return function.body.body  # type: ignore[return-value]


@lru_cache(maxsize=2)  # the text before a key, and the one after it
def bodies(text: str) -> Sequence[tuple[int, int]]:
    """The positions of the bodies in a text that are not parsed at first."""
    return _bodies(text, logical_lines(text) or ()) if text.endswith("\n") else ()


def _bodies(text: str, lines: Sequence[LogicalLine]) -> list[tuple[int, int]]:
    """The positions of the bodies of the outermost functions, if they are on lines of their own."""
    found: list[tuple[int, int]] = []
    start, inside = -1, -1
    for line in lines:
        indentation = _INDENTATION.match(text, line.start)
        width = indentation.end() - line.start if indentation else 0
        if "\t" in text[line.start : line.start + width]:
            return []
        if inside >= 0:
            if width > inside:
                start, end = (line.start if start < 0 else start), line.end
                continue
            if start >= 0:
                found.append((start, end))
            start, inside = -1, -1
        if _DEFINITION.match(text, line.start):
            inside = width
    if start >= 0:
        found.append((start, end))
    return found


def _number_in(body: cst.BaseSuite) -> int | None:
    """The number of the body that a block is a placeholder for."""
    match body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Expr(value=cst.Integer(value=number))])]):
            return int(number)
        case _:
            return None


def functions_of(statements: Sequence[cst.CSTNode]) -> Iterator[cst.FunctionDef]:
    """The outermost functions among statements."""
    todo = list(statements)
    while todo:
        statement = todo.pop()
        if isinstance(statement, cst.FunctionDef):
            yield statement
        elif not isinstance(statement, cst.SimpleStatementLine):
            todo += _directly_in(statement)


def around(tree: cst.Module, function: cst.FunctionDef) -> Sequence[cst.CSTNode]:
    """The nodes around one of the outermost functions, from the tree inwards."""
    todo: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]] = [(tree, ())]
    while todo:
        node, above = todo.pop()
        if node is function:
            return above
        if not isinstance(node, (cst.FunctionDef, cst.SimpleStatementLine)):
            todo += ((part, (*above, node)) for part in _directly_in(node))
    return ()


# The fields of a compound statement that hold statements.
PARTS = ("body", "orelse", "finalbody", "handlers", "cases")


def _directly_in(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of the blocks of a compound statement, and its other branches."""
    for name in PARTS:
        part = getattr(statement, name, None)
        if isinstance(part, cst.CSTNode):
            yield part
        elif part is not None:
            yield from part
