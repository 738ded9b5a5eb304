"""The records of a trace, by their `kind`: the JSON that `rank/` writes."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

# File, line and function.
PlaceRow: TypeAlias = tuple[str, int, str]
# For one tensor, or for each of several.
Shape: TypeAlias = list[int] | list[list[int]]
# The name of a C++ collective, the shapes of its tensors, the members of its group (None for the world), its lines.
NativeRow: TypeAlias = tuple[str, list[list[int]], "list[int] | None", list[PlaceRow]]


class TraceRecord(TypedDict):
    """The fields of every record."""

    kind: str
    time: float


class CallRecord(TypedDict):
    number: int
    name: str
    group: list[int] | None
    op: str
    dtype: str | None
    shape: Shape | None
    device: str | None
    at: list[PlaceRow]


class StartRecord(TypedDict, total=False):
    pid: int
    variables: dict[str, str]


class ImportedRecord(TypedDict):
    modules: list[str]
    accelerator: bool


class SynchronisesRecord(TypedDict):
    begins: bool


class GroupRecord(TypedDict):
    world_size: int


class LogRecord(TypedDict):
    sink: str
    values: dict[str, float]
    at: list[PlaceRow]
    of_one_rank: list[str]


class LossRecord(TypedDict):
    value: float


class StepRecord(TypedDict, total=False):
    """shares: for sharded gradients, this rank's norm by the ranks that have the parts."""

    grad_norm: float | None
    shares: list[tuple[list[int], float]] | None


class StatusRecord(TypedDict):
    time: float
    status: int


class EndRecord(StatusRecord, total=False):
    """How a script ended, and what is known of the exception that ended it."""

    error: str
    said: str
    group: str
    at: list[PlaceRow]


class WeightsRecord(TypedDict, total=False):
    """shares: for each parameter, the ranks that have its parts (empty for a whole one)."""

    values: list[list[float]] | None
    shares: list[list[int]]
    replicas: list[int] | None


class NativeRecord(TypedDict):
    collectives: list[NativeRow]
    total: int


class ExitRecord(StatusRecord):
    asked_to_stop: bool


class PlacedRecord(TypedDict):
    file: str
    at: list[PlaceRow]


class PathRecord(TypedDict):
    path: str
    is_made: bool


class MarkedRecord(TypedDict):
    file: str
    source: str
    first: int
    count: int


class ShardedNumberRecord(TypedDict):
    value: float
    how: str
    group: list[int]
    at: list[PlaceRow]


class ShardedCopyRecord(TypedDict):
    norm: float
    sum: float
    size: int
    of: int
    group: list[int]
    at: list[PlaceRow]


class EmulatedRecord(TypedDict):
    what: str


class ScatteredRecord(TypedDict):
    given: int
    kept: int


class RowsRecord(TypedDict):
    data_set: int
    times: int
    rows: list[int] | None


class DataSetRecord(TypedDict):
    data_set: int
    holds: str


class TrainedRecord(TypedDict):
    data_set: int


class ShareRecord(TypedDict):
    rows: list[str] | None
    passes: int


class MachineRecord(TypedDict):
    gpus: int
    is_placed: bool
