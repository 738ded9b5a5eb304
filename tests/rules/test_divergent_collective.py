"""TRL006: what it reports, its messages, and which code is right."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint import api
from trl_lint.findings import Applicability
from trl_lint.settings import Settings

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
    assert shown(text, finding) == "continue"
    assert finding.message == (
        "ranks where `mask.sum() == 0` is true `continue` here and do not reach `wait_for_everyone`: "
        "with several processes the others wait for them until the time-out"
    )
    assert finding.help.startswith("call it before ranks leave, or let the ranks agree on the condition first")
    assert [step.text for step in finding.because][-2:] == [
        "`mask.sum() == 0` differs between ranks",
        "the other ranks call it here",
    ]
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("accelerator.wait_for_everyone()", "call it on every rank, outside the condition"),
        ("accelerator.gather(loss)", "call it on every rank, and use its result inside the condition"),
        ("model(**batch).loss.backward()", "run it on every rank"),
    ],
)
def test_the_help_fits_what_is_called(call, says):
    """Which rank is the main process is nothing that ranks could agree on."""
    assert SNIPPETS.finding(loop(f"if accelerator.is_main_process:\n    {call}")).help == says
    assert SNIPPETS.finding(loop(f"if mask.any():\n    {call}")).help.startswith(f"{says}, or let the ranks agree")


def test_a_guarded_collective_is_reported_where_it_is_called():
    text = loop("""
        if accelerator.is_main_process:
            accelerator.wait_for_everyone()
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.wait_for_everyone()"
    assert finding.because[-1].text == "`accelerator.is_main_process` differs between ranks"


def test_a_number_that_one_rank_counts_names_what_keeps_the_others_from_it():
    text = loop("""
        if accelerator.is_main_process:
            count += 1
        if count == 10:
            break
        accelerator.wait_for_everyone()
    """).replace("for ", "count = 0\n    for ", 1)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "break"
    assert "`accelerator.is_main_process` differs between ranks" in [each.text for each in finding.because]


EPOCHS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def evaluate(model, best, count, hit):
    if torch.distributed.is_initialized():
        {reduced}
    stop = False
    if hit.item() > best:
        best, count = hit.item(), 0
    else:
        count += 1
        if count > 6:
            stop = True
    return best, count, stop

def main(model, dataset):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    best, count, stop = 0, 0, False
    for epoch in range(9):
        total = 0.0
        for batch in loader:
            loss = model(batch).loss
            total += loss.detach()
            loss.backward()
            if {failed}:
                stop = True
                break
        if not stop:
            best, count, stop = evaluate(model, best, count, loss.detach())
        if stop:
            break
"""


@pytest.mark.parametrize(
    ("reduced", "failed", "named"),
    [
        ("dist.all_reduce(hit)", "torch.isnan(total)", "torch.isnan(total)"),
        ("dist.all_reduce(hit)", "epoch > 6", None),
        ("print(hit)", "epoch > 6", "hit.item() > best"),
    ],
)
def test_a_flag_that_is_set_beside_a_break_names_what_the_break_depends_on(reduced, failed, named):
    """What the ranks agree on later, if they get there, is not the reason."""
    texts = [
        [step.text for step in finding.because]
        for finding in SNIPPETS.findings(EPOCHS.format(reduced=reduced, failed=failed))
        if "`stop`" in finding.message
    ]
    assert bool(texts) is (named is not None)
    for because in texts:
        assert next(each for each in because if "differs between ranks" in each) == f"`{named}` differs between ranks"
        assert named == "hit.item() > best" or not any("count" in each for each in because)


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ("if mask.any():\n    if loss > 9:", "`mask.any()` and `loss > 9` are true"),
        ("if mask.any():\n    pass\nelse:\n    if loss > 9:", "`mask.any()` is false and `loss > 9` is true"),
        ("if args.large:\n    if loss > 9:", "`loss > 9` is true"),
        ("if loss > 9:\n    if args.large:", "`loss > 9` is true"),
    ],
)
def test_the_message_names_all_conditions_on_which_the_ranks_differ(tests, says):
    text = loop(f"{tests}\n        accelerator.gather(loss)")
    messages = [finding.message for finding in SNIPPETS.findings(text)]
    assert messages == [
        f"only ranks where {says} reach `gather`: with several processes they wait for the others until the time-out"
    ]


WAITED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

class Learner:
    def __init__(self, model, dataset):
        self.model = DistributedDataParallel(model)
        self.loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
        self.waited = 0

    def train(self):
        best, waited = 0, 0
        for epoch in range(9):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                loss = self.model(batch).loss
                loss.backward()
            if dist.get_rank() == 0:
                if loss.item() < best:
                    {counter} = 0
                    best = loss.item()
            {other}
            if {counter} > 3:
                return

if __name__ == "__main__":
    dist.init_process_group("nccl")
    Learner(torch.nn.Linear(2, 2), range(9)).train()
"""


@pytest.mark.parametrize("counter", ["waited", "self.waited"])
@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("else:\n                {} += 1", "dist.get_rank() == 0"),
        ("elif epoch:\n                {} += 1", "dist.get_rank() == 0"),
        ("{} += 1", "loss.item() < best"),
    ],
)
def test_a_counter_of_ranks_differs_by_the_rank_if_both_branches_change_it(counter, other, named):
    finding = SNIPPETS.finding(WAITED.format(counter=counter, other=other.format(counter)))
    assert f"`{counter} > 3` is true" in finding.message
    texts = [step.text for step in finding.because]
    assert next(each for each in texts if "differs between ranks" in each) == f"`{named}` differs between ranks"


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
        ("if mask.any():\n    break", "break"),
        ("if mask.any():\n    return", "return"),
        ("if step:\n    if mask.any():\n        continue\naccelerator.gather(loss)", "continue"),
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
    assert places(body) == ["continue"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("try:\n    if mask.any():\n        continue\n    print(x)\nexcept ValueError:\n    print(1)\n"
         "accelerator.gather(loss)", "continue"),
        ("try:\n    if accelerator.is_main_process:\n        if step:\n            return\nfinally:\n    print(1)\n"
         "accelerator.gather(loss)", "return"),
        # A `finally` clause is run by those that leave, too.
        ("try:\n    if mask.any():\n        continue\nfinally:\n    accelerator.gather(loss)", ""),
        ("try:\n    if mask.any():\n        raise KeyError\nexcept KeyError:\n    raise\naccelerator.gather(loss)", ""),
        ("try:\n    if mask.any():\n        print(x)\nexcept ValueError:\n    raise\naccelerator.gather(loss)", ""),
    ],
)  # fmt: skip
def test_ranks_that_leave_the_body_of_a_try(body, place):
    assert places(body) == [place] * bool(place)


DIFFERS = "`{}` differs between ranks"


@pytest.mark.parametrize(
    ("body", "guard", "said", "here"),
    [
        ("if mask.any():\n    accelerator.gather(loss)", "mask.any()", DIFFERS, "only some ranks get here"),
        ("if mask.any():\n    break", "mask.any()", DIFFERS, "some ranks leave here"),
        ("x = accelerator.gather(loss) if mask.any() else None", "mask.any()", DIFFERS, "only some ranks get here"),
        ("while mask.sum() > step:\n    accelerator.gather(loss)", "mask.sum() > step", DIFFERS,
         "ranks get here a different number of times"),
        ("try:\n    x = int(loss)\nexcept ValueError:\n    model(**batch)", "except ValueError",
         "only ranks where an exception is raised get here", "only some ranks get here"),
        ("with accelerator.main_process_first():\n    accelerator.gather(loss)",
         "with accelerator.main_process_first()", "one rank after the other runs what is inside",
         "ranks get here one after the other"),
    ],
)  # fmt: skip
def test_what_keeps_ranks_away_has_a_place_of_its_own(body, guard, said, here):
    text = loop(body)
    finding = SNIPPETS.finding(text)
    assert finding.guard is not None
    assert shown(text, finding.guard) == guard
    assert (finding.guard.text, finding.guard.meaning) == (said.format(guard), here)
    # It is the step of the chain that a report shows at that place, and nowhere else.
    assert (finding.guard.text, finding.guard.start) in [(step.text, step.start) for step in finding.because]


def test_a_guard_may_have_several_lines():
    text = loop("if (\n    accelerator.is_main_process\n    and mask.any()\n):\n    accelerator.gather(loss)")
    guard = SNIPPETS.finding(text).guard
    assert guard is not None
    assert shown(text, guard).split() == ["accelerator.is_main_process", "and", "mask.any()"]


@pytest.mark.parametrize(("what", "speaks"), [("out of memory", True), ("no such file", False)])
def test_what_a_handler_looks_for_may_come_to_some_ranks_only(what, speaks):
    body = (
        "try:\n    loss = step_of(model)\n"
        f"except RuntimeError as error:\n    if '{what}' not in str(error):\n        raise\n    continue\n"
        "accelerator.gather(loss)"
    )
    assert bool(places(body)) is speaks


DATASET = """\
from accelerate import PartialState
from datasets import load_dataset, load_from_disk
from transformers import Trainer
state = PartialState()
def main(model, prepare):
    ds = load_dataset("x", split="train")
"""


