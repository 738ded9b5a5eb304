"""What the comments of a shell script say: options for Slurm, and what a writer notes about a command."""

from __future__ import annotations

import re
import shlex

from trl_lint.launch.commands.commands import Hint

_BATCH = re.compile(r"^[ \t]*#SBATCH[ \t]+(.+)$", re.MULTILINE)
# The lines at the end of a text that no empty one parts from what follows.
_LAST_LINES = re.compile(r"(?:[ \t]*#[^\n]*\n)+\Z")
# Lines that begin like this are no comments.
_OPTIONS = ("#!", "#SBATCH")
# So much of what a script says of itself is read, and told.
_MOST_SAID, _MOST_SHOWN = 4_000, 200
# Slurm reads its options up to the first command.
_HEAD = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")


def batch_hints(text: str) -> list[Hint]:
    """One hint per option of the `#SBATCH` lines at the top."""
    found = _BATCH.finditer(_head(text))
    return [Hint("slurm", option, match[0].strip()) for match in found for option in _grouped(split_words(match[1]))]


def head_hints(text: str) -> list[Hint]:
    """What the comments at the top say of a whole script, as one: those right above a command speak of that."""
    head = _head(text) if text.startswith("#!") else ""
    lines = (line.strip() for line in _LAST_LINES.sub("", head).splitlines())
    said = " ".join(line.strip("# \t") for line in lines if line.startswith("#") and not line.startswith(_OPTIONS))
    return [Hint("head", said[:_MOST_SAID], said[:_MOST_SHOWN])] if said else []


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
    """As a shell splits words; none where quotes are open."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return []


def notes(text: str, start: int, end: int) -> list[Hint]:
    """The comments above a command, or above the commands that it follows without a gap, and behind it."""
    found: list[Hint] = []
    for line in reversed(text[max(0, start - 2_000) : start].split("\n")[:-1]):
        comment = re.match(r"[ \t]*#(?!!|SBATCH)", line)
        if not line.strip() or (found and not comment):
            break
        if comment:
            found.append(Hint("note", line.strip("# \t\r"), line.strip()))
    behind = re.compile(r"[^\n#]{0,200}[ \t](#[^\n]{0,300})").match(text, end)
    return [*found, Hint("note", behind[1].strip("# \t\r"), behind[1])] if behind else found
