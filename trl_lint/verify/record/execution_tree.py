"""The execution of a rank as a tree: calls of the user's functions, blocks of their statements, and loop iterations.

The marks record statements one after the other, but no calls. A call of a function shows in its first statement, which
each call executes once; an iteration of a loop likewise begins with the first statement of its body.
"""

from __future__ import annotations

import ast
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trl_lint.verify.record.executed import Called, Ran
from trl_lint.verify.record.statements import BlockName, Statement, Statements
from trl_lint.verify.record.traces import RankRecord, SourcePlace

# Statements that end the block around them, and how they end it.
_ENDS = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue", ast.Raise: "raise"}
# How a block ended if not by one of its own statements.
ERROR = "error"


@dataclass(eq=False, slots=True)
class Span:
    """A part of an execution: from its first event up to its last. is_open: the rank was still in it when it ended."""

    start: int
    end: int = -1
    is_open: bool = False


@dataclass(eq=False, slots=True)
class Executing(Span):
    """One execution of a statement: the blocks inside that were executed, and the calls from its own expressions."""

    statement: Statement | None = None
    blocks: list[BlockRun] = field(default_factory=list)
    calls: list[Activation] = field(default_factory=list)

    @property
    def source(self) -> Statement:
        assert self.statement is not None
        return self.statement

    def iterations(self) -> list[BlockRun]:
        """The iterations of a loop."""
        return [block for block in self.blocks if block.name.part == "body"]

    @property
    def branch(self) -> BlockRun | None:
        """The chosen block of an `if` or a `match`."""
        return self.blocks[-1] if self.blocks else None

    def part(self, name: str) -> BlockRun | None:
        """A block of a `try`, if it was executed."""
        return next((block for block in self.blocks if block.name.part == name), None)

    def exit(self) -> str:
        """How the statement has left the block around it; "" if it has not."""
        node = self.source.node
        if not self.blocks:
            return _ENDS.get(type(node), "")
        ends = [block.exit() for block in self.blocks]
        if self.blocks[-1].name.part == "finalbody":
            return ends[-1] or (ends[-2] if len(ends) > 1 else "")
        is_loop = isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        return "" if is_loop and ends[-1] in ("break", "continue") else ends[-1]


@dataclass(eq=False, slots=True)
class BlockRun(Span):
    """One execution of a block."""

    name: BlockName = field(default_factory=lambda: BlockName(-1))
    items: list[Executing] = field(default_factory=list)

    def exit(self) -> str:
        """How the block was left before its end; "" if it was not, or if the rank is still in it."""
        if self.is_open or not self.items:
            return ""
        last = self.items[-1]
        return last.exit() or ("" if last.source.is_last else ERROR)


@dataclass(eq=False, slots=True)
class Activation(Span):
    """A call of a function, or the body of a module: `scope` is the number of its statement, -1 for a module.

    path: the current position, from the outermost statement to the innermost. all: its own statements in order.
    """

    file: str = ""
    scope: int = -1
    source: Statements | None = None
    body: BlockRun = field(default_factory=lambda: BlockRun(0))
    path: list[Executing] = field(default_factory=list)
    all: list[Executing] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return self.file, self.scope

    @property
    def text(self) -> Statements:
        assert self.source is not None
        return self.source

    def execute(self, statement: Statement, now: int) -> None:
        """Add the execution of a statement, and of the statements around it if they were not seen."""
        owner = statement.block.owner
        while self.path and self.path[-1].source.number != owner:
            self._pop(now)
        if owner >= 0 and not self.path:
            self.execute(self.text.all[owner], now)
        item = Executing(now, statement=statement)
        self._block(statement, now).items.append(item)
        self.path.append(item)
        self.all.append(item)

    def _block(self, statement: Statement, now: int) -> BlockRun:
        """The execution of a statement's block: a new one if the statement can't follow the last one in there."""
        if not self.path:
            return self.body
        blocks = self.path[-1].blocks
        if not blocks or blocks[-1].name != statement.block or blocks[-1].items[-1].source.index >= statement.index:
            if blocks:
                blocks[-1].end = now
            blocks.append(BlockRun(now, name=statement.block))
        return blocks[-1]

    def can_go_on(self, statement: Statement) -> bool:
        """Whether a statement may be the next one."""
        if self.path and isinstance(self.path[-1].source.node, ast.Return):
            return statement.block.part == "finalbody"
        if statement.block.owner < 0:
            return not self.body.items or self.body.items[-1].source.index < statement.index
        return any(each.source.number == statement.block.owner for each in self.path)

    def is_at(self, place: SourcePlace) -> bool:
        return os.path.realpath(place.file) == self.file and any(_spans(each, place) for each in self.path)

    def settle(self, place: SourcePlace, now: int) -> None:
        """Return to the innermost statement around a place: the condition of a loop is tested again after its body."""
        while not _spans(self.path[-1], place):
            self._pop(now)
            for block in self.path[-1].blocks[-1:]:
                block.end = now

    def _pop(self, now: int) -> None:
        item = self.path.pop()
        item.end = now
        for block in item.blocks[-1:]:
            block.end = now

    def close(self, now: int, *, is_open: bool) -> None:
        """Set all missing ends. is_open: the rank is here."""
        for span in (self, self.body, *self.path, *(each.blocks[-1] for each in self.path if each.blocks)):
            if span.end < 0:
                span.end, span.is_open = now, is_open
        self.path = []