@pytest.mark.parametrize(
    ("body", "speaks"),
    [
        ("if state.is_main_process:\n    ds = ds.map(prepare)", True),
        ("if state.is_local_main_process:\n    if prepare is not None:\n        ds = prepare(ds)", True),
        ("if not state.is_main_process:\n    pass\nelse:\n    ds = ds.filter(prepare)", True),
        # Each of them has its turn.
        ("if state.is_main_process:\n    ds = ds.map(prepare)\nstate.wait_for_everyone()\n"
         "if not state.is_main_process:\n    ds = ds.map(prepare)", False),
        ("if state.is_main_process:\n    ds = ds.map(prepare)\nelse:\n    ds = load_from_disk('x')", False),
        ("with state.main_process_first():\n    ds = ds.map(prepare)", False),
        # All ranks read it in the end, or it stays unchanged.
        ("if state.is_main_process:\n    ds = ds.map(prepare)\n    ds.save_to_disk('x')\nds = load_from_disk('x')",
         False),
        ("if state.is_main_process:\n    small = ds.select(range(3))", False),
        ("if not state.is_main_process:\n    ds = None", False),
        ("if state.num_processes > 1:\n    ds = ds.map(prepare)", False),
    ],
)  # fmt: skip
def test_a_data_set_that_only_some_ranks_prepare(body, speaks):
    text = DATASET + indent(body, "    ") + "\n    Trainer(model=model, train_dataset=ds)\n"
    found = SNIPPETS.findings(text)
    assert len(found) == speaks
    for finding in found:
        assert "is_" in shown(text, finding) and "only some ranks prepare `train_dataset`" in finding.message
        assert finding.because[-1].text == "every rank uses its own `train_dataset` here"
    assert not SNIPPETS.findings(text.replace("train_dataset", "other"))


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


@pytest.mark.parametrize("call", ["self.evaluate()", "self.hyperparameter_search(hp_space=space)", "self.train()"])
def test_what_a_trainer_does_on_all_ranks(call):
    text = trainer(f"""
        def log(self, logs, start_time=None):
            if self.args.should_save:
                {call}
    """)
    assert shown(text, SNIPPETS.finding(text)) == call


def test_a_save_is_a_matter_of_the_engine():
    text = trainer("def log(self, logs, start_time=None):\n    if self.args.should_save:\n        self.save_model()")
    assert SNIPPETS.findings(text) == []


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
        "rows, columns = mask.shape\nfor each in range(0, rows, max(1, rows)):\n    accelerator.gather(loss)",
        # A condition on a name does not give it another value on some ranks.
        "kind = torch.Tensor if step > 3 else None\nif accelerator.is_main_process and kind is None:\n    print(loss)\n"
        "if kind is not None:\n    accelerator.gather(loss)",
        # The keys of a batch are the same on all ranks.
        "name = getattr(model, 'main_input_name', 'input_ids')\nif name not in batch:\n    print(loss)\n"
        "else:\n    accelerator.gather(loss)",
        "if mask.any():\n    x = accelerator.gather(loss)\nelse:\n    x = dummy_gather()",
        "if accelerator.is_main_process:\n    torch.distributed.barrier(group=mine)",
        "try:\n    x = int(loss)\nexcept ValueError:\n    accelerator.gather(loss)\n    raise",
        "try:\n    import thing\nexcept ImportError:\n    accelerator.gather(loss)",
        # The same file is missing for all ranks, whatever device they load it to.
        "try:\n    torch.load('a').to(accelerator.local_process_index)\nexcept OSError:\n    accelerator.gather(loss)",
    ],
)
def test_code_that_meets_on_all_ranks(body):
    assert places(body) == []


@pytest.mark.parametrize("field", ["%s", "%g", "%(n)d", "%%%d"])
def test_a_text_with_the_rank_in_it_is_not_the_text_without(field):
    put = "{'n': accelerator.process_index}" if "(" in field else "accelerator.process_index"
    text = f"if '{field}' % {put} == '{field}':\n    accelerator.gather(loss)"
    assert len(places(text)) == 1


def test_a_command_that_each_rank_is_sent():
    text = trainer("""
        def _told(self):
            message = [None]
            torch.distributed.scatter_object_list(message, None, src=0)
            return message[0]

        def serve(self):
            while True:
                command, x = self._told()
                if command == "stop":
                    return
                torch.distributed.barrier()

        def train(self):
            self.serve()
    """)
    assert SNIPPETS.findings(text) == []


ORDERS = """
    import torch
    import torch.distributed as dist

    def step(optimizer, signal, device):
        rank = dist.get_rank()

        def closure():
            if rank == 0:
                dist.broadcast(signal, src=0)
            return signal.sum()

        if rank == 0:
            optimizer.step(closure)
            signal.fill_(0)
            dist.broadcast(signal, src=0)
        else:
            while signal.item():
                OTHERS
                closure()
    """


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ("dist.broadcast(signal, src=0)", []),
        ("dist.all_reduce(signal)", ["dist.broadcast(signal, src=0)"]),
    ],
)
def test_ranks_that_wait_for_orders_in_a_loop(others, told):
    """A broadcast of the first rank in a nested function is received in the loop, if it is the same collective."""
    text = dedent(ORDERS).replace("OTHERS", others)
    inner = [each for each in SNIPPETS.findings(text) if each.start.line == 10]
    assert [shown(text, each) for each in inner] == told


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


# --- the fix --------------------------------------------------------------------------------------------

MAIN = "if accelerator.is_main_process:\n"
# A call that every rank may make, with an unused result.
SAVE = "torch.distributed.checkpoint.save({}, 'x')"


def mended(body: str) -> str:
    """The result of `--fix --unsafe-fixes` for a body of the loop; `--fix` alone changes nothing."""
    text = loop(body)
    assert SNIPPETS.mended(text) == text
    return SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        # Code that uses the result stays under the condition.
        (f"{MAIN}    print(accelerator.gather(loss).mean())",
         f"gathered_loss = accelerator.gather(loss)\n{MAIN}    print(gathered_loss.mean())"),
        (f"{MAIN}    a = print(accelerator.gather(loss), accelerator.reduce(mask.sum()))",
         f"gathered_loss = accelerator.gather(loss)\nreduced_mask = accelerator.reduce(mask.sum())\n"
         f"{MAIN}    a = print(gathered_loss, reduced_mask)"),
        (f"{MAIN}    print(accelerator.gather(accelerator.pad_across_processes(mask)))",
         f"gathered_mask = accelerator.gather(accelerator.pad_across_processes(mask))\n{MAIN}    print(gathered_mask)"),
        # The computation of its argument is moved as well.
        (f"{MAIN}    # both\n    both = torch.stack([loss])\n    mean = accelerator.gather(both)\n    print(mean)",
         f"# both\nboth = torch.stack([loss])\nmean = accelerator.gather(both)\n{MAIN}    print(mean)"),
        # A name that other ranks know keeps its value there.
        (f"mean = 0.0\n{MAIN}    mean = accelerator.gather(loss)\nprint(mean)",
         f"mean = 0.0\ngathered_loss = accelerator.gather(loss)\n{MAIN}    mean = gathered_loss\nprint(mean)"),
        # A call with an unused result keeps its position.
        (f"{MAIN}    accelerator.wait_for_everyone()\n    print(1)",
         f"accelerator.wait_for_everyone()\n{MAIN}    print(1)"),
        # The blank line below it is not left at the top of the block.
        (f"{MAIN}    accelerator.wait_for_everyone()\n\n    # shown\n    print(1)",
         f"accelerator.wait_for_everyone()\n{MAIN}    # shown\n    print(1)"),
        (f"{MAIN}    torch.save(loss, 'x')\n    # now it is there\n    accelerator.wait_for_everyone()",
         f"{MAIN}    torch.save(loss, 'x')\n# now it is there\naccelerator.wait_for_everyone()"),
        (f"# a checkpoint\n{MAIN}    {SAVE}\nprint(1)", f"# a checkpoint\n{SAVE}\nprint(1)"),
        (f"{MAIN}    parts = accelerator.gather(loss)\n    torch.save(parts, 'x')",
         f"parts = accelerator.gather(loss)\n{MAIN}    torch.save(parts, 'x')"),
        ("x = accelerator.gather(loss) if accelerator.is_main_process else None",
         "gathered_loss = accelerator.gather(loss)\nx = gathered_loss if accelerator.is_main_process else None"),
        ("if step % 5 == 0 and accelerator.is_main_process:\n    print(accelerator.gather(loss))",
         f"if step % 5 == 0:\n    gathered_loss = accelerator.gather(loss)\n    {MAIN}        print(gathered_loss)"),
    ],
)  # fmt: skip
def test_the_call_is_taken_out_of_a_condition_on_the_rank(body, fixed):
    assert mended(body) == loop(fixed)


def test_the_call_is_taken_before_an_exit_of_the_other_ranks():
    text = trainer("""
        def show(self, x):
            if not self.is_world_process_zero():
                return
            longest = x.max()
            print(self.accelerator.gather(longest))

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            self.show(inputs["x"])
            return super().compute_loss(model, inputs, return_outputs)
    """)
    assert "longest = x.max()\n        gathered_longest = " in SNIPPETS.mended(text, unsafe=True).replace(
        "        if not self.is_world_process_zero():\n            return\n", ""
    )
    assert SNIPPETS.findings(SNIPPETS.mended(text, unsafe=True)) == []


@pytest.mark.parametrize("call", ["self.evaluate()", "self.evaluate(self.eval_dataset)"])
def test_what_writes_on_the_main_process_only_needs_no_condition(call):
    text = trainer(f"def log(self, logs, start_time=None):\n    if self.args.should_save:\n        {call}\n")
    assert SNIPPETS.mended(text, unsafe=True) == trainer(f"def log(self, logs, start_time=None):\n    {call}\n")


def test_a_method_of_the_object_that_tells_the_rank_is_called_by_all():
    text = trainer(HELPER.format(line="x = x * 2", condition="self.args.seed == 3 and self.is_world_process_zero()"))
    fixed = SNIPPETS.mended(text, unsafe=True)
    assert (
        "        if self.args.seed == 3:\n"
        '            mean_result = self._mean(inputs["x"])\n'
        "            if self.is_world_process_zero():\n"
        "                print(mean_result)\n"
    ) in fixed


HELPER = """
    def _mean(self, x):
        {line}
        return self.accelerator.gather(x).mean()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        if {condition}:
            print(self._mean(inputs["x"]))
        return super().compute_loss(model, inputs, return_outputs)
"""


