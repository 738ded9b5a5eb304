# A callback that one rank alone creates, or that each rank gives a file of its own, writes no file twice.
import json
import os

from somewhere import get_context
from transformers import Trainer, TrainerCallback


class OwnReport(TrainerCallback):
    def __init__(self, log_path):
        self.log_path = log_path

    def on_train_end(self, args, state, control, **kwargs):
        with open(self.log_path, "w") as file:
            json.dump({}, file)


class OwnFolder(TrainerCallback):
    def __init__(self, name, folder):
        self.output_dir = folder

    def on_train_end(self, args, state, control, **kwargs):
        with open(os.path.join(self.output_dir, "end.json"), "w") as file:
            json.dump({}, file)


class SharedReport(TrainerCallback):
    def __init__(self, log_path):
        self.log_path = log_path

    def on_train_end(self, args, state, control, **kwargs):
        with open(self.log_path, "w") as file:  # expect: TRL008
            json.dump({}, file)


class ReportOfOne(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open("one.json", "w") as file:
            json.dump({}, file)


class AddedReport(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open("added.json", "w") as file:
            json.dump({}, file)


class ReportIfAsked(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open("asked.json", "w") as file:  # expect: TRL008
            json.dump({}, file)


class ReportOfAllSometimes(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open("sometimes.json", "w") as file:  # expect: TRL008
            json.dump({}, file)


def train(model, args, data):
    my_rank = get_context().my_rank()
    callbacks = [OwnReport(f"/tmp/report_{my_rank}.json"), SharedReport("/tmp/report.json")]
    callbacks.append(OwnFolder("own", folder=os.path.join(args.output_dir, str(my_rank))))
    callbacks += [ReportOfOne()] if int(os.environ.get("LOCAL_RANK", 0)) == 0 else []
    if my_rank == 0:
        callbacks.append(ReportOfAllSometimes())
    if args.reports:
        callbacks.append(ReportIfAsked())
    trainer = Trainer(model, args, train_dataset=data, callbacks=callbacks)
    if my_rank == 0:
        trainer.add_callback(AddedReport())
    trainer.train()


def train_again(model, args, data):
    trainer = Trainer(model, args, train_dataset=data, callbacks=[ReportOfAllSometimes()])
    trainer.train()
