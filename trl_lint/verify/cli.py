"""The command `trl-lint verify`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from trl_lint import plain
from trl_lint.linter import ending
from trl_lint.linter.files.discovery import display_path
from trl_lint.verify.processes import environment
from trl_lint.verify.processes.environment import Unusable

if TYPE_CHECKING:
    from trl_lint.rules.base import BaseRule
    from trl_lint.settings import Settings
    from trl_lint.verify.processes.interrupts import RunInterrupted
    from trl_lint.verify.processes.launcher import Launch
    from trl_lint.verify.proof.proofs import Proof
    from trl_lint.verify.proof.session import Session, Subject
    from trl_lint.verify.reports.plot import Plot

CLEAN, FINDINGS, FAILED = 0, 1, 2
FORMATS = ("text", "json", "markdown")
# The packages needed to watch a user's script, and those that the fixtures import.
NEEDED = ("torch",)
NEEDED_BY_FIXTURES = ("torch", "transformers", "accelerate", "datasets", "trl")
# Enough for a few steps of a trainer, including all downloads and preparation.
LIMIT = 1800.0
# A fixture that takes longer than this has a problem that no oracle detects.
FIXTURE_LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The command line."""

    words: tuple[str, ...]
    module: str | None
    launcher: str
    nproc: int
    backend: str
    timeout: float
    limit: float | None
    python: str
    keep: Path | None
    output_format: str
    reports: tuple[tuple[str, Path], ...]
    plot: Path | None
    select: str | None
    unsafe_fixes: bool | None
    include: tuple[Path, ...]
    one_process: bool
    fork_server: bool
    tidy: bool
    bare: bool
    config: Path | None
    isolated: bool
    exit_zero: bool
    nnodes: str | None
    rdzv_endpoint: str | None
    rdzv_backend: str | None
    node_rank: int | None

    @property
    def launch(self) -> Launch:
        from trl_lint.verify.processes.launcher import Launch

        names = {field.name for field in fields(Launch)} & {field.name for field in fields(self)}
        return Launch(**{**{name: getattr(self, name) for name in names}, "limit": self.limit_or(LIMIT)})

    def limit_or(self, default: float) -> float | None:
        """Seconds after which a run is stopped, None for never; `default` if the option is not given."""
        return default if self.limit is None else self.limit or None


def _report_files(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, Path], ...]:
    """`FORMAT=FILE` pairs, as (format, file)."""
    for value in values:
        name, equals, file = value.partition("=")
        if name not in FORMATS or not (equals and file):
            raise click.BadParameter(f"`{value}` is not FORMAT=FILE, with one of {', '.join(FORMATS)}")
    return tuple((name, Path(file)) for name, _, file in (value.partition("=") for value in values))


