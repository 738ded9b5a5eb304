"""Text inside a file, such as a script in a YAML string or a fenced block, with the position of each character."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# The meaning of `\n` and `\u00e9` inside quotes, in every host language that is read.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_CODE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8}))")
_LINE_END = re.compile(r"\r\n|\r|\n")


def line_starts(text: str) -> list[int]:
    """The offsets at which the lines of a text begin; the last one may be its end."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


@dataclass(frozen=True, slots=True)
class Passage:
    """`text`, whose character i is at offset `at[i]` of `file`. `at` is one longer than the text."""

    file: str
    text: str
    at: Sequence[int]

    @classmethod
    def whole(cls, file: str) -> Passage:
        return cls(file, file, range(len(file) + 1))

    @classmethod
    def between(cls, file: str, start: int, end: int) -> Passage:
        return cls(file, file[start:end], range(start, end + 1))

    def part(self, start: int, end: int) -> Passage:
        """The piece of this passage from `start` to `end`, as indices into its own text."""
        return Passage(self.file, self.text[start:end], self.at[start : end + 1])

    def span(self, start: int, end: int) -> tuple[int, int, bool]:
        """The span of a piece in the file, and whether the file has exactly its text there."""
        if start >= end:
            return self.at[start], self.at[start], False
        first, last = self.at[start], self.at[end - 1] + 1
        return first, last, self.file[first:last] == self.text[start:end]

    def replaced(self, pattern: re.Pattern[str], by: Callable[[str], str]) -> Passage:
        """The passage with each match replaced by text of the same length: positions stay, but are not exact."""
        text = pattern.sub(lambda match: by(match[0]), self.text)
        assert len(text) == len(self.text)
        return Passage(self.file, text, self.at)


def joined(passages: Sequence[Passage]) -> Passage:
    """The concatenation of passages of one file."""
    at = array("q")
    for each in passages:
        at.extend(each.at[: len(each.text)])
    at.append(passages[-1].at[len(passages[-1].text)])
    return Passage(passages[0].file, "".join(each.text for each in passages), at)


def opaque(text: str) -> str:
    """A shell expansion of the same length with an unknown value, to replace a template's placeholder."""
    return "${" + "_" * (len(text) - 3) + "}" if len(text) > 3 else "$" + "_" * (len(text) - 1)


def align(file: str, start: int, end: int, value: str) -> Passage | None:
    """`value` as it is written between `start` and `end`: quoted, escaped, folded or indented by its host language.

    None if its characters can't be found there in order.
    """
    at = array("q")
    place = start
    for index, character in enumerate(value):
        place, found = _next(file, place, end, character, value[index - 1] if index else "")
        if found is None:
            return None
        at.append(found)
    at.append(at[-1] + 1 if at else start)
    return Passage(file, value, at)


def _next(file: str, place: int, end: int, character: str, before: str) -> tuple[int, int | None]:
    """Where to continue, and where `character` is at or after `place`."""
    while place < end:
        current = file[place]
        if current == "\\" and place + 1 < end and _ESCAPES.get(file[place + 1], "") == character:
            return place + 2, place
        if current == "\\" and (coded := _coded(file, place, end, character)):
            return coded, place
        if current == character:
            return _end_of_character(file, place, character), place
        if character in " \n" and current in " \t\r\n":
            return place + 1, place
        # Indentation, the backslash of an escape, and the second of two quotes correspond to no character.
        if current not in " \t\r\n\\" and not (current == "'" == before):
            return place, None
        place += 1
    return place, None


def _coded(file: str, place: int, end: int, character: str) -> int | None:
    """The end of the numeric escape for `character`, which may be a surrogate pair."""
    match = _CODE.match(file, place, end)
    if match is None:
        return None
    if match[1] and match[2] and ord(character) > 0xFFFF:
        high, low = int(match[1], 16), int(match[2], 16)
        return match.end() if 0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00 == ord(character) else None
    digits = next(each for each in (match[1], match[3], match[4]) if each)
    return place + 2 + len(digits) if int(digits, 16) == ord(character) else None


def _end_of_character(file: str, place: int, character: str) -> int:
    escaped_backslash = character == "\\" and file[place + 1 : place + 2] == "\\"
    return place + 2 if escaped_backslash else place + 1


def line_spans(text: str) -> list[tuple[int, int]]:
    """The start of each line, and of the next one."""
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        found.append((start, min(start + len(line) + 1, len(text))))
        start += len(line) + 1
    return found


def splitlines_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and the end of each line, for all line ends that `str.splitlines` knows."""
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line)
        start += len(line)
