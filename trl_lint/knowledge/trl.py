"""TRL's trainers over their generations, from 0.4 to 1.16.

Spans are read from the releases around them. Up to 0.11 `PPOTrainer` had its own loop and did not derive from
`Trainer`; nor do `DDPOTrainer` and `AlignPropTrainer`. All others derive from `transformers.Trainer`, from 0.24 on
through an intermediate class (`BaseTrainer`, from 1.0 on `_BaseTrainer`). The metrics that `get_batch_loss_metrics`
returns are rank-local up to 0.13 in DPO, CPO and ORPO; they are the same on all ranks from 0.14 on, and in KTO and BCO.
"""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint.domain import ranks
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.values import Value
from trl_lint.findings import Consequence
from trl_lint.knowledge import transformers
from trl_lint.knowledge.schema import (
    BARE_MODEL,
    BATCH,
    LOADER,
    LOCAL_LOSS,
    LOCAL_METRICS,
    LOCAL_TENSOR,
    NOTHING,
    REDUCED,
    REDUCED_METRICS,
    SAME,
    SAME_NUMBER,
    SETTING,
    SOME_MODEL,
    TRAINED_MODEL,
    UNKNOWN,
    WRAPPED_MODEL,
    Attribute,
    Class,
    Collective,
    Effect,
    Function,
    Hook,
    OpaqueCall,
    Row,
    Sink,
    Store,
    Synchronisation,
    created,
    instance,
    items,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_TRAINER = "transformers.Trainer"
_BASE = "trl._BaseTrainer"
_DPO = "trainer/dpo_trainer.py::DPOTrainer"
_GRPO = "trainer/grpo_trainer.py::GRPOTrainer"
_KTO = "trainer/kto_trainer.py::KTOTrainer"
_ONLINE = "trainer/online_dpo_trainer.py::OnlineDPOTrainer"
_PPO = "trainer/ppo_trainer.py::PPOTrainer"
_RLOO = "trainer/rloo_trainer.py::RLOOTrainer"
_UTILS = "trainer/utils.py"

_PRINTS = Effect("prints the same table", shown=True, consequence=Consequence.WASTE)

# A reward function is passed the columns of this rank's samples; `**` is any other name.
_REWARD_FUNCTION = {
    "prompts": BATCH, "completions": BATCH, "completion_ids": BATCH,
    "trainer_state": instance("transformers.TrainerState"),
    "log_extra": SAME, "log_metric": SAME, "environments": BATCH, "**": BATCH,
}
_WITH_REWARDS = transformers.CALLBACKS | {
    "reward_funcs": _REWARD_FUNCTION, "rollout_func": {"prompts": BATCH,
                                                       "trainer": instance("trl.GRPOTrainer")},
}
_NO_PLACES: Mapping[str, int] = {}
# After the model, wherever it has them.
_REWARDS_SECOND = {"reward_funcs": 1}


def _trainer(
    name: str, file: str, *, since: str, until: str = "", base: str = _TRAINER,
    callbacks: dict[str, dict[str, Value]] = transformers.CALLBACKS, places: Mapping[str, int] = _NO_PLACES,
) -> Class:
    return Class(name=f"trl.{name}", source=f"{file}::{name}", since=since, until=until, bases=(base,),
                 callbacks=callbacks, places=places)


def _generations(
    name: str, file: str, *, since: str, until: str = "",
    callbacks: dict[str, dict[str, Value]] = transformers.CALLBACKS, places: Mapping[str, int] = _NO_PLACES,
) -> tuple[Class, ...]:
    """A trainer that existed before 0.24: one row for each class that it derived from."""
    rows = [_trainer(name, file, since=since, until="0.24", callbacks=callbacks, places=places)]
    if until != "0.24":
        rows.append(_trainer(name, file, since="0.24", until="1.0", base="trl.BaseTrainer",
                             callbacks=callbacks, places=places))
        rows.append(_trainer(name, file, since="1.0", until=until, base=_BASE, callbacks=callbacks,
                             places=places))
    return tuple(rows)


# --- classes ------------------------------------------------------------------------------------------

_CLASSES: tuple[Row, ...] = (
    _trainer("A2POTrainer", "experimental/a2po/a2po_trainer.py", since="1.6", base=_BASE,
             callbacks=_WITH_REWARDS),
    Class(name="trl.AlignPropTrainer", source="trainer/alignprop_trainer.py::AlignPropTrainer", since="0.9.6",
          until="0.24"),
    _trainer("AsyncDistillationTrainer", "experimental/async_distillation/async_distillation_trainer.py",
             since="1.11", base=_BASE),
    _trainer("AsyncGRPOTrainer", "experimental/async_grpo/async_grpo_trainer.py", since="1.0", base=_BASE,
             callbacks=_WITH_REWARDS),
    *_generations("BCOTrainer", "trainer/bco_trainer.py", since="0.10", until="1.14"),
    # The base class of PPOTrainer and DDPOTrainer while they had their own loops; another class of the same name.
    Class(name="trl.BaseTrainer", source="trainer/base.py::BaseTrainer", until="0.14"),
    Class(name="trl.BaseTrainer", source="trainer/base_trainer.py::BaseTrainer", since="0.24", until="1.0",
          bases=(_TRAINER,)),
    *_generations("CPOTrainer", "trainer/cpo_trainer.py", since="0.8.2"),
    Class(name="trl.DDPOTrainer", source="trainer/ddpo_trainer.py::DDPOTrainer", since="0.6", until="0.24"),
    *_generations("DPOTrainer", "trainer/dpo_trainer.py", since="0.5"),
    _trainer("DPPOTrainer", "experimental/dppo/dppo_trainer.py", since="1.0", until="1.9",
             base="trl.GRPOTrainer", callbacks=_WITH_REWARDS),
    _trainer("DistillationTrainer", "experimental/distillation/distillation_trainer.py", since="1.1",
             base=_BASE),
    _trainer("GFPOTrainer", "experimental/gfpo/gfpo_trainer.py", since="0.24", until="1.8",
             base="trl.GRPOTrainer", callbacks=_WITH_REWARDS),
    _trainer("GKDTrainer", "trainer/gkd_trainer.py", since="0.11", base="trl.SFTTrainer"),
    _trainer("GMPOTrainer", "experimental/gmpo/gmpo_trainer.py", since="1.7", base="trl.GRPOTrainer",
             callbacks=_WITH_REWARDS),
    _trainer("GOLDTrainer", "experimental/gold/gold_trainer.py", since="0.25", base="trl.SFTTrainer"),
    *_generations("GRPOTrainer", "trainer/grpo_trainer.py", since="0.14", callbacks=_WITH_REWARDS,
                  places=_REWARDS_SECOND),
    _trainer("GRPOWithReplayBufferTrainer",
             "experimental/grpo_with_replay_buffer/grpo_with_replay_buffer_trainer.py", since="0.24",
             until="1.14", base="trl.GRPOTrainer", callbacks=_WITH_REWARDS),
    _trainer("IWOPDTrainer", "experimental/iw_opd/iw_opd_trainer.py", since="1.9", base=_BASE),
    *_generations("IterativeSFTTrainer", "trainer/iterative_sft_trainer.py", since="0.7.3", until="0.24"),
    *_generations("KTOTrainer", "trainer/kto_trainer.py", since="0.8"),
    _trainer("MiniLLMTrainer", "experimental/minillm/minillm_trainer.py", since="0.26", until="1.15",
             base="trl.GRPOTrainer", callbacks=_WITH_REWARDS),
    _trainer("NashMDTrainer", "trainer/nash_md_trainer.py", since="0.11", until="1.14",
             base="trl.OnlineDPOTrainer", callbacks=_WITH_REWARDS),
    *_generations("ORPOTrainer", "trainer/orpo_trainer.py", since="0.8.2"),
    *_generations("OnlineDPOTrainer", "trainer/online_dpo_trainer.py", since="0.10", callbacks=_WITH_REWARDS),
    _trainer("PAPOTrainer", "experimental/papo/papo_trainer.py", since="0.25", until="1.8",
             base="trl.GRPOTrainer", callbacks=_WITH_REWARDS),
    Class(name="trl.PPOTrainer", source=_PPO, until="0.12", bases=("trl.BaseTrainer",)),
    *_generations("PPOTrainer", "trainer/ppo_trainer.py", since="0.12", until="1.13"),
    _trainer("PPOv2Trainer", "trainer/ppov2_trainer.py", since="0.9", until="0.12"),
    _trainer("PPOv2Trainer", "trainer/ppov2_trainer.py", since="0.12", until="0.13", base="trl.PPOTrainer"),
    *_generations("PRMTrainer", "trainer/prm_trainer.py", since="0.13", until="1.14"),
    *_generations("RLOOTrainer", "trainer/rloo_trainer.py", since="0.9", callbacks=_WITH_REWARDS,
                  places=_REWARDS_SECOND),
    *_generations("RewardTrainer", "trainer/reward_trainer.py", since="0.4"),
    Class(name="trl.RunningMoments", source=f"{_UTILS}::RunningMoments", since="0.6", until="1.14"),
    *(
        _trainer(name, file, since="1.0", until=until, base=_BASE)
        for name, file, until in (
            ("BaseSelfDistillationTrainer",
             "experimental/self_distillation/base_self_distillation_trainer.py", "1.6"),
            ("SDFTTrainer", "experimental/sdft/sdft_trainer.py", ""),
            ("SDPOTrainer", "experimental/sdpo/sdpo_trainer.py", ""),
        )
    ),
    *_generations("SFTTrainer", "trainer/sft_trainer.py", since="0.4"),
    _trainer("SSDTrainer", "experimental/ssd/ssd_trainer.py", since="1.2", until="1.16", base=_BASE),
    _trainer("ServerDistillationTrainer", "experimental/server_distillation/server_distillation_trainer.py",
             since="1.9", base="trl.DistillationTrainer"),
    _trainer("TPOTrainer", "experimental/tpo/tpo_trainer.py", since="1.3", base=_BASE),
    _trainer("XPOTrainer", "trainer/xpo_trainer.py", since="0.11", until="1.14", base="trl.OnlineDPOTrainer",
             callbacks=_WITH_REWARDS),
    _trainer("_BaseTrainer", "trainer/base_trainer.py", since="1.0"),
    # Arguments: the same on all ranks, except for what TrainingArguments has.
    *(
        Class(name=f"trl.{name}Config", source=f"trainer/{name.lower()}_config.py::{name}Config",
              bases=("transformers.TrainingArguments",), others=SETTING)
        for name in (
            "A2PO", "AsyncDistillation", "AsyncGRPO", "BCO", "CPO", "DPO", "DPPO",
            "Distillation",
            "GFPO", "GKD", "GMPO", "GOLD", "GRPO", "GRPOWithReplayBuffer", "IWOPD", "IterativeSFT", "KTO",
            "MiniLLM",
            "NashMD", "ORPO", "OnPolicy", "OnlineDPO", "PAPO", "PPO", "PPOv2", "PRM", "RLOO", "Reward",
            "SDFT", "SDPO",
            "SFT", "SSD", "ServerDistillation", "TPO", "XPO", "_Base",
        )
    ),
    *(
        Class(name=f"trl.{name}Config", source=f"trainer/{name.lower()}_config.py::{name}Config", others=SETTING)
        for name in ("AlignProp", "DDPO")
    ),
    # It makes the wrapper's own forward run another method of the module, so that the hooks of DDP and FSDP run.
    Class(name="trl._ForwardRedirection", source="models/utils.py::_ForwardRedirection", since="0.18"),
    Class(name="trl.ModelConfig", source="trainer/model_config.py::ModelConfig", others=SETTING),
    Class(name="trl.ScriptArguments", source="scripts/utils.py::ScriptArguments", others=SETTING),
    Class(name="trl.TrlParser", source="scripts/utils.py::TrlParser", bases=("transformers.HfArgumentParser",),
          fills=(0, "dataclass_types")),
    *(
        Class(name=f"trl.{name}", source=f"trainer/callbacks.py::{name}",
              bases=("transformers.TrainerCallback",))
        for name in (
            "BEMACallback", "LogCompletionsCallback", "MergeModelCallback", "RichProgressCallback",
            "SyncRefModelCallback", "WeaveCallback", "WinRateCallback",
        )
    ),
)

# --- metric stores: the class's own `log` averages them over steps, never over ranks ------------------

_STORES: tuple[Row, ...] = (
    *(
        Store(name=f"trl.{name}._metrics", source=f"{name}.__init__", since=since, until=until)
        for name, since, until in (
            ("A2POTrainer", "1.6", ""), ("AsyncDistillationTrainer", "1.11", ""),
            ("AsyncGRPOTrainer", "1.0", ""),
            ("BaseSelfDistillationTrainer", "1.0", "1.6"), ("DPOTrainer", "0.29", ""),
            ("DistillationTrainer", "1.1", ""),
            ("GOLDTrainer", "0.25", ""), ("GRPOTrainer", "0.16", ""), ("IWOPDTrainer", "1.9", ""),
            ("KTOTrainer", "1.4", ""), ("RLOOTrainer", "0.22", ""), ("RewardTrainer", "0.24", ""),
            ("SDFTTrainer", "1.0", ""), ("SDPOTrainer", "1.0", ""), ("SFTTrainer", "0.16", ""),
            ("SSDTrainer", "1.2", "1.16"), ("TPOTrainer", "1.3", ""),
        )
    ),
    *(
        Store(name=f"trl.{name}._metrics", source=f"{name}.__init__", since=since, until="0.16", depth=1)
        for name, since in (("GRPOTrainer", "0.14"), ("SFTTrainer", "0.15"))
    ),
    *(
        Store(name=f"trl.{name}._stored_metrics", source=f"{name}.__init__", since=since, until=until)
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("CPOTrainer", "0.8.2", ""), ("DPOTrainer", "0.5", "0.29"),
            ("KTOTrainer", "0.8", "1.4"), ("ORPOTrainer", "0.8.2", ""),
        )
    ),
    *(
        Store(name=f"trl.{name}.stats", source=f"{name}.__init__", since=since, until=until, depth=1)
        for name, since, until in (
            ("NashMDTrainer", "0.11", "1.14"), ("OnlineDPOTrainer", "0.10", ""),
            ("XPOTrainer", "0.11", "1.14"),
        )
    ),
)