def test_a_helper_is_called_on_all_ranks():
    text = trainer(HELPER.format(line="parts = {}; parts['x'] = x", condition="self.is_world_process_zero()"))
    fixed = SNIPPETS.mended(text, unsafe=True)
    assert '        mean_result = self._mean(inputs["x"])\n        if self.is_world' in fixed
    assert "            print(mean_result)\n" in fixed


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        ("self.last = x", "self.is_world_process_zero()"),
        ("self.seen.append(x)", "self.is_world_process_zero()"),
        ("x.mul_(2)", "self.is_world_process_zero()"),
        ("global seen; seen = x", "self.is_world_process_zero()"),
        ("pass", "self.is_world_process_zero() or self.state.global_step > 1"),
    ],
)
def test_a_helper_that_does_more_is_left_to_the_author(line, condition):
    text = trainer(HELPER.format(line=line, condition=condition))
    assert SNIPPETS.mended(text, unsafe=True) == text
    assert SNIPPETS.finding(text).fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # The ranks differ in more than their rank.
        ("if mask.any():\n    print(accelerator.gather(loss))", "how the ranks should agree"),
        (f"{MAIN}    if mask.any():\n        print(accelerator.gather(loss))", "how the ranks should agree"),
        (f"if mask.any():\n    {MAIN}        print(accelerator.gather(loss))", "more than this condition"),
        (f"{MAIN}    for each in range(3):\n        print(accelerator.gather(loss))", "more than this condition"),
        # It is not certain that the argument is there, or the same, before the condition.
        ("if loss is None or accelerator.is_main_process:\n    print(accelerator.gather(loss))", "on an argument"),
        (f"{MAIN}    loss.mul_(2)\n    print(accelerator.gather(loss))", "may be changed"),
        (f"{MAIN}    loss[0] = 2\n    print(accelerator.gather(loss))", "may be changed"),
        # The other ranks would go on with what they had before.
        (f"total = loss\nfor each in range(3):\n    total = total + loss\n    {MAIN}"
         "        print(accelerator.gather(total))\n        total = loss * 0", "set anew"),
        (f"losses = [loss]\nfor each in range(3):\n    losses.append(loss)\n    {MAIN}"
         "        print(accelerator.gather(torch.stack(losses)))\n        losses.clear()", "set anew"),
        (f"{MAIN}    x = made()\n    print(accelerator.gather(x))", "created under the condition"),
        (f"x = loss\n{MAIN}    x = loss * 2\n    accelerator.gather(x)\nprint(x)", "created under the condition"),
        (f"{MAIN}    print(accelerator.gather(made(loss)))", "may do more"),
        (f"if step:\n    x = loss\n{MAIN}    print(accelerator.gather(x))", "no value"),
        # Its position among the other work of the main process matters.
        (f"{MAIN}    torch.save(loss, 'x')\n    accelerator.wait_for_everyone()\n    print(1)", "it is between things"),
        (f"{MAIN}    torch.save(loss, 'x')\n    if step:\n        break\n    accelerator.wait_for_everyone()",
         "may not work on every rank"),
        (f"{MAIN}    print(made(), accelerator.gather(loss))", "come first"),
        (f"{MAIN}    print(step and accelerator.gather(loss))", "more than this condition"),
        (f"{MAIN}    accelerator.wait_for_everyone()\nelse:\n    print(1)", "the call is all"),
        (f"if step:\n    pass\nel{MAIN}    accelerator.wait_for_everyone()", "no place before"),
        (f"for each in range(2):\n    {MAIN}        print(accelerator.gather(loss))\n        break\n"
         "    accelerator.wait_for_everyone()", "before other calls"),
        # Not every rank may make the call.
        (f"{MAIN}    accelerator.backward(loss)", "may not work on every rank"),
        (f"{MAIN}    torch.distributed.all_reduce(loss)", "may not work on every rank"),
        (f"{MAIN}    model(**batch)", "may not work on every rank"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_a_hint(body, reason):
    text = loop(body)
    assert SNIPPETS.mended(text, unsafe=True) == text
    fix = SNIPPETS.finding(text).fix
    assert fix.applicability is Applicability.DISPLAY
    assert reason in fix.reason


# --- the rest of the condition ---------------------------------------------------------------------------

SHOW = "print(accelerator.gather(loss))"


def under(condition: str, *lines: str) -> str:
    return f"if {condition}:\n" + "".join(f"    {line}\n" for line in lines)


def filled_by_one() -> str:
    return "scores = {}\n" + under("accelerator.is_main_process", "scores['best'] = 1")


@pytest.mark.parametrize(
    ("condition", "rest"),
    [
        ("step % 5 == 0 and accelerator.is_main_process", "step % 5 == 0"),
        ("accelerator.is_main_process and step % 5 == 0", "step % 5 == 0"),
        ("step and accelerator.is_main_process and step % 5 == 0", "step and step % 5 == 0"),
        ("step and (accelerator.is_main_process and step % 5 == 0)", "step and step % 5 == 0"),
        ("(step or step % 5 == 0) and accelerator.is_main_process", "step or step % 5 == 0"),
        ("accelerator.is_main_process and (step or step % 5 == 0) and step < 9",
         "(step or step % 5 == 0) and step < 9"),
        ("step % 5 == 0 and accelerator.process_index == 0", "step % 5 == 0"),
        ("step % 5 == 0 and not accelerator.process_index", "step % 5 == 0"),
        ("step % 5 == 0 and accelerator.process_index in (-1, 0)", "step % 5 == 0"),
        ("step % 5 == 0 and accelerator.process_index in [-1, 0]", "step % 5 == 0"),
        ("step % 5 == 0 and 1 > accelerator.process_index", "step % 5 == 0"),
        ("step % 5 == 0 and not accelerator.process_index != 0", "step % 5 == 0"),
        ("step % 5 == 0 and accelerator.is_main_process and accelerator.is_local_main_process", "step % 5 == 0"),
        ("step % 5 == 0 and (accelerator.is_main_process or accelerator.is_local_main_process)", "step % 5 == 0"),
        # On one process this is true whatever the step is.
        ("step % 5 == 0 and (accelerator.is_main_process or step > 3)", "step % 5 == 0"),
        # Whether there are several processes remains a condition.
        ("accelerator.num_processes > 1 and accelerator.is_main_process", "accelerator.num_processes > 1"),
        ("not (step % 5) and accelerator.is_main_process", "not (step % 5)"),
        ("0 < step < 9 and accelerator.is_main_process", "0 < step < 9"),
        ("(step % 5 == 0 and accelerator.is_main_process)", "step % 5 == 0"),
        ("(\n    step % 5 == 0\n    and accelerator.is_main_process\n)", "step % 5 == 0"),
        ("(\n    step % 5 == 0\n    and accelerator.is_main_process\n    and step < 9\n)",
         "(\n    step % 5 == 0\n    and step < 9\n)"),
        ("step % 5 == 0 and \\\n    accelerator.is_main_process", "step % 5 == 0"),
        # A condition with a side effect is still evaluated first, where it was.
        ("(due := step % 5 == 0) and loader.check() is None and accelerator.is_main_process", None),
        ("loader.check() is None and accelerator.is_main_process", None),
    ],
)  # fmt: skip
def test_only_the_rank_s_part_of_a_condition_goes(condition, rest) -> None:
    text = loop(under(condition, SAVE))
    if rest is None:  # it is not known to be the same on all ranks
        assert SNIPPETS.mended(text, unsafe=True) == text
    else:
        assert mended(under(condition, SAVE)) == loop(under(rest, SAVE))


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        (under("step % 5 == 0 and accelerator.is_main_process", "# both", SAVE, "# shown", SHOW, "print(1)  # one"),
         under("step % 5 == 0", "# both", SAVE, "gathered_loss = accelerator.gather(loss)",
               "if accelerator.is_main_process:", "    # shown", "    print(gathered_loss)", "    print(1)  # one")),
        # The rest of the condition may be about the gathered value.
        (under("accelerator.is_main_process and loss is not None", SHOW),
         under("loss is not None", "gathered_loss = accelerator.gather(loss)",
               "if accelerator.is_main_process:", "    print(gathered_loss)")),
        (under("step % 5 == 0 and accelerator.is_main_process", "torch.distributed.checkpoint.save({}, f'{step}')"),
         under("step % 5 == 0", "torch.distributed.checkpoint.save({}, f'{step}')")),
        (under("step % 5 == 0 and accelerator.is_main_process", "torch.save(loss, 'x')",
               "accelerator.wait_for_everyone()"),
         under("step % 5 == 0", "if accelerator.is_main_process:", "    torch.save(loss, 'x')",
               "accelerator.wait_for_everyone()")),
        ("# when due\n" + under("step % 5 == 0 and accelerator.is_main_process", SAVE).replace(":\n", ":  # now\n"),
         "# when due\n" + under("step % 5 == 0", SAVE).replace(":\n", ":  # now\n")),
        # All ranks reach it, on one process, too.
        (under("accelerator.is_main_process or step % 5 == 0", SAVE), SAVE),
        # A separate condition stays where it is.
        (under("step % 5 == 0", "if accelerator.is_main_process:", f"    {SAVE}"), under("step % 5 == 0", SAVE)),
        ("main = accelerator.is_main_process\n" + under("main and step % 5 == 0", SAVE),
         "main = accelerator.is_main_process\n" + under("step % 5 == 0", SAVE)),
    ],
)  # fmt: skip
def test_the_rest_of_a_condition_goes_on_to_be_asked(body, fixed) -> None:
    assert mended(body) == loop(fixed)


