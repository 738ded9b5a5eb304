"""What the comments of a shell script say: options for Slurm, and notes about a command."""

from __future__ import annotations

import re
import shlex

from trl_lint.launch.commands.commands import Hint, HintKind

_BATCH = re.compile(r"^[ \t]*#SBATCH[ \t]+(.+)$", re.MULTILINE)
# The comment lines at the end of a text that no empty line separates from what follows.
_LAST_LINES = re.compile(r"(?:[ \t]*#[^\n]*\n)+\Z")
# Lines that begin like this are not comments.
_OPTIONS = ("#!", "#SBATCH")
# How much of a script's own comments is read, and shown.
_MOST_SAID, _MOST_SHOWN = 4_000, 200
# Slurm reads its options up to the first command.
_HEAD = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")


def batch_hints(text: str) -> list[Hint]:
    """One hint per option in the `#SBATCH` lines at the top."""
    found = _BATCH.finditer(_head(text))
    return [
        Hint(HintKind.SLURM, option, match[0].strip()) for match in found for option in _grouped(split_words(match[1]))
    ]


def head_hints(text: str) -> list[Hint]:
    """The comments at the top about the whole script, as one hint; those right above a command belong to that."""
    head = _head(text) if text.startswith("#!") else ""
    lines = (line.strip() for line in _LAST_LINES.sub("", head).splitlines())
    text_of_comments = " ".join(
        line.strip("# \t") for line in lines if line.startswith("#") and not line.startswith(_OPTIONS)
    )
    return (
        [Hint(HintKind.HEAD, text_of_comments[:_MOST_SAID], text_of_comments[:_MOST_SHOWN])] if text_of_comments else []
    )


def _head(text: str) -> str:
    head = _HEAD.match(text)
    return head[0] if head else ""


def _grouped(words: list[str]) -> list[str]:
    """`-n 4` as `-n=4`, so that an option is one string."""
    found: list[str] = []
    for each in words:
        if each.startswith("-") or not found:
            found.append(each)
        else:
            found[-1] += f"={each}"
    return found


def split_words(text: str) -> list[str]:
    """The words, split as by a shell; none if a quote is not closed."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return []


def notes(text: str, start: int, end: int) -> list[Hint]:
    """The comments above a command, or above the commands directly before it, and after it on its line."""
    found: list[Hint] = []
    for line in reversed(text[max(0, start - 2_000) : start].split("\n")[:-1]):
        comment = re.match(r"[ \t]*#(?!!|SBATCH)", line)
        if not line.strip() or (found and not comment):
            break
        if comment:
            found.append(Hint(HintKind.NOTE, line.strip("# \t\r"), line.strip()))
    behind = re.compile(r"[^\n#]{0,200}[ \t](#[^\n]{0,300})").match(text, end)
    return [*found, Hint(HintKind.NOTE, behind[1].strip("# \t\r"), behind[1])] if behind else found
