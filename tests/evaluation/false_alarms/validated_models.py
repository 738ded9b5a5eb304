# Of a model that pydantic makes from a dict, a field of the main process is that of the main process, also in a dict of
# that dict; and a class that validates for itself makes what it says.
from accelerate import PartialState
from pydantic import BaseModel
from transformers import Trainer, TrainingArguments


class Part(BaseModel):
    writes: bool = False


class Job(BaseModel):
    part: Part
    shows: bool = False


class Own(BaseModel):
    writes: bool = True

    @classmethod
    def model_validate(cls, values):
        return cls(writes=PartialState().is_main_process)


def main():
    trainer = Trainer("model", TrainingArguments("out"))
    trainer.train()
    first = PartialState().is_main_process
    job = Job.model_validate({"part": {"writes": first}, "shows": first})
    if job.part.writes:
        trainer.model.save_pretrained("out/part")
    if job.shows:
        trainer.model.save_pretrained("out/job")
    if Own.model_validate({"writes": True}).writes:
        trainer.model.save_pretrained("out/own")


main()
