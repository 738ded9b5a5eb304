"""Known constants of a value, and constants that follow from how many ranks there are.

`world_size > 1` is true whenever several ranks run, whatever their number: its constant is `WORLD_TRUE`. `rank == 0`
has no constant, as it differs between ranks; on a single process it is true, which `ONE_PROCESS_TRUE` says.
"""

from __future__ import annotations

from typing import Any


class World:
    """A constant that follows from the assumption that there is more than one rank."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


WORLD_SIZE = World("world size")  # some number > 1
WORLD_KIND = World("a kind of distributed run")  # a DistributedType other than NO
WORLD_TRUE = World("true for several ranks")
WORLD_FALSE = World("false for several ranks")


class GivenNumber:
    """A number that is certain where it is read, so that comparisons of it are decided: that of a field of a setting,
    or of the elements that a list is written with.

    Those of other constants are open: `epochs = 1` says what the code is tried with, and not what it is for.
    """

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenNumber) and self.value == other.value

    def __hash__(self) -> int:
        return hash((GivenNumber, self.value))

    def __repr__(self) -> str:
        return f"given {self.value}"


class BareRun:
    """The answer of a test for the kind of distributed run, if the run is of a kind in which no model is wrapped."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{self.value} where no model is wrapped"


BARE_TRUE, BARE_FALSE = BareRun(True), BareRun(False)


class OnOneProcess:
    """The value that a rank-dependent number or test has on a single process."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{self.value} on one process"


ONE_PROCESS_FIRST, ONE_PROCESS_TRUE, ONE_PROCESS_FALSE = OnOneProcess(0), OnOneProcess(True), OnOneProcess(False)


class NoneOnSome:
    """The constant of a value that is None on the ranks that took one branch, and not on the others."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "None on some ranks"


NONE_ON_SOME = NoneOnSome()


class Created:
    """What is known of an object that the code has certainly created: it is not None, and it is true.

    accelerator = Accelerator()                                 known
    accelerator = Accelerator() if args.accelerate else None    not known
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "an object"


CREATED = Created()


class Present:
    """What is known of the result of `batch.to(device)`: it is not None. Whether it is true is not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "not None"


PRESENT = Present()


class LeftOut:
    """What is known of the empty list that a parameter has by default, where a call leaves it out.

    def init_net(net, gpu_ids=[]):
        if len(gpu_ids) > 0:            init_net(net): no call adds anything to it before
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "an empty list, as the call leaves it out"


LEFT_OUT = LeftOut()


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


# No constant is known (None is a constant). A constant is anything that Python compares and hashes.
MISSING: Any = _Missing()
# Constants that say nothing of a value, but that it is there.
OPEN = frozenset({MISSING, PRESENT})
