"""Calls that change something that all ranks share, but have no row, as no dotted name is known for them.

The class of a data frame, a figure, a config or a bare model is usually not known, as its source is not available: so
methods are recognised by their own names. The effect of `open` depends on its mode. All other calls have an `Effect` in
their rows. Read from the documentation of Python, pandas, polars, numpy, matplotlib, plotly, moviepy, torch
(`profile.export_chrome_trace`), xarray, datasets and transformers.
"""

from __future__ import annotations

import re

from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import Effect, Parameter

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# What leaves cache files beside those of a data set: its methods here (arrow_dataset.py), an argument that names such a
# file, and the trainers of TRL, which call `map`.
_LEAVES_CACHE_FILES = (
    rb"\.(?:map|filter|shuffle|sort|train_test_split|cast|cast_column|class_encode_column|flatten_indices"
    rb"|align_labels_with_mapping)\s*\(|cache_file_names?\b|\btrl\b"
)

# Methods by their own name: only data frames, data sets, arrays, archives, figures, films, profiles, configs,
# tokenizers and trainer states have these.
METHODS: dict[str, Effect] = {
    **{
        name: Effect("writes the same file", (0, parameter))
        for name, parameter in (
            ("savefig", "fname"), ("to_csv", "path_or_buf"), ("to_excel", "excel_writer"), ("to_json", "path_or_buf"),
            ("to_feather", "path"), ("to_hdf", "path_or_buf"), ("to_orc", "path"), ("to_parquet", "path"),
            ("to_pickle", "path"), ("to_stata", "path"), ("write_ipc", "file"), ("write_ndjson", "file"),
            ("write_parquet", "file"), ("save_to_disk", "dataset_path"), ("tofile", "fid"), ("write_html", "file"),
            ("write_videofile", "filename"), ("export_chrome_trace", "path"), ("extractall", "path"),
            ("to_netcdf", "path"), ("to_zarr", "store"),
        )
    },
    # Of a data set (arrow_dataset.py): removes all files but its own, so also those of other ranks.
    "cleanup_cache_files": Effect("removes the cache files that the others may be reading", in_turn=True,
                                  left_by=_LEAVES_CACHE_FILES),
    # Of a pipeline of diffusers (loaders/lora_base.py).
    "save_lora_weights": Effect("writes the same files", (0, "save_directory")),
    # Of a config and a tokenizer of transformers, however they were loaded (configuration_utils.py,
    # tokenization_utils_base.py).
    "save_vocabulary": Effect("writes the same files", (0, "save_directory")),
    "to_json_file": Effect("writes the same file", (0, "json_file_path")),
    # Of the state that callbacks of a Trainer get (trainer_callback.py).
    "save_to_json": Effect("writes the same file", (0, "json_path")),
}
# Of these, the ones that are called on a class: `StableDiffusionXLPipeline.save_lora_weights(folder, …)`.
CALLED_ON_CLASS = frozenset({"save_lora_weights"})
# Methods of a `pathlib.Path`, which is the changed path itself.
OF_PATHS: dict[str, Effect] = {
    "mkdir": Effect("creates the same folder", fails=True, unless=("exist_ok",), makes=True,
                    instead="let all ranks create it: `exist_ok=True`"),
    "rename": Effect("renames the same file", fails=True),
    "replace": Effect("renames the same file", fails=True),
    "rmdir": Effect("removes the same folder", fails=True),
    # Of a path of etils (epath/abstract_path.py).
    "rmtree": Effect("removes the same folder", fails=True, unless=("missing_ok",)),
    "symlink_to": Effect("creates the same link", fails=True, makes=True),
    "unlink": Effect("removes the same file", fails=True, unless=("missing_ok",)),
    "write_bytes": Effect("writes the same file"),
    "write_text": Effect("writes the same file"),
}
# Of these, the ones that only paths have.
ONLY_PATHS_HAVE = frozenset({"mkdir", "rmdir", "symlink_to", "unlink", "write_bytes", "write_text"})
# Attributes and methods of a path: those that return another path, return a string, test the disk, list a folder.
RETURN_PATHS = frozenset({
    "absolute", "expanduser", "joinpath", "parent", "relative_to", "resolve", "with_name", "with_stem", "with_suffix",
})
PARTS_OF_PATHS = frozenset({"as_posix", "as_uri", "name", "stem", "suffix"})
# Functions that give a path as a text, made of the texts or paths that they get (library/os.path).
MAKE_PATHS = frozenset(
    f"os.path.{name}"
    for name in (
        "abspath", "basename", "commonpath", "commonprefix", "dirname", "expanduser", "expandvars", "join", "normcase",
        "normpath", "realpath", "relpath",
    )
)  # fmt: skip
# Functions of shutil that only read their first argument.
COPIES = frozenset({"copy", "copy2", "copyfile", "copytree"})
# Functions and methods that remove a file or a folder.
REMOVALS = frozenset({"remove", "removedirs", "rmdir", "rmtree", "unlink"})
ASK_DISK = frozenset({"exists", "is_dir", "is_file", "is_symlink"})
LIST_FOLDERS = frozenset({"glob", "iterdir", "rglob"})
# Methods of a path that return what is in its file.
READ_PATHS = frozenset({"read_bytes", "read_text"})
# Methods of a model that is not wrapped.
OF_MODELS: dict[str, Effect] = {
    # The model is the same on all ranks: at the end of a script all write the same. During a training one rank may
    # already read, rename or remove what another one is still writing.
    "push_to_hub": Effect("pushes the same model", consequence=Consequence.WASTE),
    "save_pretrained": Effect("writes the same files", (0, "save_directory"), consequence=Consequence.WASTE,
                              in_hooks=Consequence.RACE, unless=("is_main_process", "save_function", "state_dict")),
}
# Methods of a tokenizer, a processor or a config, which are loaded from files.
OF_LOADED: dict[str, Effect] = {
    "push_to_hub": Effect("pushes the same files"),
    "save_pretrained": Effect("writes the same files", (0, "save_directory")),
}
# The same for objects that only their names suggest to be one. All ranks write the same: in a script, that is waste.
OF_NAMED: dict[str, Effect] = {
    name: effect._replace(consequence=Consequence.WASTE, in_hooks=Consequence.RACE)
    for name, effect in OF_LOADED.items()
}
# `open` in one of the modes in which it writes.
OPENED = Effect("writes the same file", (0, "file"))
APPENDED = Effect("appends to the same file", (0, "file"))
WRITES = {"w": OPENED, "x": OPENED, "a": APPENDED}
# Methods by which a table adds its rows to a file, if their `mode` is that of `open`.
ADD_ROWS = {name: APPENDED._replace(path=METHODS[name].path) for name in ("to_csv", "to_json")}
# Objects that work on paths with the functions of os; the last is a class of such objects.
# Source: iopath 0.1.10, common/file_io.py `NativePathHandler`
PATH_MANAGERS = (
    "detectron2.utils.file_io.PathManager", "fvcore.common.file_io.PathManager", "iopath.common.file_io.g_pathmgr",
    "iopath.common.file_io.PathManager",
)
# A file system of fsspec, of this machine or another one.
FILE_SYSTEM = "fsspec.AbstractFileSystem"
# Functions that open a file in the mode of their second argument, as `open` does, with the parameter for the path;
# for those without positions, the name of the mode.
OPENERS: dict[str, Parameter] = {
    "builtins.open": (0, "file"),
    "bz2.open": (0, "filename"),
    "codecs.open": (0, "filename"),
    "fsspec.open": (0, "urlpath"),
    "gzip.open": (0, "filename"),
    "h5py.File": (0, "name"),
    "io.open": (0, "file"),
    "jsonlines.open": (0, "file"),
    "logging.FileHandler": (0, "filename"),
    "logging.basicConfig": (-1, "filename"),
    "lzma.open": (0, "filename"),
    "numpy.lib.format.open_memmap": (0, "filename"),
    "numpy.memmap": (0, "filename"),
    "rasterio.open": (0, "fp"),
    "smart_open.open": (0, "uri"),
    "soundfile.SoundFile": (0, "file"),
    "tables.File": (0, "filename"),
    "tables.open_file": (0, "filename"),
    "tarfile.open": (0, "name"),
    "wave.open": (0, "f"),
    "zarr.open": (0, "store"),
    "zipfile.ZipFile": (0, "file"),
    "tensorflow.compat.v1.gfile.GFile": (0, "name"),
    "tensorflow.compat.v1.gfile.Open": (0, "name"),
    "tensorflow.gfile.GFile": (0, "name"),
    "tensorflow.gfile.Open": (0, "name"),
    "tensorflow.io.gfile.GFile": (0, "name"),
    f"{FILE_SYSTEM}.open": (0, "path"),
    **{f"{manager}.open": (0, "path") for manager in PATH_MANAGERS},
}
MODES = {"logging.basicConfig": "filemode"}
# Saving a picture to a path with such an ending, and a TorchScript model, created by one of these functions of
# `torch.jit`, to any path.
SAVES = "save"
SAVES_PICTURE = Effect("writes the same file", (0, "fp"))
SAVES_SCRIPT = Effect("writes the same file", (0, "f"))
# Writing settings, made by one of these functions, to a path: mmcv/utils/config.py and mmengine/config/config.py
# `Config.dump`.
DUMPS = "dump"
DUMPS_SETTINGS = Effect("writes the same file", (0, "file"))
MAKE_DUMPED = frozenset(
    f"{package}.{name}"
    for package in ("mmcv", "mmengine", "mmengine.config")
    for name in ("Config", "Config.fromfile")
)
MAKE_SCRIPTS = frozenset({"freeze", "optimize_for_inference", "script", "trace"})
# Functions that write data, and no picture or log, or make a table of it: with the parameter for the data.
TAKE_DATA: dict[str, Parameter] = {
    "datasets.Dataset.from_dict": (0, "mapping"), "datasets.Dataset.from_list": (0, "mapping"),
    "dill.dump": (0, "obj"), "joblib.dump": (0, "value"), "json.dump": (0, "obj"), "numpy.save": (1, "arr"),
    "numpy.savetxt": (1, "X"), "pandas.DataFrame": (0, "data"), "pickle.dump": (0, "obj"),
    "polars.DataFrame": (0, "data"), "torch.save": (0, "obj"), "yaml.dump": (0, "data"), "yaml.safe_dump": (0, "data"),
}
# Those of them that make or write a table or an array.
MAKE_TABLES = frozenset({"datasets.Dataset.from_dict", "datasets.Dataset.from_list", "numpy.save", "numpy.savetxt",
                         "pandas.DataFrame", "polars.DataFrame"})
