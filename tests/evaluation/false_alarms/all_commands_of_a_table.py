# A table of commands, of which one run calls several, or each of which each process calls: all of them are shown.
import json
import sys
from pathlib import Path

from accelerate import Accelerator
from transformers import AutoModel, Trainer


def train():
    trainer = Trainer(model=AutoModel.from_pretrained("base"), train_dataset=json.loads(Path("rows").read_text()))
    trainer.train()


def report():
    Path("report.json").write_text(json.dumps({"rows": 1}))  # expect: TRL008


def count():
    Path("count.json").write_text(json.dumps({"count": 1}))  # expect: TRL008


def total():
    Path("total.json").write_text(json.dumps({"total": 1}))  # expect: TRL008


def weigh():
    Path("weight.json").write_text(json.dumps({"weight": 1}))  # expect: TRL008


def show():
    Path("shown.json").write_text(json.dumps({"shown": 1}))


def run_all():
    known = {"train": train, "report": report}
    for name in sys.argv[1:]:
        known[name]()


def run_one():
    accelerator = Accelerator()
    known = {"train": train, "count": count}
    known[sys.argv[1]]()
    accelerator.end_training()


def run_alone():
    known = {"train": train, "show": show}
    known[sys.argv[1]]()


def run_named(name):
    known = {"train": train, "total": total}
    known[name]()


def run_either(name):
    known = {"train": train, "weigh": weigh}
    known[name]()


def run_in_turn():
    for name in sys.argv[1:]:
        run_named(name)
    run_either(sys.argv[1])
    run_either(sys.argv[3])


if sys.argv[2] == "all":
    run_all()
elif sys.argv[2] == "turns":
    run_in_turn()
elif sys.argv[2] == "one":
    run_one()
else:
    run_alone()
