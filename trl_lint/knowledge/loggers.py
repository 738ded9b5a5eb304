"""Calls of experiment trackers that log a number."""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.findings import Consequence
from trl_lint.knowledge.accelerate import LOGGER
from trl_lint.knowledge.schema import (
    NOTHING,
    SAME,
    UNKNOWN,
    Attribute,
    Class,
    Effect,
    Function,
    OpaqueCall,
    Parameter,
    Row,
    Sink,
    Synchronisation,
    instance,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_RUN = instance("wandb.Run")
# A library's trainer starts its tracker on the main process only.
_LOGS = Effect("logs to the same run, or fails if it has started none", shown=True, consequence=Consequence.WASTE,
               in_hooks=Consequence.CRASH)
_DESCRIBES = _LOGS._replace(does="changes the configuration of the same run, or fails if it has started none")
# A group is meant to have one run per rank; with a `mode` or `settings` most of them may be off, or share one run.
_STARTS = Effect("starts its own run", unless=("group", "mode", "settings"), apart=True,
                 consequence=Consequence.WRONG_NUMBER)
_OPENS = Effect("starts its own event file in the same folder, and TensorBoard mixes them", (0, "log_dir"),
                optional=True, apart=True)
_OPENS_BY_NAME = _OPENS._replace(path=(0, "logdir"))
# Other methods and attributes of a tracker do not concern metrics.
_COMET_STARTS = ("CometExperiment", "Experiment")
_COMET = ("CometExperiment", "Experiment", "ExistingExperiment", "OfflineExperiment", "APIExperiment")
# Source: comet_ml/api.py::APIExperiment.log_metrics
_COMET_METRICS = {"APIExperiment": "metric_dict"}

# Calls that show a text to the user, and those of them that do so on the first process, of the job or of each node.
# Source of `rank_zero_info`: lightning/fabric/utilities/rank_zero.py, which has it from lightning_utilities.
SHOWS_OF_FIRST = frozenset({
    "accelerate.Accelerator.print", "accelerate.PartialState.print", "lightning.fabric.Fabric.print",
    *(
        f"{package}{module}.rank_zero_info"
        for package in (
            "lightning.fabric.utilities", "lightning.pytorch.utilities", "lightning_utilities.core",
            "pytorch_lightning.utilities",
        )
        for module in ("", ".rank_zero")
    ),
})
# Calls that show it on the main process, unless they say otherwise, with the values by which they don't: a keyword
# that is given another one has all processes show theirs.
# Source: accelerate/logging.py `MultiProcessAdapter.log`
SHOWS_OF_MAIN_UNLESS = {
    f"{LOGGER}.{name}": {"in_order": "False", "main_process_only": "True"} for name in ("info", "warning")
}
SHOWS = SHOWS_OF_FIRST | SHOWS_OF_MAIN_UNLESS.keys() | {
    "absl.logging.info", "builtins.print", "logging.Logger.info", "logging.Logger.warning", "logging.info",
    "logging.warning", "loguru.logger.info", "loguru.logger.success", "rich.print", "tqdm.tqdm.write",
}

# A program that has the other ranks print nothing, unless a call says so: `builtins.print = print_pass`, and the
# `setup_for_distributed` of DETR and of what has been copied from it.
PRINT = "builtins.print"
REPLACES_PRINT = rb"\b(?:builtins?|__builtins?__)\.print\s*=\s*(?:print|\w*(?:first|main|master|pass|zero)\w*)\b"
PRINTS_ANYWAY = "force"

# What shows nothing on processes whose log is at the level of warnings, and what sets this level: of all loggers that
# have none of their own, or of one.
INFORMS = frozenset({f"{LOGGER}.info", "logging.Logger.info", "logging.info"})
SETS_LEVEL_OF_ALL, SETS_LEVEL = "logging.basicConfig", "setLevel"

# Calls that write figures to an open file, with the parameters for the data and for the file.
DUMPS: dict[str, tuple[Parameter, Parameter]] = {
    "json.dump": ((0, "obj"), (1, "fp")),
    "yaml.dump": ((0, "data"), (1, "stream")),
    "yaml.safe_dump": ((0, "data"), (1, "stream")),
}

ROWS: tuple[Row, ...] = (
    # Weights & Biases
    # Some programs start a run on each rank, most of them on one rank only.
    Attribute(name="wandb.run", source="wandb/__init__.py::run", value=instance("wandb.Run", ranks.UNKNOWN)),
    Class(name="wandb.Run", source="wandb/sdk/wandb_run.py::Run", others=SAME),
    # Each process that starts a run has one of its own, with an id and a name of its own, unless it is given them.
    *(
        Attribute(name=f"wandb.Run.{name}", source=f"wandb/sdk/wandb_run.py::Run.{name}", value=UNKNOWN)
        for name in ("dir", "id", "name", "path", "url")
    ),
    OpaqueCall(name="wandb.config.update", source="wandb/sdk/wandb_config.py::Config.update", effect=_DESCRIBES),
    Function(name="wandb.finish", source="wandb/sdk/wandb_run.py::finish", returns=NOTHING),
    Function(name="wandb.init", source="wandb/sdk/wandb_init.py::init", returns=_RUN, effect=_STARTS),
    Sink(name="wandb.Run.log", source="wandb/sdk/wandb_run.py::Run.log", payload=(0, "data")),
    Sink(name="wandb.log", source="wandb/sdk/wandb_run.py::Run.log", payload=(0, "data"), effect=_LOGS),
    # TensorBoard
    *(
        row
        for package, opens in (("torch.utils.tensorboard", _OPENS), ("tensorboardX", _OPENS_BY_NAME))
        for row in (
            Class(name=f"{package}.SummaryWriter", source=f"{package}/writer.py::SummaryWriter", effect=opens),
            Sink(name=f"{package}.SummaryWriter.add_scalar",
                 source=f"{package}/writer.py::SummaryWriter.add_scalar", payload=(1, "scalar_value"),
                 form="value"),
            Sink(name=f"{package}.SummaryWriter.add_scalars",
                 source=f"{package}/writer.py::SummaryWriter.add_scalars", payload=(1, "tag_scalar_dict"),
                 form="below"),
            Sink(name=f"{package}.SummaryWriter.add_hparams",
                 source=f"{package}/writer.py::SummaryWriter.add_hparams", payload=(1, "metric_dict")),
        )
    ),
    # tensorboard_logger, whose functions use a writer that `configure` opens
    Class(name="tensorboard_logger.Logger", source="tensorboard_logger/tensorboard_logger.py::Logger",
          effect=_OPENS_BY_NAME._replace(optional=False, unless=("is_dummy",))),
    OpaqueCall(name="tensorboard_logger.configure", source="tensorboard_logger/tensorboard_logger.py::configure",
               effect=_OPENS_BY_NAME._replace(optional=False)),
    *(
        Sink(name=f"tensorboard_logger.{name}", source=f"tensorboard_logger/tensorboard_logger.py::{name}",
             payload=(1, "value"), form="value")
        for name in ("Logger.log_value", "log_value")
    ),
    # MLflow
    # With an id it continues an existing run.
    OpaqueCall(name="mlflow.start_run", source="mlflow/tracking/fluent.py::start_run",
               effect=_STARTS._replace(unless=("nested", "parent_run_id", (0, "run_id")))),
    *(
        Function(name=f"mlflow.{name}", source=f"mlflow/tracking/{source}", returns=SAME,
                 effect=Effect("creates the same experiment", fails=True))
        for name, source in (
            ("create_experiment", "fluent.py::create_experiment"),
            ("MlflowClient.create_experiment", "client.py::MlflowClient.create_experiment"),
        )
    ),
    # What is in the store may change between two ranks' looks at it.
    *(
        Function(name=f"mlflow.{name}", source=f"mlflow/tracking/{source}",
                 returns=instance("mlflow.entities.Experiment", ranks.IO_LOCAL))
        for name, source in (
            ("MlflowClient.get_experiment_by_name", "client.py::MlflowClient.get_experiment_by_name"),
            ("get_experiment_by_name", "fluent.py::get_experiment_by_name"),
        )
    ),
    Class(name="mlflow.MlflowClient", source="mlflow/tracking/client.py::MlflowClient"),
    Sink(name="mlflow.MlflowClient.log_metric", source="mlflow/tracking/client.py::MlflowClient.log_metric",
         payload=(2, "value"), form="value"),
    Sink(name="mlflow.log_metric", source="mlflow/tracking/fluent.py::log_metric", payload=(1, "value"),
         form="value"),
    Sink(name="mlflow.log_metrics", source="mlflow/tracking/fluent.py::log_metrics", payload=(0, "metrics")),
    # Optuna: a study that is kept in a data base; without one it is this process's own.
    OpaqueCall(name="optuna.create_study", source="optuna/study/study.py::create_study",
               effect=Effect("creates the same study", (-1, "storage"))),
    # Trackio
    Class(name="trackio.Run", source="trackio/run.py::Run"),
    Function(name="trackio.init", source="trackio/__init__.py::init", returns=instance("trackio.Run"),
             effect=_STARTS),
    Sink(name="trackio.Run.log", source="trackio/run.py::Run.log", payload=(0, "metrics")),
    Sink(name="trackio.log", source="trackio/__init__.py::log", payload=(0, "metrics"), effect=_LOGS),
    # Comet
    *(
        row
        for name in _COMET
        for row in (
            Class(name=f"comet_ml.{name}", source="comet_ml/experiment.py::CometExperiment",
                  effect=_STARTS if name in _COMET_STARTS else None),
            Sink(name=f"comet_ml.{name}.log_metric",
                 source="comet_ml/experiment.py::CometExperiment.log_metric", payload=(1, "value"),
                 form="value"),
            Sink(name=f"comet_ml.{name}.log_metrics",
                 source="comet_ml/experiment.py::CometExperiment.log_metrics",
                 payload=(0, _COMET_METRICS.get(name, "dic"))),
        )
    ),
    *(
        Function(name=f"comet_ml.{name}", source=f"comet_ml/__init__.py::{name}",
                 returns=instance("comet_ml.CometExperiment"))
        for name in ("get_global_experiment", "get_running_experiment")
    ),
    # With a key it continues an existing experiment.
    Function(name="comet_ml.start", source="comet_ml/start.py::start", returns=instance("comet_ml.CometExperiment"),
             effect=_STARTS._replace(unless=("experiment_key", "mode"))),
    # Neptune
    *(
        OpaqueCall(name=f"neptune.{name}", source="neptune/metadata_containers/run.py::Run.__init__",
                   effect=_STARTS._replace(unless=("custom_run_id", "mode", "run", "with_id")))
        for name in ("Run", "init_run")
    ),
    # SwanLab
    Class(name="swanlab.Run", source="swanlab/data/run/main.py::SwanLabRun"),
    Function(name="swanlab.init", source="swanlab/data/sdk.py::init", returns=instance("swanlab.Run"),
             effect=_STARTS),
    Sink(name="swanlab.Run.log", source="swanlab/data/run/main.py::SwanLabRun.log", payload=(0, "data")),
    Sink(name="swanlab.log", source="swanlab/data/sdk.py::log", payload=(0, "data")),
    # Aim
    Class(name="aim.Run", source="aim/sdk/run.py::Run",
          effect=_STARTS._replace(unless=((0, "run_hash"), "read_only", "force_resume"))),
    Sink(name="aim.Run.track", source="aim/sdk/run.py::Run.track", payload=(0, "value"), form="value"),
    # ClearML
    Class(name="clearml.Logger", source="clearml/logger.py::Logger"),
    Class(name="clearml.Task", source="clearml/task.py::Task"),
    Function(name="clearml.Logger.current_logger", source="clearml/logger.py::Logger.current_logger",
             returns=instance("clearml.Logger")),
    Function(name="clearml.Task.get_logger", source="clearml/task.py::Task.get_logger",
             returns=instance("clearml.Logger")),
    Function(name="clearml.Task.init", source="clearml/task.py::Task.init", returns=instance("clearml.Task")),
    Sink(name="clearml.Logger.report_scalar", source="clearml/logger.py::Logger.report_scalar",
         payload=(2, "value"), form="value"),
    Sink(name="clearml.Logger.report_single_value", source="clearml/logger.py::Logger.report_single_value",
         payload=(1, "value"), form="value"),
    # DVCLive
    Class(name="dvclive.Live", source="dvclive/live.py::Live"),
    Sink(name="dvclive.Live.log_metric", source="dvclive/live.py::Live.log_metric", payload=(1, "val"), form="value"),
    # Azure Machine Learning
    Class(name="azureml.core.Run", source="azureml/core/run.py::Run"),
    Function(name="azureml.core.Run.get_context", source="azureml/core/run.py::Run.get_context",
             returns=instance("azureml.core.Run")),
    Sink(name="azureml.core.Run.log", source="azureml/core/run.py::Run.log", payload=(1, "value"), form="value"),
    # Sacred
    Class(name="sacred.Experiment", source="sacred/experiment.py::Experiment"),
    Sink(name="sacred.Experiment.log_scalar", source="sacred/experiment.py::Experiment.log_scalar",
         payload=(1, "value"), form="value"),
    # Ray Train, which keeps what the worker of rank 0 reports, and waits for a report of each: "All workers must call
    # `ray.train.report` the same number of times […]. Otherwise, your training will hang."
    Sink(name="ray.train.report", source="ray/train/_internal/session.py::report", payload=(0, "metrics"),
         synchronises=Synchronisation("report")),
)

# Classes of what is shown beside the metrics, of wandb, matplotlib, plotly and PIL: none is a number, or has some.
PICTURES = frozenset({"Audio", "Figure", "Html", "Image", "Plotly", "Table", "Video"})
# Of these, what a batch may hold as well, of PIL and pyarrow: this rank's own.
IN_ROWS = frozenset({"Audio", "Image", "Table", "Video"})

# The first parameter of a sink for one metric: its name.
TAGS = ("key", "main_tag", "name", "tag")

# The sinks that write on each process that calls them, with an object of its own.
WRITTEN_BY_EACH = frozenset({
    "tensorboard_logger.Logger.log_value",
    *(
        f"{package}.SummaryWriter.{name}"
        for package in ("tensorboardX", "torch.utils.tensorboard")
        for name in ("add_scalar", "add_scalars")
    ),
})

# Methods that only these have. A class of the project with such a method is analysed itself.
UNIQUE: dict[str, str] = dict.fromkeys(("add_scalar", "add_scalars"), "torch.utils.tensorboard.SummaryWriter")
