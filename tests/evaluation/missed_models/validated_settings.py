# Settings that pydantic makes from one dict, and the dicts in it, are those of all ranks; a flag of the main process is
# not one, nor is anything known of a field that holds more than plain settings.
from pathlib import Path
from uuid import uuid4

from accelerate import PartialState
from pydantic import BaseModel, Field
from transformers import Trainer, TrainingArguments


class StageSettings(BaseModel):
    fits: bool = True
    chief: bool = False
    plan: object = None
    tag: str = Field(default_factory=lambda: uuid4().hex)


class RunSettings(BaseModel):
    name: str = "run"
    stage: StageSettings | None = None

    @classmethod
    def resolve(cls, values):
        return cls.model_validate(values)


class Pipeline:
    def __init__(self, stage):
        self.stage = stage
        self.trainer = None

    def fit(self):
        self.trainer = Trainer("model", TrainingArguments("out"))
        self.trainer.train()
        return self

    def save(self):
        if not self.stage.fits:
            return
        Path("last.json").write_text("saved")  # expect: TRL008

    def save_apart(self):
        Path(f"{self.stage.tag}.json").write_text("saved")

    def save_on_one(self):
        if not self.stage.chief:
            return
        Path("one.json").write_text("saved")

    def save_by_plan(self):
        if not self.stage.plan:
            return
        Path("plan.json").write_text("saved")


def run(fits, plan, name):
    chief = PartialState().is_main_process
    settings = RunSettings.resolve({"name": name, "stage": {"fits": fits, "chief": chief, "plan": plan}})
    pipeline = Pipeline(settings.stage).fit()
    pipeline.save()
    pipeline.save_apart()
    pipeline.save_on_one()
    pipeline.save_by_plan()
