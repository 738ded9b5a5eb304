"""What a command of the shell changes. A part of it that is not known is a wildcard.

rm -rf out                      removes the same files
cd data && tar xf a.tar         writes the same files: the first of several commands that changes something
[ -d out ] || mkdir out         nothing, as it depends on a condition
nvidia-smi > usage.txt          writes the same file
wget -O - https://a.org | sh    nothing, as there is no file
rm out/$RANK                    nothing, as the shell knows what that is
mkdir out                       nothing, unless somebody looks at the status, which is an error on the other ranks
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import Effect
from trl_lint.knowledge.shell_commands import (
    BEFORE_COMMANDS,
    CLONES,
    COMMANDS,
    CONDITIONS,
    DEVICES,
    OUTPUT,
    PACKS,
    SAME_VARIABLES,
    TAKES_NEW,
    WRITES_OUTPUT,
    ShellCommand,
)

# Something of which each process may have its own: `$RANK`, `$$`, `$(date)`.
_FILLED_IN = re.compile(rf"\$(?!\{{?(?:{'|'.join(SAME_VARIABLES)})\b)|`")
_OPERATORS = frozenset("();<>|&")
_SETS_VARIABLE = re.compile(r"\w+=")
_WRITES = frozenset({">", ">|", "&>"})
_ERRORS = "2"
# What was found, and the name of the command that does it; a part of the name may be a wildcard.
Change = tuple[Effect, str]


def change_of_line(line: str, *, checked: bool) -> Change | None:
    """What a line for the shell changes. checked: whether an error is raised if its status is not zero."""
    if _FILLED_IN.search(line):
        return None
    commands = list(_commands(line))
    if any(words[0] in CONDITIONS for words in commands):
        return None
    changes = [each for words in commands if (each := change_of_words(words, checked=checked)) is not None]
    return next((each for each in changes if each[0].consequence is not Consequence.WASTE), next(iter(changes), None))


def change_of_words(words: Sequence[str], *, checked: bool) -> Change | None:
    """What a command changes, given as its words, with those that redirect its output."""
    words, target = _apart(_without_prefix(words))
    found = _known(words)
    if found is not None:
        name, command = found
        fails = command.effect.fails and checked and _options(words).isdisjoint(command.spared)
        if fails or not command.told:
            does = command.effect.does + (TAKES_NEW if command.takes and not fails else "")
            return command.effect._replace(does=does, fails=fails), name
    if target and not target.startswith(DEVICES):
        return WRITES_OUTPUT, words[0] if words else ""
    return None


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a line, each as its words and the operators that redirect its output; none if it is no shell."""
    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return
    words: list[str] = []
    for token in (*tokens, ";"):
        if token and _OPERATORS.issuperset(token) and ">" not in token and "<" not in token:
            if words:
                yield words
            words = []
        else:
            words.append(token)


def _without_prefix(words: Sequence[str]) -> Sequence[str]:
    """A command without variables that are set for it, and without `sudo`."""
    for place, word in enumerate(words):
        if word not in BEFORE_COMMANDS and not _SETS_VARIABLE.match(word):
            return words[place:]
    return ()


def _apart(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of a command, and the file that its output goes to; "" if there is none."""
    kept: list[str] = []
    target = ""
    rest = iter(words)
    for word in rest:
        if word and _OPERATORS.issuperset(word):
            place = next(rest, "")
            target = place if word in _WRITES and kept[-1:] != [_ERRORS] else target
        else:
            kept.append(word)
    return kept, target


def _known(words: Sequence[str]) -> tuple[str, ShellCommand] | None:
    """The command that is run, with its name, if it changes something."""
    if len(words) < 2:
        return None
    name = words[0].rpartition("/")[2]
    if (name, words[1]) == CLONES:
        name = " ".join(CLONES)
    options = _options(words)
    rows = [each for each in (COMMANDS.get(name), PACKS if name == "tar" else None) if each is not None]
    for command in rows:
        is_given = not command.given or not options.isdisjoint(command.given)
        if is_given and options.isdisjoint(command.harmless) and not _is_for_output(words):
            return name, command
    return None


def _options(words: Sequence[str]) -> set[str]:
    """The options of a command: `r` and `f` of `rm -rf`, `parents` of `mkdir --parents`, `x` and `f` of `tar xf`."""
    found: set[str] = set()
    for place, word in enumerate(words[1:]):
        if word.startswith("--"):
            found.add(word[2:].partition("=")[0])
        elif word.startswith(OUTPUT) or (place == 0 and words[0] == "tar"):
            found.update(word.lstrip(OUTPUT))
    return found


def _is_for_output(words: Sequence[str]) -> bool:
    """Whether a command writes to its output, or to a device: `tar cf - data`, `wget -qO- url`, `curl -o /dev/null`."""
    return any(
        word == OUTPUT or word.startswith(DEVICES) or (word.startswith(OUTPUT) and word.endswith(("O-", "=-")))
        for word in words[1:]
    )