# Methods by which a table writes itself.
WRITE_TABLE = frozenset({"save_to_disk", "to_csv", "to_excel", "to_feather", "to_hdf", "to_json", "to_orc",
                         "to_parquet", "to_pickle", "write_ipc", "write_ndjson", "write_parquet"})
# The methods of an open file, or of a writer of rows, that write their argument.
WRITE_ROWS = frozenset({"write", "writelines", "writerow", "writerows"})
# Those of them that write many rows, which they are passed.
WRITE_MANY = frozenset({"writelines", "writerows"})
# Those, and the method of a path that writes a text.
WRITE_TEXTS = WRITE_ROWS | {"write_text"}
# The methods and functions that make one text of many rows: `"\n".join(rows)`, `json.dumps(rows)`.
MAKE_TEXTS = frozenset({"dumps", "join"})
# The methods of an open file that write nothing to it; others may write to what `fileno` returns.
CLOSE_FILE = frozenset({"close", "flush"})
LEAVE_FILE = CLOSE_FILE | {"fileno"}

# Functions that lock an open file, given first, for one process; and contexts that let one process in at a time.
LOCK_FILE = frozenset({"fcntl.flock", "fcntl.lockf", "portalocker.lock"})
LOCKS = frozenset({"filelock.FileLock", "filelock.SoftFileLock", "portalocker.Lock", "fasteners.InterProcessLock"})
# The classes of a tracker's run; the name of the current run may be None (`wandb.run`).
RUNS = frozenset({"wandb.Run"})
# The call that starts such a run, and those that log to the one that this process has started, or to any one.
STARTS_RUN = "wandb.init"
# Calls of libraries that start it on the main process only (accelerate/tracking.py `WandBTracker`).
START_RUNS_ON_FIRST = frozenset({"accelerate.Accelerator.init_trackers"})
LOGS_TO_RUN = frozenset({"wandb.config.update", "wandb.log"})
LOGS_TO_ANY_RUN = LOGS_TO_RUN | {"wandb.Run.log"}
# Calls that fail if this process has started none, and are correct if it has.
ASKS_FOR_RUN = frozenset({"wandb.config.update"})
# The current run, and its configuration, by name: without a run an attribute of either cannot be read or set.
# Source: wandb/sdk/lib/preinit.py `PreInitObject` (`run` is None, `config` raises an error)
NEEDS_RUN = Effect("needs a run, which is started on the main process only", consequence=Consequence.CRASH)
CURRENT_RUN = "wandb.run"
CONFIG_OF_RUN = "wandb.config"
NEED_RUN = frozenset({CONFIG_OF_RUN, CURRENT_RUN})
# The parameter of the call that starts a run by which it is given its configuration.
CONFIG_GIVEN = "config"
# What is raised where there is none, and its bases.
NO_RUN_ERRORS = frozenset({"AttributeError", "BaseException", "Error", "Exception"})
# The run of a tracker from `Accelerator.get_tracker`, which is blank on all ranks but the main one.
RUN_OF_TRACKER = "accelerate.WandBTracker.run"
OF_TRACKER = Effect("uses a run that only the main process has", consequence=Consequence.CRASH)
# The argument that may turn a run off, which then takes everything and keeps nothing.
TURNS_OFF = "mode"
TURN_OFF = (TURNS_OFF, "settings")
# A run with one of these names is a single one, and not one per rank of its group.
GROUPS_RUN = "group"
NAMES_RUN = ("id", "name")
# The modes in which each process has its own run, as without a mode; in the others most of them have none.
KEEP_RUN = frozenset({"offline", "online"})
# Code that chooses another mode, by a condition or a lookup: `"disabled" if …`, `mode = "disabled"`, `return "shared"`.
# Not: an argument of a call (`mode="disabled",`), a comparison, or an option's choices.
_OTHER_MODE = rb"[\"'](?:disabled|dryrun|shared)[\"']"
CHOOSES_MODE = rb"(?m)%b\s+if\b|\b(?:else|return)\s+%b|(?<![=!<>])=\s*%b\s*$|\[[^\]\n]*%b[^\]\n]*\]\s*\[" % (
    _OTHER_MODE, _OTHER_MODE, _OTHER_MODE, _OTHER_MODE
)
# The class of a run's settings, and those that neither turn a run off nor let several ranks share one.
SETTINGS_OF_RUN = "Settings"
KEEP_SETTINGS = frozenset({
    "_disable_meta", "_disable_stats", "_service_wait", "base_url", "code_dir", "console", "console_multipart",
    "disable_code", "disable_git", "disable_job_creation", "git_root", "init_timeout", "quiet", "save_code",
    "show_emoji", "silent", "start_method", "x_disable_meta", "x_disable_stats", "x_service_wait",
})
# Arguments that describe a run, and do not distinguish it from others.
DESCRIBE_RUN = frozenset({"config", "notes", "save_code", "settings", "tags"})
# The folder of a run: it distinguishes runs if it is known to differ.
PLACES_RUN = frozenset({"dir"})
# A file that keeps nothing.
NOWHERE = "/dev/null"
# Functions that list a folder.
LISTINGS = frozenset({"glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk"})
# Functions and methods that format the time; a format with one of these parts differs between ranks. `__format__` is
# called for what stands behind the colon in `f"{now:%H-%M}"`.
STAMPS = frozenset({"__format__", "strftime", "time.strftime"})
PARTS_OF_A_SECOND = ("%f",)
# The parts of a format that have the second in them, also without a leading zero: `%-S`.
SECONDS = re.compile(r"%-?[SsTXcr]")
# What tells the time in whole seconds or in days: functions, methods and attributes of a time.
CLOCKS_OF_SECONDS = frozenset({"datetime.date.today", "time.asctime", "time.ctime", "time.gmtime", "time.localtime"})
METHODS_OF_SECONDS = frozenset({"ctime", "date", "isocalendar", "timetuple", "toordinal", "weekday"})
FIELDS_OF_SECONDS = frozenset({"day", "hour", "minute", "month", "second", "year"})
# Those of them that tell no seconds, with those of `time.localtime()`, and the units of `isoformat`.
WITHOUT_SECONDS = frozenset({
    "date", "datetime.date.today", "day", "hour", "isocalendar", "minute", "month", "tm_hour", "tm_mday", "tm_min",
    "tm_mon", "tm_yday", "tm_year", "toordinal", "weekday", "year",
})
UNITS_WITHOUT_SECONDS = frozenset({"hours", "minutes"})
# Arguments with which a time has no parts of a second: `now.replace(microsecond=0)`.
WITHOUT_PARTS_OF_A_SECOND = {
    "isoformat": ("timespec", frozenset({"hours", "minutes", "seconds"})),
    "replace": ("microsecond", frozenset({0})),
}
# Functions that cut the parts of a second off when they get the time itself, and what reads the time as a number.
WHOLE_NUMBERS = frozenset({"int", "round"})
READ_AS_NUMBER = frozenset({"time", "timestamp"})
# What reads the time as an object whose text has its parts of a second behind this many characters:
# "2026-01-31 12:00:00.123456".
READ_AS_DATE = frozenset({"now", "today", "utcnow"})
BEFORE_PARTS_OF_A_SECOND = 19
AFTER_WHOLE_SECONDS = 7
# Its text without the seconds has at most this many characters; what parts it into the date and the time of day.
BEFORE_SECONDS = 16
BETWEEN_DATE_AND_TIME = frozenset({" ", "T"})
# Functions that make a name that no other process has, however generators of random numbers are seeded.
OWN_NAMES = frozenset({
    "os.getpid", "secrets.choice", "secrets.randbelow", "secrets.token_bytes", "secrets.token_hex",
    "secrets.token_urlsafe", "shortuuid.random", "shortuuid.uuid", "tempfile.mkdtemp", "uuid.uuid1", "uuid.uuid4",
    "wandb.util.generate_id",
})
# fmt: on
