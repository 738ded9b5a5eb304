"""What Trainer passes to its hooks, what they return, and what it logs itself.

Read from transformers 4.40.2, 4.46.0, 4.47.1, 4.51.3,
5.0.0 and 5.24.0. The loop calls hooks with the wrapped model
(`model_wrapped`); `self.model` is the bare one, which is also what callbacks get (`CallbackHandler.model`).
"""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.domain.engines import SHARDS_CHECKPOINTS
from trl_lint.domain.kinds import BatchValue, NumberValue
from trl_lint.domain.values import Value
from trl_lint.knowledge.datasets import DATASET
from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    BACKWARD,
    BARE_MODEL,
    BARRIER,
    BATCH,
    EVALUATED_MODEL,
    GLOBAL_RANK_INDEX,
    LOADED,
    LOADER,
    LOCAL_LOSS,
    LOCAL_TENSOR,
    NOTHING,
    OWN_MODEL,
    PURE,
    RANK_GUARD,
    RANK_INDEX,
    SAME,
    SAME_METRICS,
    SAVE,
    SETTING,
    SETTING_OF_TEXTS,
    TRAINED_MODEL,
    UNKNOWN,
    Attribute,
    Class,
    Collective,
    Effect,
    Function,
    Hook,
    Row,
    Sink,
    Synchronisation,
    created,
    instance,
    items,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_TRAINER = "trainer.py::Trainer"
_SEQ2SEQ = "trainer_seq2seq.py::Seq2SeqTrainer"
_CALLBACK = "trainer_callback.py::TrainerCallback"
_ARGUMENTS = "training_args.py::TrainingArguments"

_ARGS = instance("transformers.TrainingArguments")
_STATE = instance("transformers.TrainerState")
_CONTROL = instance("transformers.TrainerControl")
# Gathered predictions, labels and inputs of the whole evaluation set.
_EVAL_PREDICTION = BatchValue(ranks.SAME)
# Namedtuples of gathered arrays and metrics.
_LOOP_OUTPUT = BatchValue(ranks.SAME)
# The parts of a step's result that `evaluation_loop` gathers unchanged.
_STEP_PARTS = ("loss", "logits", "labels")
_STEP_OUTPUT = items(LOCAL_LOSS, LOCAL_TENSOR, LOCAL_TENSOR)

# Functions that are passed to the constructor, and the facts of their arguments.
CALLBACKS: dict[str, dict[str, Value]] = {
    "compute_loss_func": {"outputs": BATCH, "labels": LOCAL_TENSOR, "num_items_in_batch": UNKNOWN},
    "compute_metrics": {"eval_prediction": _EVAL_PREDICTION},
    "model_init": {"trial": SAME},
    "preprocess_logits_for_metrics": {"logits": LOCAL_TENSOR, "labels": LOCAL_TENSOR},
}

# Methods of a Trainer that call other methods, which a subclass may override, before they return.
CALLS_HOOKS = frozenset({
    "_inner_training_loop", "compute_loss", "evaluate", "evaluation_loop", "predict", "prediction_loop",
    "prediction_step", "train", "training_step",
})  # fmt: skip

_CLASSES: tuple[Row, ...] = (
    *(
        Class(name=f"transformers.{name}", source=f"trainer_callback.py::{name}",
              bases=("transformers.TrainerCallback",))
        for name in ("CallbackHandler", "DefaultFlowCallback", "EarlyStoppingCallback", "PrinterCallback",
                     "ProgressCallback")
    ),
    # A dict of tensors, as a tokenizer or a processor returns it.
    Class(name="transformers.BatchEncoding", source="tokenization_utils_base.py::BatchEncoding", makes="first"),
    Class(name="transformers.BatchFeature", source="feature_extraction_utils.py::BatchFeature", makes="first"),
    Class(name="transformers.EvalLoopOutput", source="trainer_utils.py::EvalLoopOutput", makes="fields"),
    Class(name="transformers.EvalPrediction", source="trainer_utils.py::EvalPrediction", makes="pure"),
    Class(name="transformers.HfArgumentParser", source="hf_argparser.py::HfArgumentParser",
          bases=("argparse.ArgumentParser",), fills=(0, "dataclass_types")),
    Class(name="transformers.PredictionOutput", source="trainer_utils.py::PredictionOutput", makes="fields"),
    Class(name="transformers.Seq2SeqTrainer", source=_SEQ2SEQ, bases=("transformers.Trainer",),
          callbacks=CALLBACKS),
    Class(name="transformers.Seq2SeqTrainingArguments",
          source="training_args_seq2seq.py::Seq2SeqTrainingArguments",
          bases=("transformers.TrainingArguments",)),
    Class(name="transformers.Trainer", source=_TRAINER, callbacks=CALLBACKS),
    Class(name="transformers.TrainerCallback", source=_CALLBACK),
    Class(name="transformers.TrainerControl", source="trainer_callback.py::TrainerControl", others=SAME),
    Class(name="transformers.TrainerState", source="trainer_callback.py::TrainerState", others=SAME),
    Class(name="transformers.TrainingArguments", source=_ARGUMENTS, others=SETTING),
)

