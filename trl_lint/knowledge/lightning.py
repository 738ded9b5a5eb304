"""What Lightning runs on every process of a distributed run, and what Fabric does. Read from its documentation.

Its `Trainer` starts one process per device, each with the script's module and callbacks. `prepare_data` runs on one of
them, and so does a function with `rank_zero_only`. Testing is documented for one device; what each device predicts is
written by callbacks for that.

With a `Fabric` the user writes the loop, and before there was one, with a `LightningLite`. Its rows were read from
lightning-fabric 2.6.6, those of the latter from pytorch_lightning 1.8.6, those of `Trainer`, of its strategy, of
`LightningModule` and of `LightningDataModule` from lightning 2.6.6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from trl_lint.domain import ranks
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.values import Value
from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    BACKWARD,
    BARRIER,
    GLOBAL_RANK_INDEX,
    LOADED_BATCH,
    NOTHING,
    RANK_GUARD,
    RANK_INDEX,
    SAME,
    SAME_NUMBER,
    SAVE_CHECKPOINT,
    SETTING,
    UNKNOWN,
    WORLD,
    WRAPPED_MODEL,
    Attribute,
    Class,
    Collective,
    Effect,
    Function,
    OpaqueCall,
    Row,
    Sink,
    Synchronisation,
    created,
    instance,
    items,
)

_FABRIC = "lightning.fabric.Fabric"
_SOURCE = "lightning/fabric/fabric.py::Fabric"
_LITE = "lightning_lite.LightningLite"
_LITE_SOURCE = "lightning_lite/lite.py::LightningLite"
_PACKAGES = ("lightning", "lightning.pytorch", "pytorch_lightning")
_TRAINER = "lightning.pytorch.Trainer"
_TRAINER_SOURCE = "lightning/pytorch/trainer/trainer.py::Trainer"
_STRATEGY = "lightning.pytorch.strategies.Strategy"
_STRATEGY_SOURCE = "lightning/pytorch/strategies/strategy.py::Strategy"
_DATA_SOURCE = "lightning/pytorch/core/datamodule.py::LightningDataModule"
_MODULE_SOURCE = "lightning/pytorch/core/module.py::LightningModule"
PACKAGE = "lightning"
# What is imported from here may be older than 2.0.
OLD_PACKAGE = "pytorch_lightning"
OLD_TRAINER = f"{OLD_PACKAGE}.Trainer"
_TRAINERS = {package: OLD_TRAINER if package == OLD_PACKAGE else _TRAINER for package in _PACKAGES}
# What imports each of them, and the methods that run a model with the keywords that no other class takes there.
# Source: lightning/pytorch/trainer/trainer.py `Trainer.fit`, `.validate`
IMPORTS = {
    rb"(?m)^\s*(?:from|import)\s+lightning\b": _TRAINER,
    rb"(?m)^\s*(?:from|import)\s+pytorch_lightning\b": OLD_TRAINER,
}
# What creates a Trainer, by the last part of its name, and the keywords that say on how many devices it trains. `gpus`
# is that of pytorch_lightning before 2.0.
MAKE_TRAINERS = frozenset({"LightningCLI", "Trainer", "from_argparse_args"})
NODES = "num_nodes"
COUNTS_DEVICES = frozenset({"devices", "gpus", NODES})
# Gives a list of as many devices as it is told.
# Source: lightning/fabric/accelerators/cuda.py
FIND_DEVICES = frozenset({"find_usable_cuda_devices"})
# If one of these is False, each process gets what the loader has: nothing is shared out. The first one is that of
# pytorch_lightning before 2.0.
# Source: lightning/pytorch/trainer/connectors/data_connector.py `_requires_distributed_sampler`
SHARE_DATA_OUT = frozenset({"replace_sampler_ddp", "use_distributed_sampler"})
RUNS_OF_TRAINER = frozenset({"fit", "predict", "test", "validate"})
# The method by which a Fabric starts the other processes.
LAUNCHES = "launch"
ONLY_TRAINERS_TAKE = frozenset({"ckpt_path", "datamodule", "train_dataloaders", "val_dataloaders"})
# What seeds all generators and, by the variable PL_GLOBAL_SEED, the samplers that the trainer injects where several
# processes train; and a file whose trainer injects none.
# Source: lightning/fabric/utilities/seed.py `seed_everything`; lightning/pytorch/trainer/connectors/data_connector.py
# `_get_distributed_sampler`, the same in pytorch_lightning 1.9.5
SEEDS_ALL = frozenset(
    f"{package}.seed_everything" for package in (*_PACKAGES, "lightning.fabric", "pytorch_lightning.utilities.seed")
)
SHARES_BY_HAND = rb"(?:use_distributed_sampler|replace_sampler_ddp)[\"']?\s*[=:]\s*False"
# The strategies with which a Fabric puts a model into DDP, and those that shard it, some of them in place: a file names
# the one that it uses. With none, it takes DDP for several devices, unless the command that starts it names another.
# Source: lightning/fabric/wrappers.py `_FabricModule.module`, which is the module inside; strategies/ddp.py;
# connector.py `_Connector._choose_strategy`
WRAPS_IN_DDP = rb"strategy[\"']?\s*[:=]\s*(?:[\"']ddp|[\w.]*DDPStrategy\()|\bFabric\(\s*\)"
WRAPS_OTHERWISE = rb"(?i)deepspeed|fsdp|model_?parallel"
# The trainer that hooks of a callback get while it trains: its `model` is wrapped by then.
_IN_FIT = "in_fit"
# A trainer of one device: no other process waits in its methods.
_ALONE = "on_one_device"
ALONE = {trainer: f"{trainer}.{_ALONE}" for trainer in _TRAINERS.values()}
TRAINERS = frozenset(
    f"{trainer}{state}" for trainer in _TRAINERS.values() for state in ("", f".{_ALONE}", f".{_IN_FIT}")
)
# All processes set up the strategy together, and wait for each other before the first batch.
# Source: lightning/pytorch/trainer/trainer.py `_run` and `_run_stage`, which call the barrier of the strategy
_RUN = Synchronisation("run", symmetric=True, by_rank=True)
FABRIC = _FABRIC
# What starts the processes itself, for a loop of the user's.
FABRICS = frozenset({_FABRIC, _LITE})
# "Put your code here": called on an object of an heir, it starts the processes, each of which runs it.
# Source: lightning/fabric/fabric.py `Fabric.__init__`, `_wrap_and_launch`; the same in pytorch_lightning 1.8.6
_RUNS = "run"
# With `sync_dist=True` a value is reduced, at once or at the end of the epoch; a rank that has none waits in vain. With
# `rank_zero_only=True` it is not, whatever `sync_dist` is.
# Source: https://lightning.ai/docs/pytorch/stable/visualize/logging_advanced.html, "rank_zero_only";
# lightning/pytorch/trainer/connectors/logger_connector/result.py `_Sync._generate_sync_fn`, the same in
# pytorch_lightning 1.6.5
_SYNC = "sync_dist"
_REDUCED = Synchronisation("reduced", unless="rank_zero_only", given=_SYNC, by_rank=True)
TRAINS = "training_step"
_STEPS = (TRAINS, "validation_step")
# Before 2.0: what is made of the result of a step.
_STEP_ENDS = tuple(f"{step}_end" for step in _STEPS)
_EPOCH_ENDS = ("training_epoch_end", "validation_epoch_end")
# What gets a list of what the steps have returned, and what gets what one has.
_GET_OUTPUTS = ("test_epoch_end", "validation_epoch_end")
_GET_OUTPUT = (
    "on_test_batch_end", "on_validation_batch_end", "test_step_end", "training_step_end", "validation_step_end",
)  # fmt: skip
_EVENTS = (
    "fit_start", "fit_end", "sanity_check_start", "sanity_check_end", "train_batch_end", "train_batch_start",
    "train_end", "train_epoch_end", "train_epoch_start", "train_start", "validation_batch_end",
    "validation_batch_start", "validation_end", "validation_epoch_end", "validation_epoch_start", "validation_start",
)  # fmt: skip
_OF_CHECKPOINTS = ("on_load_checkpoint", "on_save_checkpoint")
TRAIN_DATA, VALIDATION_DATA = "train_dataloader", "val_dataloader"
_OF_DATA = ("setup", TRAIN_DATA, VALIDATION_DATA)
# A LightningCLI makes the trainer, and calls these hooks of an heir after it has run: by then there are all processes.
# Source: lightning/pytorch/cli.py `LightningCLI.instantiate_trainer`, `._run_subcommand`
_CLIS = {
    "lightning.pytorch.cli.LightningCLI": _TRAINER,
    **{f"{OLD_PACKAGE}.{name}.LightningCLI": OLD_TRAINER for name in ("cli", "utilities.cli")},
}
_CLI_SOURCE = "lightning/pytorch/cli.py::LightningCLI"
_OF_CLI = frozenset(f"after_{each}" for each in RUNS_OF_TRAINER)
# A BasePredictionWriter gets here, on each process, what that one has predicted.
# Source: lightning/pytorch/callbacks/prediction_writer.py `BasePredictionWriter.on_predict_epoch_end`
_WRITES = ("write_on_batch_end", "write_on_epoch_end")
# What it calls in each epoch and at each batch of a training, too, before 1.8, which refuses those of callbacks.
# Source: pytorch_lightning 1.4.9, callbacks/base.py; 1.8.6, trainer/configuration_validator.py
_OLD_HOOKS = frozenset({"on_batch_end", "on_batch_start", "on_epoch_end", "on_epoch_start"})
# Around these it is called on each process that predicts, as any callback is; others may be for one device.
# Source: lightning/pytorch/callbacks/callback.py `Callback.on_predict_start` and below
_WRITER = "BasePredictionWriter"
_AROUND_WRITES = frozenset(
    f"on_predict_{each}" for each in ("start", "end", "epoch_start", "epoch_end", "batch_start", "batch_end")
)
# A ModelCheckpoint calls these of its own hooks, with the trainer, while it is trained; some projects override them.
# Source: lightning/pytorch/callbacks/model_checkpoint.py `ModelCheckpoint.on_train_epoch_end` and below, the same in
# pytorch_lightning 1.8.6
_KEEPER = "ModelCheckpoint"
_KEEPS = frozenset({
    "_save_checkpoint", "_save_last_checkpoint", "_save_monitor_checkpoint", "_save_none_monitor_checkpoint",
    "_save_topk_checkpoint",
})  # fmt: skip
_OWN_HOOKS = {_WRITER: _AROUND_WRITES, _KEEPER: _KEEPS}
_HOOKS = frozenset(
    (*_STEPS, *_STEP_ENDS, *_WRITES, *_EPOCH_ENDS, *(f"on_{event}" for event in _EVENTS), *_OF_CHECKPOINTS, *_OF_DATA)
)
# The values that a module, or a helper, logs here are means over all batches of an evaluation: without `sync_dist=True`
# over those of the first rank.
# Source: lightning/pytorch/trainer/connectors/logger_connector/fx_validator.py `_FxValidator.functions`
# ("It is recommended to use `sync_dist=True` when logging on epoch level in distributed setting.")
# Source: lightning/pytorch/trainer/connectors/logger_connector/result.py `_ResultCollection._get_cache`
_VALIDATES = ("epoch_end", "batch_end", "batch_start", "epoch_start", "start")
OF_EVALUATION = frozenset({
    "validation_epoch_end", "validation_step", "validation_step_end", *(f"on_validation_{each}" for each in _VALIDATES),
})  # fmt: skip
# Releases 1.4 to 1.6 reduce the mean over an epoch whatever `sync_dist` is ("always reduce on epoch end").
# Source: pytorch_lightning 1.4.0 and 1.6.5, trainer/connectors/logger_connector/result.py `ResultCollection._get_cache`
_NOT_ALWAYS_REDUCED = (("", "1.4"), ("1.7", ""))
_EVERY = (("", ""),)
# So are those of a test, which is better run on one device, and what it logs when an epoch of a training ends.
# Source: lightning/pytorch/trainer/connectors/data_connector.py `_DataConnector._check_eval_shuffling` and above
_TEST = "test_step"
# The methods of a module that compute something of each rank's own batch.
STEPS = frozenset({*_STEPS, _TEST})
OF_EPOCHS = frozenset({
    "on_test_batch_end", "on_test_epoch_end", "on_train_epoch_end", "test_epoch_end", _TEST, "test_step_end",
    "training_epoch_end",
})  # fmt: skip
# What it logs in other hooks is shown for a batch, unless it says so.
_OF_EPOCH = "on_epoch"
_SHOW_OTHERS = frozenset({"predict_step", *_HOOKS}) - OF_EVALUATION - OF_EPOCHS
# The methods of a module that Lightning runs while it trains.
OF_TRAINING = frozenset(each for each in _HOOKS if "train" in each and each not in _OF_DATA)
# The methods of a module that only its trainer calls, and that run in a training, a validation or a test.
OF_TRAINER = OF_TRAINING | OF_EVALUATION | OF_EPOCHS
# A file with one of these is for several processes.
KNOWS_PROCESSES = (
    rb"sync_dist|(?:\b|_)rank(?:\b|_)|ddp|fsdp|deepspeed|all_gather|is_global_zero|world_size|DistributedSampler"
    rb"|num_nodes"
)
# The same, of words that are used for nothing else.
FOR_SEVERAL = (
    rb"sync_dist|rank_zero|\b(?:global|local)_rank\b|\bddp|\bDDP|fsdp|FSDP|deepspeed|is_global_zero|world_size"
    rb"|DistributedSampler|num_nodes"
)
# What a file of pytorch_lightning uses that 2.0 has no longer.
# Source: https://lightning.ai/docs/pytorch/stable/upgrade/from_1_9.html and the pages before it
BEFORE_2 = (
    rb"\b(?:gpus|auto_select_gpus|num_processes|tpu_cores|auto_lr_find|auto_scale_batch_size|replace_sampler_ddp"
    rb"|progress_bar_refresh_rate|weights_summary|resume_from_checkpoint|checkpoint_callback|distributed_backend"
    rb"|track_grad_norm|amp_backend|amp_level|multiple_trainloader_mode|move_metrics_to_cpu)[ \t]*=(?!=)"
    rb"|\b(?:training|validation|test)_(?:epoch|step)_end\b|\b(?:add_argparse_args|from_argparse_args)\b"
    rb"|pytorch_lightning\.(?:core\.(?:lightning|memory)|metrics|lite|plugins\.training_type)|\bDDPPlugin\b"
    rb"|\bTestTubeLogger\b|\bProgressBarBase\b"
)
# What it uses that there was not before 2.0: precisions, and arguments of `Trainer`.
SINCE_2 = (
    rb"precision[\"']?\s*[=:]\s*[\"'](?:16|32|64|bf16)-(?:mixed|true)[\"']|\buse_distributed_sampler\b|\bbarebones\b"
    rb"|\bddp_find_unused_parameters_true\b"
)
# The strategies that put a module into a DDP that waits for the gradients of all parameters, which it does since 2.0.
# Source: lightning/pytorch/strategies/ddp.py `StrategyRegistry.register`; pytorch_lightning 1.9.5, the same file,
# `DDPStrategy.pre_configure_ddp`
WAIT_FOR_ALL = frozenset({"ddp", "ddp_find_unused_parameters_false", "ddp_notebook", "ddp_spawn"})
STRATEGY_OF_DDP, STRATEGY_KEYWORD = "DDPStrategy", "strategy"
# What a Trainer chooses by itself, "ddp" for several devices, unless they are of another kind than GPUs.
# Source: lightning/pytorch/trainer/connectors/accelerator_connector.py `_choose_strategy`
CHOOSES_STRATEGY, ACCELERATOR_KEYWORD, WITHOUT_DDP = "auto", "accelerator", frozenset({"cpu", "hpu", "mps", "tpu"})
# Methods of a module that trains by hand, and what else decides when its gradients are sent.
OPTIMIZERS_OF, BACKWARD_BY_HAND, TOGGLE = "configure_optimizers", "manual_backward", "toggle_optimizer"
SENDS_BY_HAND = frozenset({"no_sync", "no_backward_sync", "require_backward_grad_sync"})
# Where a training is: they are not negative, and change.
COUNTS = ("current_epoch", "global_step")
# The run of a WandbLogger: all ranks but the first have a stand-in instead, of which every attribute is a function.
# Source: lightning/fabric/loggers/logger.py `_DummyExperiment`; the same in pytorch_lightning 1.7
_LOGGERS = "lightning/pytorch/loggers/wandb.py"
RUN_OF_FIRST = "WandbLogger.experiment"
# What such a run has that code fills: a function instead has no items, and no attributes that can be set.
PARTS_OF_RUN = frozenset({"config", "summary"})
# Its loggers, and what they write with, write on the first process only: what that one has is shown as if it was what
# all have. Unlike `log`, they average nothing, so in a step it is the value of a batch.
# Source: lightning/fabric/loggers/logger.py `rank_zero_experiment`; lightning/pytorch/loggers/ `log_metrics`, with
# `rank_zero_only`; the same in pytorch_lightning 1.5.10 and 1.9.5
_LOGGER = "lightning.pytorch.loggers.Logger"
_EXPERIMENT = f"{_LOGGER}.experiment"
_LOGGER_SOURCE = "lightning/pytorch/loggers/logger.py::Logger"
# What the trainer calls of each logger on every process: those of the library leave it to `rank_zero_only` who writes.
# Not `after_save_checkpoint`, which a ModelCheckpoint calls on the first process alone.
# Source: lightning/pytorch/trainer/call.py `_call_teardown_hook`; trainer/connectors/logger_connector/
# logger_connector.py `log_metrics`; loggers/utilities.py `_log_hyperparams`; the same in pytorch_lightning 1.7, the
# first that names it `Logger`
_OF_LOGGERS = frozenset({"finalize", "log_graph", "log_hyperparams", "log_metrics", "save"})
_ENDS_OF_EVALUATION = frozenset({"validation_epoch_end", "on_validation_epoch_end", "on_validation_end"})
_ENDS_OF_OTHERS = frozenset({
    "on_test_end", "on_test_epoch_end", "on_train_epoch_end", "test_epoch_end", "training_epoch_end",
})  # fmt: skip
_OF_A_BATCH = frozenset({"predict_step", _TEST, *_HOOKS}) - _ENDS_OF_EVALUATION - _ENDS_OF_OTHERS
OF_RUN_OF_FIRST = Effect(
    "changes the run that only the first one has, and the others fail", consequence=Consequence.CRASH
)
# fmt: off
ROWS: tuple[Row, ...] = (
    Class(name=_FABRIC, source=_SOURCE),
    Attribute(name=f"{_FABRIC}.global_rank", source=f"{_SOURCE}.global_rank", value=GLOBAL_RANK_INDEX),
    Attribute(name=f"{_FABRIC}.is_global_zero", source=f"{_SOURCE}.is_global_zero", value=RANK_GUARD),
    Attribute(name=f"{_FABRIC}.local_rank", source=f"{_SOURCE}.local_rank", value=RANK_INDEX),
    Attribute(name=f"{_FABRIC}.node_rank", source=f"{_SOURCE}.node_rank", value=RANK_INDEX),
    Attribute(name=f"{_FABRIC}.world_size", source=f"{_SOURCE}.world_size", value=ALL_PROCESSES),
    Collective(name=f"{_FABRIC}.all_gather", source=f"{_SOURCE}.all_gather", operand=(0, "data"), lists=True, fails="",
               same_shapes=True, groups=((1, "group"),), backward=(2, "sync_grads")),
    # A tensor on this rank's device is reduced in place (lightning/fabric/utilities/distributed.py `_sync_ddp`).
    Collective(name=f"{_FABRIC}.all_reduce", source=f"{_SOURCE}.all_reduce", operand=(0, "data"), result="reduced",
               into=(0, "data"), returned=True, lists=True, fails="", reduction=(2, "reduce_op", "mean"),
               groups=((1, "group"),)),
    Function(name=f"{_FABRIC}.backward", source=f"{_SOURCE}.backward", returns=NOTHING, synchronises=BACKWARD),
    Collective(name=f"{_FABRIC}.barrier", source=f"{_SOURCE}.barrier", operand=(-1, ""), result="barrier", fails=""),
    Collective(name=f"{_FABRIC}.broadcast", source=f"{_SOURCE}.broadcast", operand=(0, "obj"), result="broadcast",
               lists=True, fails=""),
    Function(name=f"{_FABRIC}.load", source=f"{_SOURCE}.load", returns=UNKNOWN,
             synchronises=Synchronisation("load", symmetric=True)),
    Function(name=f"{_FABRIC}.print", source=f"{_SOURCE}.print", returns=NOTHING),
    Function(name=f"{_FABRIC}.rank_zero_first", source=f"{_SOURCE}.rank_zero_first", returns=NOTHING,
             yields=NOTHING, first_rank="job", synchronises=BARRIER),
    # Its loggers write on the first process only.
    Sink(name=f"{_FABRIC}.log", source=f"{_SOURCE}.log", payload=(1, "value"), form="value"),
    Sink(name=f"{_FABRIC}.log_dict", source=f"{_SOURCE}.log_dict", payload=(0, "metrics")),
    # The module is put into a `_FabricModule`, which passes attributes on (lightning/fabric/wrappers.py).
    *(Function(name=f"{_FABRIC}.{name}", source=f"{_SOURCE}.{name}", returns="set up")
      for name in ("setup", "setup_module")),
    Function(name=f"{_FABRIC}.setup_dataloaders", source=f"{_SOURCE}.setup_dataloaders", returns="shared out"),
    Function(name=f"{_FABRIC}.save", source=f"{_SOURCE}.save", returns=NOTHING,
             synchronises=Synchronisation("save", symmetric=True)),
    # Of these two, each rank may call its own: with DDP, the first one saves, and does not wait for the others.
    Class(name=_LITE, source=_LITE_SOURCE, bases=(_FABRIC,)),
    Function(name=f"{_LITE}.load", source=f"{_LITE_SOURCE}.load", returns=UNKNOWN),
    Function(name=f"{_LITE}.save", source=f"{_LITE_SOURCE}.save", returns=NOTHING),

    Class(name=_TRAINER, source=_TRAINER_SOURCE),
    Attribute(name=f"{_TRAINER}.global_rank", source=f"{_TRAINER_SOURCE}.global_rank", value=GLOBAL_RANK_INDEX),
    Attribute(name=f"{_TRAINER}.is_global_zero", source=f"{_TRAINER_SOURCE}.is_global_zero", value=RANK_GUARD),
    Attribute(name=f"{_TRAINER}.local_rank", source=f"{_TRAINER_SOURCE}.local_rank", value=RANK_INDEX),
    # It broadcasts the folder of the first process' logger: "You must call this on all processes."
    Attribute(name=f"{_TRAINER}.log_dir", source=f"{_TRAINER_SOURCE}.log_dir", value=SETTING,
              synchronises=Synchronisation("broadcast")),
    Attribute(name=f"{_TRAINER}.node_rank", source=f"{_TRAINER_SOURCE}.node_rank", value=RANK_INDEX),
    Attribute(name=f"{_TRAINER}.num_devices", source=f"{_TRAINER_SOURCE}.num_devices", value=WORLD),
    Attribute(name=f"{_TRAINER}.num_nodes", source=f"{_TRAINER_SOURCE}.num_nodes", value=SAME),
    Attribute(name=f"{_TRAINER}.strategy", source=f"{_TRAINER_SOURCE}.strategy", value=created(_STRATEGY)),
    Attribute(name=f"{_TRAINER}.world_size", source=f"{_TRAINER_SOURCE}.world_size", value=ALL_PROCESSES),
    # All ranks make the same number of steps, and are at the same one.
    *(Attribute(name=f"{_TRAINER}.{name}", source=f"{_TRAINER_SOURCE}.{name}", value=SAME_NUMBER)
      for name in COUNTS),
    *(Attribute(name=f"{_TRAINER}.{name}", source=f"{_TRAINER_SOURCE}.{name}", value=SETTING)
      for name in ("default_root_dir", "max_epochs", "max_steps", "min_epochs", "min_steps")),
    # A metric in them is that of all ranks, or of each: a condition on it keeps no rank out in particular.
    *(Attribute(name=f"{_TRAINER}.{name}", source=f"{_TRAINER_SOURCE}.{name}", value=SETTING)
      for name in ("callback_metrics", "logged_metrics", "progress_bar_metrics")),
    *(Attribute(name=f"{_TRAINER}.{name}", source=f"{_TRAINER_SOURCE}.{name}", value=SAME)
      for name in ("evaluating", "predicting", "sanity_checking", "state", "testing", "training", "validating")),

    # All ranks wait in it, whether they write or not.
    Function(name=f"{_TRAINER}.save_checkpoint", source=f"{_TRAINER_SOURCE}.save_checkpoint", returns=NOTHING,
             synchronises=Synchronisation("save", symmetric=True)),
    # Before 2.0 they do so only where each writes a part (pytorch_lightning 1.8.6).
    Class(name=OLD_TRAINER, source=_TRAINER_SOURCE, bases=(_TRAINER,)),
    Function(name=f"{OLD_TRAINER}.save_checkpoint", source=f"{_TRAINER_SOURCE}.save_checkpoint", returns=NOTHING,
             synchronises=SAVE_CHECKPOINT),

    *(OpaqueCall(name=f"{_TRAINER}.{name}", source=f"{_TRAINER_SOURCE}.{name}", synchronises=_RUN)
      for name in sorted(RUNS_OF_TRAINER)),
    *(row for trainer, alone in ALONE.items()
      for row in (
          Class(name=alone, source=_TRAINER_SOURCE, bases=(trainer,)),
          Function(name=f"{alone}.save_checkpoint", source=f"{_TRAINER_SOURCE}.save_checkpoint", returns=NOTHING),
          *(Function(name=f"{alone}.{name}", source=f"{_TRAINER_SOURCE}.{name}", returns=UNKNOWN)
            for name in sorted(RUNS_OF_TRAINER)),
      )),

    *(row for name, trainer in _CLIS.items()
      for row in (
          Class(name=name, source=_CLI_SOURCE),
          Attribute(name=f"{name}.trainer", source=f"{_CLI_SOURCE}.instantiate_trainer",
                    value=created(trainer)),
      )),

    # "The LightningModule, but possibly wrapped into DataParallel or DistributedDataParallel."
    *(row for trainer in (_TRAINER, OLD_TRAINER)
      for row in (
          Class(name=f"{trainer}.{_IN_FIT}", source=_TRAINER_SOURCE, bases=(trainer,)),
          Attribute(name=f"{trainer}.{_IN_FIT}.model", source=f"{_TRAINER_SOURCE}.model", value=WRAPPED_MODEL),
      )),

    Class(name=_STRATEGY, source=_STRATEGY_SOURCE),
    Collective(name=f"{_STRATEGY}.all_gather", source=f"{_STRATEGY_SOURCE}.all_gather", operand=(0, "tensor"),
               fails="", same_shapes=True, groups=((1, "group"),), backward=(2, "sync_grads")),
    Function(name=f"{_STRATEGY}.backward", source=f"{_STRATEGY_SOURCE}.backward", returns=UNKNOWN,
             synchronises=BACKWARD),
    Collective(name=f"{_STRATEGY}.barrier", source=f"{_STRATEGY_SOURCE}.barrier", operand=(-1, ""), result="barrier",
               fails=""),
    Collective(name=f"{_STRATEGY}.broadcast", source=f"{_STRATEGY_SOURCE}.broadcast", operand=(0, "obj"),
               result="broadcast", lists=True, fails=""),
    Collective(name=f"{_STRATEGY}.reduce", source=f"{_STRATEGY_SOURCE}.reduce", operand=(0, "tensor"),
               result="reduced", into=(0, "tensor"), returned=True, lists=True, fails="",
               reduction=(2, "reduce_op", "mean"), groups=((1, "group"),)),
    Collective(name=f"{_STRATEGY}.reduce_boolean_decision", source=f"{_STRATEGY_SOURCE}.reduce_boolean_decision",
               operand=(0, "decision"), result="reduced", lists=True, fails=""),

    Class(name=_LOGGER, source=_LOGGER_SOURCE),
    Class(name=_EXPERIMENT, source=f"{_LOGGER_SOURCE}.experiment"),
    Class(name=RUN_OF_FIRST, source=f"{_LOGGERS}::WandbLogger.experiment", bases=(_EXPERIMENT,)),
    Attribute(name=_EXPERIMENT, source=f"{_LOGGER_SOURCE}.experiment", value=instance(_EXPERIMENT)),
    *(Attribute(name=f"{owner}.{name}", source=f"{source}.{name}", value=value)
      for owner, source in ((_TRAINER, _TRAINER_SOURCE),
                            *((f"{package}.LightningModule", _MODULE_SOURCE) for package in _PACKAGES))
      for name, value in (("logger", instance(_LOGGER)),
                          ("loggers", IterableValue(ranks.SAME, instance(_LOGGER), ranks.SAME)))),
    *(Sink(name=name, source=_LOGGER_SOURCE, payload=payload, form=form, only_in=_ENDS_OF_EVALUATION,
           also_in=_ENDS_OF_OTHERS, not_in=_OF_A_BATCH)
      for name, payload, form in (
          (f"{_LOGGER}.log_metrics", (0, "metrics"), "mapping"),
          (f"{_EXPERIMENT}.log", (0, "data"), "mapping"),
          (f"{_EXPERIMENT}.add_scalar", (1, "scalar_value"), "value"),
          (f"{_EXPERIMENT}.add_scalars", (1, "tag_scalar_dict"), "below"),
          (f"{_EXPERIMENT}.log_metrics", (0, "dic"), "mapping"),
      )),
    *(row for package in ("lightning.pytorch", "pytorch_lightning")
      for row in (
          Class(name=f"{package}.loggers.WandbLogger", source=f"{_LOGGERS}::WandbLogger", bases=(_LOGGER,)),
          Attribute(name=f"{package}.loggers.WandbLogger.experiment", source=f"{_LOGGERS}::WandbLogger.experiment",
                    value=created(RUN_OF_FIRST)),
      )),
    *(row for name in sorted(PARTS_OF_RUN)
      for row in (
          Attribute(name=f"{RUN_OF_FIRST}.{name}", source=f"{_LOGGERS}::WandbLogger.experiment",
                    value=created(f"{RUN_OF_FIRST}.{name}")),
          Function(name=f"{RUN_OF_FIRST}.{name}.update", source=f"{_LOGGERS}::WandbLogger.experiment",
                   returns=NOTHING, effect=OF_RUN_OF_FIRST),
      )),

    *(Class(name=f"{package}.LightningModule", source=_MODULE_SOURCE) for package in _PACKAGES),
    *(Attribute(name=f"{package}.LightningModule.trainer", source=f"{_MODULE_SOURCE}.trainer", value=created(trainer))
      for package, trainer in _TRAINERS.items()),
    *(Class(name=f"{package}.LightningDataModule", source=_DATA_SOURCE) for package in _PACKAGES),
    *(Attribute(name=f"{package}.LightningDataModule.trainer", source=f"{_DATA_SOURCE}.__init__",
                value=created(trainer))
      for package, trainer in _TRAINERS.items()),
    *(Sink(name=f"{package}.LightningModule.{name}", source=f"{_MODULE_SOURCE}.{name}", payload=payload, form=form,
           reduces=_SYNC, only_in=OF_EVALUATION, also_in=OF_EPOCHS, always=_OF_EPOCH, not_in=_SHOW_OTHERS,
           synchronises=_REDUCED, since=since, until=until)
      for package in _PACKAGES
      for since, until in (_NOT_ALWAYS_REDUCED if package == OLD_PACKAGE else _EVERY)
      for name, payload, form in (("log", (1, "value"), "value"), ("log_dict", (0, "dictionary"), "mapping"))),
    *(Function(name=f"{OLD_PACKAGE}.LightningModule.{name}", source=f"{_MODULE_SOURCE}.{name}", since="1.4",
               until="1.7", returns=NOTHING, synchronises=_REDUCED)
      for name in ("log", "log_dict")),
    *(Attribute(name=f"{package}.LightningModule.{name}", source=f"{_MODULE_SOURCE}.{name}", value=value)
      for package in _PACKAGES for name, value in (("global_rank", GLOBAL_RANK_INDEX), ("local_rank", RANK_INDEX))),
    *(Attribute(name=f"{package}.LightningModule.{name}", source=f"{_MODULE_SOURCE}.{name}", value=SAME_NUMBER)
      for package in _PACKAGES for name in COUNTS),
    *(Collective(name=f"{package}.LightningModule.all_gather", source=f"{_MODULE_SOURCE}.all_gather",
                 operand=(0, "data"), lists=True, fails="", same_shapes=True, groups=((1, "group"),),
                 backward=(2, "sync_grads"))
      for package in _PACKAGES),
    *(Function(name=f"{package}.LightningModule.manual_backward", source=f"{_MODULE_SOURCE}.manual_backward",
               returns=NOTHING, synchronises=BACKWARD)
      for package in _PACKAGES),
    # It returns the seed.
    *(Function(name=name, source="lightning/fabric/utilities/seed.py::seed_everything", returns=UNKNOWN)
      for name in sorted(SEEDS_ALL)),
    # `fabric.setup(module)` sets it. All ranks call that, or none does.
    *(Attribute(name=f"{package}.LightningModule.{name}", source=f"{_MODULE_SOURCE}.{name}", value=SAME)
      for package in ("lightning", "lightning.pytorch") for name in ("fabric", "_fabric")),
)
# fmt: on

# Classes whose objects code often knows by a test of their class alone.
_TOLD_BY_TEST = frozenset((*_TRAINERS.values(), *(f"{package}.loggers.WandbLogger" for package in _PACKAGES[1:])))

# The first process of each node alone runs this method: "if you assign states here then they won't be available for
# other processes". All run those.
# Source: https://lightning.ai/docs/pytorch/stable/data/datamodule.html#prepare-data
PREPARES = "prepare_data"
RUN_BY_ALL = frozenset((*_OF_DATA, *_STEPS, "configure_optimizers", "predict_dataloader", "test_dataloader"))
# By this method a module says which parameters of its constructor are settings of the run.
SAVES_HYPERPARAMETERS = "save_hyperparameters"
# The methods that Lightning calls before the steps of a training.
BEFORE_STEPS = frozenset({"on_fit_start", "on_train_batch_start", "on_train_epoch_start", "on_train_start"})
# Before 0.8, `Trainer.fit` itself called `prepare_data`, in each process, and before it spawned any. `pins` finds "0".
# Source: pytorch_lightning/trainer/trainer.py `Trainer.fit` (0.7.6), `Trainer.can_prepare_data` (0.8.1)
PREPARES_EVERYWHERE = "0"
_PREPARED = frozenset(
    f"{package}.{name}" for package in _PACKAGES for name in ("LightningDataModule", "LightningModule")
)


def prepares_on_one(bases: Iterable[str]) -> bool:
    """Whether Lightning calls `prepare_data` of a class with these bases, on one process."""
    return not _PREPARED.isdisjoint(bases)


def hooks_of(bases: Collection[str]) -> frozenset[str]:
    """The methods of a class with these bases that Lightning calls on every process."""
    for name, own in _OWN_HOOKS.items():
        if any(_package_of_callback(each) and each.endswith(f".{name}") for each in bases):
            return _HOOKS | own
    if is_module(bases) or is_callback(bases):
        return _HOOKS
    if is_fabric(bases):
        return frozenset({_RUNS})
    if is_logger(bases):
        return _OF_LOGGERS
    if not _CLIS.keys().isdisjoint(bases):
        return _OF_CLI
    return frozenset(_OF_DATA) if prepares_on_one(bases) else frozenset()


def old_hooks_of(bases: Collection[str]) -> frozenset[str]:
    """Those that it calls in old releases only, before those that have a package of another name."""
    is_old = any(each.startswith(f"{OLD_PACKAGE}.") for each in bases)
    return _OLD_HOOKS if is_old and (is_module(bases) or is_callback(bases)) else frozenset()


def is_fabric(bases: Iterable[str]) -> bool:
    """Whether a class with these bases is a Fabric, or a LightningLite."""
    return not FABRICS.isdisjoint(bases)


def is_module(bases: Iterable[str]) -> bool:
    """Whether a class with these bases is a LightningModule."""
    return not _MODULES.isdisjoint(bases)


def is_logger(bases: Iterable[str]) -> bool:
    """Whether a class with these bases is a logger, which the trainer calls, but which has none."""
    return not _LOGGER_CLASSES.isdisjoint(bases)


def may_have(base: str, name: str) -> bool:
    """Whether objects with this base have an attribute of this name that no class of the project need set.

    A callback has only methods, and a module what these properties say, and names of its own that begin with `_`.
    Source: lightning/pytorch/callbacks/callback.py; lightning/pytorch/core/module.py, core/hooks.py, core/mixins/
    """
    if base in _MODULES:
        return name in _OF_MODULES or name.startswith("_")
    return base not in _CALLBACKS


_CALLBACKS = frozenset(f"{package}.{name}" for package in _PACKAGES for name in ("Callback", "callbacks.Callback"))
_LOGGER_CLASSES = frozenset(
    f"{package}.loggers.{name}" for package in _PACKAGES for name in ("Logger", "logger.Logger")
)
# Those that can be set. `datamodule` and `use_amp` were there before 2.0.
_OF_MODULES = frozenset({
    "allow_zero_length_dataloader_with_multiple_devices", "automatic_optimization", "datamodule",
    "example_input_array", "fabric", "hparams", "logger", "loggers", "prepare_data_per_node", "strict_loading",
    "trainer", "truncated_bptt_steps", "use_amp",
})  # fmt: skip


def is_told_by_test(name: str) -> bool:
    """Whether an object of which a test says that it is of the class with this name has what the rows say."""
    return name in _TOLD_BY_TEST


def is_of_fabric(name: str) -> bool:
    """Whether this is the name of a method of a Fabric."""
    return name.startswith(f"{_FABRIC}.")


def is_callback(bases: Iterable[str]) -> bool:
    """Whether a class with these bases is a callback."""
    return any(map(_package_of_callback, bases))


def runs(bases: Collection[str]) -> bool:
    """Whether Lightning calls methods of a class with these bases, which has or gets its trainer."""
    return bool(hooks_of(bases)) and not is_fabric(bases) and not is_logger(bases)


# The backward pass that starts from a result, and what a module says that starts its backward passes itself.
AUTOMATIC_BACKWARD = "automatic backward"
BY_HAND = rb"automatic_optimization\s*=\s*False"


def starts_from_result(method: str, bases: Iterable[str]) -> bool:
    """Whether Lightning starts a backward pass from what this method of a class with these bases returns, if anything.

    "Skipping the `training_step` by returning None in distributed training is not supported."
    Source: lightning/pytorch/loops/optimization/automatic.py `_AutomaticOptimization._training_step`
    """
    return method == TRAINS and is_module(bases)


_NOTHING: Mapping[str, Value] = {}
# The strategy wraps the model before these hooks of a training, and takes the wrapper off when all is done. Checkpoints
# are saved in a training by the callbacks for that.
# Source: lightning/pytorch/strategies/ddp.py `DDPStrategy.setup`, `.teardown`; trainer/trainer.py `Trainer._run`, the
# same in pytorch_lightning 1.9.5
_WRAPPED = (
    "on_train_", "on_validation_", "on_sanity_check_", "on_save_checkpoint", "on_before_zero_grad",
    "on_before_backward", "on_after_backward", "on_before_optimizer_step",
)  # fmt: skip
_MODULES = frozenset(f"{package}.LightningModule" for package in _PACKAGES)
# It gives them by position. Source: lightning/pytorch/loops/evaluation_loop.py `_evaluation_step`
_OF_STEP: Mapping[str, Value] = {"batch": LOADED_BATCH, "batch_idx": SAME, "*": items(LOADED_BATCH, SAME)}
_OF_OPEN_STEP: Mapping[str, Value] = {"batch": UNKNOWN, "batch_idx": SAME, "*": items(UNKNOWN, SAME)}
_OF_BATCH_START: Mapping[str, Value] = {"batch": LOADED_BATCH, "batch_idx": SAME, "dataloader_idx": SAME}
_BATCH_START, _BATCH_END = "_batch_start", "_batch_end"


def parameters_of(method: str, bases: Collection[str], shared_out: bool = True) -> Mapping[str, Value]:
    """What Lightning passes to this method of a class with these bases: callbacks get the trainer, steps a batch.

    shared_out: each process gets a share of the data; else it may get all of them.
    """
    if prepares_on_one(bases) and method == "setup":
        return {"stage": SETTING}
    if is_module(bases):
        if method in STEPS:
            return _OF_STEP if shared_out else _OF_OPEN_STEP
        of_hook = _of_batch(method)
        return of_hook if shared_out else {key: _of_any_data(each) for key, each in of_hook.items()}
    package = next(filter(None, map(_package_of_callback, bases)), "")
    if method in _KEEPS and method in hooks_of(bases):
        return {"trainer": created(f"{_TRAINERS[package]}.{_IN_FIT}")}
    if not package or not (method.startswith("on_") or method in ("setup", "teardown", *_WRITES)):
        return _NOTHING
    trainer = f"{_TRAINERS[package]}.{_IN_FIT}" if method.startswith(_WRAPPED) else _TRAINERS[package]
    parameters = {"trainer": created(trainer), "pl_module": created(f"{package}.LightningModule")}
    # All ranks load the same checkpoint.
    return {**parameters, **_of_batch(method), **({"checkpoint": SETTING} if method == "on_load_checkpoint" else {})}


def _of_any_data(value: Value) -> Value:
    """What a hook gets where no trainer shares the data out."""
    return UNKNOWN if value is LOADED_BATCH else value


def _of_batch(method: str) -> Mapping[str, Value]:
    """What a hook around a batch gets of this rank: the batch and, at its end, what its step has returned."""
    if not method.startswith("on_"):
        return {"outputs": LOADED_BATCH} if method in _GET_OUTPUT else _NOTHING
    if method.endswith(_BATCH_END):
        return {"outputs": LOADED_BATCH, **_OF_BATCH_START}
    return _OF_BATCH_START if method.endswith(_BATCH_START) else _NOTHING


def step_before(method: str, bases: Iterable[str]) -> str:
    """The step whose results this method of a class with these bases gets as a list, if it is the end of an epoch.

    So does that of a training, but there Lightning keeps the loss alone.
    Source: pytorch_lightning 1.9, loops/epoch/evaluation_epoch_loop.py and loops/dataloader/evaluation_loop.py
    """
    return f"{method.removesuffix('_epoch_end')}_step" if method in _GET_OUTPUTS and is_module(bases) else ""


def step_of_batch(method: str, bases: Iterable[str]) -> str:
    """The step whose result for a batch this method of a class with these bases gets, as the step returns it."""
    if method not in _GET_OUTPUT or not is_module(bases):
        return ""
    return f"{method.removeprefix('on_').removesuffix(_BATCH_END).removesuffix('_step_end')}_step"


def _package_of_callback(base: str) -> str:
    """The package of a class of callbacks; "" for other classes."""
    return next((each for each in _PACKAGES if base.startswith((f"{each}.Callback", f"{each}.callbacks."))), "")