def test_one_process_has_the_group_that_the_file_starts() -> None:
    body = under("not accelerator.is_main_process", "torch.distributed.barrier()")
    text = "import torch.distributed\n" + loop(body)
    started = text + "\n\ntorch.distributed.init_process_group()\n"
    fixed = loop("torch.distributed.barrier()")
    assert SNIPPETS.mended(text, unsafe=True) == text
    assert SNIPPETS.mended(started, unsafe=True) == started.replace(loop(body), fixed)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (under("accelerator.is_main_process or loader.due(step)", SAVE), None),
        # A condition that is stored in a name contains more than the rank.
        ("due = accelerator.is_main_process and step % 5 == 0\n" + under("due", SAVE), "not known"),
        (under("step % accelerator.num_processes == accelerator.process_index", SAVE), "not known"),
        (under("0 <= accelerator.process_index < 1", SAVE), "not known"),
        # A single process would do what it never did.
        (under("not accelerator.is_main_process", SAVE), "one process skips this"),
        (under("accelerator.process_index == 1", SAVE), "one process skips this"),
        (under("accelerator.is_main_process", "print(1)") + f"else:\n    {SAVE}\n", "one process skips this"),
        (under("not accelerator.is_main_process", "torch.distributed.barrier()"), "may have no process group"),
        (under("not (step % 5 == 0 and accelerator.is_main_process)", SAVE), "the rest of the condition"),
        (under("(step % 5 == 0 and accelerator.is_main_process) or step > 90", SAVE), "the rest of the condition"),
        # There is no place for the rest of the condition.
        (under("step % 5 == 0 and accelerator.is_main_process", SAVE) + "else:\n    print(1)\n", "`else`"),
        (under("step", "print(1)") + "el" + under("step % 5 == 0 and accelerator.is_main_process", SAVE), "no place"),
        ("x = accelerator.gather(loss) if step and accelerator.is_main_process else None", "same on all ranks"),
        (under("(\n    step % 5 == 0  # now and then\n    and accelerator.is_main_process\n)", SAVE), "comment"),
        (under("(\n    # the first\n    accelerator.is_main_process\n)", SAVE), "comment"),
        # It does more than test.
        (under("(main := accelerator.is_main_process) and step % 5 == 0", SAVE), "more than test"),
        (under("(main := accelerator.is_main_process)", SAVE), "more than test"),
        ("def main():\n    print('asked')\n    return accelerator.is_main_process\n" + under("main()", SAVE),
         "calls a function"),
        # The entries are those of the main process, and whether there are any is what differs.
        (filled_by_one() + under("scores", SAVE), "not known whether the condition holds"),
    ],
)  # fmt: skip
def test_a_condition_whose_rest_is_not_known_is_left_to_the_author(body, reason) -> None:
    text = loop(body)
    assert SNIPPETS.mended(text, unsafe=True) == text
    found = SNIPPETS.findings(text)
    assert len(found) == (reason is not None)
    for finding in found:
        assert finding.fix.applicability is Applicability.DISPLAY
        assert reason in finding.fix.reason


@pytest.mark.parametrize(
    ("condition", "is_mended"),
    [
        ("not self.is_world_process_zero()", True),
        ("self.state.global_step % 5 and not self.is_world_process_zero()", True),
        ("self.state.global_step % 5 or not self.is_world_process_zero()", False),
        ("self.is_world_process_zero()", False),
    ],
)
def test_an_exit_of_other_ranks_only(condition, is_mended) -> None:
    """Everything that one process reached, and nothing else, is done by all."""
    head, save = "def log(self, logs, start_time=None):\n", "    self.evaluate()\n"
    leave = f"    if {condition}:\n        return\n"
    text = trainer(head + leave + save)
    assert SNIPPETS.mended(text, unsafe=True) == (trainer(head + save + leave) if is_mended else text)


# --- patterns of other code bases ------------------------------------------------------------------------

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
    """The findings if the main process calls a writer with more contexts than are kept separate, and then once more."""
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
    assert (
        places(f"""
        import torch.distributed as dist
        if dist.get_rank() == 0:
            rows = [None] * 2
            dist.gather_object(step, rows, dst=0)
        {others}
            dist.gather_object(step, None, dst=0)
    """)
        == []
    )


def test_some_of_the_other_ranks_do_not():
    assert (
        places("""
        import torch.distributed as dist
        if dist.get_rank() == 0:
            dist.gather_object(step, [None] * 2, dst=0)
        elif dist.get_rank() > 1:
            dist.gather_object(step, None, dst=0)
    """)
        != []
    )


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
    assert (
        places("""
        import torch.distributed as dist
        kind = accelerator.state.kind
        if accelerator.is_main_process and kind is None:
            print(step)
        if kind is not None:
            dist.barrier()
    """)
        == []
    )


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
    assert (
        places("""
        import random
        for row in random.sample(range(len(loader.dataset)), 3):
            accelerator.gather(mask[row])
    """)
        == []
    )


@pytest.mark.parametrize(
    ("rows", "speaks"),
    [
        ("ids.size(0)", False),
        ("ids.shape[0]", False),
        ("len(ids)", False),
        ("int(batch['attention_mask'].sum())", True),
        ("ids[ids.sum(1) > 3].size(0)", True),
    ],
)
@pytest.mark.parametrize(
    "parts",
    [
        "parts = []\nfor at in range(0, {rows}, size):\n    parts.append(ids[at : at + size])",
        "parts = [ids[at : at + size] for at in range(0, {rows}, size)]",
    ],
)
def test_a_batch_is_cut_in_as_many_parts_on_all_ranks(parts, rows, speaks):
    cut = parts.format(rows=rows)
    found = places(f"ids = batch['input_ids']\n{cut}\nfor part in parts:\n    accelerator.gather(part.sum())")
    assert found == ["accelerator.gather(part.sum())"] * speaks


def test_parts_go_beside_others():
    found = places("""
        parts = []
        for at in range(0, batch['input_ids'].size(0)):
            parts.append(at)
        for part, other in zip(parts, loaders):
            accelerator.wait_for_everyone()
    """)
    assert found == []


@pytest.mark.parametrize("left_out", ["continue", "break"])
def test_parts_that_a_condition_on_data_leaves_out_are_not_as_many(left_out):
    found = places(f"""
        parts = []
        for at in range(0, batch['input_ids'].size(0), size):
            if batch['input_ids'][at].sum() > 3:
                {left_out}
            parts.append(at)
        for part in parts:
            accelerator.wait_for_everyone()
    """)
    assert found == ["accelerator.wait_for_everyone()"]


FORWARDS = """
    if ids.size(1) != longest:
        {first}
    if skip is None:
        {second}
    return {third}
"""


@pytest.mark.parametrize(
    ("first", "second", "third", "speaks"),
    [
        ("return accelerator.gather(ids)", "return accelerator.gather(ids)", "accelerator.gather(ids)", False),
        ("return None", "return accelerator.gather(ids)", "accelerator.gather(ids)", True),
        ("return accelerator.gather(ids)", "ids = accelerator.gather(ids)", "accelerator.gather(ids)", True),
        ("return accelerator.gather(ids)", "accelerator.wait_for_everyone()", "accelerator.gather(ids)", True),
    ],
)
def test_each_of_three_ways_meets_once(first, second, third, speaks):
    body = FORWARDS.format(first=first, second=second, third=third)
    text = (
        f"from accelerate import Accelerator\n\naccelerator = Accelerator()\n\ndef encode(ids, longest, skip):{body}\n"
        "loader = accelerator.prepare(DataLoader(data))\nfor batch in loader:\n"
        "    encode(batch['input_ids'], 77, options.skip)\n"
    )
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    "call",
    [
        "accelerator.prepare(torch.nn.Linear(2, 2))",
    ],
)
def test_models_are_wrapped_by_all_ranks(call):
    assert places(f"if accelerator.is_main_process:\n    {call}") == [call]
    assert places(call) == []


def test_a_loader_is_prepared_by_each_rank_for_itself():
    assert places("if accelerator.is_main_process:\n    accelerator.prepare(loader)") == []


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("model = accelerator.prepare(accelerator.unwrap_model(model))", True),
        ("a, b = accelerator.prepare(loader, AutoModel.from_pretrained('x'))", True),
        ("a = accelerator.prepare_model(AutoModel.from_pretrained('x'))", True),
        ("a = accelerator.prepare_model(AutoModel.from_pretrained('x'), evaluation_mode=True)", False),
        ("a = accelerator.prepare(AutoModel.from_pretrained('x').requires_grad_(False))", False),
        ("a = accelerator.prepare(loader)", False),
    ],
)
def test_ranks_meet_where_a_model_is_wrapped(call, is_reported):
    text = "from transformers import AutoModel\n" + loop(f"if accelerator.is_main_process:\n    {call}")
    found = [each for each in SNIPPETS.findings(text) if "`prepare" in each.message]
    assert bool(found) is is_reported
    assert not SNIPPETS.findings(text.replace("is_main_process", "sync_gradients"))


@pytest.mark.parametrize(
    ("before", "is_reported"),
    [
        ("", True),
        ("score.requires_grad_(False)", False),
        ("for p in score.parameters():\n    p.requires_grad = False", False),
    ],
)
def test_what_was_frozen_before_it_is_prepared_is_not_wrapped(before, is_reported):
    lines = f"score = lpips.LPIPS(net='vgg').cuda()\n{before}\nscore = accelerator.prepare(score)\n"
    text = "import lpips\n" + loop(lines + "if accelerator.is_main_process:\n    score(batch)")
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("torch.jit.trace(model, batch)", True),
        ("torch.jit.trace(accelerator.unwrap_model(model), batch)", False),
        ("torch.jit.trace(thing, batch)", False),
    ],
)
def test_what_traces_a_model_runs_it(call, is_reported):
    assert bool(places(f"if accelerator.is_main_process:\n    {call}")) is is_reported


OF_SETTINGS = """\
from accelerate import Accelerator

def keep(accelerator, args):
    {test}
        accelerator.wait_for_everyone()

def main(args):
    accelerator = Accelerator()
    if {condition}:
        keep(accelerator, args)
"""


@pytest.mark.parametrize(
    ("test", "condition", "speaks"),
    [
        ("if args.lora:", "accelerator.is_main_process", True),
        ("if args.lora:", "accelerator.is_main_process or args.debug", False),
        ("if args.lora:", "accelerator.is_main_process or args.use_deepspeed", True),
        ("if args.lora:", "args.lora or accelerator.is_main_process", False),
        ("if args.use_deepspeed:", "accelerator.is_main_process or args.use_deepspeed", False),
        ("if wanted():", "accelerator.is_main_process", False),
        ("if args.lora:", "wanted() or accelerator.is_main_process", False),
    ],
)
def test_a_helper_that_asks_for_settings_may_wait_on_those_who_come(test, condition, speaks):
    text = OF_SETTINGS.format(test=test, condition=condition)
    assert bool(SNIPPETS.findings(text)) is speaks


