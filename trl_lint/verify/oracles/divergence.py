"""Where ranks diverge: the branch or loop whose paths led to different collectives, or to a deadlock.

The executions of the ranks are compared as trees, from the outermost statement inwards. Two paths through a statement
that have the same effect are not reported: the same collectives, and the same place after it. So a branch or a loop
that ranks pass in different ways, but that does not affect where they are, is not blamed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trl_lint.verify.record.executed import Called
from trl_lint.verify.record.execution_tree import ERROR, Activation, BlockRun, Executing, ExecutionTree, Span
from trl_lint.verify.record.traces import Call, RankRecord, Run
from trl_lint.verify.record.verdicts import Evidence

Group: TypeAlias = "tuple[int, ...] | None"
# Statements whose keyword says where the execution continues.
_KEYWORDS = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue", ast.Raise: "raise"}
_GO = re.compile(r" goe?s? to line")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# The effect of a call that can be ignored in the comparison.
_NOTHING = ((), False, "")
_TRIES = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))


@dataclass(frozen=True, slots=True)
class RankBranch:
    """Where some ranks go: in words, and the line, if there is one."""

    ranks: tuple[int, ...]
    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class RankDivergence:
    """The place where ranks diverge: `kind` is branch, loop, except or call. text: all of it in one line."""

    kind: str
    file: str
    line: int
    at: str
    branches: tuple[RankBranch, ...]

    @property
    def text(self) -> str:
        each = [f"{ranks_in_words(branch.ranks)} {branch.text}" for branch in self.branches]
        if all(branch.line is not None for branch in self.branches) and self.kind != "except":  # "goes" is said once
            each[1:] = [_GO.sub(" to line", branch, count=1) for branch in each[1:]]
        return f"the ranks diverge {self.at}: {', '.join(each)}"

    @property
    def data(self) -> dict[str, Evidence]:
        ways = [{"ranks": list(branch.ranks), "line": branch.line, "text": branch.text} for branch in self.branches]
        return {"kind": self.kind, "file": self.file, "line": self.line, "ways": ways, "text": self.text}


def divergence_of(run: Run) -> RankDivergence | None:
    """Where the ranks of a run diverge; None if unknown."""
    waited = {rank.pending.group for rank in run.ranks if rank.pending is not None}
    for group in (*sorted(filter(None, waited), key=lambda each: (len(each), each)), None):
        ranks = [rank for rank in run.ranks if rank.executed.events and (group is None or rank.number in group)]
        for is_native in (False, True):
            try:
                found = _compare(ranks, group, is_native)
            except RecursionError:  # in the script itself
                return None
            if found is not None:
                return found
    return None


def evidence_of(run: Run) -> tuple[list[str], dict[str, Evidence]]:
    """The same as evidence of a verdict: its lines and its data."""
    found = divergence_of(run)
    return ([found.text], {"parting": found.data}) if found is not None else ([], {})


def ranks_in_words(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _compare(ranks: Sequence[RankRecord], group: Group, is_native: bool) -> RankDivergence | None:
    begins = _first_events(ranks)
    if len(ranks) < 2 or begins is None:
        return None
    trees = {rank.number: ExecutionTree(rank, begin) for rank, begin in zip(ranks, begins, strict=True)}
    return _Comparison(trees, group, is_native).of_calls({number: tree.roots for number, tree in trees.items()})


def _first_events(ranks: Sequence[RankRecord]) -> list[int] | None:
    """The first events to compare: the start, or after the first collective that is known on all ranks."""
    if all(rank.executed.is_whole for rank in ranks):
        return [0] * len(ranks)
    places = [
        {event.number: index for index, event in enumerate(rank.executed.events) if isinstance(event, Called)}
        for rank in ranks
    ]
    for calls_together in zip(*(rank.calls for rank in ranks), strict=False):
        if len({_kind(call) for call in calls_together}) > 1 or any(call.group is not None for call in calls_together):
            return None
        if all(call.number in known for call, known in zip(calls_together, places, strict=True)):
            return [known[call.number] + 1 for call, known in zip(calls_together, places, strict=True)]
    return None


def _kind(call: Call) -> tuple[str, str, Group]:
    return call.name, call.op, call.group


def _grouped(values: Mapping[int, object]) -> list[tuple[int, ...]]:
    """The ranks grouped by value, in order."""
    found: dict[object, list[int]] = {}
    for rank, value in sorted(values.items()):
        found.setdefault(value, []).append(rank)
    return [tuple(each) for each in found.values()]


class _Comparison:
    """Compares the trees of some ranks by the collectives of a group."""

    def __init__(self, trees: Mapping[int, ExecutionTree], group: Group, is_native: bool) -> None:
        self._trees = trees
        self._groups = {group, None}
        self._is_native = is_native

    def _effect(self, rank: int, span: Span, exit: str = "") -> tuple[object, ...]:
        """The effect of a part of a run: its collectives, whether the rank is still in it, and how it was left."""
        calls = self._trees[rank].rank.calls
        kinds: list[object] = []
        for number in self._trees[rank].called(span):
            if number is None:
                kinds += [None] * self._is_native
            elif calls[number].group in self._groups:
                kinds.append(_kind(calls[number]))
        return tuple(kinds), span.is_open, exit

    # --- blocks ---------------------------------------------------------------------------------------

    def of_blocks(self, blocks: Mapping[int, BlockRun]) -> RankDivergence | None:
        """Compare the executions of one block."""
        longest = max(len(block.items) for block in blocks.values())
        for index in range(longest):
            items = {rank: block.items[index] for rank, block in blocks.items() if index < len(block.items)}
            if len(items) < len(blocks) or len({item.source.number for item in items.values()}) > 1:
                return None
            exits = {
                rank: item.exit() if index + 1 == len(blocks[rank].items) and not item.is_open else ""
                for rank, item in items.items()
            }
            for rank, item in items.items():
                if not exits[rank] and not item.is_open and index + 1 == len(blocks[rank].items):
                    exits[rank] = "" if item.source.is_last or blocks[rank].is_open else ERROR
            if len({self._effect(rank, item, exits[rank]) for rank, item in items.items()}) > 1:
                return self._in_statement(items)
        return None

    def _in_statement(self, items: Mapping[int, Executing]) -> RankDivergence | None:
        """Compare the inside of one statement whose effects differ."""
        found = self.of_calls({rank: item.calls for rank, item in items.items()}, items)
        if found is not None:
            return found
        node = next(iter(items.values())).source.node
        if isinstance(node, (ast.If, ast.Match)):
            return self._of_branches(items)
        if isinstance(node, _LOOPS):
            return self._of_iterations(items)
        if isinstance(node, _TRIES):
            return self._of_try(items)
        return self._of_parts(items, "body")

    def _of_parts(self, items: Mapping[int, Executing], *parts: str) -> RankDivergence | None:
        for part in parts:
            blocks = {rank: block for rank, item in items.items() if (block := item.part(part))}
            found = self.of_blocks(blocks) if len(blocks) == len(items) else None
            if found is not None:
                return found
        return None

    def _of_branches(self, items: Mapping[int, Executing]) -> RankDivergence | None:
        groups = _grouped({rank: item.branch.name if item.branch else None for rank, item in items.items()})
        for ranks in groups:
            blocks = {rank: chosen for rank in ranks if (chosen := items[rank].branch)}
            differ = len({self._effect(rank, block, block.exit()) for rank, block in blocks.items()}) > 1
            found = self.of_blocks(blocks) if differ else None
            if found is not None:
                return found
        if len(groups) < 2:
            return None
        branches = [self._branch_taken(ranks, items[ranks[0]], ranks[0]) for ranks in groups]
        return self._divergence("branch", items, "after", branches)

    def _of_iterations(self, items: Mapping[int, Executing]) -> RankDivergence | None:
        iterations = {rank: item.iterations() for rank, item in items.items()}
        for index in range(min(map(len, iterations.values()))):
            blocks = {rank: each[index] for rank, each in iterations.items()}
            exits = {rank: each[index].exit() if index + 1 == len(each) else "" for rank, each in iterations.items()}
            exits_of_iteration = {rank: "" if exit == "continue" else exit for rank, exit in exits.items()}
            if len({self._effect(rank, block, exits_of_iteration[rank]) for rank, block in blocks.items()}) > 1:
                return self.of_blocks(blocks)
        counts = {rank: len(each) for rank, each in iterations.items()}
        if len(set(counts.values())) < 2:
            return self._of_parts(items, "orelse")
        branches = [RankBranch(ranks, _iterations_in_words(counts, ranks)) for ranks in _grouped(counts)]
        return self._divergence("loop", items, "at", sorted(branches, key=lambda way: counts[way.ranks[0]]))

    def _of_try(self, items: Mapping[int, Executing]) -> RankDivergence | None:
        handlers = {rank: item.part("handlers") for rank, item in items.items()}
        inner = self._of_parts(items, "body")
        groups = _grouped({rank: handler.name if handler else None for rank, handler in handlers.items()})
        if inner is not None or len(groups) < 2:
            return inner or self._of_parts(items, "handlers", "orelse", "finalbody")
        branches = []
        for ranks in groups:
            item, handler = items[ranks[0]], handlers[ranks[0]]
            body = item.part("body")
            if handler is not None and body is not None:
                branches.append(_to_handler(ranks, body, handler))
            else:
                branches.append(RankBranch(ranks, "goes on" if len(ranks) == 1 else "go on"))
        return self._divergence("except", items, "in", branches)

    # --- calls ----------------------------------------------------------------------------------------

    def of_calls(
        self, calls: Mapping[int, Sequence[Activation]], items: Mapping[int, Executing] | None = None
    ) -> RankDivergence | None:
        """Compare calls, those from one statement or those without a recorded caller, one by one."""
        at = dict.fromkeys(calls, 0)
        while True:
            now = {rank: each[at[rank]] if at[rank] < len(each) else None for rank, each in calls.items()}
            if not any(now.values()):
                return None
            spans = {rank: call for rank, call in now.items() if call is not None}
            effects = {rank: self._effect(rank, call, _raised(call)) for rank, call in spans.items()}
            if len(spans) == len(calls) and len({call.key for call in spans.values()}) == 1:
                if len(set(effects.values())) > 1:
                    return self.of_blocks({rank: call.body for rank, call in spans.items()})
                skipped: Sequence[int] = list(calls)
            else:
                left = {rank: [call.key for call in each[at[rank] :]] for rank, each in calls.items()}
                skipped = _ranks_to_skip(left, [rank for rank, each in effects.items() if each == _NOTHING])
                if not skipped:
                    return self._of_callees(now, items) if items else None
            for rank in skipped:
                at[rank] += 1

    def _of_callees(
        self, now: Mapping[int, Activation | None], items: Mapping[int, Executing]
    ) -> RankDivergence | None:
        """One statement has called different functions; None if a rank may still be about to call one."""
        if any(call is None and items[rank].is_open for rank, call in now.items()):
            return None
        branches = []
        for ranks in _grouped({rank: call.key if call else None for rank, call in now.items()}):
            call = now[ranks[0]]
            if call is None or not call.all:
                branches.append(RankBranch(ranks, "goes on" if len(ranks) == 1 else "go on"))
            else:
                line = call.all[0].source.line
                branches.append(
                    RankBranch(ranks, f"{_go(ranks)} to line {line} ({call.text.function(call.scope)})", line)
                )
        return self._divergence("call", items, "in", branches)

    # --- words ----------------------------------------------------------------------------------------

    def _divergence(
        self, kind: str, items: Mapping[int, Executing], how: str, branches: Sequence[RankBranch]
    ) -> RankDivergence:
        item = next(iter(items.values()))
        rank = next(iter(items))
        call = self._owner(rank, item)
        header = call.text.header(item.source)
        at = f"{how} {os.path.basename(call.file)}:{item.source.line} `{header}`"
        return RankDivergence(kind, call.file, item.source.line, at, tuple(branches))

    def _owner(self, rank: int, item: Executing) -> Activation:
        """The call in which a statement was executed."""
        return next(call for call in _all_calls(self._trees[rank].roots) if item in call.all)

    def _branch_taken(self, ranks: tuple[int, ...], item: Executing, rank: int) -> RankBranch:
        """Where a branch leads: to the first statement of its block, or to the code after it."""
        block = item.branch
        while block is not None and block.items[0].source.is_elif:
            item, block = block.items[0], block.items[0].branch
        call = self._owner(rank, item)
        target = block.items[0] if block else next((each for each in call.all if each.start >= item.end), None)
        if target is None:
            return RankBranch(ranks, f"{_go(ranks)} on")
        node = target.source.node
        keyword = f" (`{_KEYWORDS[type(node)]}`)" if type(node) in _KEYWORDS else ""
        return RankBranch(ranks, f"{_go(ranks)} to line {target.source.line}{keyword}", target.source.line)


def _all_calls(calls: Sequence[Activation]) -> Iterator[Activation]:
    waiting = list(calls)
    while waiting:
        call = waiting.pop()
        yield call
        waiting += [each for item in call.all for each in item.calls]


def _raised(call: Activation) -> str:
    """How an exception has left a call; "" if none has."""
    exit = call.body.exit()
    return exit if exit in ("raise", ERROR) else ""


def _ranks_to_skip(left: Mapping[int, Sequence[tuple[str, int]]], ranks: Sequence[int]) -> Sequence[int]:
    """The ranks to skip ahead, among those whose next call has no effect, so that the others wait for the same call.

    left: by rank, the functions that are still called. A rank skips a function that the others do not call, or of which
    it has more calls.
    """
    without_match = [rank for rank in ranks if not all(left[rank][0] in each for each in left.values())]
    most = max((len(left[rank]) for rank in ranks), default=0)
    return without_match or [rank for rank in ranks if len(left[rank]) == most]


def _go(ranks: Sequence[int]) -> str:
    return "goes" if len(ranks) == 1 else "go"


def _iterations_in_words(counts: Mapping[int, int], ranks: Sequence[int]) -> str:
    count = counts[ranks[0]]
    if count == max(counts.values()):
        return f"{_go(ranks)} on"
    leave = "leaves" if len(ranks) == 1 else "leave"
    return f"{leave} the loop after {count} round{'s' * (count != 1)}"


def _to_handler(ranks: tuple[int, ...], body: BlockRun, handler: BlockRun) -> RankBranch:
    begin, end = body.items[-1].source.line, handler.items[0].source.line
    fail = "fails" if len(ranks) == 1 else "fail"
    return RankBranch(ranks, f"{fail} at line {begin} and {_go(ranks)} to line {end} (`except`)", end)
