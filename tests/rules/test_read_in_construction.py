"""TRL002: what a constructor reads of a model that other methods wrap."""

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
