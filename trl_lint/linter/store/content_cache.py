"""What follows from a content alone, kept between runs under what stands for that content."""

from __future__ import annotations

from trl_lint.linter.store.cache import Cache, digest

# How many contents are remembered.
MOST = 20_000


class ContentCache:
    """Answers, which are fit for JSON and never None. Those that were asked for last are kept."""

    def __init__(self, kept: Cache, name: str) -> None:
        self._kept = kept
        self._name = name
        loaded = kept.load(name)
        self._known: dict[str, object] = loaded if isinstance(loaded, dict) else {}
        self._asked: dict[str, object] = {}
        self._changed = False

    def of(self, content: bytes) -> object:
        """What is known of a content; None for nothing."""
        name = _short(content)
        known = self._asked.get(name, self._known.get(name))
        if known is not None:
            self._asked[name] = known
        return known

    def add(self, content: bytes, answer: object) -> None:
        self._asked[_short(content)] = answer
        self._changed = True

    def save(self) -> None:
        """Keep what was added."""
        if self._changed:
            unused = {name: known for name, known in self._known.items() if name not in self._asked}
            self._kept.save(self._name, dict([*unused.items(), *self._asked.items()][-MOST:]))
            self._changed = False


def _short(content: bytes) -> str:
    return digest(content)[:32]
