# A base begins with rank 0, and a class of it sets the number of its rank where there are several processes.
from accelerate import Accelerator
from mine import answers, size_of


class Model:
    def __init__(self):
        self._rank = 0
        self._place = 0

    @property
    def rank(self):
        return self._rank

    def move(self):
        self._place += 1


class SpreadModel(Model):
    def __init__(self, name):
        super().__init__()
        accelerator = Accelerator()
        if accelerator.num_processes > 1:
            self.accelerator = accelerator
            self._rank = accelerator.process_index


def evaluate(model):
    every = model.accelerator.gather(answers(model))
    if model.rank == 0:
        return {"size": size_of(every)}
    return None


def moved(model):
    if model._place == 0:
        return {"size": 0}
    return None


def unguarded(model):
    results = evaluate(model)
    results["name"] = "large"  # expect: TRL017
    return results


def guarded(model):
    results = evaluate(model)
    if model.rank == 0:
        results["name"] = "large"
    return results


def of_all(model):
    results = moved(model)
    results["name"] = "large"
    return results


model = SpreadModel("large")
unguarded(model)
guarded(model)
of_all(model)
model.move()