_SINKS: tuple[Row, ...] = (
    Sink(name="trl.PPOTrainer.log_stats", source=f"{_PPO}.log_stats", until="0.12", payload=(0, "stats")),
    *(
        Sink(name=f"trl.{name}.store_metrics", source=f"{name}.store_metrics", since=since, until=until,
             payload=(0, "metrics"))
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("CPOTrainer", "0.8.2", ""), ("DPOTrainer", "0.5", "0.29"),
            ("KTOTrainer", "0.8", "1.5"), ("ORPOTrainer", "0.8.2", ""),
        )
    ),
)

# --- hooks of the preference trainers -----------------------------------------------------------------

_MODEL_BATCH = {"model": TRAINED_MODEL, "batch": BATCH}
_MODEL_INPUTS = {"model": TRAINED_MODEL, "inputs": BATCH}
_LOCAL_PAIR = items(LOCAL_LOSS, LOCAL_METRICS)
_REDUCED_PAIR = items(LOCAL_LOSS, REDUCED_METRICS)
_LOGPS = {
    "policy_chosen_logps": LOCAL_TENSOR, "policy_rejected_logps": LOCAL_TENSOR,
    "reference_chosen_logps": LOCAL_TENSOR, "reference_rejected_logps": LOCAL_TENSOR,
}
_THREE = items(LOCAL_TENSOR, LOCAL_TENSOR, LOCAL_TENSOR)


