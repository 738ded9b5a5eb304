"""The names of calls that write files where they are told to, from the rows and effects that say so."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.knowledge import effects, library
from trl_lint.knowledge.schema import Effect

# How the names begin that say as much by themselves; `train`, `pipe` or `write` are names of much else.
_BEGIN = ("dump", "imsave", "imwrite", "save", "to_", "tofile", "write_")
_DOES = "writes the same file"


def _effects() -> Iterator[tuple[str, Effect]]:
    yield from ((row.name.rpartition(".")[2], row.effect) for row in library.ROWS if row.effect is not None)
    yield from effects.METHODS.items()
    yield from effects.OF_MODELS.items()


WRITING_CALLS = frozenset(
    name for name, effect in _effects() if effect.does.startswith(_DOES) and name.startswith(_BEGIN)
)
