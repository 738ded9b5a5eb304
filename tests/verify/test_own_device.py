"""Whether tensors in collectives are on each process's own device, which is emulated."""

import pytest
from marks import line

from trl_lint.verify.oracles import own_device
from trl_lint.verify.record.verdicts import Outcome

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("how", "outcome"),
    [("on its own", Outcome.PASSED), ("on the CPU", Outcome.FAILED), ("as it finds", Outcome.UNKNOWN)],
    ids=lambda each: str(each),
)
def test_where_a_tensor_is(judged, how, outcome):
    verdict = judged("places", how).verdict(own_device.ORACLE)
    assert verdict.outcome is outcome, verdict
    assert outcome is not Outcome.FAILED or verdict.at[0].startswith(line("places", "cause"))
    assert outcome is Outcome.UNKNOWN or "emulated" in verdict.summary


def test_a_script_that_places_its_tensors_itself_is_left_alone(judged):
    verdict = judged("two_lines").verdict(own_device.ORACLE)
    assert verdict.outcome is Outcome.UNKNOWN and "accelerate" in verdict.summary