def _loss_metrics(name: str, *, since: str, until: str, reduced: bool, last: str) -> Hook:
    return Hook(trains=True, name=f"trl.{name}.get_batch_loss_metrics", source=f"{name}.get_batch_loss_metrics",
                since=since, until=until, parameters=_MODEL_BATCH | ({last: SAME} if last else {}), stored=1,
                returns=_REDUCED_PAIR if reduced else _LOCAL_PAIR)


def _compute_loss(name: str, *, since: str, until: str, reduced: bool) -> Hook:
    """It returns these metrics with the loss if `return_outputs` is set."""
    return Hook(trains=True, name=f"trl.{name}.compute_loss", source=f"{name}.compute_loss", since=since, until=until,
                parameters=_MODEL_INPUTS | {"return_outputs": UNKNOWN}, returns=LOCAL_LOSS,
                switch=(2, "return_outputs"), switched=_REDUCED_PAIR if reduced else _LOCAL_PAIR)


_PREFERENCE_HOOKS: tuple[Row, ...] = (
    _loss_metrics("BCOTrainer", since="0.10", until="0.17", reduced=True, last=""),
    _loss_metrics("BCOTrainer", since="0.17", until="1.14", reduced=True, last="do_train"),
    _loss_metrics("CPOTrainer", since="0.8.2", until="0.14", reduced=False, last="train_eval"),
    _loss_metrics("CPOTrainer", since="0.14", until="", reduced=True, last="train_eval"),
    _loss_metrics("DPOTrainer", since="0.7.5", until="0.14", reduced=False, last="train_eval"),
    _loss_metrics("DPOTrainer", since="0.14", until="0.29", reduced=True, last="train_eval"),
    _loss_metrics("KTOTrainer", since="0.8", until="0.8.2", reduced=True, last="train_eval"),
    _loss_metrics("KTOTrainer", since="0.8.2", until="1.5", reduced=True, last=""),
    _loss_metrics("ORPOTrainer", since="0.8.2", until="0.14", reduced=False, last="train_eval"),
    _loss_metrics("ORPOTrainer", since="0.14", until="", reduced=True, last="train_eval"),
    _compute_loss("BCOTrainer", since="0.10", until="1.14", reduced=True),
    _compute_loss("CPOTrainer", since="0.8.2", until="0.14", reduced=False),
    _compute_loss("CPOTrainer", since="0.14", until="", reduced=True),
    _compute_loss("DPOTrainer", since="0.5", until="0.14", reduced=False),
    _compute_loss("DPOTrainer", since="0.14", until="0.29", reduced=True),
    _compute_loss("KTOTrainer", since="0.8", until="1.5", reduced=True),
    _compute_loss("ORPOTrainer", since="0.8.2", until="0.14", reduced=False),
    _compute_loss("ORPOTrainer", since="0.14", until="", reduced=True),
    Hook(trains=True, name="trl.DPOTrainer.get_batch_metrics", source=f"{_DPO}.get_batch_metrics", since="0.5",
         until="0.7.5", parameters=_MODEL_BATCH | {"train_eval": SAME}, returns=_LOCAL_PAIR, stored=1),
    Hook(trains=True, name="trl.DPOTrainer._compute_loss", source=f"{_DPO}._compute_loss", since="0.29",
         parameters=_MODEL_INPUTS | {"return_outputs": UNKNOWN}, returns=LOCAL_LOSS,
         switch=(2, "return_outputs"), switched=items(LOCAL_LOSS, BATCH)),
    Hook(trains=True, name="trl.KTOTrainer._compute_loss", source=f"{_KTO}._compute_loss", since="1.5", until="1.6",
         parameters=_MODEL_INPUTS, returns=LOCAL_LOSS),
    Hook(trains=True, name="trl.KTOTrainer._compute_loss", source=f"{_KTO}._compute_loss", since="1.6",
         parameters=_MODEL_INPUTS | {"return_outputs": UNKNOWN}, returns=LOCAL_LOSS,
         switch=(2, "return_outputs"), switched=items(LOCAL_LOSS, BATCH)),
    # The fused loss: from 1.9 on it is passed the bare model, inside the wrapper's own forward where that matters.
    Hook(trains=True, name="trl.DPOTrainer._compute_loss_liger", source=f"{_DPO}._compute_loss_liger", since="0.19",
         until="0.29", parameters=_MODEL_BATCH, returns=UNKNOWN),
    Hook(trains=True, name="trl.DPOTrainer._compute_loss_liger", source=f"{_DPO}._compute_loss_liger", since="0.29",
         until="1.14", parameters={"model": SOME_MODEL, "inputs": BATCH, "return_outputs": UNKNOWN},
         returns=LOCAL_LOSS),
    Hook(trains=True, name="trl.KTOTrainer._compute_loss_liger", source=f"{_KTO}._compute_loss_liger", since="0.17",
         until="1.5", parameters=_MODEL_BATCH, returns=UNKNOWN),
    Hook(trains=True, name="trl.KTOTrainer._compute_loss_liger", source=f"{_KTO}._compute_loss_liger", since="1.5",
         until="1.14", parameters={"model": SOME_MODEL, "inputs": BATCH, "return_outputs": UNKNOWN},
         returns=LOCAL_LOSS),
    *(
        Hook(trains=True, name=f"trl.{name}.concatenated_forward", source=f"{name}.concatenated_forward", since=since,
             until=until, parameters=_MODEL_BATCH, returns=BATCH)
        for name, since, until in (
            ("CPOTrainer", "0.8.2", ""), ("DPOTrainer", "0.5", "0.18"), ("ORPOTrainer", "0.8.2", ""),
        )
    ),
    Hook(trains=True, name="trl.DPOTrainer.concatenated_forward", source=f"{_DPO}.concatenated_forward", since="0.18",
         until="0.29", parameters=_MODEL_BATCH | {"is_ref_model": SAME}, returns=BATCH),
    *(
        Hook(trains=True, name=f"trl.{name}.forward", source=f"{name}.forward", since=since, until=until,
             parameters=_MODEL_BATCH, returns=BATCH)
        for name, since, until in (("BCOTrainer", "0.10", "1.14"), ("KTOTrainer", "0.8", "1.6"))
    ),
    # Reference log-probabilities of one batch.
    *(
        Hook(name=f"trl.{name}.compute_reference_log_probs", source=f"{name}.compute_reference_log_probs",
             since=since, until=until, parameters={"padded_batch": BATCH}, returns=BATCH)
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("DPOTrainer", "0.7.5", "0.12"), ("KTOTrainer", "0.8", "1.6"),
        )
    ),
    Hook(name="trl.DPOTrainer.compute_ref_log_probs", source=f"{_DPO}.compute_ref_log_probs", since="0.12",
         until="0.29", parameters={"batch": BATCH}, returns=BATCH),
    Hook(name="trl.DPOTrainer.compute_ref_log_probs", source=f"{_DPO}.compute_ref_log_probs", since="0.29",
         until="1.9", parameters={"inputs": BATCH}, returns=BATCH),
    Hook(name="trl.DPOTrainer.compute_ref_log_probs", source=f"{_DPO}.compute_ref_log_probs", since="1.9",
         parameters={"model": SOME_MODEL, "inputs": BATCH}, returns=BATCH),
    Hook(name="trl.KTOTrainer.compute_ref_log_probs", source=f"{_KTO}.compute_ref_log_probs", since="1.6",
         until="1.9", parameters={"inputs": BATCH}, returns=BATCH),
    Hook(name="trl.KTOTrainer.compute_ref_log_probs", source=f"{_KTO}.compute_ref_log_probs", since="1.9",
         parameters={"model": SOME_MODEL, "inputs": BATCH}, returns=BATCH),
    *(
        Function(name=f"trl.{name}.null_ref_context", source=f"{name}.null_ref_context", since=since,
                 until=until, returns=SAME, yields=NOTHING, frozen=True)
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("DPOTrainer", "0.7.10", "0.29"), ("KTOTrainer", "0.9", "1.6"),
            ("PPOTrainer", "0.13", "1.13"),
        )
    ),
    *(
        Function(name=f"trl.{name}.get_batch_logps", source=f"{name}.get_batch_logps", since=since, until=until,
                 returns="pure")
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("CPOTrainer", "0.8.2", ""), ("DPOTrainer", "0.7.10", "0.12"),
            ("KTOTrainer", "0.8", "1.6"), ("ORPOTrainer", "0.8.2", ""),
        )
    ),
    # Losses of one batch.
    Hook(name="trl.BCOTrainer.bco_loss", source="trainer/bco_trainer.py::BCOTrainer.bco_loss", since="0.10",
         until="1.14",
         parameters=_LOGPS | {"chosen_embeddings": LOCAL_TENSOR, "rejected_embeddings": LOCAL_TENSOR},
         returns=items(LOCAL_TENSOR, LOCAL_TENSOR, LOCAL_TENSOR, UNKNOWN)),
    Hook(name="trl.CPOTrainer.cpo_loss", source="trainer/cpo_trainer.py::CPOTrainer.cpo_loss", since="0.8.2",
         parameters={"policy_chosen_logps": LOCAL_TENSOR, "policy_rejected_logps": LOCAL_TENSOR},
         returns=_THREE),
    Hook(name="trl.DPOTrainer.dpo_loss", source=f"{_DPO}.dpo_loss", since="0.5", until="0.12",
         parameters=_LOGPS, returns=_THREE),
    Hook(name="trl.DPOTrainer.dpo_loss", source=f"{_DPO}.dpo_loss", since="0.12", until="0.29",
         parameters={"chosen_logps": LOCAL_TENSOR, "rejected_logps": LOCAL_TENSOR,
                     "ref_chosen_logps": LOCAL_TENSOR, "ref_rejected_logps": LOCAL_TENSOR}, returns=_THREE),
    # The divergence estimate is gathered inside.
    Hook(name="trl.KTOTrainer.kto_loss", source=f"{_KTO}.kto_loss", since="0.8", until="1.6",
         parameters={"policy_chosen_logps": LOCAL_TENSOR, "policy_rejected_logps": LOCAL_TENSOR,
                     "policy_KL_logps": LOCAL_TENSOR, "reference_chosen_logps": LOCAL_TENSOR,
                     "reference_rejected_logps": LOCAL_TENSOR, "reference_KL_logps": LOCAL_TENSOR},
         returns=items(LOCAL_TENSOR, LOCAL_TENSOR, LOCAL_TENSOR, REDUCED)),
    Hook(name="trl.ORPOTrainer.odds_ratio_loss",
         source="trainer/orpo_trainer.py::ORPOTrainer.odds_ratio_loss", since="0.8.2",
         parameters={"policy_chosen_logps": LOCAL_TENSOR, "policy_rejected_logps": LOCAL_TENSOR},
         returns=items(*[LOCAL_TENSOR] * 5)),
    # Up to 0.11 these took Trainer's later `get_batch_samples` for generating samples.
    *(
        Hook(name=f"trl.{name}.get_batch_samples", source=f"{name}.get_batch_samples", since=since,
             until="0.12", parameters={"model": BARE_MODEL, "batch": BATCH}, returns=UNKNOWN)
        for name, since in (("BCOTrainer", "0.10"), ("CPOTrainer", "0.8.2"), ("DPOTrainer", "0.5"),
                            ("KTOTrainer", "0.8"), ("ORPOTrainer", "0.8.2"))
    ),
    *(
        Hook(name=f"trl.{name}.{own}", source=f"{name}.{own}", since="0.12", until=until,
             parameters={"model": BARE_MODEL, "batch": BATCH}, returns=UNKNOWN)
        for name, own, until in (
            ("BCOTrainer", "generate_from_model_and_ref", "1.14"), ("CPOTrainer", "generate_from_model", ""),
            ("DPOTrainer", "generate_from_model_and_ref", "0.29"),
            ("KTOTrainer", "generate_from_model_and_ref", "1.2"),
            ("ORPOTrainer", "generate_from_model", ""),
        )
    ),
)