@click.command(
    short_help="Run a script, or the fixtures, on several processes and judge what happens.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="[SCRIPT|LAUNCH FILE|RULE] [ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", metavar="MODULE", help="Run a module, as `python -m` does, instead of a script.")
@click.option(
    "--launcher",
    default="torchrun",
    show_default=True,
    type=click.Choice(["torchrun", "accelerate"]),
    help="The launcher: torchrun, or accelerate launch --multi_gpu.",
)
@click.option("--nproc", default=2, show_default=True, type=click.IntRange(1), help="Processes on this machine.")
@click.option(
    "--backend",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "gloo", "nccl"]),
    help="auto: nccl if there is a GPU for each process, otherwise gloo.",
)
@click.option(
    "--timeout",
    default=300.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds that processes wait in a collective for others that are idle elsewhere.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0),
    help=f"Seconds after which a whole run is stopped and judged as far as it got; 0: never. Default: {LIMIT:g}, and "
    f"{FIXTURE_LIMIT:g} for a fixture.",
)
@click.option(
    "--python",
    default=sys.executable,
    help="The interpreter of the training environment, which needs torch, not trl-lint; default: trl-lint's own.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the traces in this folder: one JSON object per line for each rank, and each rank's output.",
)
@click.option("--output-format", default="text", type=click.Choice(FORMATS), help="Output format; default: text.")
@click.option(
    "--report",
    "reports",
    metavar="FORMAT=FILE",
    multiple=True,
    callback=_report_files,
    help="Also write the report to a file, in this format; may be repeated.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the metrics by step: of rank 0, of the other ranks, and their mean. SVG, PNG or PDF, by file extension.",
)
@click.option("--select", metavar="RULES", help="The rules whose fixes to try: codes, prefixes or names.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="Also try unsafe fixes. The command recommended at the end applies the fixes that were tried.",
)
@click.option(
    "--include",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Fix these files and folders as well: a package that the script trains with. What it imports from its own "
    "project is included as it is.",
)
@click.option(
    "--one-process/--no-one-process",
    default=True,
    show_default=True,
    help="Also run the script on one plain process: to compare values on the same global batch, and after a failure.",
)
@click.option(
    "--fork-server/--no-fork-server",
    default=True,
    show_default=True,
    help="Fork later runs from processes that have imported the libraries (Linux, one machine, no GPU).",
)
@click.option(
    "--tidy/--no-tidy",
    default=True,
    show_default=True,
    help="Remove new files of a run in the current folder and the project; with --keep, move them to its traces.",
)
@click.option(
    "--bare",
    is_flag=True,
    help="Run it first as plain python would on a machine with as many GPUs: one process, whose model Trainer wraps in "
    "nn.DataParallel. GPUs that are not there are emulated on the CPU.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Read [tool.trl-lint] from this file.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if something does not hold.")
@click.option(
    "--nnodes", help="Number of machines; passed to torchrun, like the next three. Run the command on each machine."
)
@click.option("--rdzv-endpoint", metavar="HOST:PORT", help="The rendezvous endpoint, HOST:PORT.")
@click.option("--rdzv-backend", help="The rendezvous backend.")
@click.option("--node-rank", type=int, help="The number of this machine.")
def verify(**options: Any) -> None:
    """Run SCRIPT with its ARGS under torchrun, as it is and with trl-lint's fixes, and say what differs.

    Given a LAUNCH FILE (a shell script, a Makefile, ...), each training that it starts with bare python is run like
    this, and as `accelerate launch` would start it. Without arguments, the fixtures of all rules are run, broken and
    fixed; RULE (a code or a name) runs those of one. Options come before SCRIPT. Your files are never touched. Exits
    with 0 when everything holds, 1 when something does not, and 2 when the tool could not do its work, or the script
    fails on one process as well.
    """
    from trl_lint.verify.processes import interrupts
    from trl_lint.verify.processes.interrupts import RunInterrupted
    from trl_lint.verify.processes.launcher import LaunchError
    from trl_lint.verify.rank import descendants

    descendants.adopt()  # processes of a script that leave its session
    try:
        with interrupts.raising():
            status = run(VerifyOptions(**options))
    except (Unusable, LaunchError) as error:
        click.echo(plain.line(f"trl-lint: {error}"), err=True)
        status = FAILED
    except RunInterrupted as error:
        click.echo(ending.MESSAGE, err=True)
        status = 128 + error.number
    sys.exit(status)