def _spans(item: Executing, place: SourcePlace) -> bool:
    return item.source.line <= place.line <= (item.source.node.end_lineno or item.source.line)


class ExecutionTree:
    """The execution of one rank, from its start or from event `begin`. `roots`: calls without a recorded caller."""

    def __init__(self, rank: RankRecord, begin: int = 0) -> None:
        self.rank = rank
        self.roots: list[Activation] = []
        self.calls: list[tuple[int, int | None]] = []
        self._sources = {file: marked.statements for file, marked in rank.executed.files.items()}
        self._stack: list[Activation] = []
        self._now = 0
        events = rank.executed.events[begin:]
        for self._now, event in enumerate(events):
            if isinstance(event, Called):
                self._call(event)
            else:
                self._execute(event)
        self._now = len(events)
        place = _last_place(rank)
        if place is not None:
            self._settle(place)
        self._leave(0, is_open=not rank.ended_well)

    def called(self, span: Span) -> Iterable[int | None]:
        """The collectives in a part: their numbers, or None for a reduction of DDP itself."""
        first = bisect_left(self.calls, span.start, key=lambda call: call[0])
        last = bisect_left(self.calls, span.end, key=lambda call: call[0])
        return [number for _, number in self.calls[first:last]]

    def _call(self, event: Called) -> None:
        at = self.rank.calls[event.number].at if event.number is not None else ()
        if at:
            self._settle(at[-1])
        self.calls.append((self._now, event.number))

    def _execute(self, event: Ran) -> None:
        source = self._sources[event.file]
        if source is None:
            return
        statement = source.all[event.number]
        depth = None if statement.is_entry else self._depth(event.file, statement)
        if depth is not None:
            self._leave(depth + 1)
        else:
            self._enter(Activation(self._now, file=event.file, scope=statement.scope, source=source), statement)
        self._stack[-1].execute(statement, self._now)

    def _depth(self, file: str, statement: Statement) -> int | None:
        """The active call that a statement belongs to: a recursive function has several."""
        key = (file, statement.scope)
        found = [depth for depth, each in enumerate(self._stack) if each.key == key]
        return next(
            (depth for depth in reversed(found) if self._stack[depth].can_go_on(statement)), max(found, default=None)
        )

    def _enter(self, call: Activation, statement: Statement) -> None:
        goes_on = not statement.is_entry and statement.scope not in call.text.generators
        if goes_on:  # its beginning was not seen: the calls seen so far were made by it
            self._leave(0)
        else:
            self._return(call)
        if self._stack and self._stack[-1].path:
            self._stack[-1].path[-1].calls.append(call)
        else:
            self.roots.append(call)
        self._stack.append(call)

    def _return(self, call: Activation) -> None:
        """Return from calls that are over when another one begins, as nothing else records their end."""
        keys = [each.key for each in self._stack]
        if call.scope >= 0 and call.key in keys and call.scope not in call.text.recursive:
            self._leave(keys.index(call.key))
        while len(self._stack) > 1 and self._stack[-1].path[-1].source.number in self._stack[-1].text.quiet:
            self._leave(len(self._stack) - 1)

    def _settle(self, place: SourcePlace) -> None:
        """Return from calls that are over, given the place where the rank is."""
        found = [depth for depth, call in enumerate(self._stack) if call.is_at(place)]
        if found:
            self._leave(found[-1] + 1)
            self._stack[-1].settle(place, self._now)

    def _leave(self, depth: int, *, is_open: bool = False) -> None:
        for call in self._stack[depth:]:
            call.close(self._now, is_open=is_open)
        del self._stack[depth:]


def _last_place(rank: RankRecord) -> SourcePlace | None:
    """The user's line in which a rank ended."""
    if rank.pending is not None:
        at: Sequence[SourcePlace] = rank.pending.at
    else:
        at = rank.end.at if rank.end is not None else rank.stack
    return at[-1] if at else None