# --- hooks of the online trainers ---------------------------------------------------------------------

_TOKEN_LOGPS = {
    "model": WRAPPED_MODEL, "input_ids": LOCAL_TENSOR, "attention_mask": LOCAL_TENSOR,
    "logits_to_keep": SAME_NUMBER,
}
_REWARDS = {"inputs": BATCH, "prompts": BATCH, "completions": BATCH, "completion_ids_list": BATCH}
_SEQUENCES = {
    "model": WRAPPED_MODEL, "prompt_ids": LOCAL_TENSOR, "prompt_mask": LOCAL_TENSOR,
    "completion_ids": LOCAL_TENSOR,
    "completion_mask": LOCAL_TENSOR,
}
_FOUR = items(*[LOCAL_TENSOR] * 4)

_ONLINE_HOOKS: tuple[Row, ...] = (
    # Rewards are gathered before they are returned: one row per sample of all ranks.
    Hook(name="trl.GRPOTrainer._calculate_rewards", source=f"{_GRPO}._calculate_rewards", since="0.19",
         parameters=_REWARDS, returns=REDUCED),
    Hook(name="trl.RLOOTrainer._calculate_rewards", source=f"{_RLOO}._calculate_rewards", since="0.22",
         parameters=_REWARDS, returns=REDUCED),
    Hook(trains=True, name="trl.GRPOTrainer._compute_loss", source=f"{_GRPO}._compute_loss", since="0.17",
         caller="compute_loss", parameters=_MODEL_INPUTS, returns=LOCAL_LOSS),
    Hook(trains=True, name="trl.RLOOTrainer._compute_loss", source=f"{_RLOO}._compute_loss", since="0.22",
         caller="compute_loss", parameters=_MODEL_INPUTS, returns=LOCAL_LOSS),
    Hook(name="trl.GRPOTrainer._generate", source=f"{_GRPO}._generate", since="0.24", until="0.25",
         parameters={"prompts": BATCH, "images": BATCH}, returns=UNKNOWN),
    Hook(name="trl.GRPOTrainer._generate", source=f"{_GRPO}._generate", since="0.25",
         parameters={"prompts": BATCH}, returns=UNKNOWN),
    Hook(name="trl.RLOOTrainer._generate", source=f"{_RLOO}._generate", since="0.24", until="0.25",
         parameters={"prompts": BATCH, "images": BATCH}, returns=UNKNOWN),
    Hook(name="trl.RLOOTrainer._generate", source=f"{_RLOO}._generate", since="0.25",
         parameters={"prompts": BATCH}, returns=UNKNOWN),
    Hook(name="trl.GRPOTrainer._generate_and_score_completions",
         source=f"{_GRPO}._generate_and_score_completions", since="0.16", parameters={"inputs": BATCH},
         returns=BATCH),
    Hook(name="trl.RLOOTrainer._generate_and_score_completions",
         source=f"{_RLOO}._generate_and_score_completions", since="0.22", parameters={"inputs": BATCH},
         returns=BATCH),
    Hook(name="trl.GRPOTrainer._get_last_hidden_state", source=f"{_GRPO}._get_last_hidden_state",
         since="0.17", until="0.18", caller="compute_liger_loss", parameters=_TOKEN_LOGPS, returns=LOCAL_TENSOR),
    Hook(name="trl.GRPOTrainer._get_last_hidden_state", source=f"{_GRPO}._get_last_hidden_state",
         since="0.18", until="1.14", caller="compute_liger_loss",
         parameters={"unwrapped_model": BARE_MODEL, "input_ids": LOCAL_TENSOR, "attention_mask": LOCAL_TENSOR,
                     "logits_to_keep": SAME_NUMBER}, returns=LOCAL_TENSOR),
    Hook(trains=True, name="trl.GRPOTrainer._get_per_token_logps", source=f"{_GRPO}._get_per_token_logps", since="0.15",
         until="0.20", parameters=_TOKEN_LOGPS, returns=LOCAL_TENSOR),
    Hook(trains=True, name="trl.GRPOTrainer._get_per_token_logps_and_entropies",
         source=f"{_GRPO}._get_per_token_logps_and_entropies", since="0.20", until="1.7",
         parameters=_TOKEN_LOGPS, returns=items(LOCAL_TENSOR, LOCAL_TENSOR)),
    Hook(trains=True, name="trl.GRPOTrainer._get_per_token_logps_and_entropies",
         source=f"{_GRPO}._get_per_token_logps_and_entropies", since="1.7", until="1.14",
         parameters=_TOKEN_LOGPS, returns=items(LOCAL_TENSOR, LOCAL_TENSOR, LOCAL_LOSS)),
    Hook(trains=True, name="trl.GRPOTrainer._get_per_token_logps_and_entropies",
         source=f"{_GRPO}._get_per_token_logps_and_entropies", since="1.14", until="1.15",
         parameters={"model": WRAPPED_MODEL}, returns=BATCH),
    Hook(trains=True, name="trl.GRPOTrainer._get_per_token_logps_and_entropies",
         source=f"{_GRPO}._get_per_token_logps_and_entropies", since="1.15", parameters=_TOKEN_LOGPS,
         returns=BATCH),
    Hook(trains=True, name="trl.RLOOTrainer._get_per_token_logps_and_entropies",
         source=f"{_RLOO}._get_per_token_logps_and_entropies", since="0.22", parameters=_TOKEN_LOGPS,
         returns=BATCH),
    Hook(trains=True, name="trl.GRPOTrainer.compute_liger_loss", source=f"{_GRPO}.compute_liger_loss", since="0.17",
         until="0.18", caller="compute_loss", parameters=_MODEL_INPUTS, returns=LOCAL_LOSS),
    Hook(trains=True, name="trl.GRPOTrainer.compute_liger_loss", source=f"{_GRPO}.compute_liger_loss", since="0.18",
         until="1.14", caller="compute_loss", parameters={"unwrapped_model": BARE_MODEL, "inputs": BATCH},
         returns=LOCAL_LOSS),
    # They take a list of samples, and return a batch of completions with their scores.
    *(
        Hook(name="trl.GRPOTrainer._prepare_inputs", source=f"{_GRPO}._prepare_inputs", since=since,
             until=until, parameters={own: BATCH}, returns=BATCH)
        for since, until, own in (
            ("0.14", "0.17", "inputs"), ("0.17", "0.18", "accumulated_local_batch"),
            ("0.18", "", "generation_batch"),
        )
    ),
    Hook(name="trl.RLOOTrainer._prepare_inputs", source=f"{_RLOO}._prepare_inputs", since="0.22",
         parameters={"generation_batch": BATCH}, returns=BATCH),
    # Values that reward functions report: averaged over the ranks when they are logged.
    *(
        Function(name=f"trl.{name}.{own}", source=f"{name}.{own}", since="1.0", returns=NOTHING)
        for name in ("GRPOTrainer", "RLOOTrainer") for own in ("_log_completion_extra", "_log_metric")
    ),
    Hook(trains=True, name="trl.OnlineDPOTrainer._forward", source=f"{_ONLINE}._forward", since="0.14", until="0.23",
         parameters=_SEQUENCES, returns=LOCAL_TENSOR),
    Hook(trains=True, name="trl.OnlineDPOTrainer._forward", source=f"{_ONLINE}._forward", since="0.23",
         parameters=_SEQUENCES | {"vision_inputs": BATCH}, returns=LOCAL_TENSOR),
    Hook(name="trl.OnlineDPOTrainer._generate", source=f"{_ONLINE}._generate", since="0.14", until="0.23",
         parameters={"model": TRAINED_MODEL, "prompts": BATCH}, returns=_FOUR),
    Hook(name="trl.OnlineDPOTrainer._generate", source=f"{_ONLINE}._generate", since="0.23",
         parameters={"model": TRAINED_MODEL, "prompts": BATCH, "images": BATCH}, returns=BATCH),
    Hook(name="trl.OnlineDPOTrainer._generate_vllm", source=f"{_ONLINE}._generate_vllm", since="0.14",
         until="0.23", parameters={"model": TRAINED_MODEL, "prompts": BATCH}, returns=_FOUR),
    Hook(name="trl.OnlineDPOTrainer._generate_vllm", source=f"{_ONLINE}._generate_vllm", since="0.23",
         parameters={"prompts": BATCH, "images": BATCH}, returns=_FOUR),
    Hook(trains=True, name="trl.NashMDTrainer._compute_logprobs",
         source="trainer/nash_md_trainer.py::NashMDTrainer._compute_logprobs", since="0.11", until="1.14",
         parameters={"model": WRAPPED_MODEL, "model_data": BATCH, "context_length": UNKNOWN}, returns=BATCH),
    Hook(name="trl.NashMDTrainer._generate_completions",
         source="trainer/nash_md_trainer.py::NashMDTrainer._generate_completions", since="0.11", until="1.14",
         parameters={"model": TRAINED_MODEL, "prompts": BATCH}, returns=BATCH),
    Hook(trains=True, name="trl.XPOTrainer._compute_logprobs",
         source="trainer/xpo_trainer.py::XPOTrainer._compute_logprobs", since="0.11", until="1.14",
         returns=BATCH,
         parameters={"model": WRAPPED_MODEL, "model_data": BATCH, "ref_data": BATCH,
                     "context_length": UNKNOWN}),
    Hook(name="trl.XPOTrainer._generate_completions",
         source="trainer/xpo_trainer.py::XPOTrainer._generate_completions", since="0.11", until="1.14",
         parameters={"prompts": BATCH, "model": TRAINED_MODEL}, returns=BATCH),
    Function(name="trl.GKDTrainer.generalized_jsd_loss",
             source="trainer/gkd_trainer.py::GKDTrainer.generalized_jsd_loss", since="0.11"),
)