OF_ITEMS = """\
import torch
from accelerate import Accelerator

def collect(accelerator, rows, chosen):
    found = []
    for index, row in enumerate(rows):
        {test}
            continue
        found.append(accelerator.gather(row))
    return found

def main(rows, chosen):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        collect(accelerator, rows, chosen)
"""


@pytest.mark.parametrize(
    ("test", "speaks"),
    [
        ("if row is None:", True),
        ("if not row is not None:", False),
        # They may leave out all of the rows, or any rank but the ones that wait.
        ("if chosen is None:", False),
        ("if row not in chosen:", False),
        ("if wanted(row) is None:", False),
    ],
)
def test_a_loop_of_a_helper_that_leaves_out_what_is_none_gets_to_the_others(test, speaks):
    assert bool(SNIPPETS.findings(OF_ITEMS.format(test=test))) is speaks


IN_LOOP = """\
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, rounds):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.rounds = rounds

    def validate(self, batches):
        {loop}
            self.model(next(batches))

    def train(self, batches, steps):
        for step in range(steps):
            self.accelerator.backward(self.model(next(batches)))
            if {condition}:
                self.validate(batches)
            self.accelerator.wait_for_everyone()
"""


@pytest.mark.parametrize(
    ("loop", "condition", "speaks"),
    [
        ("for _ in range(self.rounds):", "self.accelerator.is_main_process", True),
        ("for _ in range(self.rounds):", "self.accelerator.is_main_process and step % 10 == 0", True),
        ("for _ in range(self.rounds):", "step % 10 == 0", False),
        ("if self.rounds:", "self.accelerator.is_main_process", False),
        ("while self.rounds():", "self.accelerator.is_main_process", False),
    ],
)
def test_a_loop_of_a_helper_has_some_rounds(loop, condition, speaks):
    """A caller on one rank relies on that, though not on how many there are."""
    assert bool(SNIPPETS.findings(IN_LOOP.format(loop=loop, condition=condition))) is speaks


WRAPPED_ELSEWHERE = """import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def evaluate(model, args, epoch, batches):
    if dist.get_rank() != 0:
        return
    {test}
    for batch in batches:
        model(batch)

def main(args, model, batches):
    if args.distributed:
        model = DistributedDataParallel(model)
    for epoch in range(args.epochs):
        for batch in batches:
            model(batch).mean().backward()
        evaluate(model, args, epoch, batches)
"""


@pytest.mark.parametrize(
    ("test", "speaks"),
    [
        ("", True),
        ("if epoch % args.every: return", True),
        ("if args.model == 'small': return", True),
        ("if args.skip_initial: return", True),
        ("if 'val' not in batches: return", True),
        ("if batches.parts > 1: model = model.module", False),
        ("if batches == 1: return", False),
        # Of a container, a text and a key: none is a number of processes.
        ("if batches: return", True),
        ("if isinstance(batches, list): return", True),
        ("if epoch in ('first', 'last'): return", True),
        ("if args['every']: return", True),
        ("if args['ddp']: model = model.module", False),
        ("if epoch in ('first', 'ddp'): return", False),
        ("if args[epoch]: return", False),
        ("if args.distributed: model = model.module", False),
        ("if args.world_size > 1: model = model.module", False),
        ("if hasattr(model, 'module'): model = model.module", False),
        ("model = model.module", False),
    ],
)
def test_a_model_that_is_wrapped_on_one_way_stays_so_behind_what_does_not_ask_for_that(test, speaks):
    assert bool(SNIPPETS.findings(WRAPPED_ELSEWHERE.format(test=test))) is speaks


# --- the default set ------------------------------------------------------------------------------------

KIND = (
    "if args.more:\n    {0} = {{}}\n    if args.rows:\n        {0}['rows'] = args.rows\n"
    "    batch = {{**batch, **{0}}}\nkind = batch.get('kind', '')\nif kind == 'a':\n    accelerator.gather(loss)"
)
CHAIN = (
    "if accelerator.is_main_process:\n    accelerator.gather(loss)\n"
    "elif accelerator.process_index == 1:\n    accelerator.gather(loss)\n    accelerator.gather(mask)\n"
)


@pytest.mark.parametrize(
    ("body", "is_there"),
    [
        ("if accelerator.is_main_process:\n    accelerator.gather(loss)", True),
        (
            "if accelerator.is_main_process:\n    accelerator.gather(loss)\n    accelerator.gather(mask)\n"
            "else:\n    accelerator.gather(loss)",
            False,
        ),
        (
            "if accelerator.is_main_process:\n    accelerator.gather(loss)\nelse:\n    accelerator.print(loss)",
            True,
        ),
        (KIND.format("losses"), True),
        (KIND.format("loss_kwargs"), False),
        (f"{CHAIN}else:\n    raise ValueError", False),
        (f"{CHAIN}else:\n    pass", True),
        (CHAIN, True),
        (f"if args.skips:\n    pass\nel{CHAIN}else:\n    raise ValueError", True),
        ("if accelerator.process_index > 0:\n    accelerator.gather(loss)", True),
        ("if accelerator.process_index >= args.size:\n    accelerator.gather(loss)", False),
        ("if mask.any():\n    accelerator.gather(loss)", True),
        ("if torch.isnan(loss):\n    accelerator.gather(loss)", True),
        ("if torch.isnan(mask).any():\n    accelerator.gather(loss)", False),
        # What the model returns may become NaN in training, as the loss may.
        ("seen = model(**batch).logits\nif torch.isnan(seen.max()):\n    accelerator.gather(loss)", True),
        ("a, b = model(**batch)\nworst = b.max()\nif torch.isnan(worst):\n    accelerator.gather(loss)", True),
        (
            "with torch.no_grad():\n    seen = model(mask)\nif torch.isnan(seen).any():\n    accelerator.gather(loss)",
            False,
        ),
        ("if torch.isnan(mask).any():\n    accelerator.gather(loss)\nmask = model(mask)", False),
        ("seen = model(mask)\nif torch.isnan(batch.seen).any():\n    accelerator.gather(loss)", False),
        ("if accelerator.is_main_process:\n    with torch.no_grad():\n        model(**batch)", False),
        ("for row in batch['input_ids'][mask]:\n    accelerator.gather(row)", False),
        ("if torch.rand(1).item() > 0.5:\n    accelerator.gather(loss)", False),
        ("noisy = loss + torch.rand(1)\nif noisy.item() > 0.5:\n    accelerator.gather(loss)", True),
        # Noise makes a loss on this rank's own data no less its own; a loss on noise alone may be the same everywhere.
        ("noisy = loss + torch.rand(1)\nif torch.isnan(noisy + loss):\n    accelerator.gather(loss)", True),
        (
            "loss = model(mask + torch.rand_like(mask)).mean()\nif torch.isnan(loss):\n    accelerator.gather(loss)",
            True,
        ),
        ("loss = model(torch.rand(1)).mean()\nif torch.isnan(loss):\n    accelerator.gather(loss)", False),
        ("noisy = mask + torch.rand(1)\nif torch.isnan(noisy).any():\n    accelerator.gather(loss)", False),
    ],
)
def test_what_depends_on_data_on_chance_or_on_buffers_has_to_be_asked_for(body, is_there):
    assert [each.by_default for each in SNIPPETS.findings(loop(body))] == [is_there]


@pytest.mark.parametrize(
    ("result", "condition", "by_default"),
    [
        ("total.item()", "evaluate(net, loader) > 3", True),
        ('{"of": total.item() / n}', "bad > 3", True),
        ("share(total)", "evaluate(net, loader) > 3", True),
        ("n", "evaluate(net, loader) > 3", False),
    ],
)
def test_numbers_that_a_function_of_the_same_file_returns(result, condition, by_default):
    text = f"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def share(total):
    return total.item() / dist.get_world_size()



def evaluate(net, loader):
    total, n = torch.zeros((), device="cuda"), 0
    for x, y in loader:
        total += (net(x.cuda()) - y.cuda()).abs().sum()
        n += len(x)
    return {result}


def main(net, rows):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net.cuda())
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    best, bad = 9.0, 0
    for _ in range(10):
        found = evaluate(net, loader)
        if found["of"] < best:
            best, bad = found["of"], 0
        else:
            bad += 1
        if {condition}:
            break
        dist.barrier()


main(torch.nn.Linear(3, 1), [])
"""
    assert {each.start.line: each.by_default for each in SNIPPETS.findings(text)}.get(33) is by_default


FINISHED_STEPS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def train(net, data, steps, args):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    step = 0
    while {goes_on}:
        for number, batch in enumerate(loader):
            loss = model(batch["x"]).mean()
            {before}
            if torch.isnan(loss):
                continue
            loss.backward()
            {counts}
            {after}
"""


@pytest.mark.parametrize(
    ("parts", "by_default"),
    [
        ({}, False),
        ({"goes_on": "True", "after": "if step == steps: return"}, False),
        ({"goes_on": "True", "after": "if step == args.steps: return"}, False),
        ({"after": "if step % 10 == 0: dist.barrier()"}, False),
        ({"after": "if args.meets: dist.barrier()"}, False),
        # The next forward of a rank that skips waits for the buffers.
        ({"before": "net.apply(lambda each: isinstance(each, torch.nn.BatchNorm2d))"}, True),
        ({"before": "dist.barrier()"}, True),
        ({"after": "if number % 10 == 0: dist.barrier()"}, True),
        ({"after": "if number == steps: break"}, False),
        ({"after": "if number == steps: return"}, True),
        ({"goes_on": "True"}, True),
        ({"goes_on": "number < steps"}, True),
        ({"counts": "step -= 1"}, True),
        ({"counts": "if number % 2: step += 1"}, True),
        ({"counts": "step += 1; step = number"}, True),
        ({"before": "step += 1", "counts": "pass"}, True),
        ({"counts": "if args.skips: continue", "after": "step += 1"}, True),
    ],
)
def test_a_skipped_backward_pass_where_a_loop_ends_after_a_number_of_finished_steps(parts, by_default):
    filled = {"goes_on": "step < steps", "before": "pass", "counts": "step += 1", "after": "pass", **parts}
    (found,) = (each for each in SNIPPETS.findings(FINISHED_STEPS.format(**filled)) if "isnan" in each.message)
    assert found.by_default is by_default


