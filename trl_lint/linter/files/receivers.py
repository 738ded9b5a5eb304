"""Receivers: files that name no library, but train or evaluate a model that a function of another file has wrapped.

    setup.py    def setup(config):                            analysed: it names the wrapper
                    model = build(config)
                    if config.data_parallel:
                        model = nn.DataParallel(model)
                    return model, build_loader(config)
    train.py    from setup import setup                       a receiver: it names no library, but its model is wrapped
                model, loader = setup(config)
                for batch in loader:
                    loss = model.loss(batch)
                    loss.backward()

They are found by the names of the functions alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

# A file that trains or evaluates calls one of these methods.
_TRAINS = (b".backward(", b".train(", b".eval(")
_WRAPPERS = (b"DataParallel(", b"DDP(")
_IMPORT = rb"from[ \t]+[\w.]+[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
_IMPORTED = rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?"
_FUNCTION = rb"^def[ \t]+(\w+)[ \t]*\("
_WRAPS = rb"^[ \t]+(\w+)[ \t]*=[ \t]*[\w.]*(?:DataParallel|DDP)\("


def called_by_trainer(source: bytes) -> tuple[bytes, ...]:
    """The names of what a file imports by `from` and calls, if it trains or evaluates something."""
    if not any(call in source for call in _TRAINS):
        return ()
    return tuple(dict.fromkeys(name for own, name in imported(source).items() if own + b"(" in source))


def imported(source: bytes) -> dict[bytes, bytes]:
    """The names that a file imports by `from`, by the file's own names for them."""
    found = (each for line in re.finditer(_IMPORT, source) for each in re.findall(_IMPORTED, line[1]))
    return {alias or name: name for name, alias in found}


def returning_wrapped(sources: Iterable[bytes]) -> frozenset[bytes]:
    """The names of the functions in these files that return a model which they wrap."""
    wrapping = (source for source in sources if any(call in source for call in _WRAPPERS))
    return frozenset(name for source in wrapping for name in _returning_wrapped(source))


def _returning_wrapped(source: bytes) -> Iterator[bytes]:
    for name, code in _functions_of(source):
        body, _, returned = code.rpartition(b"return")
        models = {each[1] for each in re.finditer(_WRAPS, body, re.MULTILINE)}
        if models and not models.isdisjoint(re.findall(rb"\w+", returned)):
            yield name


def _functions_of(source: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The functions of a file by name, each with the text from its parameters to the next function."""
    starts = [*re.finditer(_FUNCTION, source, re.MULTILINE)]
    for start, following in zip_longest(starts, starts[1:]):
        yield start[1], source[start.end() : len(source) if following is None else following.start()]