# --- PPO while it had its own loop --------------------------------------------------------------------

_OLD_PPO: tuple[Row, ...] = (
    Attribute(name="trl.PPOTrainer.dataloader", source=f"{_PPO}.__init__", until="0.12", value=LOADER),
    Attribute(name="trl.PPOTrainer.accelerator", source=f"{_PPO}.__init__", until="0.12",
              value=created("accelerate.Accelerator")),
    *(
        Attribute(name=f"trl.PPOTrainer.{name}", source=f"{_PPO}.__init__", until="0.12", value=SAME)
        for name in ("config", "current_step", "dataset", "is_encoder_decoder", "kl_ctl", "lr_scheduler",
                     "optimizer",
                     "tokenizer")
    ),
    Attribute(name="trl.PPOTrainer.ref_model", source=f"{_PPO}.__init__", until="0.12", value=SOME_MODEL),
    # Statistics of one step: some reduced, some rank-local.
    Function(name="trl.PPOTrainer.step", source=f"{_PPO}.step", until="0.12", returns=UNKNOWN),
    Function(name="trl.PPOTrainer.generate", source=f"{_PPO}.generate", until="0.12", returns=BATCH),
    Hook(trains=True, name="trl.PPOTrainer.batched_forward_pass", source=f"{_PPO}.batched_forward_pass", since="0.3",
         until="0.12",
         parameters={"model": SOME_MODEL, "queries": BATCH, "responses": BATCH, "model_inputs": BATCH},
         returns=BATCH),
    Collective(name="trl.PPOTrainer.gather_stats", source=f"{_PPO}.gather_stats", until="0.12",
               operand=(0, "stats"), result="reduced", fails=""),
    *(
        Attribute(name=f"trl.{name}.accelerator", source=f"{name}.__init__", since=since, until="0.24",
                  value=created("accelerate.Accelerator"))
        for name, since in (("AlignPropTrainer", "0.9.6"), ("DDPOTrainer", "0.6"))
    ),
    *(
        Attribute(name=f"trl.{name}.config", source=f"{name}.__init__", since=since, until="0.24", value=SAME)
        for name, since in (("AlignPropTrainer", "0.9.6"), ("DDPOTrainer", "0.6"))
    ),
)

