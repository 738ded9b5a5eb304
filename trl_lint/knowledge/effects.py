"""Calls that change something which all ranks share: files, runs of a tracker, the hub, by canonical name.

Read from the documentation of Python, torch, numpy, pandas, datasets, wandb and trackio, and from trl/trainer/utils.py.
"""

from __future__ import annotations

from typing import NamedTuple


class Effect(NamedTuple):
    """does: what every rank does, for a message. path: the parameter that says where, as (position, name), or None
    where all ranks mean the same thing anyway. fails: whether the ranks that come second get an exception.
    unless: keywords that make it right on all ranks. shown: it is for a reader, and no other rank needs it.
    instead: how it is done right on all ranks, if that is simpler than to do it on one.
    """

    does: str
    path: tuple[int, str] | None = None
    fails: bool = False
    unless: tuple[str, ...] = ()
    shown: bool = False
    instead: str = ""


# The layout of a table is by hand: one or two lines per row.
# fmt: off
_LOGS = Effect("logs to the same run, or fails where there is none", shown=True)
_PRINTS = Effect("prints the same table", shown=True)

FUNCTIONS: dict[str, Effect] = {
    "numpy.save": Effect("writes the same file", (0, "file")),
    "numpy.savez": Effect("writes the same file", (0, "file")),
    "os.makedirs": Effect("makes the same folder", (0, "name"), fails=True, unless=("exist_ok",),
                          instead="let all ranks make it: `exist_ok=True`"),
    "os.mkdir": Effect("makes the same folder", (0, "path"), fails=True,
                       instead="let all ranks make it: `os.makedirs(…, exist_ok=True)`"),
    "os.remove": Effect("removes the same file", (0, "path"), fails=True),
    "os.rename": Effect("renames the same file", (0, "src"), fails=True),
    "os.replace": Effect("renames the same file", (0, "src"), fails=True),
    "shutil.move": Effect("moves the same file", (0, "src"), fails=True),
    "shutil.rmtree": Effect("removes the same folder", (0, "path"), fails=True, unless=("ignore_errors", "onerror")),
    "torch.save": Effect("writes the same file", (1, "f")),
    "trackio.log": _LOGS,
    "trl.trainer.utils.print_prompt_completions_sample": _PRINTS,
    "trl.trainer.utils.print_rich_table": _PRINTS,
    "wandb.log": _LOGS,
}

# Methods by their own name: only data frames, data sets, paths and figures have these.
METHODS: dict[str, Effect] = {
    **{
        name: Effect("writes the same file", (0, parameter))
        for name, parameter in (
            ("savefig", "fname"), ("to_csv", "path_or_buf"), ("to_excel", "excel_writer"), ("to_json", "path_or_buf"),
            ("to_parquet", "path"), ("to_pickle", "path"), ("save_to_disk", "dataset_path"),
        )
    },
}
# Methods of a model that is not wrapped.
OF_MODELS: dict[str, Effect] = {
    "push_to_hub": Effect("pushes the same model"),
    "save_pretrained": Effect("writes the same files", (0, "save_directory"),
                              unless=("is_main_process", "save_function", "state_dict")),
}
# Modes in which `open` writes.
WRITES = ("w", "a", "x")
# What a tracker's library calls its run, which may be None where there is none (`wandb.run`).
RUNS = frozenset({"wandb.Run"})
# What is run once per process of a distributed program, by the class or function that it calls.
PROGRAMS = frozenset({"accelerate.Accelerator", "accelerate.PartialState", "torch.distributed.init_process_group"})
# fmt: on
