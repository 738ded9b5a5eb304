"""One of several classes, where which one it is depends on a setting.

cls = CLIPTextModel if args.small else T5EncoderModel      OneOfClasses({both}), of libraries
cls.from_pretrained(path)                                  a model, as either gives one
cls = LazyRows if args.lazy else Rows                      OneOfOwnClasses((both,)), of the project
cls(rows)                                                  what is known of both that are made of the rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryName, ModuleValue
from trl_lint.domain.values import Facts, Kind, Value

if TYPE_CHECKING:
    from typing_extensions import Unpack


class OneOfClasses(ModuleValue):
    """One of some classes of libraries, whichever was chosen: `names` are theirs."""

    __slots__ = ("names",)
    parts: ClassVar[dict[str, object]] = {"names": frozenset()}

    def __init__(self, names: frozenset[str], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.names = names


class OneOfOwnClasses(Value):
    """One of some classes of the project, whichever was chosen: `options` are they."""

    __slots__ = ("options",)
    kind = Kind.CLASS
    parts: ClassVar[dict[str, object]] = {"options": ()}

    def __init__(self, options: tuple[Value, ...], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.options = options


# So many classes are told apart.
_MAX_OPTIONS = 4


def one_of_own(a: Value, b: Value) -> OneOfOwnClasses | None:
    """What is one of these classes of the project; None where these are too many."""
    known = _options(a)
    options = (*known, *(each for each in _options(b) if not any(map(each.same_parts, known))))
    return a.as_a(OneOfOwnClasses).having(options) if len(options) <= _MAX_OPTIONS else None


def _options(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, OneOfOwnClasses) else (value,)


def classes_of(value: Value) -> frozenset[str]:
    """The dotted names of the library's class, or classes, that a value may be; empty for all else."""
    if isinstance(value, OneOfClasses):
        return value.names
    is_class = isinstance(value, LibraryName) and value.name.rpartition(".")[2][:1].isupper()
    return frozenset({value.name}) if is_class and isinstance(value, LibraryName) else frozenset()
