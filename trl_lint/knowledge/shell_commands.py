"""Commands of the shell that change files, and the functions of Python that run them.

Read from POSIX.1-2024 (utilities), the manuals of GNU coreutils 9.4, tar 1.35, gzip 1.13 and wget 1.24, of curl 8.5,
git 2.43, Info-ZIP 6.0 (`unzip`) and 3.0 (`zip`), and from Python's documentation (`subprocess`, `os`).
"""

from __future__ import annotations

from typing import NamedTuple

from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import Effect, Parameter


class ShellCommand(NamedTuple):
    """What a command does if all ranks run it.

    Attributes:
        effect: What each of them does; `fails` if all but the first end with an error.
        spared: Options with which the later ones do not fail.
        harmless: Options with which nothing is changed, or all ranks may do it.
        given: Options of which one has to be there.
        told: Whether an error of the later ones is all that happens: nothing does if their status is not looked at.
        takes: Whether the later ones, if they do not fail, take away what another one has made there since.
    """

    effect: Effect
    spared: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    told: bool = False
    takes: bool = False


# Functions that run a command, with the parameter for it: a line for the shell, or a list of words, which is such a
# line if `shell` is true.
RUN_LINES: dict[str, Parameter] = {
    "os.popen": (0, "cmd"),
    "os.system": (0, "command"),
    "subprocess.getoutput": (0, "cmd"),
    "subprocess.getstatusoutput": (0, "cmd"),
}
RUN_WORDS: dict[str, Parameter] = {
    f"subprocess.{name}": (0, "args") for name in ("Popen", "call", "check_call", "check_output", "run")
}
# Those of them that raise an error if the command fails; `run` does with `check=True`.
CHECK_STATUS = frozenset({"subprocess.check_call", "subprocess.check_output"})
CHECKS_STATUS = "check"
IN_SHELL = "shell"
IN_FOLDER = "cwd"
# A file that runs one mentions one of these.
MENTIONED = (b"popen(", b"subprocess", b"system(", b"getoutput(", b"getstatusoutput(")
# Words before a command, and words that make what follows depend on something.
BEFORE_COMMANDS = frozenset({"command", "exec", "nohup", "sudo", "time"})
CONDITIONS = frozenset({"[", "[[", "case", "flock", "for", "if", "test", "until", "while"})
# Variables of the shell that are the same on all ranks.
SAME_VARIABLES = ("HOME", "PWD", "USER")
# The names of places that keep nothing: the output of a command, and devices.
OUTPUT = "-"
DEVICES = "/dev/"

_PACK = Effect("writes the same file")
_COPY = Effect("writes the same copy", consequence=Consequence.WASTE)
_UNPACK = Effect("writes the same files", makes=True, fetches=True)
_DOWNLOAD = Effect("downloads the same file", makes=True, fetches=True)
# What those do that take something away.
TAKES_NEW = ", with what another one has put there since"
# A command whose output goes to a file: `nvidia-smi > usage.txt`.
WRITES_OUTPUT = _PACK
_FORCED = frozenset({"f", "force"})
_TO_OUTPUT = frozenset({"c", "l", "list", "stdout", "t", "test", "to-stdout"})
# The command with which a package or a repository is fetched, after the name of its program.
CLONES = ("git", "clone")

COMMANDS: dict[str, ShellCommand] = {
    "cp": ShellCommand(_COPY),
    "curl": ShellCommand(_DOWNLOAD, given=frozenset({"O", "o", "output", "remote-name", "remote-name-all"})),
    " ".join(CLONES): ShellCommand(Effect("clones the same repository", fails=True, makes=True, fetches=True)),
    "gunzip": ShellCommand(_UNPACK._replace(fails=True), harmless=_TO_OUTPUT),
    "gzip": ShellCommand(_PACK._replace(fails=True), harmless=_TO_OUTPUT),
    "ln": ShellCommand(Effect("creates the same link", fails=True, makes=True), spared=_FORCED, told=True),
    "mkdir": ShellCommand(
        Effect("creates the same folder", fails=True, makes=True, instead="let all ranks create it: `mkdir -p`"),
        harmless=frozenset({"p", "parents"}),
        told=True,
    ),
    "mv": ShellCommand(Effect("moves the same files", fails=True), takes=True),
    "rm": ShellCommand(Effect("removes the same files", fails=True), spared=_FORCED, takes=True),
    "rmdir": ShellCommand(Effect("removes the same folder", fails=True), told=True),
    "rsync": ShellCommand(_COPY),
    "tar": ShellCommand(_UNPACK, harmless=frozenset({"O", "to-stdout"}), given=frozenset({"extract", "get", "x"})),
    "tee": ShellCommand(_PACK, harmless=frozenset({"a", "append"})),
    "unzip": ShellCommand(_UNPACK, harmless=frozenset({"Z", "l", "p", "t", "v"})),
    "wget": ShellCommand(_DOWNLOAD, harmless=frozenset({"spider"})),
    "zip": ShellCommand(_PACK._replace(consequence=Consequence.WASTE)),
}
# `tar` as it packs.
PACKS = ShellCommand(_PACK, given=frozenset({"c", "create"}))
