"""TRL002: wrapped models that code which does not know the class of an object passes to it."""

import pytest
from small_projects import found, written

TRAIN = """\
from accelerate import Accelerator


class Runner:
    def __init__(self, args, model):
        self.accelerator = Accelerator()
        self.network = args.network
        self.network.set_prepared(self.accelerator.prepare(model))
"""
NETWORKS = """\
from accelerate import PartialState


class Net:
    def set_prepared(self, model):
        self.model = model

    def predict(self, x):
        return self.model(x, self.model.config.scale)
"""
READ = [("networks.py", 9, "TRL002")]


@pytest.mark.parametrize(
    ("train", "networks", "expected"),
    [
        (TRAIN, NETWORKS, READ),
        # Code that does not run the model may read from the bare one, before the call.
        (TRAIN, NETWORKS.replace("self.model(x, ", "print("), []),
        # The model is not wrapped, or not for certain the one that is passed.
        (TRAIN.replace("self.accelerator.prepare(model)", "model"), NETWORKS, []),
        (TRAIN, NETWORKS + "\n\nclass Other:\n    def set_prepared(self, model):\n        self.model = model\n", []),
        (TRAIN, NETWORKS.replace("self.model = model", "self.model = model.bare"), []),
    ],
)
def test_a_method_that_runs_the_passed_model_has_the_wrapped_one(tmp_path, train, networks, expected):
    assert found(written(tmp_path, {"cli.py": train, "networks.py": networks})) == expected
