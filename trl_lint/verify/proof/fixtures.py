"""Our own subjects: the small trainers of `fixtures/`, each broken and fixed, and correct ones.

If the bug is how a trainer is started, they are launch files (`broken.sh`), which start the trainer.

A broken one must fail in its rule's way, at a line marked for it if the way names a line; a fixed one and a correct one
must pass.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import msgspec

import trl_lint
from trl_lint.settings import Settings
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import launches
from trl_lint.verify.proof.session import BARE, Judged, Subject
from trl_lint.verify.record.verdicts import Verdict

_MARK = re.compile(r"#\s*expect:\s*[A-Z]{3}\d{3}")


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """How a rule's broken programs fail: by which oracle, and with which keyword.

    Attributes:
        names_line: Whether the oracle names the marked line.
        needs_devices: Whether it shows only with a device for each process, which is emulated without GPUs.
        processes: The number of processes it needs, if not any.
        changes_one_process: Whether the fix also changes the program on one process.
        by_hand: Programs that are fixed by hand, as there is only a hint.
        unsafe: Programs with an unsafe fix.
        bare: Programs that no launch with one process per GPU shows, as their bug is that of one process with several
            GPUs.
        fails_elsewhere: Programs that fail in a library that uses the result of the marked line.
        others: Programs that fail by another oracle, with its name and keyword.
        needs_group: Programs that, like their fixed twins, do not run on one process alone.
    """

    oracle: str
    way: str
    names_line: bool = True
    needs_devices: bool = False
    processes: int | None = None
    changes_one_process: bool = False
    by_hand: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    fails_elsewhere: frozenset[str] = frozenset()
    others: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    needs_group: frozenset[str] = frozenset()

    def of(self, fixture: Fixture) -> tuple[str, str]:
        """The oracle by which a broken program of the rule fails, and its keyword."""
        return self.others.get(fixture.broken.stem if fixture.broken else "", (self.oracle, self.way))


_LAUNCH_FILE = ".sh"


@dataclass(frozen=True, slots=True)
class Fixture:
    """A broken program with its fixed version, or a correct one (`broken` is None)."""

    rule: str
    broken: Path | None
    fixed: Path | None

    @property
    def name(self) -> str:
        path = self.broken or self.fixed
        return f"{self.rule}/{path.stem}" if path else self.rule


def folder() -> Path:
    """The folder of the fixtures: next to the package in the repository, inside it when installed."""
    package = Path(trl_lint.__file__).parent
    return next(path for path in (package / "fixtures", package.parent / "fixtures") if path.is_dir())


@cache
def expected_failures() -> Mapping[str, ExpectedFailure]:
    """How each rule's fixtures fail, by the name of their folder, as read from its `proof.toml`."""
    return {path.parent.name: _read_expected(path) for path in sorted(folder().glob("*/proof.toml"))}


def _read_expected(path: Path) -> ExpectedFailure:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert({key.replace("-", "_"): value for key, value in table.items()}, ExpectedFailure)


def fixtures(names: Sequence[str] = ()) -> Iterator[Fixture]:
    """The fixtures of these rules (folder names), by default of all."""
    for rule in expected_failures():
        if not names or rule in names:
            yield from _fixtures(rule)


def _fixtures(rule: str) -> Iterator[Fixture]:
    files = sorted((folder() / rule).iterdir())
    for broken in (path for path in files if path.name.startswith("broken") and path.suffix in (".py", _LAUNCH_FILE)):
        fixed = broken.with_name(broken.name.replace("broken", "fixed", 1))
        yield Fixture(rule, broken, fixed if fixed.is_file() else None)
    for right in sorted((folder() / rule).glob("quiet*.py")):
        yield Fixture(rule, None, right)


def subject(path: Path) -> Subject:
    """A program, or what the fixed twin of a launch file starts: the broken one's program, launched correctly."""
    name = f"{path.parent.name}/{path.stem}"
    if path.suffix != _LAUNCH_FILE:
        expected = expected_failures().get(path.parent.name)
        needs_devices = expected is not None and expected.needs_devices
        return Subject(name, str(path), folder(), program_files=(path,), needs_devices=needs_devices)
    broken = path.with_name(path.name.replace("fixed", "broken", 1))
    (launch,) = launches.launches(broken, Settings())
    started = launches.subject(launch, Settings())
    return replace(started, name=name, root=folder(), launcher=BARE if path == broken else "accelerate")


def subjects(fixture: Fixture) -> tuple[Subject | None, Subject | None]:
    """A fixture's programs, broken and fixed, as they are started."""
    broken, fixed = (subject(path) if path else None for path in (fixture.broken, fixture.fixed))
    if broken and fixture.broken and fixture.broken.stem in expected_failures()[fixture.rule].bare:
        broken = replace(broken, launcher=BARE)
    return broken, fixed


def launch_of(launch: Launch) -> Launch:
    """A launch with the imports of the fixtures on the path, without a network or a tracker's account."""
    path = [str(folder()), str(folder() / "stand_ins"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return launch.with_environment(
        PYTHONPATH=os.pathsep.join(path),
        HF_HUB_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
        WANDB_MODE="disabled",
    )


def fails_as_expected(fixture: Fixture, judged: Judged) -> bool:
    """Whether a broken program fails as its rule says, at its marks."""
    expected = expected_failures()[fixture.rule]
    oracle, word = expected.of(fixture)
    verdict = judged.verdict(oracle)
    if verdict is None or verdict.kind != word or fixture.broken is None:
        return False
    if not expected.names_line or fixture.broken.stem in expected.fails_elsewhere:
        return True
    marked = _marked(fixture.broken)
    # A number is often used only in the line after it is computed.
    return bool(
        (marked | {line + 1 for line in marked})
        & (_lines(fixture.broken, judged) | _lines_named(fixture.broken, verdict))
    )


def _marked(path: Path) -> set[int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if _MARK.search(line)}


def _lines(path: Path, judged: Judged) -> set[int]:
    """The lines of a file where the ranks' exceptions came from."""
    ended = [rank.end for rank in judged.run.ranks if rank.end is not None]
    return {place.line for end in ended for place in end.at if Path(place.file).name == path.name}


def _lines_named(path: Path, verdict: Verdict) -> set[int]:
    """The lines of a file that a verdict names."""
    found = (re.match(rf"{re.escape(path.name)}:(\d+) ", at) for at in verdict.at)
    return {int(each[1]) for each in found if each}