@pytest.mark.parametrize(
    ("body", "is_there"),
    [
        ("if batch['input_ids'].shape[1] > 512:\n    accelerator.gather(loss)", False),
        ("if len(batch['texts']) > 4 and args.gathers:\n    accelerator.gather(loss)", False),
        ("rows, longest = batch['input_ids'].shape\nif longest > 512:\n    accelerator.gather(loss)", False),
        ("seen = 0\nseen += int(batch['x'].size(0) / 2)\nif seen >= 2 * 4:\n    accelerator.gather(loss)", False),
        ("part = int(len(batch['x']) * PART + 0.5)\nif part > 0:\n    accelerator.gather(loss)", False),
        ("part = len(batch['x']) * args.part\nif part > 0:\n    accelerator.gather(loss)", False),
        ("part = len(batch['x']) * loss.item()\nif part > 0:\n    accelerator.gather(loss)", True),
        # An attribute may be any number, or a setting.
        ("part = 2 * batch.weight\nif part > 0:\n    accelerator.gather(loss)", False),
        ("if batch.weight.max() > 0:\n    accelerator.gather(loss)", True),
        ("if batch['edges'].numel() == 0:\n    accelerator.gather(loss)", True),
        ("stop = False\nif loss > 3:\n    stop = True\nif stop:\n    accelerator.gather(loss)", True),
        ("if batch['task'] in TASKS:\n    accelerator.gather(loss)", False),
        ("if 'pairs' == batch['task']:\n    accelerator.gather(loss)", False),
        # Whoever makes the batches marks them, maybe on all ranks alike.
        ("marked = bool(batch.pop('marked', False))\nif marked:\n    accelerator.gather(loss)", False),
        (
            "marked = bool(batch.get('marked', False)) and not 'raw' in batch\n"
            "if args.again:\n    marked = False\nif not marked:\n    accelerator.gather(loss)",
            False,
        ),
        ("marked = bool(batch.pop('marked', mask.any()))\nif marked:\n    accelerator.gather(loss)", True),
        (
            "marked = bool(batch.pop('marked', False))\nif loss > 3:\n    marked = True\n"
            "if marked:\n    accelerator.gather(loss)",
            True,
        ),
        ("marked = bool(batch.pop('marked', None))\nif marked:\n    accelerator.gather(loss)", True),
        # How often a test of the numbers was true is no size.
        ("bad = 0\nif loss > 3:\n    bad += 1\nif bad >= args.patience:\n    accelerator.gather(loss)", True),
        # Nor is what one rank has counted another rank's number.
        (
            "bad = 0\nif accelerator.is_main_process:\n    bad += 1\n"
            "if bad >= args.patience:\n    accelerator.gather(loss)",
            True,
        ),
        ("if accelerator.process_index >= args.size:\n    accelerator.gather(loss)", False),
        # How many are picked depends on the values.
        ("picked = loss[mask]\nif len(picked) > 3:\n    accelerator.gather(loss)", True),
        ("if len([x for x in batch['x'] if x > 0]) > 3:\n    accelerator.gather(loss)", True),
        ("if torch.nonzero(mask).size(0) > 3:\n    accelerator.gather(loss)", True),
        # So does a comparison with a count.
        ("if mask.sum() > len(batch['texts']):\n    accelerator.gather(loss)", True),
        ("seen = 0\nseen += mask.sum().item()\nif seen >= 8:\n    accelerator.gather(loss)", True),
    ],
)
def test_how_large_batches_are_and_what_texts_they_have_has_to_be_asked_for(body, is_there):
    assert [each.by_default for each in SNIPPETS.findings(loop(body))] == [is_there]


PREDICATE = """
import torch
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        mask = inputs["attention_mask"]
        loss = model(**inputs).loss
        if {test}:
            return loss * 0.0
        return loss / self.accelerator.gather(mask.sum()).sum()

    def asked(self, rows):
        {asked}

def asked_of(rows):
    {asked}
"""


@pytest.mark.parametrize("test", ["self.asked(mask)", "not asked_of(mask)", "self.args.skips and asked_of(mask)"])
@pytest.mark.parametrize(
    ("asked", "is_there"),
    [
        ("return int(rows.sum()) == 0", True),
        ("found = rows.any()\n{0}return found", True),
        ("if rows.max() > 9:\n{0}    return True\n{0}return False", True),
        # The same tests have to be asked for where they stand in the condition itself.
        ("return len(rows) == 0", False),
        ("return rows.shape[0] < 4", False),
        ("return torch.isnan(rows).any()", False),
        # One of two results shows nothing.
        ("if rows.any():\n{0}    return rows.is_marked\n{0}return rows.sum() > 0", False),
    ],
)
def test_what_is_asked_for_in_a_function_of_the_project_counts_as_in_the_condition(test, asked, is_there):
    text = PREDICATE.replace("        {asked}", "        " + asked.format(" " * 8), 1)
    text = text.replace("    {asked}", "    " + asked.format(" " * 4), 1).format(test=test)
    assert any(each.by_default for each in SNIPPETS.findings(text)) is is_there


COPIED = """
import os
import shutil

import torch.distributed as dist
from accelerate import Accelerator

def start(args):
    source = found(args)
    if os.path.isdir(source):
        if int(os.environ["LOCAL_RANK"]) == 0:
            {}
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("does", "speaks"),
    [
        ("shutil.copytree(source, '/tmp/model')", False),
        ("shutil.copytree('/base/model', source)", True),
        ("shutil.move(source, '/tmp/model')", True),
        ("shutil.rmtree(source)", True),
    ],
)
def test_what_is_copied_stays_where_it_is(does: str, speaks: bool):
    assert bool(SNIPPETS.findings(COPIED.format(does))) is speaks


def test_what_may_be_the_left_side_of_or_is_no_true():
    text = (
        "from accelerate import Accelerator\naccelerator = Accelerator()\n\ndef total(loss):\n"
        "    value = accelerator.process_index or True\n    if value == 1:\n        accelerator.gather(loss)\n"
    )
    assert SNIPPETS.findings(text)


@pytest.mark.parametrize("guard", ["if local_rank == 0:", "if True:"])
def test_a_file_that_names_deepspeed_alone_concerns_several_ranks(guard):
    """Every rank has to save: the engine waits for all of them."""
    text = (
        "import deepspeed\n\ndef main(args, model):\n    local_rank = int(os.environ['LOCAL_RANK'])\n"
        "    engine, *_ = deepspeed.initialize(args=args, model=model)\n"
        f"    {guard}\n        engine.save_checkpoint(args.output_dir)\n"
    )
    assert bool(SNIPPETS.findings("import os\n" + text)) is (guard != "if True:")


def test_a_forward_without_gradients_does_not_hide_what_comes_behind_it():
    """It may be no synchronisation point if the model has no buffers; the collective after it is one."""
    guard, forward = "if accelerator.is_main_process:", "with torch.no_grad():\n        y = model(**batch)"
    found = SNIPPETS.findings(loop(f"{guard}\n    {forward}\n    accelerator.gather(y)"))
    assert [each.by_default for each in found] == [False, True]
    helper = f"\ndef evaluate(accelerator, model, batch):\n    {forward}\n    {{}}\n"
    called = loop(f"{guard}\n    evaluate(accelerator, model, batch)")
    for last, by_default in (("accelerator.gather(y)", True), ("return y", False)):
        (found,) = SNIPPETS.findings(called + helper.format(last))
        assert found.by_default is by_default


@pytest.mark.parametrize(
    ("condition", "speaks"),
    [
        ("step % args.every == 0 and loss.item() > 2.0", True),
        ("loss.item() > 2.0 and step % args.every == 0", True),
        ("step % args.every == 0 and accelerator.gather(loss).mean().item() > 2.0", False),
        ("step % args.every == 0 and judged(loss)", False),
    ],
)
def test_a_question_for_the_data_stays_one_beside_a_setting(condition, speaks):
    """All ranks evaluate the other part of the condition in the same way."""
    parsed = "def main(model, optimizer, loader):\n    args = argparse.ArgumentParser().parse_args()\n"
    script = loop(f"if {condition}:\n    accelerator.wait_for_everyone()").replace(
        "def train(model, optimizer, loader):\n", parsed
    )
    kept = loop(f"if {condition.replace('args', 'self.args')}:\n    accelerator.wait_for_everyone()").replace(
        "def train(model,", "def train(self, model,"
    )
    for text in (f"import argparse\n{script}", script.replace(parsed, parsed.replace("parse_args()", "parse()")), kept):
        assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["accelerator.wait_for_everyone()"] * speaks


# --- the base class's source is unavailable ---------------------------------------------------------------

SKIPPED = "keep = inputs['advantages'].abs() > 0\nif keep.sum().item() == 0:\n    return torch.zeros(())\n"


@pytest.mark.parametrize(
    ("name", "body", "places"),
    [
        ("compute_loss", f"{SKIPPED}return super().compute_loss(model, inputs)", ["return"]),
        ("compute_loss", f"{SKIPPED}return super().compute_loss(self.reference, inputs)", []),
        ("compute_loss", f"loss = super().compute_loss(model, inputs)\n{SKIPPED}return loss", []),
        (
            "training_step",
            "try:\n    return super().training_step(model, inputs)\n"
            "except torch.cuda.OutOfMemoryError:\n    return torch.zeros(())",
            ["return"],
        ),
        (
            "training_step",
            "try:\n    return super().training_step(model, inputs)\nexcept torch.cuda.OutOfMemoryError:\n    raise",
            [],
        ),
    ],
)
def test_a_loss_of_trainers_own_is_a_forward_of_the_wrapped_model(name, body, places):
    text = trainer(f"def {name}(self, model, inputs, *args, **kwargs):\n{indent(body, ' ' * 4)}")
    assert SNIPPETS.places(text) == places


@pytest.mark.parametrize(("parameter", "base", "speaks"), [
    ("trainer", "TrainerCallback", True),
    ("keeper", "TrainerCallback", False),
    ("trainer", "Something", False),
])  # fmt: skip
def test_the_trainer_that_a_callback_is_given_is_one(parameter, base, speaks):
    text = (
        f"from transformers import Trainer, {base}\n\nclass Evaluates({base}):\n"
        f"    def __init__(self, {parameter}):\n        self.owner = {parameter}\n\n"
        "    def on_epoch_end(self, args, state, control, **kwargs):\n"
        "        if state.is_world_process_zero:\n            self.owner.evaluate()\n"
    )
    assert SNIPPETS.places(text) == ["self.owner.evaluate()"] * speaks


def test_the_main_process_goes_first_whoever_is_asked_to_let_it():
    text = "import torch.distributed as dist\n\ndef load(args, build):\n{}    with args.main_process_first():\n"
    guarded = text.format("    if dist.get_rank() == 0:\n    ") + "            return build()\n"
    assert SNIPPETS.places(guarded) == ["args.main_process_first()"]
    assert SNIPPETS.places(text.format("") + "        return build()\n") == []


EVALUATES_IN_A_HELPER = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from rows import rows_of


class Run:
    def __init__(self):
        self.rank = int(os.environ["RANK"])

    @property
    def is_main(self):
        return self.rank == 0


@torch.no_grad()
def evaluate(model, rows):
    total = 0
    for row in rows:
        total += model(row).mean().item()
    return total


def train(net, folder):
    dist.init_process_group("nccl")
    run = Run()
    model = DistributedDataParallel(net)
    for row in rows_of(folder):
        model(row).mean().backward()
    {call}
"""


