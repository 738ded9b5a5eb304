"""TRL002: where a model is bare that is wrapped elsewhere: in a constructor, and where code has asked for a wrapper."""

import pytest
from small_projects import found, written

CODE = """\
from torch.nn.parallel import DistributedDataParallel as DDP


class Base:
    def __init__(self, model):
        self.model = None
        self.raw = model

    def wrap(self, rank):
        self.model = DDP(self.raw.to(rank), device_ids=[rank])


class Runner(Base):
    def __init__(self, model):
        super().__init__(model)
        self.pad = self.model.pad_token_id

    def scale(self):
        return self.model.scale
"""
IN_METHOD, IN_BOTH = [("run.py", 19, "TRL002")], [("run.py", 16, "TRL002"), ("run.py", 19, "TRL002")]
RAW = "self.raw = model\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (CODE, IN_METHOD),  # no constructor wraps it
        (CODE.replace(RAW, RAW + "        self.wrap(0)\n"), [(file, line + 1, rule) for file, line, rule in IN_BOTH]),
        (CODE.replace("super().__init__(model)", "super().__init__(model); self.wrap(0)"), IN_BOTH),
    ],
)
def test_what_no_constructor_wraps_is_bare_in_it(tmp_path, code, expected):
    assert found(written(tmp_path, {"run.py": code})) == expected


IS_WRAPPED = "isinstance(self.model, DistributedDataParallel)"
PREPARED = """\
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


class Runner:
    def fit(self):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)
        self.start()

    def start(self):
        if isinstance(self.model, DistributedDataParallel):
            print(self.model.module.count())
        else:
            print(self.model.count())

    def step(self, batch):
        return self.model(batch)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (PREPARED, []),
        # One that has `.module` is wrapped, so that the flag says whether it is.
        (PREPARED.replace(IS_WRAPPED, "self.deep"), []),
        (PREPARED.replace(IS_WRAPPED, "self.deep").replace(".module", ""), [("run.py", 13, "TRL002")]),
    ],
)
def test_what_is_no_wrapper_has_what_its_model_has(tmp_path, code, expected):
    assert found(written(tmp_path, {"run.py": code})) == expected