# --- attributes ---------------------------------------------------------------------------------------

# Their constructors create the optimizer, and then prepare it together with the model. PPO saves its policy only: where
# it calls the save of Trainer, `model` is that.
_PREPARED_AFTER = frozenset({"create_optimizer", "create_optimizer_and_scheduler", "create_scheduler"})
_SAVES_POLICY = _PREPARED_AFTER | {"_save"}

_ATTRIBUTES: tuple[Row, ...] = (
    # Trainers that prepare the model themselves: their `model` is wrapped.
    Attribute(name="trl.IterativeSFTTrainer.model", source="IterativeSFTTrainer.__init__", since="0.7.3",
              until="0.24", value=WRAPPED_MODEL, bare_in=_PREPARED_AFTER),
    Attribute(name="trl.PPOTrainer.model", source=f"{_PPO}.__init__", until="1.13", value=WRAPPED_MODEL,
              bare_in=_SAVES_POLICY),
    Attribute(name="trl.PPOv2Trainer.model", source="PPOv2Trainer.__init__", since="0.9", until="0.13",
              value=WRAPPED_MODEL, bare_in=_SAVES_POLICY),
    Attribute(name="trl.RLOOTrainer.model", source=f"{_RLOO}.__init__", since="0.9", until="0.22",
              value=WRAPPED_MODEL, bare_in=_PREPARED_AFTER),
    # Prepared for evaluation only, without DDP.
    *(
        Attribute(name=f"trl.{name}.ref_model", source=f"{name}.__init__", since=since, until=until,
                  value=BARE_MODEL)
        for name, since, until in (
            ("BCOTrainer", "0.10", "1.14"), ("DPOTrainer", "0.5", ""), ("GRPOTrainer", "0.14", ""),
            ("KTOTrainer", "0.8", ""), ("OnlineDPOTrainer", "0.10", ""), ("RLOOTrainer", "0.22", ""),
        )
    ),
    Attribute(name="trl.GKDTrainer.teacher_model", source="GKDTrainer.__init__", since="0.11",
              value=BARE_MODEL),
    # Numbers and flags from the arguments.
    *(
        Attribute(name=f"trl.{name}.{own}", source=f"{name}.__init__", since=since, value=SAME)
        for name, since, owns in (
            ("CPOTrainer", "0.8.2", ("beta", "is_encoder_decoder", "loss_type")),
            ("DPOTrainer", "0.5", ("beta",)),
            ("GKDTrainer", "0.11", ("beta", "generation_config", "lmbda", "temperature")),
            ("GKDTrainer", "0.12", ("seq_kd",)),
            ("GRPOTrainer", "0.14", ("beta", "max_completion_length", "num_generations", "use_vllm")),
            ("GRPOTrainer", "0.15", ("reward_weights",)),
            ("GRPOTrainer", "0.16", ("epsilon_high", "epsilon_low", "num_iterations", "temperature")),
            ("GRPOTrainer", "0.17", ("loss_type", "scale_rewards")),
            ("KTOTrainer", "0.8", ("beta",)),
            ("ORPOTrainer", "0.8.2", ("beta", "is_encoder_decoder")),
            ("RLOOTrainer", "0.22", ("beta", "max_completion_length", "num_generations", "num_iterations",
                                     "temperature",
                                     "use_vllm")),
        )
        for own in owns
    ),
)

