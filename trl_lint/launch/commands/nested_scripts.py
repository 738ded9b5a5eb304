"""Scripts that are one word of a command: `bash -c '…'`, `sbatch --wrap="…"`."""

from __future__ import annotations

from trl_lint.launch.commands.commands import Word
from trl_lint.launch.commands.source_map import Passage, align


def script_of(word: Word, passage: Passage) -> Passage | None:
    """The script in `word`, whose text including quotes is `passage`; None if it can't be read."""
    option = _option(word)
    start, end = option, len(passage.text)
    if end - start >= 2 and passage.text[start] in "\"'" and passage.text[end - 1] == passage.text[start]:
        start, end = start + 1, end - 1
    inner = passage.part(start, end)
    if "\\" not in inner.text:
        return inner
    if word.value is None:
        return None
    first, last, exact = passage.span(start, end)
    return align(passage.file, first, last, word.value[option:]) if exact else None


def _option(word: Word) -> int:
    """The length of the `--wrap=` in front of the script."""
    return len("--wrap=") if word.raw.startswith("--wrap=") else 0
