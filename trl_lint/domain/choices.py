"""One of several classes of libraries, where which one it is depends on a setting.

cls = CLIPTextModel if args.small else T5EncoderModel      OneOfClasses({both})
cls.from_pretrained(path)                                  a model, as either gives one
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryName, ModuleValue
from trl_lint.domain.values import Facts, Value

if TYPE_CHECKING:
    from typing_extensions import Unpack


class OneOfClasses(ModuleValue):
    """One of some classes of libraries, whichever was chosen: `names` are theirs."""

    __slots__ = ("names",)
    parts: ClassVar[dict[str, object]] = {"names": frozenset()}

    def __init__(self, names: frozenset[str], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.names = names


def classes_of(value: Value) -> frozenset[str]:
    """The dotted names of the library's class, or classes, that a value may be; empty for all else."""
    if isinstance(value, OneOfClasses):
        return value.names
    is_class = isinstance(value, LibraryName) and value.name.rpartition(".")[2][:1].isupper()
    return frozenset({value.name}) if is_class and isinstance(value, LibraryName) else frozenset()
