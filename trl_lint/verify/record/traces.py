"""The traces of the ranks of one run, read back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from trl_lint.verify.rank import call_stack
from trl_lint.verify.rank.trace import output_path, stacks_path, trace_path
from trl_lint.verify.record import executed, sharded, stacks
from trl_lint.verify.record.executed import Executed, MarkedFile
from trl_lint.verify.record.sharded import CopyRead, NumberRead, Shares
from trl_lint.verify.record.trace_files import records, text
from trl_lint.verify.record.trace_records import (
    CallRecord,
    DataSetRecord,
    EmulatedRecord,
    EndRecord,
    ExitRecord,
    GroupRecord,
    ImportedRecord,
    LogRecord,
    LossRecord,
    MachineRecord,
    MarkedRecord,
    NativeRecord,
    PathRecord,
    PlacedRecord,
    PlaceRow,
    RowsRecord,
    ScatteredRecord,
    Shape,
    ShardedCopyRecord,
    ShardedNumberRecord,
    ShareRecord,
    StartRecord,
    StepRecord,
    SynchronisesRecord,
    TraceRecord,
    TrainedRecord,
    WeightsRecord,
)

# The last output of C++ when it aborts: the type of the exception, then its message.
_ABORTED = re.compile(r"terminate called after throwing an instance of '([^']+)'\s*\n\s*what\(\):\s*(.+)")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line} ({self.function})"


@dataclass(frozen=True, slots=True)
class Call:
    """One collective. `group` is None for the world; `shape` is None without tensors."""

    number: int
    name: str
    group: tuple[int, ...] | None
    op: str
    dtype: str | None
    shape: Shape | None
    device: str | None
    at: tuple[SourcePlace, ...]

    def __str__(self) -> str:
        tensor = f" {self.dtype}{self.shape}" if self.shape is not None else ""
        reduction = self.op.rpartition(".")[2]
        return f"{self.name}{tensor}" + (f" ({reduction.lower()})" if reduction not in ("", "SUM") else "")


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A collective that was not called from Python. `group` is None for the world."""

    name: str
    shapes: list[list[int]]
    group: tuple[int, ...] | None = None
    at: tuple[SourcePlace, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {' '.join(map(str, self.shapes))}"


@dataclass(frozen=True, slots=True)
class Log:
    """The numbers passed in one call of a log sink. of_one_rank: those that a library computes per rank."""

    sink: str
    values: dict[str, float]
    at: tuple[SourcePlace, ...]
    of_one_rank: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A file that a rank wrote, or moved to its final name."""

    file: str
    at: tuple[SourcePlace, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A batch that a rank trained on: digests of its rows, and the pass over the data (0 if unknown)."""

    passes: int
    rows: list[str]


@dataclass(frozen=True, slots=True)
class End:
    """How a script ended: its exit status, and the exception that ended it, if there was one.

    group: the message of the process group, if that led to it.
    """

    time: float
    status: int
    error: str = ""
    message: str = ""
    group: str = ""
    at: tuple[SourcePlace, ...] = ()


@dataclass
class RankRecord:
    """One rank of a run. `exit` is its process's status, negative for a signal.

    asked_to_stop: by torchrun, or by whatever runs it. process: the one that runs the script. synchronises: it may
    wait for others without calling a collective: in a backward pass, for a message, for what it began before. moved:
    it read the share of another rank. scattered: for the first batch of which DataParallel lost rows, how many rows
    there were and how many it kept. marked: the files whose execution is recorded in `executed`. compiled: the
    record is incomplete, as torch has compiled some code. share: the inputs of a model in DDP, by batch (`shares.py`).
    dealt: by data set and number of the pass over it, the rows of each batch, None if they have no numbers. data_sets:
    a digest of the content of each. trained: those that were trained on (`dealing.py`). mixes_rows: the output for a
    row depends on its batch. low_precision: it computes in less than 32 bits. norms: those of gradients returned to the
    script. gpus: how many it sees, None if it ended before. is_placed: accelerate places its tensors. asks_for_gpus:
    its own code checks for GPUs. grad_shares: by step, this rank's parts of sharded gradients; weight_shares: by
    parameter, the ranks that have its parts; replicas: by parameter, its number among those that DDP keeps the same,
    None if not all are; numbers_read, copies_read: what the script read from DTensors. emulated: what ran without the
    device that it is made for. variables: those that the launcher has set. imported: installed modules; accelerator:
    there was one. created: new files; removed: existing ones that it moved or removed.
    """

    number: int
    output: str = ""
    calls: list[Call] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    logs: list[Log] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    grad_norms: list[float | None] = field(default_factory=list)
    weights: list[list[float]] | None = None
    replicas: tuple[int, ...] | None = None
    grad_shares: list[Shares | None] = field(default_factory=list)
    weight_shares: list[tuple[int, ...]] = field(default_factory=list)
    numbers_read: list[NumberRead] = field(default_factory=list)
    copies_read: list[CopyRead] = field(default_factory=list)
    native: list[NativeCall] | None = None
    native_total: int = 0
    world_size: int = 1
    end: End | None = None
    exit: int | None = None
    exit_time: float = 0.0
    asked_to_stop: bool = False
    process: int = 0
    synchronises: bool = False
    moved: bool = False
    scattered: tuple[int, int] | None = None
    emulated: str = ""
    share: list[Share] = field(default_factory=list)
    dealt: dict[tuple[int, int], list[list[int] | None]] = field(default_factory=dict)
    data_sets: dict[int, str] = field(default_factory=dict)
    trained: set[int] = field(default_factory=set)
    mixes_rows: bool = False
    low_precision: bool = False
    norms: list[float] = field(default_factory=list)
    gpus: int | None = None
    is_placed: bool = False
    asks_for_gpus: bool = False
    marked: list[MarkedFile] = field(default_factory=list)
    compiled: bool = False
    executed: Executed = field(default_factory=Executed)
    stack: tuple[SourcePlace, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    imported: tuple[str, ...] | None = None
    accelerator: bool = False

    @property
    def ended_well(self) -> bool:
        return self.end is not None and self.end.status == 0

    @property
    def pending(self) -> Call | None:
        """The collective that this rank was in when it ended."""
        last = self.calls[-1] if self.calls else None
        return last if last is not None and last.number not in self.done else None

    @cached_property
    def aborted(self) -> tuple[str, str] | None:
        """The exception of an abort in C++: type and message."""
        found = _ABORTED.search(self.output)
        return (found[1], " ".join(found[2].split())) if found else None


@dataclass
class Run:
    """The ranks of one run whose traces are on this machine.

    stuck: it was stopped because its ranks waited for each other in vain. unsteady: the metrics, by log sink and name,
    that differ on the same rank when the same run is repeated.
    """

    ranks: list[RankRecord]
    seconds: float = 0.0
    folder: Path | None = None
    # Why the run was stopped from outside.
    stopped: str = ""
    stuck: bool = False
    unsteady: frozenset[tuple[str, str]] = frozenset()

    @property
    def world_size(self) -> int:
        return max((rank.world_size for rank in self.ranks), default=0)


def read_run(folder: Path, user_files: call_stack.UserFiles, *, is_over: bool = True) -> Run:
    """Read what the ranks of one run wrote to a folder; execution records only if the run is over."""
    found = sorted(int(path.stem[len("rank") :]) for path in folder.glob("rank*.jsonl"))
    run = Run([_read_rank(str(folder), number, user_files) for number in found], folder=folder)
    for rank in run.ranks if is_over else ():
        rank.executed = executed.read(str(folder), rank.number, rank.marked, is_sure=not rank.compiled)
    sharded.put_together(run.ranks)
    return run


def _read_rank(folder: str, number: int, user_files: call_stack.UserFiles) -> RankRecord:
    rank = RankRecord(number, output=text(output_path(folder, number)))
    for record in records(trace_path(folder, number)):
        _READERS.get(record["kind"], _ignore)(rank, record)
    rank.stack = _places(call_stack.relevant(stacks.of_main_thread(text(stacks_path(folder, number))), user_files))
    return rank


def _places(given: Iterable[PlaceRow]) -> tuple[SourcePlace, ...]:
    return tuple(SourcePlace(*each) for each in given)


def _numbers(found: list[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)


def _call(rank: RankRecord, record: CallRecord) -> None:
    rank.calls.append(
        Call(
            number=record["number"],
            name=record["name"],
            group=_numbers(record["group"]),
            op=record["op"],
            dtype=record["dtype"],
            shape=record["shape"],
            device=record["device"],
            at=_places(record["at"]),
        )
    )


def _start(rank: RankRecord, record: StartRecord) -> None:
    rank.process, rank.variables = record.get("pid", 0), record.get("variables", {})


def _imported(rank: RankRecord, record: ImportedRecord) -> None:
    rank.imported, rank.accelerator = tuple(record["modules"]), record["accelerator"]


def _done(rank: RankRecord, record: TraceRecord) -> None:
    rank.done.add(rank.calls[-1].number)


def _group(rank: RankRecord, record: GroupRecord) -> None:
    rank.world_size = record["world_size"]


def _compiled(rank: RankRecord, record: TraceRecord) -> None:
    rank.compiled = True


def _moved(rank: RankRecord, record: TraceRecord) -> None:
    rank.moved = True


def _loss(rank: RankRecord, record: LossRecord) -> None:
    rank.losses.append(record["value"])


def _step(rank: RankRecord, record: StepRecord) -> None:
    rank.grad_norms.append(record["grad_norm"])
    shares = [(tuple(group), norm) for group, norm in record.get("shares") or ()]
    rank.grad_shares.append(shares or None)


def _placed(rank: RankRecord, record: PlacedRecord) -> None:
    rank.placed.append(Placed(record["file"], _places(record["at"])))


def _marked(rank: RankRecord, record: MarkedRecord) -> None:
    rank.marked.append(MarkedFile(record["file"], record["source"], record["first"], record["count"]))


def _emulated(rank: RankRecord, record: EmulatedRecord) -> None:
    rank.emulated = record["what"]


def _path(rank: RankRecord, record: PathRecord) -> None:
    (rank.created if record["is_made"] else rank.removed).append(record["path"])


def _norm(rank: RankRecord, record: LossRecord) -> None:
    rank.norms.append(record["value"])


def _machine(rank: RankRecord, record: MachineRecord) -> None:
    rank.gpus, rank.is_placed = record["gpus"], record["is_placed"]


def _flag(name: str) -> _Reader:
    """A reader of a record that only sets a flag."""
    return lambda rank, record: setattr(rank, name, True)


def _share(rank: RankRecord, record: ShareRecord) -> None:
    if record["rows"] is not None:
        rank.share.append(Share(record["passes"], record["rows"]))


def _rows(rank: RankRecord, record: RowsRecord) -> None:
    rank.dealt.setdefault((record["data_set"], record["times"]), []).append(record["rows"])


def _data_set(rank: RankRecord, record: DataSetRecord) -> None:
    rank.data_sets[record["data_set"]] = record["holds"]


def _trained(rank: RankRecord, record: TrainedRecord) -> None:
    rank.trained.add(record["data_set"])


def _scattered(rank: RankRecord, record: ScatteredRecord) -> None:
    rank.scattered = (record["given"], record["kept"])


def _synchronises(rank: RankRecord, record: SynchronisesRecord) -> None:
    rank.synchronises = record["begins"]


def _log(rank: RankRecord, record: LogRecord) -> None:
    of_one_rank = tuple(record.get("of_one_rank", ()))
    rank.logs.append(Log(record["sink"], record["values"], _places(record["at"]), of_one_rank))


def _end(rank: RankRecord, record: EndRecord) -> None:
    rank.end = End(
        time=record["time"],
        status=record["status"],
        error=record.get("error", ""),
        message=record.get("said", ""),
        group=record.get("group", ""),
        at=_places(record.get("at", ())),
    )


def _weights(rank: RankRecord, record: WeightsRecord) -> None:
    rank.weights, rank.replicas = record["values"], _numbers(record["replicas"])
    rank.weight_shares = [tuple(group) for group in record.get("shares", ())]


def _sharded_number(rank: RankRecord, record: ShardedNumberRecord) -> None:
    group, at = tuple(record["group"]), _places(record["at"])
    rank.numbers_read.append(NumberRead(record["value"], record["how"], group, at))


def _sharded_copy(rank: RankRecord, record: ShardedCopyRecord) -> None:
    group, at = tuple(record["group"]), _places(record["at"])
    norm, total, size, of = record["norm"], record["sum"], record["size"], record["of"]
    rank.copies_read.append(CopyRead(norm, total, size, of, group, at, len(rank.logs)))


def _native(rank: RankRecord, record: NativeRecord) -> None:
    rows = record["collectives"]
    rank.native = [NativeCall(name, shapes, _numbers(group), _places(at)) for name, shapes, group, at in rows]
    rank.native_total = record.get("total", 0)


def _exit(rank: RankRecord, record: ExitRecord) -> None:
    rank.exit, rank.asked_to_stop, rank.exit_time = record["status"], record["asked_to_stop"], record["time"]


def _ignore(rank: RankRecord, record: TraceRecord) -> None:
    pass


# The reader of each kind of record.
_Reader: TypeAlias = Callable[[RankRecord, Any], None]
_READERS: dict[str, _Reader] = {
    "asks_for_gpus": _flag("asks_for_gpus"),
    "mixes_rows": _flag("mixes_rows"),
    "call": _call,
    "compiled": _compiled,
    "data_set": _data_set,
    "done": _done,
    "emulated": _emulated,
    "end": _end,
    "exit": _exit,
    "group": _group,
    "imported": _imported,
    "log": _log,
    "loss": _loss,
    "low_precision": _flag("low_precision"),
    "machine": _machine,
    "moved": _moved,
    "norm": _norm,
    "native": _native,
    "path": _path,
    "placed": _placed,
    "rows": _rows,
    "marked": _marked,
    "scattered": _scattered,
    "sharded_copy": _sharded_copy,
    "sharded_number": _sharded_number,
    "share": _share,
    "start": _start,
    "step": _step,
    "synchronises": _synchronises,
    "trained": _trained,
    "weights": _weights,
}
