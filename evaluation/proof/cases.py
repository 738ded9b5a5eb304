"""The cases: which released trainer fails, how, and what must hold once it is fixed.

To add a case, add a row: a program of `subjects/`, a release of `environments.py`, the files for `--fix`, the release
in which upstream fixed them (if there is one), and how the oracles must judge each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trl_lint.verify.oracles import metrics, own_share, sequence, termination, true_value

# The arguments of a subject, unless its case says otherwise.
STEPS, BATCH = 4, 2
# Seconds for a collective, on a machine with other work as well.
TIMEOUT = 30.0

DPO_METRICS = (
    *("rewards/chosen", "rewards/rejected", "rewards/accuracies", "rewards/margins"),
    *("logps/chosen", "logps/rejected", "logits/chosen", "logits/rejected"),
)
CPO_METRICS = (*DPO_METRICS, "nll_loss")
ORPO_METRICS = (*CPO_METRICS, "log_odds_ratio", "log_odds_chosen")


@dataclass(frozen=True)
class Failure:
    """An oracle that must fail: in which way, for exactly which metrics, with which words and place in its evidence.

    Fields that are empty may be anything.
    """

    oracle: str
    way: str
    metrics: tuple[str, ...] = ()
    said: str = ""
    place: str = ""


@dataclass(frozen=True)
class Case:
    """A released trainer, and how the oracles must judge it.

    variation: a row of `variations.py` that replaces a released file. files: the files for `--fix`; empty if there is
    nothing to fix. upstream: the release in which upstream fixed it. released, mended: the oracles that must fail on
    the first and on the other two; all others must not. facts: names of `facts.FACTS` that must hold. metrics: the
    metrics of these facts. changed: the metrics that upstream has since defined differently, so that its values can't
    be expected. is_launch: the bug is in the launch file that starts the subject with bare python, on as many GPUs as
    there are processes elsewhere. rules: the rules whose findings the case covers; nothing is proved about findings of
    other rules in the same files. options: of the subject. timeout: seconds for a collective. by_hand: a row of
    `variations.py` that follows the advice of a finding which `--fix` leaves to the user; `--fix` is applied to the
    result. Without it, the result of `--fix` for the released files is run.
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
        """Whether it is right code that is only run as released."""
        return not self.upstream and not self.files and not self.is_launch

    @property
    def steps(self) -> int:
        """The optimizer steps that the subject takes."""
        return int(self.options.get("steps", STEPS))


# Bugs of trl 1.16.0 in docs/accuracy.md that no case runs, and why.
NOT_RUN = {
    "TRL010, `unwrap_model_for_generation(self.model, …)` in A2PO, GOLD and IW-OPD": "the hooks that are left on are "
    "those of DeepSpeed's ZeRO-3, which needs GPUs; under DDP the two models generate the same",
    "TRL014, the auxiliary loss in DPO, GRPO, KTO, online DPO and RLOO": "it is there for mixtures of experts only, "
    "and its fix is left to the user (`--unsafe-fixes`)",
    "TRL014, distillation": "the gather is that of SFT, of the same two counts",
    "TRL014, the tokens that SFT counts of batches without padding (line 1653)": "the gather is that of line 1650, "
    "which is run",
    "TRL015 in the scripts of distillation, DPO, GRPO, KTO, reward and RLOO": "the split is the same function's as in "
    "that of SFT, which is run",
}