@pytest.mark.parametrize(
    ("call", "is_reported"),
    [
        ("if run.is_main:\n        print(evaluate(model, rows_of(folder)))", True),
        ("if run.rank == 0:\n        print(evaluate(model, rows_of(folder)))", True),
        ("if int(os.environ['LOCAL_RANK']) < 1:\n        print(evaluate(model, rows_of(folder)))", True),
        ("if run.is_main:\n        print(evaluate(model.module, rows_of(folder)))", False),
        ("score = evaluate(model, rows_of(folder))\n    if run.is_main:\n        print(score)", False),
    ],
)
def test_a_loop_in_a_helper_has_rounds_for_the_rank_that_the_launcher_numbers(call, is_reported):
    """A function that is called on one rank alone runs its loop, as if `dist.get_rank()` gave the rank."""
    text = EVALUATES_IN_A_HELPER.format(call=call)
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        (
            "if dist.get_rank() == 0:\n        whole = {name: p.full_tensor() for name, p in model.named_parameters()}",
            True,
        ),
        (
            "whole = {name: p.full_tensor() for name, p in model.named_parameters()}\n"
            "    if dist.get_rank() == 0: show(whole)",
            False,
        ),
        ("norm = clip(model)\n    if dist.get_rank() == 0: print(norm.full_tensor())", True),
        ("norm = clip(model).full_tensor()\n    if dist.get_rank() == 0: print(norm)", False),
    ],
)
def test_a_sharded_tensor_is_put_together_by_all_ranks(body, is_reported):
    text = f"""\
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

def main(model):
    dist.init_process_group("nccl")
    fully_shard(model)
    {body}
"""
    assert bool(SNIPPETS.findings(text)) is is_reported


OF_FABRIC = """
import torch
from lightning.fabric import Fabric


class Trainer:
    def __init__(self, model, fabric=None):
        self.fabric = fabric or Fabric(devices=8, strategy="ddp")
        self.model = self.fabric.setup(model)

    def fit(self, loader):
        for batch in loader:
            loss = self.model(batch)
            {before}
            {call}

    def optimise(self, loss, *, divide):
        self.fabric.backward(loss / divide)

    def show(self, loss):
        print(loss)
"""


SKIPS_BATCH = "if not torch.isfinite(loss):\n                continue"


@pytest.mark.parametrize(
    ("before", "call", "is_found"),
    [
        (SKIPS_BATCH, "self.optimise(loss / 2, divide=4)", True),
        (SKIPS_BATCH, "self.fabric.backward(loss)", True),
        (SKIPS_BATCH, "self.show(loss)", False),
        (
            f"if batch.more:\n                loss = more_of(batch)\n            {SKIPS_BATCH}",
            "self.fabric.backward(loss)",
            True,
        ),
        (
            f"{SKIPS_BATCH}\n            if batch.more:\n                loss = more_of(batch)",
            "self.optimise(loss, divide=2)",
            True,
        ),
        (
            f"{SKIPS_BATCH}\n            if batch.more:\n                loss = more_of(batch)\n"
            "            else:\n                loss = less_of(batch)",
            "self.optimise(loss, divide=2)",
            False,
        ),
        # A method of the same name, of another object.
        (SKIPS_BATCH, "self.other.optimise(loss, divide=2)", False),
        (
            "loss = reduce_loss(loss)\n            if loss > 9:\n                continue",
            "self.optimise(loss, divide=2)",
            False,
        ),
    ],
)
def test_a_backward_pass_of_fabric_in_a_method_of_its_own(before, call, is_found):
    assert bool(SNIPPETS.findings(OF_FABRIC.format(before=before, call=call))) is is_found


UNDER_DEEPSPEED = """
import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def train(net, rows):
    engine, *_ = deepspeed.initialize(model=net, config="ds.json")
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = engine(batch).loss
        {body}
        engine.step()
"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("if dist.get_rank() == 0:\n            engine.backward(loss)", True),
        ("if not torch.isfinite(loss):\n            continue\n        engine.backward(loss)", True),
        ("engine.backward(loss)\n        if dist.get_rank() == 0:\n            print(loss)", False),
        (
            "bad = (~torch.isfinite(loss)).int()\n        dist.all_reduce(bad)\n        if bad > 0:\n"
            "            continue\n        engine.backward(loss)",
            False,
        ),
    ],
)
def test_a_backward_pass_of_an_engine(body, is_found):
    assert bool(SNIPPETS.findings(UNDER_DEEPSPEED.format(body=body))) is is_found


IN_EVALUATION = """
import torch
from {package} import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def evaluate(net, rows, worst):
    model = DistributedDataParallel(net)
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        if batch["y"].sum() > 3:
            continue
        {with_or_without}:
            print(model(batch["x"]))
"""


@pytest.mark.parametrize(
    ("package", "with_or_without", "is_found"),
    [
        ("torch.nn.parallel", "with torch.no_grad()", True),
        ("apex.parallel", "if batch", True),
        ("apex.parallel", "with torch.no_grad()", False),
        ("apex.parallel.distributed", "with torch.inference_mode()", False),
    ],
)
def test_apex_sends_nothing_in_a_forward_pass_without_gradients(package, with_or_without, is_found):
    text = IN_EVALUATION.format(package=package, with_or_without=with_or_without)
    assert bool(SNIPPETS.findings(text)) is is_found


FAILING_STEP = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def run(model, x):
    loss = model(x).sum()
    loss.backward()

def main(batches, criterion, scaler, other):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
    for x in batches:
        try:
            {step}
        except {error}:
            continue
"""


@pytest.mark.parametrize(
    ("step", "speaks"),
    [
        ("model(x).sum().backward()", True),
        ("criterion(model(x), x).backward()", True),
        ("scaler.scale(model(x).sum()).backward()", True),
        ("run(model, x)", True),
        ("loss = model(x).sum(); loss.backward()", True),
        ("model(x)", False),
        ("other(x).sum().backward()", False),
        ("all_reduce_mean(model(x)).backward()", False),
    ],
)
def test_a_step_in_one_expression_skips_the_backward_as_one_in_two_lines(step, speaks):
    findings = SNIPPETS.findings(FAILING_STEP.format(step=step, error="torch.cuda.OutOfMemoryError"))
    assert ["the `try` fails skip `backward`" in each.message for each in findings] == [True] * speaks


@pytest.mark.parametrize(
    ("step", "missed", "by_default"),
    [
        ("model(x).sum().backward()", "skip `backward`", True),
        ("run(model, x)", "skip `backward`", True),
        ("other(x)", "do not reach `all_reduce`", False),
        ("other(x).sum().backward()", "do not reach `all_reduce`", False),
    ],
)
def test_a_skipped_backward_is_what_the_others_wait_in_first(step, missed, by_default):
    text = FAILING_STEP.format(step=step, error="torch.cuda.OutOfMemoryError")
    (found,) = SNIPPETS.findings(f"{text}        dist.all_reduce(x)\n")
    assert (missed in found.message, found.by_default) == (True, by_default)


def test_a_step_of_a_helper_may_fail_for_many_reasons():
    assert SNIPPETS.findings(FAILING_STEP.format(step="run(model, x)", error="RuntimeError")) == []


STEP = """\
from accelerate import Accelerator

from own import loss_of{imported}

{made}
def main(model, data):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for batch in loader_of(accelerator, data):
        out = model(**batch)
        loss = loss_of(out)
        rows = batch["mask"].sum()
        if {test}:
            continue
        accelerator.backward(loss)
"""
LOSS = "def loss_of(step):\n    return step.loss.sum()\n\n"
LOADER = """\
from torch.utils.data import DataLoader

def loader_of(accelerator, data):
    return accelerator.prepare(DataLoader(data, shuffle=True))

"""


