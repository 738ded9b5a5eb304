"""Whether a file has comments that silence findings at all: a search in the bytes, before anything is tokenized."""

from __future__ import annotations

_LONG_FORM = b"trl-lint:"


def may_silence(source: bytes) -> bool:
    """Whether a text contains `noqa` or `trl-lint: ignore`, in any case."""
    low = source.lower()
    return b"noqa" in low or (_LONG_FORM in low and any(map(_begins_with_ignore, low.split(_LONG_FORM)[1:])))


def _begins_with_ignore(rest: bytes) -> bool:
    return rest.lstrip(b" \t").startswith(b"ignore")