_LOGITS = Failure(true_value.ORACLE, "value", ("logits/chosen", "logits/rejected"))
# In CPO and ORPO these are means over each rank's own tokens; upstream, and so the fix, takes the mean of them.
_OVER_TOKENS = Failure(true_value.ORACLE, "value", ("logits/chosen", "logits/rejected", "nll_loss"))
_OVER_TOKENS_NOTE = (
    "`logits/*` and `nll_loss` are means over each rank's own tokens. Upstream, and so the fix, takes the mean of them "
    "over the ranks, which is another number where ranks have other numbers of tokens."
)


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
        f"upstream's first fix, {trainer}",
        subject,
        "0.14.0",
        (Failure(termination.ORACLE, "abort", place=place), Failure(sequence.ORACLE, "sequence", place=place)),
        upstream="0.17.0",
        mended=(_OVER_TOKENS,),
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
    """One value per rank, gathered with `gather_for_metrics` when the last rows of an epoch are trained on.

    9 rows are three batches of 2 on 2 ranks, one optimizer step. The third batch is filled up with 3 of the first rows,
    and as Trainer fetches all three beforehand, each gather of the whole step loses 3 of 4 values.
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
    "row by row, which is what `gather_for_metrics` is for; but rows of the first two batches are cut off as well, and "
    "none of them is there twice. No rule says so, and `--fix` leaves it."
)


def _left_early(name: str, line: int, gather: int, **options: float) -> Case:
    """A rank without any token that counts returns before a gather in which the others wait."""
    file = f"trl/experimental/{name.lower()}/{name.lower()}_trainer.py"
    return Case(
        f"return before a gather, {name}",
        name.lower(),
        "1.16.0",
        (Failure(termination.ORACLE, "hang", place=f"{file}:{gather}"), Failure(sequence.ORACLE, "sequence")),
        files=(file,),
        rules=("TRL006", "TRL007"),
        options={"steps": 1, **options},
        timeout=10.0,
        by_hand=f"{name}-same-return",
        facts=("trains to the end", "same alone"),
    )


def _token_means(name: str, names: tuple[str, ...], kind: str = "", **others: Any) -> Case:
    """The mean over the tokens of each rank's answers, averaged over ranks whose answers differ in length."""
    return Case(
        f"mean of means, {name}{kind}",
        name.lower(),
        "1.16.0",
        (Failure(true_value.ORACLE, "value", names),),
        files=(f"trl/experimental/{name.lower()}/{name.lower()}_trainer.py",),
        rules=("TRL006", "TRL007"),
        metrics=names,
        facts=("as one process", "same alone"),
        **others,
    )


def _own(name: str) -> tuple[str, ...]:
    return ("self_distillation/distillation_loss", f"{name.lower()}/distillation_loss")


def _table(name: str, line: int) -> Case:
    file = f"trl/experimental/{name.lower()}/{name.lower()}_trainer.py"
    said = "Error: You must call wandb.init() before wandb.log()"
    return Case(
        f"table of every rank, {name}",
        f"{name.lower()}_table",
        "1.16.0",
        (Failure(termination.ORACLE, "exception", said=said, place=f"{file}:{line}"),),
        files=(file,),
        rules=("TRL008",),
        options={"steps": 1},
        facts=("trains to the end", "same alone"),
        note="Weights & Biases is not there; what stands in for it refuses to log without a run, as the real one does. "
        "Trainer starts a run on the main process alone.",
    )


