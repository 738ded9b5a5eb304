"""Which reductions in the text of a function are of what it logs."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from trl_lint.analysis.program.idioms.near_reductions import Caller, may_be_reduced
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("log(loss)", False),
        ("loss = reduce_tensor(loss)\nlog(loss)", True),
        ("loss, best = average_over_gpus(loss, best)\nlog(best)", True),
        ("dist.all_reduce(loss.detach())\nlog(loss)", True),
        ("dist.all_reduce(out.loss)\nlog(out.loss.item())", True),
        ("dist.all_reduce(out.loss)\nlog(out.reward)", False),
        ("for key in logs:\n    exchange_all_reduce(logs[key])\nlog(logs['loss'])", True),
        ("exchange_all_reduce(logs['reward'])\nlog(logs['loss'])", False),
        ("exchange_all_reduce(logs['reward'])\nlog(logs)", False),
        ("for key, value in logs.items():\n    logs[key] = gather_scores(value)\nlog(logs)", True),
        ("meter.all_reduce()\nlog(meter.mean)", True),
        ("meter.synchronize_between_processes()\nlog(meter.mean)", True),
        ("self.sums.append(accelerator.gather(loss))\nlog(self.sums)", True),
        ("self.sums.append(accelerator.gather(loss))\nlog(self.means)", False),
        ("total = sum_over_ranks(right)\nlog(total / count)", True),
        ("total = reduce_tensor(right)\nshare = total / count\nlog(share)", True),
        # Two computations away: what is reduced there and logged here may be different things.
        ("total = reduce_tensor(right)\nshare = total / count\ntext = shown(share)\nlog(text)", False),
        ("all_reduce_gradients(model)\nlog(model(x))", False),
        ("model = convert_sync_batchnorm(model)\nlog(model(x))", False),
        ("log(loss)\nloss = reduce_tensor(loss)", False),
    ],
)
def test_reductions_before_a_log_are_of_what_it_shows(code, expected):
    module = Module(Path("x.py"), "x", cst.parse_module(code), Path())
    (log,) = (
        each for each in of_class(module.tree, cst.Call) if isinstance(each.func, cst.Name) and each.func.value == "log"
    )
    assert may_be_reduced(Caller(module, None), log, lambda *_: None) is expected
