"""Calls that read a file or a folder that must have been written before, with the parameter for its place.

Read from the documentation of Python, numpy, pandas, torch, datasets and the other libraries named.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import Parameter

# The layout of a table is by hand: one or two lines per row.
# fmt: off

READERS: dict[str, Parameter] = {
    "cv2.imread": (0, "filename"),
    "datasets.load_from_disk": (0, "dataset_path"),
    "joblib.load": (0, "filename"),
    "numpy.fromfile": (0, "file"),
    "numpy.genfromtxt": (0, "fname"),
    "numpy.load": (0, "file"),
    "numpy.loadtxt": (0, "fname"),
    "pandas.read_csv": (0, "filepath_or_buffer"),
    "pandas.read_feather": (0, "path"),
    "pandas.read_json": (0, "path_or_buf"),
    "pandas.read_parquet": (0, "path"),
    "pandas.read_pickle": (0, "filepath_or_buffer"),
    "safetensors.safe_open": (0, "filename"),
    "safetensors.torch.load_file": (0, "filename"),
    "scipy.io.loadmat": (0, "file_name"),
    "shutil.copy": (0, "src"),
    "shutil.copy2": (0, "src"),
    "shutil.copyfile": (0, "src"),
    "shutil.copytree": (0, "src"),
    "toml.load": (0, "f"),
    "torch.jit.load": (0, "f"),
    "torch.load": (0, "f"),
    "os.listdir": (0, "path"),
    "os.scandir": (0, "path"),
}
# Those of them that list a folder, and the method of a path that does.
LISTINGS_OF_ONE = frozenset({"iterdir", "os.listdir", "os.scandir"})
# Class methods that read the files in a folder, which is their first argument, if it is one on this machine; a PEFT
# model gets the model before it (peft/peft_model.py).
READS_FOLDER = "from_pretrained"
FOLDERS_OF: dict[str, int] = {"peft.PeftModel.from_pretrained": 1}
# Functions that let time pass: code that polls for a file calls one.
PAUSES = frozenset({"time.sleep"})
# What makes a folder, and no file in it.
MAKE_FOLDERS = frozenset({"makedirs", "mkdir"})
# Functions that give back the path that they get, at least as far as files are concerned.
KEEP_PATHS = frozenset({
    "Path", "PosixPath", "PurePath", "abspath", "expanduser", "expandvars", "fspath", "normpath", "realpath", "str",
})
KEEP_PATHS_AS_METHODS = frozenset({"absolute", "as_posix", "expanduser", "resolve"})
# Contexts that show the progress of the code in them, and let no rank in before another.
SHOW_PROGRESS = frozenset({"Progress", "alive_bar", "tqdm", "trange"})
# fmt: on