def run(options: VerifyOptions) -> int:
    """Run the command; return the exit code."""
    from trl_lint.verify import running
    from trl_lint.verify.reports import load

    if options.launcher != "torchrun" and (options.nnodes or options.rdzv_endpoint or options.node_rank):
        raise click.UsageError("several machines need --launcher torchrun")
    if options.config and options.isolated:
        raise click.UsageError("--config can't be combined with --isolated")
    rules = _rules(options)
    plotted = _plot(options.plot)
    holds, is_unfit, problems = True, False, []
    broken_off: list[RunInterrupted] = []
    with ExitStack() as files:
        outs = [(options.output_format, sys.stdout)]
        outs += [(name, files.enter_context(_written(path))) for name, path in options.reports]
        reports = [load(name)(out, nproc=options.nproc) for name, out in outs]
        proofs = _fixture_proofs(options, rules) if rules is not None else _own_proofs(options)
        for proof in running.until_interrupted(proofs, broken_off):
            for report in reports:
                report.add(proof)
            if plotted is not None:
                plotted.add(proof)
            holds = holds and proof.holds
            is_unfit = is_unfit or proof.alone is not None
            problems += proof.problems
        if broken_off and not reports[0].proofs:
            raise broken_off[0]
        for report in reports:
            report.close()
    if broken_off:
        raise broken_off[0]
    if plotted is not None and plotted.remark:
        click.echo(plain.line(plotted.remark), err=True)
    for problem in problems:
        click.echo(plain.line(problem), err=True)
    if problems or is_unfit:
        return FAILED
    return CLEAN if holds or options.exit_zero else FINDINGS


def _plot(target: Path | None) -> Plot | None:
    """The plot of the metrics, if it is requested.

    Raises:
        Unusable: it can't be drawn.
    """
    if target is None:
        return None
    from trl_lint.verify.reports.plot import Plot

    return Plot(target)


def _written(path: Path) -> TextIO:
    """A file to write a report to.

    Raises:
        Unusable: it can't be written.
    """
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise Unusable(f"{path}: cannot write: {error.strerror}") from None


def _rules(options: VerifyOptions) -> list[BaseRule] | None:
    """The rules whose fixtures are requested; None for a script."""
    from trl_lint.rules import all_rules, find_rule

    if options.module:
        return None
    if not options.words:
        return list(all_rules())
    first = options.words[0]
    found = None if os.path.isfile(first) else find_rule(first)
    return [found] if found and len(options.words) == 1 else None


# --- a script, or a launch file -------------------------------------------------------------------------


def _own_proofs(options: VerifyOptions) -> Iterator[Proof]:
    """The proofs of the script or launch file on the command line."""
    from trl_lint.launch.parsers.readers import is_launch_file

    path = None if options.module else Path(options.words[0])
    is_launch = path is not None and os.path.isfile(path) and is_launch_file(path, _head(path))
    return _launch_proofs(options, path) if path and is_launch else _script_proof(options)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(200)
    except OSError:  # reported when the whole file is read
        return b""


def _launch_proofs(options: VerifyOptions, path: Path) -> Iterator[Proof]:
    from trl_lint.config import load_settings
    from trl_lint.verify.proof import launches, proofs

    if len(options.words) > 1:
        raise Unusable(f"{path}: a launch file has the arguments itself")
    settings = load_settings(path, options.config, isolated=options.isolated)
    found = launches.launches(path, settings)
    if not found:
        raise Unusable(f"{path}: it does not start a training with bare python")
    _require(options, NEEDED)
    with _session(options, options.launch, len(found), bare=True) as runner:
        for launch in found:
            yield proofs.of_launch(launch, settings, runner, one_process=options.one_process)


def _script_proof(options: VerifyOptions) -> Iterator[Proof]:
    from trl_lint.verify.proof import proofs

    subject, settings = _subject(options)
    _require(options, NEEDED)
    if subject.is_module and not environment.has_module(options.python, subject.script):
        raise Unusable(f"no module named {subject.script}")
    with _session(options, options.launch, bare=options.bare) as runner:
        options_of_proof = {"one_process": options.one_process, "bare": options.bare}
        proof = proofs.of_script(subject, runner, settings, options.include, **options_of_proof)
        proof.command = _fix_command(options, proof.to_fix) if proof.to_fix else ""
        yield proof


