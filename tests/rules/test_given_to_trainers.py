"""Functions of other files that a trainer is given: each process runs them, just as those of the same file."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_projects import found, written

from trl_lint import api
from trl_lint.settings import Settings

REWARDS = """\
import json
from functools import partial

import wandb
from accelerate import PartialState


def logs(completions, **kwargs):
    lengths = [float(len(each)) for each in completions]
    wandb.log({"reward": sum(lengths) / len(lengths)})
    return lengths


def keeps(completions, **kwargs):
    with open("kept.json", "w") as file:
        json.dump(completions, file)
    return [0.0 for each in completions]


def keeps_in(completions, path, **kwargs):
    with open(path, "w") as file:
        json.dump(completions, file)
    return [0.0 for each in completions]


def keeps_once(completions, **kwargs):
    if PartialState().is_main_process:
        with open("once.json", "w") as file:
            json.dump(completions, file)
    return [0.0 for each in completions]


class Judge:
    def __call__(self, completions, **kwargs):
        with open("judged.json", "w") as file:
            json.dump(completions, file)
        return [0.0 for each in completions]


judge = Judge()
ALL = [keeps, logs]
TABLE = {"logs": logs, "keeps": keeps, "once": keeps_once}


def chosen(names):
    return [TABLE[name] for name in names]


def made(path):
    return partial(keeps_in, path=path)
"""
TRAIN = """\
import sys
from functools import partial

import rewards
from rewards import ALL, TABLE, Judge, chosen, judge, keeps, keeps_in, keeps_once, logs, made
from trl import GRPOConfig, GRPOTrainer


def main():
    trainer = {}
    trainer.train()


main()
"""
GIVEN = 'GRPOTrainer("m", reward_funcs={}, args=GRPOConfig("out"), train_dataset=load())'
KEEPS, JUDGES = ("rewards.py", 15, "TRL008"), ("rewards.py", 35, "TRL008")
LOGS = [("rewards.py", 10, "TRL003"), ("rewards.py", 10, "TRL008")]  # the main process alone has a run
PLACED = ("rewards.py", 21, "TRL008")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("logs", LOGS),
        ("[logs, keeps]", [*LOGS, KEEPS]),
        ("rewards.keeps", [KEEPS]),
        ('[partial(keeps_in, path="b.json")]', [PLACED]),
        ("[judge]", [JUDGES]),
        ("[Judge()]", [JUDGES]),
        ("ALL", [*LOGS, KEEPS]),
        ("[keeps if sys.argv else logs]", [*LOGS, KEEPS]),
        ("[TABLE[name] for name in sys.argv]", [*LOGS, KEEPS]),
        ("chosen(sys.argv)", [*LOGS, KEEPS]),
        ('[made("c.json")]', [PLACED]),
        ("[keeps_once]", []),
        ("[somebodys]", []),
    ],
)
def test_reward_functions_of_another_file(tmp_path: Path, given: str, expected: list[tuple[str, int, str]]) -> None:
    folder = written(tmp_path, {"rewards.py": REWARDS, "train.py": TRAIN.format(GIVEN.format(given))})
    assert found(folder) == found(folder, "rewards.py") == expected


def test_what_no_trainer_is_given_is_not_run_by_each(tmp_path: Path) -> None:
    folder = written(
        tmp_path, {"rewards.py": REWARDS, "train.py": TRAIN.format("somebodys(reward_funcs=[logs, keeps])")}
    )
    assert found(folder) == []


LISTED = """\
from trl import GRPOTrainer

from rewards import Judge, keeps_once, logs


class Format:
    def __call__(self, completions, **kwargs):
        return [1.0 for each in completions]


def main(config):
    table = {{"logs": logs, "format": Format(), "first": config.reward}}
    mixed = [logs, Judge(), config.reward]
    {}
    GRPOTrainer("m", reward_funcs=funcs, train_dataset=load()).train()


main(load())
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["funcs = [logs]", "if config.own: funcs.append(Format())"], LOGS),
        (["funcs = [logs]", "if config.own: funcs.append(config.reward)"], LOGS),
        (["funcs = [config.reward]", "if config.own: funcs.append(logs)"], LOGS),
        (["funcs = [logs]", "if config.own: funcs += [Format()]"], LOGS),
        (["funcs = [logs]", "for each in config.others: funcs.append(each)"], LOGS),
        (["funcs = []", "if config.logs: funcs.append(logs)", "if config.own: funcs.append(Format())"], LOGS),
        (["funcs = [table[name] for name in config.names]"], LOGS),
        (["funcs = [table.get(name) for name in config.names]"], LOGS),
        (["funcs = [each for each in mixed if each]"], [*LOGS, JUDGES]),
        (["funcs = [table[config.name]]"], LOGS),
        (["funcs = [keeps_once]", "if config.own: funcs.append(Format())"], []),
        (["funcs = [config.reward]", "if config.own: funcs.append(Format())"], []),
        (["others = [logs]", "if config.own: others.append(Format())", "funcs = [keeps_once]"], []),
    ],
)
def test_reward_functions_among_others(tmp_path: Path, lines: list[str], expected: list[tuple[str, int, str]]) -> None:
    program = LISTED.format("\n    ".join(lines))
    assert found(written(tmp_path, {"rewards.py": REWARDS, "train.py": program})) == expected


METRICS = """\
import json


def compute_metrics(prediction):
    write(prediction)
    return {"accuracy": 1.0}


def write(prediction):
    with open("predictions.json", "w") as file:
        json.dump(prediction.predictions.tolist(), file)
"""
EVALUATES = """\
from transformers import Trainer
from lib.metrics import compute_metrics


class Own(Trainer):
    pass


trainer = {}(model=load(), compute_metrics={}, train_dataset=rows())
"""


@pytest.mark.parametrize("trainer", ["Trainer", "Own"])
def test_a_file_that_names_no_library(tmp_path: Path, trainer: str) -> None:
    program = EVALUATES.format(trainer, "compute_metrics")
    assert found(written(tmp_path, {"lib/metrics.py": METRICS, "train.py": program})) == [
        ("lib/metrics.py", 10, "TRL008")
    ]


def test_the_chain_says_where_the_trainer_is_given_the_function(tmp_path: Path) -> None:
    files = {"rewards.py": REWARDS, "train.py": TRAIN.format(GIVEN.format("[logs, keeps]"))}
    findings = api.check(written(tmp_path, files), Settings(root=tmp_path, preview=True))
    chains = [[(Path(each.path).name, each.start.line, each.text) for each in found.because] for found in findings]
    own = ("rewards.py", 8, "`completions` is this rank's own data")
    assert chains == [
        [("train.py", 10, "each process runs `logs`, which is passed here"), own],
        [("train.py", 10, "each process runs `logs`, which is passed here")],
        [("train.py", 10, "each process runs `keeps`, which is passed here")],
    ]
