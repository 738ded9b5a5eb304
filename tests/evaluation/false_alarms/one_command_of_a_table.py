# A table of commands, of which a run calls one: the trainer that one of them makes shows nothing of the others.
import json
import sys
from pathlib import Path

import torch
from transformers import AutoModel, Trainer


def train():
    trainer = Trainer(model=AutoModel.from_pretrained("base"), train_dataset=json.loads(Path("rows").read_text()))
    trainer.train()
    Path("trained.json").write_text(json.dumps(trainer.state.log_history))  # expect: TRL008


def initialize():
    model = AutoModel.from_pretrained("base")
    torch.save(model.state_dict(), "first.pt")


def report():
    Path("report.json").write_text(json.dumps({"rows": 1}))


class TrainingCommand:
    def __init__(self, folder):
        self.folder = Path(folder)

    def run(self):
        trainer = Trainer(model=AutoModel.from_pretrained("base"))
        trainer.train()
        (self.folder / "scores.json").write_text(json.dumps(trainer.state.log_history))  # expect: TRL008


class ShowingCommand:
    def __init__(self, folder):
        self.folder = Path(folder)

    def run(self):
        (self.folder / "shown.json").write_text(json.dumps({"shown": 1}))


def commands():
    return {"train": train, "init": initialize, "report": report}


def main():
    name = sys.argv[1]
    known = commands()
    if name not in known:
        raise SystemExit(f"unknown command {name}")
    known[name]()


def main_of_objects():
    command = {"train": TrainingCommand, "show": ShowingCommand}[sys.argv[1]]("out")
    command.run()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main_of_objects()
    else:
        main()
