"""The cases: which released trainer fails, how, and what must hold once it is mended.

To add one, add a row: a program of `subjects/`, a release of `environments.py`, the files that `--fix` is to mend, the
release in which upstream mended them (if one has), and how the oracles must judge each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trl_lint.verify.oracles import ends, metrics, sequence, true_value

# What a subject is started with, unless its case says otherwise.
STEPS, BATCH = 4, 2
# Seconds for a collective, on a machine that does other things too.
TIMEOUT = 30.0

DPO_METRICS = (
    *("rewards/chosen", "rewards/rejected", "rewards/accuracies", "rewards/margins"),
    *("logps/chosen", "logps/rejected", "logits/chosen", "logits/rejected"),
)
CPO_METRICS = (*DPO_METRICS, "nll_loss")
ORPO_METRICS = (*CPO_METRICS, "log_odds_ratio", "log_odds_chosen")


@dataclass(frozen=True)
class Failure:
    """An oracle that must fail: in which way, for exactly which metrics, with which words and place in what it says.

    What is left empty may be anything.
    """

    oracle: str
    way: str
    metrics: tuple[str, ...] = ()
    said: str = ""
    place: str = ""


@dataclass(frozen=True)
class Case:
    """A released trainer, and how the oracles must judge it.

    variation: a row of `variations.py` that is put in the place of a released file. files: what `--fix` is given; none
    where there is nothing to mend. upstream: the release that upstream mended it in. released, mended: the oracles that
    must fail on the first and on the other two; all others must not. facts: names of `facts.FACTS` that must hold.
    metrics: what these look at. changed: those of them that upstream computes of something else by then, so that its
    values are not to be expected. is_launch: the bug is in the launch file that starts the subject with bare python, on
    as many GPUs as there are processes elsewhere. rules: those whose findings the case is about; of other rules'
    findings in the same files nothing is proved. options: of the subject. timeout: seconds for a collective. by_hand: a
    row of `variations.py` that does what the finding advises, where `--fix` leaves that to the user; without it, what
    `--fix` makes of the files is run.
    """

    name: str
    subject: str
    release: str
    released: tuple[Failure, ...] = ()
    files: tuple[str, ...] = ()
    upstream: str = ""
    mended: tuple[Failure, ...] = ()
    variation: str = ""
    metrics: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    note: str = ""
    is_launch: bool = False
    rules: tuple[str, ...] = ("TRL001", "TRL002", "TRL003")
    options: Mapping[str, float] = field(default_factory=dict)
    timeout: float = TIMEOUT
    by_hand: str = ""

    @property
    def is_control(self) -> bool:
        """Whether it is right code that is run as released, and nothing more."""
        return not self.upstream and not self.files and not self.is_launch

    @property
    def steps(self) -> int:
        """The optimizer steps that the subject takes."""
        return int(self.options.get("steps", STEPS))


_LOGITS = Failure(true_value.ORACLE, "value", ("logits/chosen", "logits/rejected"))


def _rank_0(trainer: str, subject: str, names: tuple[str, ...], upstream: str, **others: Any) -> Case:
    return Case(
        f"rank-0 metrics, {trainer}",
        subject,
        "0.13.0",
        others.pop("released"),
        files=(f"trl/trainer/{subject}_trainer.py",),
        upstream=upstream,
        metrics=names,
        facts=("equal on all ranks", "mean of the ranks", "as upstream", "same training"),
        **others,
    )


def _first_mend(trainer: str, subject: str, line: int) -> Case:
    place = f"trl/trainer/{subject}_trainer.py:{line}"
    return Case(
        f"upstream's first mend, {trainer}",
        subject,
        "0.14.0",
        (Failure(ends.ORACLE, "abort", place=place), Failure(sequence.ORACLE, "sequence", place=place)),
        upstream="0.17.0",
        note="0.14.0 gathers whole logits, of another length on each rank. "
        "Issue 3068 of huggingface/trl reports the hang for ORPO. "
        "0.17.0 gathers their means, as `--fix` does with 0.13.0 above.",
    )


def _bare(trainer: str, subject: str, release: str, failure: Failure, note: str = "") -> Case:
    return Case(
        f"bare python, {trainer}",
        subject,
        release,
        (failure,),
        facts=("rewritten launch", "loss of one process"),
        note=note,
        is_launch=True,
    )


_PART = "RuntimeError: The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0"


def _cut(trainer: str, subject: str, file: str, names: tuple[str, ...], **others: Any) -> Case:
    """One value of each rank, gathered with `gather_for_metrics` where the last rows of an epoch are trained on.

    9 rows are three batches of 2 on 2 ranks, one optimizer step. The third batch is filled up with 3 of the first rows,
    and as Trainer fetches all three beforehand, 3 of 4 values are cut off each gather of the whole step.
    """
    rows = others.pop("rows", ())
    return Case(
        f"cut gathers, {trainer}",
        subject,
        "1.16.0",
        (Failure(true_value.ORACLE, "value", (*names, *rows)),),
        files=(file,),
        mended=(Failure(true_value.ORACLE, "value", rows),) if rows else (),
        rules=("TRL014",),
        options={"steps": 1, "accumulation": 3, "rows": 9, "fill": 4, **others.pop("options", {})},
        metrics=names,
        facts=("as one process", "same alone"),
        **others,
    )


_ALIKE = {"alike": 1}
_ROWS = (
    *("rewards/chosen", "rewards/rejected", "rewards/accuracies", "rewards/margins"),
    *("logps/chosen", "logps/rejected"),
)
_ROWS_NOTE = (
    "All texts have the same length, so that a mean of means is the mean. Rewards and log-probabilities are gathered "
    "row by row, which is what `gather_for_metrics` is for; but rows of the first two batches are cut off as well, none "
    "of which is there twice. No rule says so, and `--fix` leaves it."
)

CASES = (
    _rank_0(
        "DPO",
        "dpo",
        DPO_METRICS,
        "0.14.0",
        released=(Failure(metrics.ORACLE, "metric", DPO_METRICS), Failure(true_value.ORACLE, "value", DPO_METRICS)),
        mended=(_LOGITS,),
        note="`logits/*` are means over tokens. Upstream, and so the fix, take the mean over the ranks of each one's "
        "mean, which is another number where ranks have other numbers of tokens. 1.16.0 has it right.",
    ),
    _rank_0("CPO", "cpo", CPO_METRICS, "0.17.0", released=(Failure(metrics.ORACLE, "metric", CPO_METRICS),)),
    _rank_0(
        "ORPO",
        "orpo",
        ORPO_METRICS,
        "0.17.0",
        released=(Failure(metrics.ORACLE, "metric", ORPO_METRICS),),
        changed=_LOGITS.metrics,
        note="`logits/*` are not compared with upstream: since 0.14.0 it leaves the last token out of them.",
    ),
    _first_mend("CPO", "cpo", 838),
    _first_mend("ORPO", "orpo", 851),
    Case(
        "wrapped config, online DPO",
        "online_dpo",
        "0.16.1",
        (
            Failure(
                ends.ORACLE,
                "exception",
                said="AttributeError: 'DistributedDataParallel' object has no attribute 'config'",
                place="trl/trainer/online_dpo_trainer.py:473",
            ),
        ),
        files=("trl/trainer/online_dpo_trainer.py",),
        upstream="0.17.0",
        facts=("trains to the end",),
    ),
    Case(
        "number in a gather, SFT",
        "sft",
        "0.16.0",
        (
            Failure(
                ends.ORACLE,
                "exception",
                said="TypeError: 'int' object is not iterable",
                place="trl/trainer/sft_trainer.py:502",
            ),
        ),
        files=("trl/trainer/sft_trainer.py",),
        upstream="0.16.0",
        variation="TRL-3048",
        metrics=("num_tokens",),
        facts=("trains to the end", "equal on all ranks", "true count"),
        note="The bug lived between two releases. It is put back into 0.16.0, which had mended it.",
    ),
    Case(
        "half-fix of it, SFT",
        "sft",
        "0.16.0",
        (
            Failure(ends.ORACLE, "abort", place="trl/trainer/sft_trainer.py:502"),
            Failure(sequence.ORACLE, "sequence", place="trl/trainer/sft_trainer.py:502"),
        ),
        upstream="0.16.0",
        variation="TRL-3048-half-fix",
        note="Whole masks are gathered, whose shapes differ between the ranks. No rule sees shapes; the oracle does.",
    ),
    _bare("SFT", "sft", "0.13.0", Failure(true_value.ORACLE, "loss", said="divided by 2")),
    _bare(
        "SFT",
        "sft",
        "0.16.1",
        Failure(ends.ORACLE, "exception", said=_PART, place="trl/trainer/sft_trainer.py:587"),
        "Issue 3392 of huggingface/trl, in its words.",
    ),
    _bare(
        "SFT", "sft", "0.17.0", Failure(ends.ORACLE, "exception", said=_PART, place="trl/trainer/sft_trainer.py:682")
    ),
    _bare("SFT", "sft", "1.16.0", Failure(ends.ORACLE, "exception", said="SFTTrainer does not support")),
    _bare(
        "plain Trainer",
        "trainer",
        "0.17.0",
        Failure(true_value.ORACLE, "rows", said="2 of the 4 rows of a batch"),
        "Nothing of trl: the Trainer of transformers 4.51.3. Nothing is said, and half of the data trains nothing.",
    ),
    _cut("SFT", "sft", "trl/trainer/sft_trainer.py", ("num_tokens", "mean_token_accuracy")),
    _cut(
        "DPO",
        "dpo",
        "trl/trainer/dpo_trainer.py",
        ("num_tokens", "logits/chosen", "logits/rejected", "mean_token_accuracy"),
    ),
    _cut(
        "KTO",
        "kto",
        "trl/trainer/kto_trainer.py",
        ("num_tokens", "logits/chosen", "logits/rejected", "logps/chosen", "logps/rejected"),
    ),
    _cut("reward", "reward", "trl/trainer/reward_trainer.py", ("num_tokens", "accuracy", "margin")),
    _cut(
        "TPO",
        "tpo",
        "trl/experimental/tpo/tpo_trainer.py",
        ("logits/chosen", "logits/rejected", "mean_token_accuracy"),
        options=_ALIKE,
        note="All texts have the same length, so that a mean of means is the mean. `num_tokens` is 144 and 288: where "
        "one count is a multiple of the other, the oracle takes it for a number of processes.",
    ),
    _cut(
        "CPO",
        "cpo",
        "trl/experimental/cpo/cpo_trainer.py",
        ("logits/chosen", "logits/rejected", "nll_loss"),
        rows=_ROWS,
        options=_ALIKE,
        note=_ROWS_NOTE,
    ),
    _cut(
        "ORPO",
        "orpo",
        "trl/experimental/orpo/orpo_trainer.py",
        ("logits/chosen", "logits/rejected", "nll_loss", "log_odds_ratio", "log_odds_chosen"),
        rows=_ROWS,
        options=_ALIKE,
        note=_ROWS_NOTE,
    ),
    Case("control, DPO", "dpo", "0.17.0", (_LOGITS,), note="The means of means of 0.14.0 are still there."),
    Case("control, SFT", "sft", "0.17.0"),
    Case("control, DPO", "dpo", "1.16.0"),
    Case("control, SFT", "sft", "1.16.0"),
)
