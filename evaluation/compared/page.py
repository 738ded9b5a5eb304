"""The page `docs/compared.md`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version

from evaluation.compared.cases import Case
from evaluation.compared.judging import Said, Told, judge
from evaluation.compared.tools import TOOLS, VERIFY, Limits

PACKAGES = ("torch", "accelerate", "transformers", "trl")
# Folders, processes and ports are of no use to a reader and change from run to run.
_NOISE = (
    (re.compile(r"[^\s\"']*/(?:site-packages|evaluation/compared/programs|pytorch/pytorch)/"), ""),
    (re.compile(r"\[?127\.0\.0\.1\]?:\d+"), "127.0.0.1"),
    (re.compile(r"^E\d{4} [\d:.]+ \d+ | \(pid: \d+\)| of binary: \S+"), ""),
    (re.compile(r"^\[rank(\d+)\]: "), r"rank \1: "),
)
# The line to quote: the first one that matches one of these, in this order.
_TELLING = (
    re.compile(r"Culprit rank|^missing ranks|Detected mismatch|DistributedOperationException: |\*\*no\*\*"),
    re.compile(r"^(?!.*ChildFailedError)(\[rank\d+\]: )?(?!\S*SignalException)[\w.]*(Error|Exception)\b: .+"),
    re.compile(r"\bTRL\d{3} "),
    re.compile(r"what\(\): |Signal \d+ \(SIG(SEGV|ABRT)\)|exitcode: -\d+"),
)
LONGEST_QUOTE = 260
# What the second table counts.
COUNTED: Mapping[str, Callable[[Told], bool]] = {
    "ends by itself": lambda told: told.ends,
    "says that something is wrong": lambda told: told.fails,
    "names the cause": lambda told: told.cause,
    "names the cause, or that the ranks diverge": lambda told: told.cause or told.apart,
    "names a line that is marked": lambda told: told.cause or told.lines,
}
Outputs = Mapping[str, Said]
Compared = Sequence[tuple[Case, Outputs]]

HEAD = """# Compared with other tools

What does each tool report for ten small programs, each with one bug, and a correct one as a control, on two processes
on the CPU? One command runs everything and writes this page:

```console
python -m evaluation.compared
```

- *torchrun*: the program as it is. torch gives up a collective after 30 minutes; here, a command that has not finished
  after {whole:g} seconds is stopped (each single run, for *trl-lint verify*).
- *torchrun, short time-out*: the same, with collectives that time out after {seconds:g} seconds. All later columns use
  this time-out, so that each tool can report something.
- *DETAIL*: with `TORCH_DISTRIBUTED_DEBUG=DETAIL`.
- *flight recorder*: the output of `torchfrtrace --print_stack_trace` for the second run. torch writes the recorder's
  files when a collective of nccl times out. With gloo it writes none, so a thread writes them here, and adds the name
  of the group, without which the analyser of torch 2.13.0 fails with a `KeyError`.
- *accelerate --debug*: `accelerate launch --debug`, which compares the shapes that ranks pass to `gather`, `reduce`,
  `broadcast` and `pad_across_processes`. `accelerate test` has no column: it runs a script of its own, and says
  {test}.
- *trl-lint*: the linter, which reads the program and runs nothing.
- *trl-lint verify*: all of its runs, each with the same time-out. It reports what the runs show for each finding.

The judgement is automatic: each program marks the line to fix and the lines where its ranks fail or wait, and a tool's
output either names them or does not.

| word | what is named |
| --- | --- |
| cause | the line to fix |
| apart | that the ranks run different collectives, or that one is missing; not only a lost connection or a time-out |
| rank 0 | the line where that rank fails or waits, as that rank's |
| line | such a line, without the rank |
| error | it fails, or is ended by a signal, and none of these is named |
| nothing | it ends as if everything were correct |
"""

FOOT = """## How to read it