def _fix_command(options: VerifyOptions, files: list[Path]) -> str:
    """The command that turns these files into the fixed copy that was run."""
    unsafe = {None: [], True: ["--unsafe-fixes"], False: ["--no-unsafe-fixes"]}[options.unsafe_fixes]
    select = ["--select", options.select] if options.select else []
    config = ["--config", str(options.config)] if options.config else []
    isolated = ["--isolated"] if options.isolated else []
    return shlex.join(["trl-lint", "--fix", *unsafe, *select, *config, *isolated, *map(display_path, files)])


def _subject(options: VerifyOptions) -> tuple[Subject, Settings]:
    """The program to run, and the settings of its project."""
    from trl_lint.config import load_settings
    from trl_lint.verify.proof.session import Subject

    start = Path.cwd() if options.module else _checked(options.words[0])
    settings = load_settings(start, options.config, isolated=options.isolated)
    if options.select:
        words = tuple(word.strip() for word in options.select.split(",") if word.strip())
        settings = replace(settings, select=words, ignore=(), extend_select=())
    if options.unsafe_fixes is not None:
        settings = replace(settings, unsafe_fixes=options.unsafe_fixes)
    if options.module:
        return Subject(options.module, options.module, settings.root or start, options.words, is_module=True), settings
    root = settings.root or start.parent
    return Subject(options.words[0], str(start), root, options.words[1:]), settings


def _checked(word: str) -> Path:
    """The path of a script that can be run.

    Raises:
        Unusable: it can't be read or is not valid Python.
    """
    path = Path(os.path.abspath(word))  # links are not resolved: files next to it are found as by Python
    try:
        compile(path.read_bytes(), word, "exec", dont_inherit=True)
    except OSError as error:
        raise Unusable(f"{word}: cannot read: {error.strerror}") from None
    except SyntaxError as error:
        raise Unusable(f"{word}:{error.lineno or 1}:{error.offset or 1}: cannot parse: {error.msg}") from None
    except ValueError as error:
        raise Unusable(f"{word}: cannot parse: {error}") from None
    except (MemoryError, RecursionError):
        raise Unusable(f"{word}: cannot parse: nested too deeply for Python") from None
    return path


# --- the fixtures ---------------------------------------------------------------------------------------


def _fixture_proofs(options: VerifyOptions, rules: list[BaseRule]) -> Iterator[Proof]:
    from trl_lint.verify.proof import fixtures, proofs

    found = list(fixtures.fixtures([rule.name.replace("-", "_") for rule in rules]))
    if not found:
        named = " and ".join(f"{rule.code} {rule.name}" for rule in rules)
        raise Unusable(f"{named}: there is nothing to run for this rule")
    _require(options, NEEDED_BY_FIXTURES)
    launch = fixtures.launch_of(replace(options.launch, limit=options.limit_or(FIXTURE_LIMIT)))
    with _session(options, launch, len(found), bare=True) as runner:
        for fixture in found:
            yield proofs.of_fixture(fixture, runner)


# --- both -----------------------------------------------------------------------------------------------


def _require(options: VerifyOptions, modules: tuple[str, ...]) -> None:
    """Check that the training environment has the required modules.

    Raises:
        Unusable: something is missing.
    """
    missing = environment.missing(options.python, modules)
    if missing:
        raise Unusable(
            f"verify runs trainers and needs {', '.join(missing)}: install them, or name the "
            f"interpreter of your training environment with --python (this is {options.python})"
        )
    if options.backend == "nccl" and (gpus := environment.gpus(options.python)) < options.nproc:
        raise Unusable(f"--backend nccl needs a GPU per process: {gpus} for --nproc {options.nproc}")


def _session(
    options: VerifyOptions, launch: Launch, subjects: int = 1, *, bare: bool = False
) -> AbstractContextManager[Session]:
    """The session that runs the subjects. bare: one process with several GPUs is run in it."""
    from trl_lint.verify import running

    gpus = environment.gpus(options.python) if bare else 0
    options_of_session = {"forks": options.fork_server, "tidies": options.tidy}
    return running.session(launch, options.keep, gpus=gpus, subjects=subjects, **options_of_session)