_ATTRIBUTES: tuple[Row, ...] = (
    Attribute(name="transformers.Trainer.accelerator",
              source=f"{_TRAINER}.create_accelerator_and_postprocess", since="4.30",
              value=created("accelerate.Accelerator")),
    Attribute(name="transformers.Trainer.args", source=f"{_TRAINER}.__init__", value=_ARGS),
    Attribute(name="transformers.Trainer.control", source=f"{_TRAINER}.__init__", value=_CONTROL),
    Attribute(name="transformers.Trainer.model", source=f"{_TRAINER}.__init__", value=OWN_MODEL),
    Attribute(name="transformers.Trainer.model_wrapped", source=f"{_TRAINER}._inner_training_loop",
              value=TRAINED_MODEL),
    Attribute(name="transformers.Trainer.optimizer", source=f"{_TRAINER}.__init__",
              value=instance("torch.optim.Optimizer")),
    Attribute(name="transformers.Trainer.lr_scheduler", source=f"{_TRAINER}.__init__",
              value=instance("torch.optim.lr_scheduler.LRScheduler")),
    Attribute(name="transformers.Trainer.state", source=f"{_TRAINER}.__init__", value=_STATE),
    *(
        Attribute(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.__init__", value=SAME)
        for name in (
            "_globalstep_last_logged", "_signature_columns", "_train_batch_size", "callback_handler",
            "can_return_loss",
            "compute_metrics", "is_deepspeed_enabled", "is_fsdp_enabled",
            "is_in_train",
            "is_model_parallel", "label_names", "model_init", "place_model_on_device",
            "preprocess_logits_for_metrics",
        )
    ),
    *(
        Attribute(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.__init__", value=DATASET)
        for name in ("eval_dataset", "train_dataset")
    ),
    *(
        Attribute(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.__init__", value=PURE)
        for name in ("data_collator", "label_smoother")
    ),
    Attribute(name="transformers.Trainer.compute_loss_func", source=f"{_TRAINER}.__init__", since="4.46",
              value=SAME),
    Attribute(name="transformers.Trainer.model_accepts_loss_kwargs", source=f"{_TRAINER}.__init__",
              since="4.46.2", value=SAME),
    Attribute(name="transformers.Trainer.processing_class", source=f"{_TRAINER}.__init__", since="4.46",
              value=LOADED),
    Attribute(name="transformers.Trainer.tokenizer", source=f"{_TRAINER}.tokenizer", until="5.0", value=LOADED),
    # The sum of losses that were gathered at a log step.
    Attribute(name="transformers.Trainer._total_loss_scalar", source=f"{_TRAINER}._maybe_log_save_evaluate",
              value=SAME),
    # A local count; `store_flos` sums it over the ranks into the state.
    Attribute(name="transformers.Trainer.current_flos", source=f"{_TRAINER}.store_flos",
              value=NumberValue(ranks.partial("sum"), scalar=True)),
    Attribute(name="transformers.TrainerState.is_local_process_zero",
              source="trainer_callback.py::TrainerState.is_local_process_zero", value=RANK_GUARD),
    Attribute(name="transformers.TrainerState.is_world_process_zero",
              source="trainer_callback.py::TrainerState.is_world_process_zero", value=RANK_GUARD),
    Attribute(name="transformers.TrainingArguments.distributed_state", source=f"{_ARGUMENTS}._setup_devices",
              value=instance("accelerate.PartialState")),
    Attribute(name="transformers.TrainingArguments.local_process_index",
              source=f"{_ARGUMENTS}.local_process_index", value=RANK_INDEX),
    Attribute(name="transformers.TrainingArguments.local_rank", source=f"{_ARGUMENTS}.local_rank",
              value=RANK_INDEX),
    Attribute(name="transformers.TrainingArguments.process_index", source=f"{_ARGUMENTS}.process_index",
              value=GLOBAL_RANK_INDEX),
    # "wandb" becomes ["wandb"], "none" an empty list.
    Attribute(name="transformers.TrainingArguments.report_to", source=f"{_ARGUMENTS}.__post_init__",
              value=SETTING_OF_TEXTS, at_first=True),
    Attribute(name="transformers.TrainingArguments.should_log", source=f"{_ARGUMENTS}.should_log",
              value=RANK_GUARD),
    Attribute(name="transformers.TrainingArguments.should_save", source=f"{_ARGUMENTS}.should_save",
              value=RANK_GUARD),
    Attribute(name="transformers.TrainingArguments.world_size", source=f"{_ARGUMENTS}.world_size",
              value=ALL_PROCESSES),
)

# --- hooks of Trainer -----------------------------------------------------------------------------------

_EVALUATE = {"eval_dataset": SAME, "ignore_keys": SAME, "metric_key_prefix": SAME}
_PREDICT = {"test_dataset": SAME, "ignore_keys": SAME, "metric_key_prefix": SAME}
_EVALUATION_LOOP = {
    "dataloader": LOADER, "description": SAME, "prediction_loss_only": SAME, "ignore_keys": SAME,
    "metric_key_prefix": SAME,
}
# Wrapped if DataParallel is used (bare python, several GPUs); else evaluation runs the bare model, which needs no DDP
# without gradients. Source: trainer.py::Trainer._wrap_model
_PREDICTION_STEP = {"model": EVALUATED_MODEL, "inputs": BATCH, "prediction_loss_only": SAME,
                    "ignore_keys": SAME}
# The norm is a tensor, or a number from DeepSpeed or Apex.
_LOG_SAVE_EVALUATE = {
    "tr_loss": LOCAL_LOSS, "grad_norm": SAME, "model": TRAINED_MODEL, "trial": SAME, "epoch": SAME,
    "ignore_keys_for_eval": SAME,
}

# Every rank processes its own part of the data.
_EVALUATES = Synchronisation("evaluate", symmetric=True)
_PREDICTS = Synchronisation("predict", symmetric=True)

_HOOKS: tuple[Row, ...] = (
    Hook(name="transformers.Trainer._determine_best_metric", source=f"{_TRAINER}._determine_best_metric",
         since="4.47", parameters={"metrics": SAME_METRICS, "trial": SAME}, returns=SAME),
    Hook(name="transformers.Trainer._evaluate", source=f"{_TRAINER}._evaluate", since="4.42",
         parameters={"trial": SAME, "ignore_keys_for_eval": SAME}, returns=SAME_METRICS),
    Hook(name="transformers.Trainer._get_eval_sampler", source=f"{_TRAINER}._get_eval_sampler",
         parameters={"eval_dataset": SAME}, returns=SAME),
    Hook(name="transformers.Trainer._get_train_sampler", source=f"{_TRAINER}._get_train_sampler",
         returns=SAME),
    Hook(name="transformers.Trainer._inner_training_loop", source=f"{_TRAINER}._inner_training_loop",
         parameters={"batch_size": SAME, "args": _ARGS, "resume_from_checkpoint": SAME, "trial": SAME,
                     "ignore_keys_for_eval": SAME}, returns=SAME),
    Hook(name="transformers.Trainer._load_best_model", source=f"{_TRAINER}._load_best_model",
         returns=NOTHING),
    Hook(name="transformers.Trainer._load_from_checkpoint", source=f"{_TRAINER}._load_from_checkpoint",
         parameters={"resume_from_checkpoint": SAME}, returns=NOTHING),
    Hook(name="transformers.Trainer._maybe_log_save_evaluate", source=f"{_TRAINER}._maybe_log_save_evaluate",
         until="4.38", returns=NOTHING,
         parameters={name: value for name, value in _LOG_SAVE_EVALUATE.items() if name != "grad_norm"}),
    Hook(name="transformers.Trainer._maybe_log_save_evaluate", source=f"{_TRAINER}._maybe_log_save_evaluate",
         since="4.38", until="4.47", parameters=_LOG_SAVE_EVALUATE, returns=NOTHING),
    Hook(name="transformers.Trainer._maybe_log_save_evaluate", source=f"{_TRAINER}._maybe_log_save_evaluate",
         since="4.47", until="4.51", parameters=_LOG_SAVE_EVALUATE | {"start_time": SAME}, returns=NOTHING),
    Hook(name="transformers.Trainer._maybe_log_save_evaluate", source=f"{_TRAINER}._maybe_log_save_evaluate",
         since="4.51", parameters=_LOG_SAVE_EVALUATE | {"start_time": SAME, "learning_rate": SAME},
         returns=NOTHING),
    Hook(name="transformers.Trainer._prepare_input", source=f"{_TRAINER}._prepare_input",
         parameters={"data": BATCH}, returns="moved"),
    Hook(name="transformers.Trainer._prepare_inputs", source=f"{_TRAINER}._prepare_inputs",
         parameters={"inputs": BATCH}, returns="moved"),
    Hook(name="transformers.Trainer._save", source=f"{_TRAINER}._save",
         parameters={"output_dir": SAME, "state_dict": SAME}, returns=NOTHING,
         # Its callers test which rank saves; it does not.
         effect=Effect("writes the same files", (0, "output_dir"))),
    Hook(name="transformers.Trainer._save_checkpoint", source=f"{_TRAINER}._save_checkpoint",
         parameters={"model": TRAINED_MODEL, "trial": SAME}, returns=NOTHING,
         synchronises=Synchronisation("save", SHARDS_CHECKPOINTS)),
    Hook(name="transformers.Trainer._wrap_model", source=f"{_TRAINER}._wrap_model",
         parameters={"model": BARE_MODEL, "training": SAME}, returns="for training"),
    Hook(trains=True, name="transformers.Trainer.compute_loss", source=f"{_TRAINER}.compute_loss", until="4.46",
         parameters={"model": TRAINED_MODEL, "inputs": BATCH, "return_outputs": UNKNOWN}, returns=LOCAL_LOSS,
         switch=(2, "return_outputs"), switched=items(LOCAL_LOSS, BATCH)),
    Hook(trains=True, name="transformers.Trainer.compute_loss", source=f"{_TRAINER}.compute_loss", since="4.46",
         parameters={"model": TRAINED_MODEL, "inputs": BATCH, "return_outputs": UNKNOWN,
                     "num_items_in_batch": UNKNOWN}, returns=LOCAL_LOSS, switch=(2, "return_outputs"),
         switched=items(LOCAL_LOSS, BATCH)),
    Hook(name="transformers.Trainer.create_optimizer", source=f"{_TRAINER}.create_optimizer",
         returns=instance("torch.optim.Optimizer")),
    Hook(name="transformers.Trainer.create_optimizer_and_scheduler",
         source=f"{_TRAINER}.create_optimizer_and_scheduler", parameters={"num_training_steps": SAME},
         returns=NOTHING),
    Hook(name="transformers.Trainer.create_scheduler", source=f"{_TRAINER}.create_scheduler",
         parameters={"num_training_steps": SAME, "optimizer": instance("torch.optim.Optimizer")},
         returns=instance("torch.optim.lr_scheduler.LRScheduler")),
    Hook(name="transformers.Trainer.evaluate", source=f"{_TRAINER}.evaluate", parameters=_EVALUATE,
         returns=SAME_METRICS, synchronises=_EVALUATES),
    Hook(name="transformers.Trainer.evaluation_loop", source=f"{_TRAINER}.evaluation_loop",
         parameters=_EVALUATION_LOOP, returns=_LOOP_OUTPUT, stored="metrics",
         synchronises=Synchronisation("evaluation_loop", symmetric=True)),
    Hook(name="transformers.Trainer.floating_point_ops", source=f"{_TRAINER}.floating_point_ops",
         parameters={"inputs": BATCH}, returns=NumberValue(ranks.LOCAL, scalar=True)),
    Hook(name="transformers.Trainer.get_batch_samples", source=f"{_TRAINER}.get_batch_samples", since="4.46",
         until="4.50", parameters={"epoch_iterator": LOADER, "num_batches": SAME},
         returns=items(LOADER, UNKNOWN)),
    Hook(name="transformers.Trainer.get_batch_samples", source=f"{_TRAINER}.get_batch_samples", since="4.50",
         parameters={"epoch_iterator": LOADER, "num_batches": SAME, "device": SAME},
         returns=items(LOADER, UNKNOWN)),
    Hook(name="transformers.Trainer.get_eval_dataloader", source=f"{_TRAINER}.get_eval_dataloader",
         parameters={"eval_dataset": SAME}, returns=LOADER),
    Hook(name="transformers.Trainer.get_test_dataloader", source=f"{_TRAINER}.get_test_dataloader",
         parameters={"test_dataset": SAME}, returns=LOADER),
    Hook(name="transformers.Trainer.get_train_dataloader", source=f"{_TRAINER}.get_train_dataloader",
         returns=LOADER),
    Hook(name="transformers.Trainer.log", source=f"{_TRAINER}.log", until="4.47",
         parameters={"logs": SAME_METRICS}, returns=NOTHING),
    Hook(name="transformers.Trainer.log", source=f"{_TRAINER}.log", since="4.47",
         parameters={"logs": SAME_METRICS, "start_time": SAME}, returns=NOTHING),
    Hook(name="transformers.Trainer.predict", source=f"{_TRAINER}.predict", parameters=_PREDICT,
         returns=_LOOP_OUTPUT, synchronises=_PREDICTS),
    Hook(name="transformers.Trainer.prediction_loop", source=f"{_TRAINER}.prediction_loop", until="5.0",
         parameters=_EVALUATION_LOOP, returns=_LOOP_OUTPUT, stored="metrics"),
    Hook(name="transformers.Trainer.prediction_step", source=f"{_TRAINER}.prediction_step",
         parameters=_PREDICTION_STEP, returns=_STEP_OUTPUT, gathered=_STEP_PARTS),
    Hook(name="transformers.Trainer.save_model", source=f"{_TRAINER}.save_model",
         parameters={"output_dir": SAME, "_internal_call": SAME}, returns=NOTHING, synchronises=SAVE),
    Hook(name="transformers.Trainer.train", source=f"{_TRAINER}.train",
         parameters={"resume_from_checkpoint": SAME, "trial": SAME, "ignore_keys_for_eval": SAME},
         returns=SAME, synchronises=Synchronisation("train")),
    Hook(trains=True, name="transformers.Trainer.training_step", source=f"{_TRAINER}.training_step", until="4.46",
         parameters={"model": TRAINED_MODEL, "inputs": BATCH}, returns=LOCAL_LOSS, synchronises=BACKWARD),
    Hook(trains=True, name="transformers.Trainer.training_step", source=f"{_TRAINER}.training_step", since="4.46",
         parameters={"model": TRAINED_MODEL, "inputs": BATCH, "num_items_in_batch": UNKNOWN},
         returns=LOCAL_LOSS, synchronises=BACKWARD),
    Hook(name="transformers.Seq2SeqTrainer.evaluate", source=f"{_SEQ2SEQ}.evaluate", parameters=_EVALUATE,
         returns=SAME_METRICS, synchronises=_EVALUATES),
    Hook(name="transformers.Seq2SeqTrainer.predict", source=f"{_SEQ2SEQ}.predict", parameters=_PREDICT,
         returns=_LOOP_OUTPUT, synchronises=_PREDICTS),
    Hook(name="transformers.Seq2SeqTrainer.prediction_step", source=f"{_SEQ2SEQ}.prediction_step",
         parameters=_PREDICTION_STEP, returns=_STEP_OUTPUT, gathered=_STEP_PARTS),
)

# --- hooks of TrainerCallback: the three positional parameters, then the keyword arguments ----------------

_EVENT = {
    "args": _ARGS, "state": _STATE, "control": _CONTROL, "model": OWN_MODEL, "processing_class": LOADED,
    "tokenizer": LOADED, "optimizer": instance("torch.optim.Optimizer"),
    "lr_scheduler": instance("torch.optim.lr_scheduler.LRScheduler"), "train_dataloader": LOADER,
    "eval_dataloader": LOADER,
}

_CALLBACK_HOOKS: tuple[Row, ...] = (
    *(
        Hook(name=f"transformers.TrainerCallback.{name}", source=f"{_CALLBACK}.{name}", parameters=_EVENT,
             returns=NOTHING)
        for name in (
            "on_epoch_begin", "on_epoch_end", "on_init_end", "on_prediction_step", "on_save", "on_step_begin",
            "on_step_end", "on_substep_end", "on_train_begin", "on_train_end",
        )
    ),
    Hook(name="transformers.TrainerCallback.on_evaluate", source=f"{_CALLBACK}.on_evaluate",
         parameters=_EVENT | {"metrics": SAME_METRICS}, returns=NOTHING),
    Hook(name="transformers.TrainerCallback.on_log", source=f"{_CALLBACK}.on_log",
         parameters=_EVENT | {"logs": SAME_METRICS}, returns=NOTHING),
    Hook(name="transformers.TrainerCallback.on_optimizer_step", source=f"{_CALLBACK}.on_optimizer_step",
         since="4.42", parameters=_EVENT, returns=NOTHING),
    Hook(name="transformers.TrainerCallback.on_pre_optimizer_step",
         source=f"{_CALLBACK}.on_pre_optimizer_step", since="4.45", parameters=_EVENT, returns=NOTHING),
    Hook(name="transformers.TrainerCallback.on_predict", source=f"{_CALLBACK}.on_predict",
         parameters=_EVENT | {"metrics": SAME_METRICS}, returns=NOTHING),
    Hook(name="transformers.TrainerCallback.on_push_begin", source=f"{_CALLBACK}.on_push_begin", since="5.0",
         parameters=_EVENT, returns=NOTHING),
)

# --- collectives, sinks, functions ----------------------------------------------------------------------

_COLLECTIVES: tuple[Row, ...] = (
    Collective(name="transformers.Trainer._gather_and_numpify", source=f"{_TRAINER}._gather_and_numpify",
               until="5.0", operand=(0, "tensors")),
    Collective(name="transformers.Trainer._nested_gather", source=f"{_TRAINER}._nested_gather", until="5.2",
               operand=(0, "tensors")),
    # An attribute: the accelerator's `gather_for_metrics`, or `gather` if a loop needs every sample.
    Collective(name="transformers.Trainer.gather_function",
               source=f"{_TRAINER}.create_accelerator_and_postprocess", operand=(0, "input_data"),
               lists=True),
    Collective(name="transformers.trainer_pt_utils.distributed_broadcast_scalars",
               source="trainer_pt_utils.py::distributed_broadcast_scalars", operand=(0, "scalars"),
               lists=True, fails=""),
    Collective(name="transformers.trainer_pt_utils.distributed_concat",
               source="trainer_pt_utils.py::distributed_concat"),
    Collective(name="transformers.trainer_pt_utils.nested_gather", since="5.2",
               source="trainer_pt_utils.py::nested_gather", operand=(0, "tensors")),
)

_SINKS: tuple[Row, ...] = (
    Sink(name="transformers.Trainer.log", source=f"{_TRAINER}.log", payload=(0, "logs")),
    Sink(name="transformers.Trainer.log_metrics", source="trainer_pt_utils.py::log_metrics",
         payload=(1, "metrics")),
)

_FUNCTIONS: tuple[Row, ...] = (
    *(
        Function(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.{name}", returns=NOTHING)
        for name in (
            "_issue_warnings_after_load", "_move_model_to_device", "_save_optimizer_and_scheduler",
            "_save_rng_state",
            "add_callback", "create_accelerator_and_postprocess", "create_model_card", "init_hf_repo",
            "pop_callback",
            "remove_callback", "store_flos",
        )
    ),
    # The first rank chooses the values of each trial, and the others train with what it sends.
    Function(name="transformers.Trainer.hyperparameter_search", source=f"{_TRAINER}.hyperparameter_search",
             returns=UNKNOWN, synchronises=Synchronisation("train")),
    # It saves the model before it tests which rank uploads it.
    Function(name="transformers.Trainer.push_to_hub", source=f"{_TRAINER}.push_to_hub", returns=NOTHING,
             synchronises=SAVE),
    *(
        Function(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.{name}", returns=SAME)
        for name in (
            "_get_collator_with_removed_columns", "_get_learning_rate", "_get_output_dir",
            "_remove_unused_columns",
            "_set_signature_columns_if_needed", "get_decay_parameter_names", "get_optimizer_cls_and_kwargs",
            "num_examples",
        )
    ),
    *(
        Function(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.{name}", returns=SAME,
                 yields=NOTHING)
        for name in ("autocast_smart_context_manager", "compute_loss_context_manager")
    ),
    Function(name="transformers.Trainer.call_model_init", source=f"{_TRAINER}.call_model_init",
             returns=BARE_MODEL),
    *(
        Function(name=f"transformers.Trainer.{name}", source=f"{_TRAINER}.{name}", returns=RANK_GUARD)
        for name in ("is_local_process_zero", "is_world_process_zero")
    ),
    Function(name="transformers.Seq2SeqTrainer._pad_tensors_to_max_len",
             source=f"{_SEQ2SEQ}._pad_tensors_to_max_len", returns="first"),
    Function(name="transformers.HfArgumentParser.parse_args_into_dataclasses",
             source="hf_argparser.py::HfArgumentParser.parse_args_into_dataclasses", returns="filled",
             switch=(1, "return_remaining_strings"), switched="filled and rest"),
    *(
        Function(name=f"transformers.HfArgumentParser.{name}", source=f"hf_argparser.py::HfArgumentParser.{name}",
                 returns="filled")
        for name in ("parse_dict", "parse_json_file", "parse_yaml_file")
    ),
    Function(name="transformers.TrainingArguments.main_process_first",
             source=f"{_ARGUMENTS}.main_process_first", returns=SAME, yields=NOTHING, first_rank="job",
             synchronises=BARRIER),
    Function(name="transformers.modeling_utils.unwrap_model", source="modeling_utils.py::unwrap_model",
             returns="unwrapped"),
    *(
        Function(name=f"transformers.trainer_pt_utils.{name}", source=f"trainer_pt_utils.py::{name}",
                 returns=SAME)
        for name in ("get_model_param_count", "get_parameter_names")
    ),
    *(
        Function(name=f"transformers.trainer_pt_utils.{name}", source=f"trainer_pt_utils.py::{name}",
                 returns="first")
        for name in ("nested_detach", "nested_numpify")
    ),
    *(
        Function(name=f"transformers.trainer_pt_utils.{name}", source=f"trainer_pt_utils.py::{name}")
        for name in ("find_batch_size", "nested_concat", "nested_truncate")
    ),
    *(
        Function(name=f"transformers.trainer_utils.{name}", source=f"trainer_utils.py::{name}",
                 returns=NOTHING)
        for name in ("enable_full_determinism", "set_seed")
    ),
    *(
        Function(name=f"transformers.trainer_utils.{name}", source=f"trainer_utils.py::{name}", returns=SAME)
        for name in ("get_last_checkpoint", "has_length")
    ),
    Function(name="transformers.trainer_utils.denumpify_detensorize",
             source="trainer_utils.py::denumpify_detensorize", returns="first"),
    Function(name="transformers.trainer_utils.is_main_process", source="trainer_utils.py::is_main_process",
             returns=RANK_GUARD),
    Function(name="transformers.trainer_utils.speed_metrics", source="trainer_utils.py::speed_metrics",
             returns=BatchValue(ranks.CLOCK_LOCAL)),
)

ROWS: tuple[Row, ...] = (
    *_CLASSES, *_ATTRIBUTES, *_HOOKS, *_CALLBACK_HOOKS, *_COLLECTIVES, *_SINKS, *_FUNCTIONS,
)

# Methods and attributes that, among the classes a training script deals with, only these have.
UNIQUE: dict[str, str] = {
    "_maybe_log_save_evaluate": "transformers.Trainer",
    "_nested_gather": "transformers.Trainer",
}

# The loop over the steps of a training, the method of Trainer that it calls for each, and the one in which the library
# has this loop; the attribute that holds the model as it was given, which only that one wraps.
TRAIN, TRAINING_STEP, INNER_LOOP, MODEL = "train", "transformers.Trainer.training_step", "_inner_training_loop", "model"
# The argument by which a training goes on from a checkpoint; with None it begins with the first step.
RESUMES = {"transformers.Trainer.train": (0, "resume_from_checkpoint")}
# Methods whose result only the first rank gets, with the argument that chooses another backend, and that which does so.
# Source: integrations/integration_utils.py `run_hp_search_optuna` (4.36 to 5.24); the default is Optuna if it is there.
GIVEN_TO_FIRST = {"transformers.Trainer.hyperparameter_search": ((4, "backend"), "optuna")}
# The methods that save a model: on each rank, and what the first one calls to write it, on the main process.
SAVING, WRITING = "save_model", "_save"
# The attribute that holds its settings, and the parameter of its constructor that they come from.
SETTINGS = "args"
# The hooks whose result a backward pass starts from.
LOSSES = frozenset({"compute_loss", "training_step"})

# The constructor arguments of callbacks for a single trainer, by parameter: the trainer, or its accelerator.
CONSTRUCTOR_OF_CALLBACK: dict[str, Value] = {
    "accelerator": instance("accelerate.Accelerator"),
    "trainer": instance("transformers.Trainer"),
}

# The constructor arguments of Trainer, and of trainers that derive from it, by parameter.
CONSTRUCTOR: dict[str, Value] = {
    "args": _ARGS,
    "data_collator": PURE,
    "eval_dataset": DATASET,
    "model": BARE_MODEL,
    "processing_class": PURE,
    "ref_model": BARE_MODEL,
    "reward_model": BARE_MODEL,
    "reward_processing_classes": SAME,
    "teacher_model": BARE_MODEL,
    "tokenizer": PURE,
    "train_dataset": DATASET,
}

# Options of `TrainingArguments` that are off by default, and that scripts ask about, too.
OFF_BY_DEFAULT = frozenset({"push_to_hub"})
# The hooks that call `prediction_step` and gather what it returns.
LOOPS_OVER_STEPS = ("evaluation_loop", "prediction_loop")
# The method that logs the metrics of these loops.
EVALUATE = "evaluate"
# The methods that call these loops, with a loader that the Trainer has made.
# Source: transformers 4.5.1, 4.6.1, 4.28.1 and 4.51.3, trainer.py `Trainer.evaluate`, `Trainer.predict`
CALL_LOOPS = (EVALUATE, "predict")
# What code names that has the library wrap the model for a loop of its own.
WRAP_FOR_LOOP = frozenset({"_wrap_model", "model_wrapped"})
# What only the training loop of the library calls. Source: trainer.py `Trainer._maybe_log_save_evaluate`
CALLED_BY_LOOP = frozenset({EVALUATE, "_save_checkpoint"})
# Hooks that process the batches of an evaluation.
EVALUATION_HOOKS = frozenset({*LOOPS_OVER_STEPS, "prediction_step"})

# Class methods that return a bare model for model classes, and for others an object that is the same on all ranks.
# Sources: transformers 5.24, modeling_vision_encoder_decoder.py and the like; diffusers 0.35, controlnet.py.
MODEL_MAKERS = frozenset({
    "_from_config", "from_config", "from_encoder_decoder_pretrained", "from_pretrained", "from_single_file",
    "from_text_audio_pretrained", "from_unet", "from_vision_text_pretrained",
})  # fmt: skip

# All names that Trainer and Seq2SeqTrainer define on themselves, in any release from 4.31.0 to 5.24.0: methods,
# properties, and what a method assigns to `self` (trainer.py::Trainer, trainer_seq2seq.py::Seq2SeqTrainer).
TRAINER_NAMES = frozenset(
    """
    _activate_neftune _add_sm_patterns_to_gitignore _align_special_tokens _attn_mask_causal_checked
    _build_accelerator_args _clip_grad_norm _created_lr_scheduler _deactivate_neftune
    _deepspeed_sp_compute_loss _defer_fsdp_gradient_reduction _determine_best_metric _eval_dataloader
    _eval_dataloaders _evaluate _finalize_training _finish_current_push _fsdp_qlora_plugin_updates
    _gather_and_numpify _gen_kwargs _get_collator_with_removed_columns _get_dataloader _get_eval_sampler
    _get_grad_norm _get_learning_rate _get_num_items_in_batch _get_output_dir _get_train_sampler
    _globalstep_last_logged _has_mixed_mesh_grads _hp_search_setup _init_training_state
    _initial_global_step _initial_num_input_tokens_seen _inner_training_loop _is_attention_mask_causal
    _issue_warnings_after_load _load_best_model _load_callback_state _load_from_checkpoint
    _load_optimizer_and_scheduler _load_rng_state _load_scaler _loggers_initialized _loss_shifts_labels
    _maybe_log_save_evaluate _memory_tracker _mixed_mesh_grad_norm _mixed_mesh_grads
    _move_model_to_device _nested_gather _pad_tensors_to_max_len _past _prepare_context_parallel_inputs
    _prepare_for_training _prepare_input _prepare_inputs _push_from_checkpoint _remove_unused_columns
    _report_to_hp_search _rotate_checkpoints _run_epoch _save _save_checkpoint
    _save_optimizer_and_scheduler _save_rng_state _save_scaler _save_tpu
    _set_signature_columns_if_needed _signature_columns _sorted_checkpoints
    _sync_replicated_trainable_parameters _total_loss_scalar _tr_loss _track_num_input_tokens
    _train_batch_size _trial _tune_save_checkpoint _update_auto_batch_size _validate_args _wrap_model
    accelerator add_callback amp_dtype args autocast_smart_context_manager backward_prefetch
    call_model_init callback_handler can_return_loss compare_trainer_and_checkpoint_args compute_loss
    compute_loss_context_manager compute_loss_func compute_metrics compute_objective control
    create_accelerator_and_postprocess create_model_card create_optimizer create_optimizer_and_scheduler
    create_scheduler current_flos current_gradient_accumulation_steps data_collator deepspeed
    do_grad_scaling end eval_dataset evaluate evaluation_loop floating_point_ops forward_prefetch fsdp
    gather_function get_batch_samples get_cp_size get_decay_parameter_names get_eval_dataloader
    get_learning_rates get_num_trainable_parameters get_optimizer_cls_and_kwargs get_optimizer_group
    get_sp_size get_test_dataloader get_total_train_batch_size get_tp_size get_train_dataloader hp_name
    hp_search_backend hp_space hub_model_id hyperparameter_search init_git_repo init_hf_repo
    initial_num_input_tokens_seen_for_session ipex_optimize_model is_deepspeed_enabled
    is_distributed_loading_by_transformers is_fsdp_enabled is_fsdp_xla_enabled is_fsdp_xla_v1_enabled
    is_fsdp_xla_v2_enabled is_in_train is_local_process_zero is_model_parallel is_tp_enabled
    is_world_process_zero jit_compilation_time label_names label_smoother limit_all_gathers
    load_generation_config log log_metrics loss_is_scaled_for_ga lr_scheduler metrics_format model
    model_accepts_loss_kwargs model_init model_preparation_time model_wrapped neftune_hook_handle
    neftune_noise_alpha num_examples num_tokens objective optimizer optimizer_cls_and_kwargs
    place_model_on_device pop_callback predict prediction_loop prediction_step
    preprocess_logits_for_metrics processing_class propagate_args_to_deepspeed push_in_progress
    push_to_hub remove_callback repo save_metrics save_model save_state scaler
    set_initial_training_values sharded_ddp state store_flos tokenizer torch_jit_model_eval train
    train_dataset training_step use_apex use_cpu_amp use_cuda_amp use_tune_checkpoints
    """.split()  # noqa: SIM905
)