An exception on a rank needs no tool: torchrun prints its traceback and names the rank that failed first. The other
tools serve different purposes. `DETAIL` compares the ranks' collectives before they run, stops at the first difference,
and names the call and shape. The recorder keeps the last 2000 collectives of a run of any size at almost no cost,
also in production, and its analyser names the first that do not match, with their stack. Accelerate's debug mode
shows the shapes of all processes where they differ. `trl-lint verify` starts the program several times, so it is
meant for small runs before the real one.

The authors of trl-lint wrote the programs for this comparison. They are in `evaluation/compared/programs/`.
"""


def page(compared: Compared, test: str, limits: Limits) -> str:
    """The whole page, as Markdown. `test`: the output of `accelerate test`."""
    head = HEAD.format(test=test, seconds=limits.seconds, whole=limits.whole)
    return "\n".join([head, *table(compared), "", FOOT, "## What they say\n", *_quotes(compared), *_versions()])


def table(compared: Compared) -> Iterator[str]:
    yield f"| program | {' | '.join(TOOLS)} |"
    yield "| --- " * (len(TOOLS) + 1) + "|"
    for case, outputs in compared:
        cells = (cell(case, judge(case, outputs[tool])) if tool in outputs else "" for tool in TOOLS)
        yield f"| {case.title.partition(':')[0]} | {' | '.join(cells)} |"
    yield ""
    broken = [(case, said) for case, said in compared if not case.is_right]
    yield f"Of {len(broken)} broken programs:\n"
    yield f"| | {' | '.join(TOOLS)} |"
    yield "| --- " * (len(TOOLS) + 1) + "|"
    for what, holds in COUNTED.items():
        numbers = (sum(holds(judge(case, said[tool])) for case, said in broken if tool in said) for tool in TOOLS)
        yield f"| {what} | {' | '.join(map(str, numbers))} |"
    lines = (sum(judge(case, said[tool]).named for case, said in broken if tool in said) for tool in TOOLS)
    yield f"| lines of these programs that are named, the cause or not | {' | '.join(map(str, lines))} |"
    yield from (
        f"\n*{tool}* fails the right program, too: where it says *error*, that tells nothing."
        for tool in unfit(compared)
    )


def unfit(compared: Compared) -> list[str]:
    """The tools that report a failure of a right program."""
    controls = [(case, outputs) for case, outputs in compared if case.is_right]
    return [tool for tool in TOOLS for case, said in controls if tool in said and judge(case, said[tool]).fails]


def cell(case: Case, told: Told) -> str:
    """What an output says, in a few words."""
    named = ["cause"] if told.cause else []
    named += ["apart"] if told.apart else []
    if told.ranks:
        named.append(f"rank{'s' if len(told.ranks) > 1 else ''} {', '.join(map(str, told.ranks))}")
    elif told.lines and not (told.cause and case.cause in case.shows.values()):
        named.append("line")
    words = ", ".join(named) or ("error" if told.fails else "nothing")
    if told.ends:
        return words
    return "hangs" + (f"; {', '.join(named)}" if named else "")


def quote(said: Said) -> str:
    """The most telling line of an output, without details of this machine."""
    lines = [line.strip() for line in said.output.splitlines()]
    for pattern in _TELLING:
        if found := next((line for line in lines if pattern.search(line)), ""):
            return cleaned(found)
    return ""


def cleaned(line: str) -> str:
    line = line.replace("\\", "")
    if line.startswith("|"):  # a row of a table: oracle, whether it holds, summary
        oracle, _, text = (part.strip() for part in line.strip("| ").split(" | ", 2))
        line = f"{oracle}: {text.replace('<br>', '; ')}"
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…"


def _quotes(compared: Compared) -> Iterator[str]:
    for case, outputs in compared:
        yield f"### {case.title}\n"
        for tool in TOOLS:
            if tool in outputs:
                text, stopped = quote(outputs[tool]), outputs[tool].status is None
                yield f"- {tool}: " + (f"`` {text} ``" if text else "nothing" + ", until it is stopped" * stopped)
        yield ""


def _versions() -> Iterator[str]:
    yield "## Versions\n"
    yield ", ".join(f"{name} {version(name)}" for name in PACKAGES) + f"; {VERIFY} is that of this page.\n"
