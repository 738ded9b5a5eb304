"""Results that depend only on a content, stored between runs under the digest of that content."""

from __future__ import annotations

from trl_lint.linter.store.cache import Cache, digest

# How many contents are stored.
MOST = 20_000


class ContentCache:
    """Answers, which are valid JSON and never None. Those used last are kept."""

    def __init__(self, cache: Cache, name: str) -> None:
        self._cache = cache
        self._name = name
        loaded = cache.load(name)
        self._known: dict[str, object] = loaded if isinstance(loaded, dict) else {}
        self._used: dict[str, object] = {}
        self._changed = False

    def of(self, content: bytes) -> object:
        """What is known of a content; None if nothing is."""
        name = _short(content)
        known = self._used.get(name, self._known.get(name))
        if known is not None:
            self._used[name] = known
        return known

    def add(self, content: bytes, answer: object) -> None:
        self._used[_short(content)] = answer
        self._changed = True

    def save(self) -> None:
        """Store what was added."""
        if self._changed:
            unused = {name: known for name, known in self._known.items() if name not in self._used}
            self._cache.save(self._name, dict([*unused.items(), *self._used.items()][-MOST:]))
            self._changed = False


def _short(content: bytes) -> str:
    return digest(content)[:32]
