# All callers pass an optional argument: the branch that gathers it is not taken on the main process alone.
from accelerate import Accelerator


class Recorder:
    def __init__(self, accelerator):
        self.accelerator = accelerator

    def collect(self):
        return {"loss": self.accelerator.gather(self.loss).mean().item()}

    def show(self, step, metrics=None):
        if not self.accelerator.is_main_process:
            return
        metrics = self.collect() if metrics is None else metrics
        print(step, metrics)

    def show_own(self, step, metrics=None):
        if not self.accelerator.is_main_process:
            return  # expect: TRL006
        metrics = self.collect() if metrics is None else metrics
        print(step, metrics)


recorder = Recorder(Accelerator())
recorder.show(1, metrics=recorder.collect())
recorder.show_own(1)
