"""TRL006: where it speaks, what it says, and which code is right."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL006")


def places(body: str) -> list[str]:
    text = loop(body)
    return [shown(text, finding) for finding in SNIPPETS.findings(text)]


# --- what is found --------------------------------------------------------------------------------------


def test_a_finding_names_the_condition_and_the_collective():
    text = loop("""
        if mask.sum() == 0:
            continue
        accelerator.wait_for_everyone()
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "mask.sum() == 0"
    assert finding.message == (
        "ranks that leave here never come to `wait_for_everyone`: the others wait for ever with several processes"
    )
    assert [step.text for step in finding.because][-2:] == [
        "`mask.sum() == 0` differs between ranks",
        "the other ranks call it here",
    ]
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


def test_a_guarded_collective_is_reported_where_it_is_called():
    text = loop("""
        if accelerator.is_main_process:
            accelerator.wait_for_everyone()
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.wait_for_everyone()"
    assert finding.because[-1].text == "`accelerator.is_main_process` differs between ranks"


@pytest.mark.parametrize(
    "condition",
    [
        "accelerator.is_main_process",
        "accelerator.process_index == 0",
        "mask.any()",
        "mask.sum().item() > 3",
        "loss.item() < 2.0",
        "time.time() > 5",
        "batch['x'].numel() == 0",
        "accelerator.sync_gradients and accelerator.is_main_process",
    ],
)
def test_conditions_that_part_the_ranks(condition):
    assert places(f"if {condition}:\n    accelerator.gather(loss)") == ["accelerator.gather(loss)"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("if mask.any():\n    break", "mask.any()"),
        ("if mask.any():\n    return", "mask.any()"),
        ("if step:\n    if mask.any():\n        continue\naccelerator.gather(loss)", "mask.any()"),
        ("while mask.sum() > step:\n    accelerator.gather(loss)", "accelerator.gather(loss)"),
        ("for each in range(int(mask.max())):\n    accelerator.gather(loss)", "accelerator.gather(loss)"),
        ("x = accelerator.gather(loss) if accelerator.is_main_process else None", "accelerator.gather(loss)"),
        ("x = accelerator.is_main_process and accelerator.gather(loss)", "accelerator.gather(loss)"),
        ("try:\n    x = int(loss)\nexcept ValueError:\n    model(**batch)", "model(**batch)"),
        ("with accelerator.main_process_first():\n    accelerator.gather(loss)", "accelerator.gather(loss)"),
        ("if accelerator.is_main_process:\n    with accelerator.main_process_first():\n        pass",
         "accelerator.main_process_first()"),
        ("if loss.isnan():\n    accelerator.backward(loss)", "accelerator.backward(loss)"),
    ],
)  # fmt: skip
def test_ways_to_miss_a_meeting(body, place):
    assert places(body) == [place]


def test_an_exception_that_goes_on_leaves_the_others_behind():
    body = "try:\n    x = int(loss)\nexcept ValueError:\n    continue\naccelerator.gather(loss)"
    (place,) = places(body)
    assert place.startswith("except ValueError:")


def test_a_helper_that_gathers_is_followed():
    text = trainer("""
        def _mean(self, x):
            return self.accelerator.gather(x).mean()

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            if self.is_world_process_zero():
                print(self._mean(inputs["x"]))
            return super().compute_loss(model, inputs, return_outputs)
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'self._mean(inputs["x"])'
    assert finding.because[-1].text == "`gather` is called in `_mean`"


def test_a_decorator_that_lets_one_rank_in():
    text = "from accelerate import Accelerator\naccelerator = Accelerator()\n" + (
        "@accelerator.on_main_process\ndef show(x):\n    print(accelerator.gather(x))\n"
    )
    assert shown(text, SNIPPETS.finding(text)) == "accelerator.gather(x)"


@pytest.mark.parametrize("call", ["self.evaluate()", "self.save_model()", "self.train()"])
def test_what_a_trainer_does_on_all_ranks(call):
    text = trainer(f"""
        def log(self, logs, start_time=None):
            if self.args.should_save:
                {call}
    """)
    assert shown(text, SNIPPETS.finding(text)) == call


def test_a_save_matters_where_the_model_is_sharded():
    text = trainer("def log(self, logs, start_time=None):\n    if self.args.should_save:\n        self.save_model()")
    assert "where FSDP or DeepSpeed ZeRO-3 shards the model" in SNIPPETS.finding(text).message


# --- what is right --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        "accelerator.sync_gradients",
        "accelerator.num_processes > 1",
        "step % 10 == 0",
        "'labels' in batch",
        "accelerator.gather(mask).any()",
        "unknown_function()",
        "accelerator.gather_for_metrics(loss).mean().item() < 2.0",
        "accelerator.process_index >= 0",
    ],
)
def test_conditions_that_are_the_same_everywhere_or_unknown(condition):
    assert places(f"if {condition}:\n    accelerator.gather(loss)") == []


@pytest.mark.parametrize(
    "body",
    [
        "if mask.any():\n    x = accelerator.gather(loss)\nelse:\n    x = accelerator.gather(loss * 0)",
        "if mask.any():\n    raise ValueError\naccelerator.gather(loss)",
        "if accelerator.is_main_process:\n    print(loss)\naccelerator.gather(loss)",
        "if not accelerator.is_main_process:\n    accelerator.wait_for_everyone()\n"
        "if accelerator.is_main_process:\n    accelerator.wait_for_everyone()",
        "for each in mask:\n    if each.any():\n        break\naccelerator.gather(loss)",
        "x = accelerator.gather(loss if mask.any() else loss * 0)",
        "for each in range(mask.shape[0]):\n    accelerator.gather(loss)",
        "if mask.any():\n    x = accelerator.gather(loss)\nelse:\n    x = dummy_gather()",
        "if accelerator.is_main_process:\n    torch.distributed.barrier(group=mine)",
        "try:\n    x = int(loss)\nexcept ValueError:\n    accelerator.gather(loss)\n    raise",
        "try:\n    import thing\nexcept ImportError:\n    accelerator.gather(loss)",
    ],
)
def test_code_that_meets_on_all_ranks(body):
    assert places(body) == []