# --- functions ----------------------------------------------------------------------------------------

# Under ZeRO-3 it gathers the parameters, on entry and on exit, unless it is told not to.
_GATHERS_WEIGHTS = Synchronisation(
    "parameters", frozenset({TrainingEngine.DEEPSPEED_ZERO3}), allowed="gather_deepspeed3_params"
)

_FUNCTIONS: tuple[Row, ...] = (
    Function(name="trl.TrlParser.parse_args_and_config", source="scripts/utils.py::TrlParser.parse_args_and_config",
             returns="filled", switch=(1, "return_remaining_strings"), switched="filled and rest"),
    Collective(name="trl.RunningMoments.update", source=f"{_UTILS}::RunningMoments.update", since="0.6",
               until="1.14", operand=(0, "xs"), result="reduced", fails="always"),
    Collective(name="trl.trainer.utils.get_global_statistics", source=f"{_UTILS}::get_global_statistics",
               since="0.6", until="1.14", operand=(1, "xs"), result="reduced", fails="always"),
    # Pure, or nearly so.
    *(
        Function(name=f"trl.core.{name}", source=f"core.py::{name}", until=until)
        for name, until in (
            ("clip_by_value", "0.14"), ("logprobs_from_logits", "0.14"), ("stack_dicts", "0.14"),
            ("stats_to_np", "0.14"), ("whiten", "0.14"),
        )
    ),
    *(
        Function(name=f"trl.core.{name}", source=f"core.py::{name}", since="0.3", until="1.13")
        for name in ("masked_mean", "masked_var", "masked_whiten")
    ),
    *(
        Function(name=f"trl.data_utils.{name}", source=f"data_utils.py::{name}", since="0.11")
        for name in ("apply_chat_template", "extract_prompt", "maybe_apply_chat_template",
                     "maybe_extract_prompt",
                     "maybe_unpair_preference_dataset", "unpair_preference_dataset")
    ),
    *(
        Function(name=f"trl.trainer.utils.{name}", source=f"{_UTILS}::{name}", since=since, until=until)
        for name, since, until in (
            ("compute_accuracy", "0.4", "1.14"), ("decode_and_strip_padding", "0.11", "0.25"),
            ("entropy_from_logits", "0.20", ""),
            ("exact_div", "0.6", "1.13"), ("first_true_indices", "0.9", ""), ("flush_left", "0.14", ""),
            ("forward", "0.9", "1.13"), ("generate", "0.9", "1.13"), ("get_reward", "0.9", ""),
            ("nanmax", "0.17", ""),
            ("nanmin", "0.17", ""), ("nanstd", "0.17", ""), ("pad", "0.9.6", ""),
            ("pad_to_length", "0.5", ""),
            ("selective_log_softmax", "0.15", ""), ("shuffle_sequence_dict", "0.20", ""),
            ("split_tensor_dict", "0.17", ""),
            ("truncate_response", "0.9", "1.13"), ("truncate_right", "0.10", ""),
        )
    ),
    # The format of a batch depends on the data set.
    Function(name="trl.data_utils.is_conversational", source="data_utils.py::is_conversational", since="0.11",
             returns=SAME),
    *(
        Function(name=f"trl.trainer.utils.{name}", source=f"{_UTILS}::{name}", since="0.7.11", returns=SAME)
        for name in ("get_peft_config", "get_quantization_config")
    ),
    Function(name="trl.trainer.utils.get_kbit_device_map", source=f"{_UTILS}::get_kbit_device_map",
             since="0.7.11", until="1.8", returns=Value(ranks.RANK_LOCAL)),
    *(
        Function(name=f"trl.trainer.utils.{name}", source=f"{_UTILS}::{name}", since=since, returns=NOTHING)
        for name, since in (("disable_dropout_in_model", "0.6"), ("empty_cache", "0.10"),
                            ("log_table_to_comet_experiment", "0.13"))
    ),
    Function(name="trl.trainer.utils.print_prompt_completions_sample",
             source=f"{_UTILS}::print_prompt_completions_sample", since="0.16", returns=NOTHING, effect=_PRINTS),
    OpaqueCall(name="trl.trainer.utils.print_rich_table", source=f"{_UTILS}::print_rich_table", since="0.9",
               until="1.13", effect=_PRINTS),
    # Models.
    Function(name="trl.models.utils.create_reference_model",
             source="models/modeling_base.py::create_reference_model", returns="copied"),
    Function(name="trl.models.utils.prepare_deepspeed", source="models/utils.py::prepare_deepspeed",
             since="0.14", returns=SOME_MODEL),
    Function(name="trl.models.utils.prepare_fsdp", source="models/utils.py::prepare_fsdp", since="0.16",
             returns=SOME_MODEL),
    Function(name="trl.models.utils.unwrap_model_for_generation",
             source="models/utils.py::unwrap_model_for_generation", since="0.8.2", returns=SAME,
             yields="for generation", synchronises=_GATHERS_WEIGHTS),
    Function(name="trl.trainer.utils.create_model_from_path", source=f"{_UTILS}::create_model_from_path",
             since="0.24", returns=BARE_MODEL),
    # Profiling.
    Function(name="trl.extras.profiling.profiling_context", source="extras/profiling.py::profiling_context",
             since="0.16", returns=SAME, yields=NOTHING),
    Function(name="trl.extras.profiling.profiling_decorator",
             source="extras/profiling.py::profiling_decorator", since="0.16", returns="first"),
)

ROWS: tuple[Row, ...] = (
    *_CLASSES, *_STORES, *_SINKS, *_PREFERENCE_HOOKS, *_ONLINE_HOOKS, *_OLD_PPO, *_ATTRIBUTES, *_FUNCTIONS,
)

# What modules of its trainers import from Accelerate (trainer/grpo_trainer.py, trainer/online_dpo_trainer.py): a
# trainer that was copied from one imports it from that module.
FROM_ACCELERATE = frozenset({"broadcast", "broadcast_object_list", "gather", "gather_object"})

# Names of attributes that both a trainer of TRL, in some release, and a config of transformers have.
CONFIG_NAMES_IN_TRAINERS = frozenset({
    "aux_loss_coef", "beta", "dataset", "decoder_start_token_id", "eos_token_id", "image_token_id",
    "is_encoder_decoder", "label_smoothing", "loss", "mask_ratio", "mask_type", "max_length", "pad_token_id",
    "router_aux_loss_coef", "temperature", "vision_end_token_id", "vision_start_token_id",
})
