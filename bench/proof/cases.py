"""The cases: which released trainer fails, how, and what must hold once it is mended.

To add one, add a row: a program of `subjects/`, a release of `environments.py`, the files that `--fix` is to mend, the
release in which upstream mended them, and how the oracles must judge each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trl_lint.verify.oracles import ends, metrics, sequence, true_value

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
    as many GPUs as there are processes elsewhere.
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

    @property
    def is_control(self) -> bool:
        """Whether it is right code that is run as released, and nothing more."""
        return not self.upstream and not self.is_launch


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
    Case("control, DPO", "dpo", "0.17.0", (_LOGITS,), note="The means of means of 0.14.0 are still there."),
    Case("control, SFT", "sft", "0.17.0"),
    Case("control, DPO", "dpo", "1.16.0"),
    Case("control, SFT", "sft", "1.16.0"),
)