@pytest.mark.parametrize(
    ("test", "is_elsewhere", "by_default"),
    [
        ("rows > 9", False, True),
        ("rows > 9", True, False),
        # No loader makes losses agree, nor what the model returns.
        ("loss.item() > 9", True, True),
        ("out.max().isnan()", True, True),
        ("rows.max().isnan()", True, False),
        # What the rank decides is the same wherever the data come from.
        ("accelerator.is_main_process", True, True),
    ],
)
def test_data_of_another_file_have_to_be_asked_for(test, is_elsewhere, by_default, tmp_path):
    imported, made = (", loader_of", "") if is_elsewhere else ("", LOADER)
    (tmp_path / "own.py").write_text(LOADER + LOSS)
    (tmp_path / "train.py").write_text(STEP.format(imported=imported, made=made, test=test))
    (found,) = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    assert found.by_default is by_default


STOPS = """\
class Stopper:
    def __init__(self):
        self.best, self.stop = None, False

    def tell(self, {name}):
        if self.best is None or {name} < self.best:
            self.best = {name}
        else:
            self.stop = True

"""
STOPPED = """\
import torch

def train(model, loader, stopper, epochs):
    for _ in range(epochs):
        for rows in loader:
            model(rows).mean().backward()
        with torch.no_grad():
            total = sum(model(rows).mean().item() for rows in loader) / len(loader)
        stopper.tell(total)
        if stopper.stop:
            break
"""
TRAINED_THERE = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader
from own import Stopper, train

def main(model, rows):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(rows))
    train(model, loader, Stopper(), 9)
"""


@pytest.mark.parametrize(("name", "by_default"), [("loss", True), ("length", False)])
def test_a_flag_that_a_test_of_a_loss_has_set_is_on_a_trained_number(name, by_default, tmp_path):
    (tmp_path / "own.py").write_text(STOPPED + STOPS.format(name=name))
    (tmp_path / "train.py").write_text(TRAINED_THERE)
    (found,) = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    assert found.by_default is by_default


MAKES_GROUPS = """\
import torch.distributed as dist

def groups(size, ranks, rank):
    {body}

def main():
    dist.init_process_group("nccl"{device})
    groups(2, [0, 1], dist.get_rank())

main()
"""
OF_EACH = "for start in range(0, 8, size):\n    ranks = range(start, start + size)\n    "
LEFT_BY_MEMBERS = OF_EACH + "group = dist.new_group(ranks)\n    if rank in ranks:\n        break"
BY_MEMBERS = "if rank in ranks:\n    dist.new_group(ranks)"


@pytest.mark.parametrize(
    ("body", "by_default"),
    [
        (LEFT_BY_MEMBERS, False),
        (LEFT_BY_MEMBERS.replace("break", "return group"), False),
        (BY_MEMBERS, False),
        ("if rank not in ranks:\n    return\ndist.new_group(ranks=ranks)", False),
        # The others wait for these ranks, or groups get the same name.
        (LEFT_BY_MEMBERS + "\ndist.new_group()", True),
        (OF_EACH + "if rank in ranks:\n        break\n    dist.new_group(ranks)", True),
        (OF_EACH + BY_MEMBERS.replace("\n", "\n    "), True),
        (BY_MEMBERS + "\ndist.new_group()", True),
        ("if rank == 0:\n    return\ndist.new_group()", True),
        ("if rank == 0:\n    dist.new_group(ranks)", True),
    ],
)
def test_a_group_that_all_its_members_make_has_to_be_asked_for(body, by_default):
    text = MAKES_GROUPS.format(body=body.replace("\n", "\n    "), device="")
    finding = SNIPPETS.finding(text)
    assert finding.by_default is by_default
    assert ("later have other names on them" in finding.message) is not by_default
    split = SNIPPETS.finding(MAKES_GROUPS.format(body=body.replace("\n", "\n    "), device=", device_id=device"))
    assert split.by_default is True


# --- ranks that the program is passed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "speaks"),
    [
        ("dist.init_process_group('nccl', rank=me, world_size=4)", True),
        ("dist.init_process_group('nccl', rank=other, world_size=4)", False),
        ("dist.init_process_group('nccl')", False),
    ],
)
def test_a_number_that_is_passed_to_the_process_group_is_the_rank(start, speaks):
    numbers = "import sys\nimport torch.distributed as dist\n\nme = int(sys.argv[1])\nother = int(sys.argv[2])\n"
    assert bool(SNIPPETS.findings(f"{numbers}{start}\nif me == 1:\n    dist.barrier()\n")) is speaks


# --- what DDP sends in a forward ------------------------------------------------------------------------

WITH_DDP = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, batches: torch.utils.data.DataLoader, extra, distributed):
    net = {wrapped}
    for batch in batches:
        net(batch).sum().backward()
        if dist.get_rank() == 0:
            {body}
"""
QUIET = "DistributedDataParallel(net, broadcast_buffers=False)"


@pytest.mark.parametrize(
    ("wrapped", "body", "speaks"),
    [
        (QUIET, "print(net(extra))", False),
        (QUIET + " if distributed else net", "print(net(extra))", False),
        (QUIET.replace("=False", "=True"), "print(net(extra))", True),
        (f"DistributedDataParallel(net) if extra.a else {QUIET}", "print(net(extra))", True),
        ("DistributedDataParallel(net)", "print(net(extra))", True),
        (QUIET.replace("(net,", "(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net),"), "print(net(extra))", True),
        (QUIET, "net(batch).sum().backward()", True),
        (QUIET, "net(extra); dist.barrier()", True),
        (QUIET, "net(extra); continue", False),
        # A barrier has no counterpart in a forward, whoever waits there.
        (QUIET, "dist.barrier()\n        else:\n            net(extra)", True),
    ],
)
def test_a_forward_without_buffers_to_broadcast_waits_for_nobody(wrapped, body, speaks):
    assert bool(SNIPPETS.findings(WITH_DDP.format(wrapped=wrapped, body=body))) is speaks


# --- what is made once ----------------------------------------------------------------------------------

LAZY = """\
import time
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, net, loader):
        self.net, self.loader, self.start = net, loader, time.time()
        self._model = None

    @property
    def model(self):
        if self._model is None:
            self._model = DDP(self.net)
        return self._model

    def reset(self):
        self.count = None

    def train(self):
        for batch in self.loader:
            WORK
            if time.time() - self.start > 3:
                break
            LATER
"""
MEETS = "values = self.model.weights()\n            dist.all_reduce(values)"


@pytest.mark.parametrize(
    ("before", "after", "work", "later", "named"),
    [
        ("", "", MEETS, "pass", ["all_reduce"]),
        ("self._model is None", "not self._model", MEETS, "pass", ["all_reduce"]),
        # another method has it made again
        ("self.count = None", "self._model = None", MEETS, "pass", ["DistributedDataParallel"]),
        # it is made only where a rank may not get
        ("", "", "pass", MEETS, ["DistributedDataParallel"]),
        # each time anew
        ("if self._model is None:", "if True:", MEETS, "pass", ["DistributedDataParallel"]),
        # all ranks have made it, and nobody waits for another
        ("", "", "values = self.model.weights()", "pass", []),
    ],
)
def test_what_all_ranks_have_made_before_is_not_missed_later(before, after, work, later, named):
    text = LAZY.replace("WORK", work).replace("LATER", later).replace(before or "WORK", after)
    findings = SNIPPETS.findings(text)
    assert [each.message.partition("do not reach `")[2].partition("`")[0] for each in findings] == named


APPLIED = """\
import torch
import torch.distributed as dist
from accelerate import Accelerator

class Everyone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x{group})
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient, group):
        return gradient, None

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        return x * 2

def main(args):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(args.model, args.loader)
    gather = Everyone.apply
    for batch in loader:
        x = model(**batch)
        {body}
        accelerator.backward(x.sum())
"""


@pytest.mark.parametrize(
    ("body", "group", "is_there"),
    [
        ("if dist.get_rank() == 0: x = Everyone.apply(x, None)", "", True),
        ("if dist.get_rank() == 0: x = gather(x, None)", "", True),
        ("if dist.get_rank() == 0: x = Own.apply(x, None)", "", False),
        ("if dist.get_rank() in (0, 1): x = Everyone.apply(x, args.group)", ", group=group", False),
        ("x = Everyone.apply(x, None)", "", False),
        ("if dist.get_world_size() > 1: x = Everyone.apply(x, None)", "", False),
    ],
)
def test_a_function_of_autograd_calls_the_collectives_of_its_forward(body: str, group: str, is_there: bool):
    text = APPLIED.format(body=body, group=group)
    assert [each.message.count("all_gather") for each in SNIPPETS.findings(text)] == [1] * is_there


LEFT_BEFORE = """\
import time
from accelerate import Accelerator

def main(args):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(args.model, args.loader)
    step, end = 0, time.monotonic() + 3600
    for epoch in range(args.epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            step += 1
            if step % args.every == 0:
                accelerator.gather(step)
            {leaves}
"""


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        (
            "if time.monotonic() > end: break",
            "let the ranks agree on `time.monotonic() > end` first (gather, reduce or broadcast it), by which some of "
            "them have left before",
        ),
        (
            "if time.monotonic() > {**args.ends}['a']: break",
            "let the ranks agree on `time.monotonic() > {**args.ends}['a']` first (gather, reduce or broadcast it), by "
            "which some of them have left before",
        ),
        (
            "if not accelerator.is_main_process: break",
            "let no rank leave before it by `not accelerator.is_main_process`, which makes the condition differ",
        ),
        (
            "if time.monotonic() > end: step += 1",
            "call it on every rank, and use its result inside the condition, or let the ranks agree on the condition "
            "first (gather, reduce or broadcast it)",
        ),
    ],
)
def test_the_help_names_the_exit_that_makes_a_condition_differ(leaves: str, expected: str):
    found = SNIPPETS.findings(LEFT_BEFORE.format(leaves=leaves))
    assert [each.help for each in found if "reach `gather`" in each.message] == [expected]