def test_a_save_that_knows_of_sharding_is_left_alone():
    text = trainer("""
        def log(self, logs, start_time=None):
            if self.is_fsdp_enabled:
                self.save_model()
            elif self.args.should_save:
                self.save_model()
    """)
    assert SNIPPETS.findings(text) == []


def test_ways_that_both_return_after_a_gather():
    text = trainer("""
        def threshold(self, x):
            if x.any():
                return self.accelerator.gather(x)
            return self.accelerator.gather(x * 0)

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            self.threshold(inputs["x"])
            return super().compute_loss(model, inputs, return_outputs)
    """)
    assert SNIPPETS.findings(text) == []


# --- what other code bases write -------------------------------------------------------------------------

WRITER = """
import torch.distributed as dist
from accelerate.utils import gather_object
from transformers import Trainer

class Writer:
    def write(self, rows, everywhere=False):
        self.put(rows, everywhere=everywhere)

    def put(self, rows, everywhere):
        if everywhere and dist.is_initialized():
            rows = gather_object(rows)
        print(rows)

class Writing(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        writer = Writer()
        if self.accelerator.is_main_process:
"""


def written(call: str) -> list[str]:
    """The findings where the main process calls a writer in more ways than are kept apart, and then once more."""
    ways = [f"writer.write({{'k{number}': {number}}})" for number in range(20)]
    text = WRITER + "".join(f"            {each}\n" for each in (*ways, call))
    return [shown(text, finding) for finding in SNIPPETS.findings(text)]


def test_a_switch_that_is_off_keeps_a_collective_out():
    assert written("writer.write([1])") == []


def test_a_switch_that_is_on_does_not():
    assert written("writer.write([1], everywhere=True)") == ["writer.write([1], everywhere=True)"]


def test_a_command_dealt_out_to_all_ranks_may_end_their_loops():
    text = """
import torch.distributed as dist

def serve(work):
    dist.init_process_group()
    while True:
        received = [None]
        dist.scatter_object_list(received, None, src=0)
        command, payload = received[0]
        if command == "stop":
            return
        dist.all_gather_object([None, None], work(payload))
"""
    assert SNIPPETS.findings(text) == []


@pytest.mark.parametrize("others", ["elif dist.get_rank() > 0:", "elif dist.get_rank() != 0:", "else:"])
def test_the_other_ranks_meet_the_first_one(others):
    assert places(f"""
        import torch.distributed as dist
        if dist.get_rank() == 0:
            rows = [None] * 2
            dist.gather_object(step, rows, dst=0)
        {others}
            dist.gather_object(step, None, dst=0)
    """) == []


def test_some_of_the_other_ranks_do_not():
    assert places("""
        import torch.distributed as dist
        if dist.get_rank() == 0:
            dist.gather_object(step, [None] * 2, dst=0)
        elif dist.get_rank() > 1:
            dist.gather_object(step, None, dst=0)
    """) != []


def flagged(test: str) -> list[str]:
    text = trainer(f"""
        def training_step(self, model, inputs, num_items_in_batch=None):
            flag = inputs.get("flag")
            if flag is None:
                flag = self.args.flag
            if {test}:
                self.accelerator.gather(model(**inputs).loss)
    """)
    return [shown(text, finding) for finding in SNIPPETS.findings(text)]


def test_a_flag_of_the_batch_else_of_the_settings_is_not_known_to_differ():
    assert flagged("self.args.seed and flag") == []


def test_what_is_computed_of_the_batch_differs_beside_a_setting():
    assert flagged('self.args.seed and (inputs["labels"] == 0).all()') != []


def test_a_test_for_none_makes_no_name_differ():
    assert places("""
        import torch.distributed as dist
        kind = accelerator.state.kind
        if accelerator.is_main_process and kind is None:
            print(step)
        if kind is not None:
            dist.barrier()
    """) == []


def test_an_attribute_that_ranks_agree_on_is_not_known_to_differ():
    text = trainer("""
        def agree(self):
            self.stop = self.accelerator.gather(torch.ones(1)).any()

        def training_step(self, model, inputs, num_items_in_batch=None):
            self.stop = inputs["labels"].sum() > 3
            self.agree()
            if self.stop:
                return 0.0
            self.accelerator.wait_for_everyone()
    """)
    assert SNIPPETS.findings(text) == []


GROUPS = """
import torch.distributed as dist
from accelerate import Accelerator

GROUP = None

def start():
    global GROUP
    GROUP = make_group()

def group():
    assert GROUP is not None
    return GROUP

def main():
    accelerator = Accelerator()
    if accelerator.process_index < 4:
        dist.barrier(group=group())
"""


def test_a_group_that_another_function_has_made_is_some_group():
    assert SNIPPETS.findings(GROUPS) == []
    assert len(SNIPPETS.findings(GROUPS.replace("    global GROUP\n", ""))) == 1


def test_each_rank_draws_as_much_as_the_others():
    assert places("""
        import random
        for row in random.sample(range(len(loader.dataset)), 3):
            accelerator.gather(mask[row])
    """) == []
