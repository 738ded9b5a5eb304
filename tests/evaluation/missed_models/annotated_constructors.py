# What the constructor of a callback or a Trainer is passed is the same on all ranks, also if its annotation says what it
# is, unless it is made of the rank.
import os
from pathlib import Path
from typing import Optional

import torch
from accelerate import PartialState
from lightning.pytorch.callbacks import Callback
from transformers import Trainer, TrainerCallback


class Log(TrainerCallback):
    def __init__(self, folder: str, name: Optional[str] = None, every: int = 10):
        self.folder = Path(folder)
        self.name = name
        self.every = every

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.global_step % self.every == 0:
            with open(self.folder / "log.jsonl", "w") as out:  # expect: TRL008
                out.write(str(logs))

    def on_train_begin(self, args, state, control, **kwargs):
        if self.name is not None:
            os.makedirs(self.name)  # expect: TRL008

    def on_train_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            (self.folder / "end.txt").write_text("end")


class LogOfEach(TrainerCallback):
    def __init__(self, folder: str):
        self.folder = Path(folder)

    def on_train_end(self, args, state, control, **kwargs):
        (self.folder / "end.txt").write_text("end")


class LogOfFirst(TrainerCallback):
    def __init__(self, folder: Path, rank: int, is_main: bool):
        self.folder = folder
        self.rank = rank
        self.is_main = is_main

    def on_train_begin(self, args, state, control, **kwargs):
        if self.is_main:
            (self.folder / "begin.txt").write_text("begin")

    def on_train_end(self, args, state, control, **kwargs):
        if self.rank == 0:
            (self.folder / "end.txt").write_text("end")


class Unseen(TrainerCallback):
    def __init__(self, folder: Path, rank: int, is_main: bool, local_rank: int):
        self.folder, self.rank, self.is_main = folder, rank, is_main
        self.local_rank = local_rank

    def on_train_begin(self, args, state, control, **kwargs):
        if self.is_main:
            (self.folder / "begin.txt").write_text("begin")

    def on_epoch_end(self, args, state, control, **kwargs):
        (self.folder / f"epoch{self.local_rank}.txt").write_text("epoch")
        (self.folder / f"{self.rank}.txt").write_text("epoch")

    def on_train_end(self, args, state, control, **kwargs):
        if self.rank == 0:
            (self.folder / "end.txt").write_text("end")


class UnseenWithoutAnnotations(TrainerCallback):
    def __init__(self, folder, rank, is_main, local_rank):
        self.folder, self.rank, self.is_main = folder, rank, is_main
        self.local_rank = local_rank

    def on_train_begin(self, args, state, control, **kwargs):
        if self.is_main:
            (self.folder / "begin.txt").write_text("begin")

    def on_epoch_end(self, args, state, control, **kwargs):
        (self.folder / f"epoch{self.local_rank}.txt").write_text("epoch")
        (self.folder / f"{self.rank}.txt").write_text("epoch")

    def on_train_end(self, args, state, control, **kwargs):
        if self.rank == 0:
            (self.folder / "end.txt").write_text("end")


class Keeping(Trainer):
    def __init__(self, path: str = "kept.pt", **others):
        super().__init__(**others)
        self.path = path

    def training_step(self, model, inputs, *others):
        torch.save(inputs, self.path)  # expect: TRL008
        return super().training_step(model, inputs, *others)


class Notes(Callback):
    def __init__(self, folder: str):
        self.folder = folder

    def on_fit_start(self, trainer, pl_module):
        os.makedirs(self.folder)  # expect: TRL008


def main(model, args, folder):
    state = PartialState()
    logs = [
        Log(folder, name="logs"),
        LogOfEach(f"{folder}/{state.process_index}"),
        LogOfFirst(folder, state.process_index, state.is_main_process),
    ]
    Keeping(model=model, args=args, callbacks=logs).train()