_A2PO = ("reward", "v_star", "implicit_reward", "advantage")
_IW_OPD = tuple(f"iw_opd/{name}" for name in ("mean_advantage", "mean_abs_advantage", "mean_weight", "min_weight"))
_SERVER = {"steps": 2, "server": 1}
# Everything that KTO counts or sums, and what follows from its baseline.
_KTO = (
    *("kl", "num_tokens", "logits/chosen", "logits/rejected", "logps/chosen", "logps/rejected"),
    *("rewards/chosen", "rewards/rejected", "rewards/margins"),
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
    _rank_0(
        "CPO",
        "cpo",
        CPO_METRICS,
        "0.17.0",
        released=(Failure(metrics.ORACLE, "metric", CPO_METRICS), Failure(true_value.ORACLE, "value", CPO_METRICS)),
        mended=(_OVER_TOKENS,),
        note=_OVER_TOKENS_NOTE,
    ),
    _rank_0(
        "ORPO",
        "orpo",
        ORPO_METRICS,
        "0.17.0",
        released=(Failure(metrics.ORACLE, "metric", ORPO_METRICS), Failure(true_value.ORACLE, "value", ORPO_METRICS)),
        mended=(_OVER_TOKENS,),
        changed=_LOGITS.metrics,
        note=f"{_OVER_TOKENS_NOTE} `logits/*` are not compared with upstream: since 0.14.0 it leaves the last token "
        "out of them.",
    ),
    _first_mend("CPO", "cpo", 838),
    _first_mend("ORPO", "orpo", 851),
    Case(
        "wrapped config, online DPO",
        "online_dpo",
        "0.16.1",
        (
            Failure(
                termination.ORACLE,
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
                termination.ORACLE,
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
        note="The bug lived between two releases. It is put back into 0.16.0, which had fixed it.",
    ),
    Case(
        "half-fix of it, SFT",
        "sft",
        "0.16.0",
        (
            Failure(termination.ORACLE, "abort", place="trl/trainer/sft_trainer.py:502"),
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
        Failure(termination.ORACLE, "exception", said=_PART, place="trl/trainer/sft_trainer.py:587"),
        "Issue 3392 of huggingface/trl, in its words.",
    ),
    _bare(
        "SFT",
        "sft",
        "0.17.0",
        Failure(termination.ORACLE, "exception", said=_PART, place="trl/trainer/sft_trainer.py:682"),
    ),
    _bare("SFT", "sft", "1.16.0", Failure(termination.ORACLE, "exception", said="SFTTrainer does not support")),
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
    _left_early("SDFT", 842, 901, skip=4),
    _left_early("SDPO", 1204, 1263, fails=1),
    Case(
        "cut baseline, KTO",
        "kto",
        "1.16.0",
        (Failure(true_value.ORACLE, "value", _KTO),),
        files=("trl/trainer/kto_trainer.py",),
        rules=("TRL014",),
        options={"steps": 2, "accumulation": 3, "rows": 9, "fill": 4, "rate": 0.05},
        facts=("trains as one process", "same alone"),
        note="Not only what is logged is wrong: the mean over the ranks of the distance to the reference model is what "
        "rewards are measured from in the loss. In the first step the two models are still the same.",
    ),
    _table("CPO", 1040),
    _table("ORPO", 1008),
    Case(
        "wrapped config, Weave callback",
        "callback",
        "1.16.0",
        (
            Failure(
                termination.ORACLE,
                "exception",
                said="AttributeError: 'DistributedDataParallel' object has no attribute 'config'",
                place="trl/trainer/callbacks.py:481",
            ),
        ),
        files=("trl/trainer/callbacks.py",),
        options={"steps": 1},
        facts=("trains to the end", "same alone"),
        note="Weave is not there, and a stand-in takes its place.",
    ),
    Case(
        "rank-0 metrics, A2PO",
        "a2po",
        "1.16.0",
        (Failure(metrics.ORACLE, "metric", _A2PO), Failure(true_value.ORACLE, "value", _A2PO)),
        files=("trl/experimental/a2po/a2po_trainer.py",),
        options={"steps": 2, "fill": 4},
        metrics=_A2PO,
        facts=("equal on all ranks", "mean of the ranks", "same training", "same alone"),
    ),
    Case(
        "a filter of each rank, A2PO",
        "a2po",
        "1.16.0",
        options={"steps": 1, "rows": 8, "filters": 1},
        facts=("files of their own",),
        note="Right code, of which TRL012 says nothing. What is filtered by holds the trainer, which holds its rank: "
        "no two ranks have the same hash of it, and so none writes another one's file, and none can read it either, "
        "in whatever order they come.",
    ),
    Case(
        "rank-0 metrics, IW-OPD",
        "iw_opd",
        "1.16.0",
        (
            Failure(metrics.ORACLE, "metric", _IW_OPD),
            Failure(true_value.ORACLE, "value", (*_IW_OPD, "on_policy_loss")),
        ),
        files=("trl/experimental/iw_opd/iw_opd_trainer.py",),
        options={"steps": 1, "fill": 4},
        metrics=_IW_OPD,
        by_hand="IW-OPD-all-tokens",
        mended=(Failure(true_value.ORACLE, "value", ("on_policy_loss",)),),
        facts=("equal on all ranks", "as one process", "same training", "same alone"),
        note="The greatest weight is the same on all ranks, as each one's first token has it. The loss is half of that "
        "of one process: this trainer divides by the tokens of all ranks, of which DDP then takes the mean once more. "
        "No rule says so.",
    ),
    *(_token_means(name, _own(name), options={"steps": 2}, by_hand=f"{name}-same-return") for name in ("SDFT", "SDPO")),
    *(
        _token_means(
            name,
            (*_own(name), "self_distillation/server_logprob_abs_diff"),
            ", teacher on a server",
            options=_SERVER,
        )
        for name in ("SDFT", "SDPO")
    ),
    Case(
        "unseeded split, SFT script",
        "sft_split",
        "1.16.0",
        (Failure(own_share.ORACLE, "overlap"),),
        files=("trl/scripts/sft.py", "trl/scripts/utils.py"),
        rules=("TRL015",),
        options={"steps": 8},
        by_hand="mixture-seed",
        facts=("trains to the end", "trains as one process"),
        note="The script itself is run, on a file of texts, of which `test_split_size` keeps a fifth to evaluate on. "
        "Each rank trains on half of what it has not kept itself, so that the ranks share rows, and train on rows that "
        "others have kept.",
    ),
    Case("control, DPO", "dpo", "0.17.0", (_LOGITS,), note="The means of means of 0.14.0 are still there."),
    Case("control, SFT", "sft", "0.17.0"),
    Case("control, DPO", "dpo", "1.16.0"),
    Case("control, SFT", "sft", "1.16.0"),
)
