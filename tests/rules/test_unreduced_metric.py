"""TRL003: what it reports, its messages, and what it leaves alone."""

from __future__ import annotations

from difflib import ndiff

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint.findings import Applicability
from trl_lint.fixes.support.logged import identifier
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL003")
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


def hook(body: str) -> str:
    """A Trainer subclass whose `compute_loss` has a loss and ends in `body`."""
    lines = ["loss = model(**inputs).loss", *body.splitlines()]
    indented = "".join(f"    {line}\n" for line in lines)
    return trainer(f"def compute_loss(self, model, inputs, *args, **kwargs):\n{indented}")


def test_a_finding_says_what_where_why_and_how():
    text = hook("self.log({'aux': loss.mean().item()})\nreturn loss")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "self.log({'aux': loss.mean().item()})"
    assert (finding.code, finding.name) == ("TRL003", "unreduced-metric")
    assert finding.message == (
        "`aux` is computed from this rank's own data and reaches `Trainer.log` unreduced: "
        "on several GPUs the log shows only the main process's value"
    )
    assert [step.text for step in finding.because] == ["`inputs` is this rank's own data"]
    assert text.splitlines()[finding.because[0].start.line - 1].lstrip().startswith("def compute_loss")
    assert finding.help == (
        "gather the value over the ranks first, as a tensor: `self.accelerator.gather(value).mean()`, then `.item()`"
    )
    assert finding.fix is not None
    assert finding.fix.applicability is SAFE


def test_a_list_as_long_as_own_data_differs_because_of_the_data():
    lines = (
        "outputs = model(**inputs).logits",
        "weights = torch.Tensor([0.5 for _ in range(len(outputs))])",
        "self.log({'aux': (weights * 2).sum().item()})",
        "return loss",
    )
    finding = SNIPPETS.finding("import torch\n" + hook("\n".join(lines)))
    assert [step.text for step in finding.because] == ["`inputs` is this rank's own data"]


@pytest.mark.parametrize(
    ("logs", "named"),
    [
        ("{'x/' + k: v for k, v in losses.items()}", "`losses`"),
        ("{k: v.mean() for k, v in losses.items()}", "`losses`"),
        ("{**{k: v.item() for k, v in losses.items()}, 'epoch': 3}", "`losses`"),
        ("{k: loss for k in names}", "`loss`"),
        ("{k: v for k, v in zip(names, losses.values())}", "this value"),
    ],
)
def test_what_a_comprehension_runs_over_is_named_and_not_its_variable(logs, named):
    text = loop(f"losses = model(**batch)\nwandb.log({logs})")
    assert {each.message.partition(" is computed")[0] for each in SNIPPETS.findings(text)} <= {named}
    assert SNIPPETS.findings(text) or named != "`losses`"


@pytest.mark.parametrize(
    ("value", "reduction"),
    [
        ("mask.sum().item()", "sum"),
        ("len(mask)", "sum"),
        ("loss.mean().item()", "mean"),
        ("loss.item()", "mean"),
    ],
)
def test_the_help_names_the_reduction(value, reduction):
    assert f"gather(value).{reduction}()" in SNIPPETS.finding(loop(f"wandb.log({{'x': {value}}})")).help


def test_under_a_guard_the_help_says_where_to_gather():
    finding = SNIPPETS.finding(loop("if accelerator.is_main_process:\n    wandb.log({'x': loss.item()})"))
    assert "on all ranks, before the condition around the log call" in finding.help


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("writer.add_scalars('Latent Loss', {'train': loss.item()}, step)", "Latent Loss/train"),
        ("writer.add_scalars(f'{kind}/loss', {'train': loss.item()}, step)", "…/loss/train"),
        ("writer.add_scalars(tag, {'train': loss.item()}, step)", "train"),
        ("writer.add_scalar('train', loss.item(), step)", "train"),
    ],
)
def test_values_below_one_name_are_told_with_it(call, name):
    text = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n" + loop(call)
    assert SNIPPETS.finding(text).message.startswith(f"`{name}` is computed from this rank's own data")


@pytest.mark.parametrize(
    ("start", "log"),
    [
        ("import tensorboard_logger as tb\nwriter = tb.Logger(logdir='x', flush_secs=2)", "writer.log_value"),
        ("import tensorboard_logger\ntensorboard_logger.configure('x')", "tensorboard_logger.log_value"),
        ("from tensorboard_logger import configure, log_value\nconfigure('x')", "log_value"),
    ],
)
@pytest.mark.parametrize(
    ("value", "is_reported"), [("loss.item()", True), ("accelerator.gather(loss).mean().item()", False)]
)
def test_the_writer_of_tensorboard_logger(start: str, log: str, value: str, is_reported: bool):
    assert bool(SNIPPETS.findings(f"{start}\n" + loop(f"{log}('loss', {value}, 1)"))) is is_reported


@pytest.mark.parametrize(
    ("start", "log"),
    [
        ("from dvclive import Live\nlive = Live()", "live.log_metric('loss', {})"),
        ("import comet_ml\nrun = comet_ml.APIExperiment()", "run.log_metrics(metric_dict={{'loss': {}}})"),
        ("from azureml.core import Run\nrun = Run.get_context()", "run.log('loss', {})"),
        ("from sacred import Experiment\nex = Experiment()", "ex.log_scalar('loss', {}, 1)"),
        ("from ray import train as reports", "reports.report({{'loss': {}}})"),
        (
            "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('x')",
            "writer.add_hparams({{}}, {{'loss': {}}})",
        ),
    ],
)
@pytest.mark.parametrize(
    ("value", "is_reported"), [("loss.item()", True), ("accelerator.gather(loss).mean().item()", False)]
)
def test_other_trackers(start: str, log: str, value: str, is_reported: bool):
    assert bool(SNIPPETS.findings(f"{start}\n" + loop(log.format(value)))) is is_reported


def test_a_name_of_which_nothing_is_known_is_not_told():
    sums = "sums = {}\nfor key, value in model(batch).items():\n    sums[key] = 2 * value.item()\n"
    finding = SNIPPETS.finding(loop(sums + "for key, value in sums.items():\n    wandb.log({prefix + key: value})"))
    assert finding.message.startswith("this value is computed from this rank's own data")


def test_what_may_be_reduced_is_not_named_beside_what_is_not():
    logs = "if several:\n    all_reduce('reward', reward.item())\nwandb.log({'reward': reward, 'size': size})"
    text = loop(f"reward = batch['x'].float().mean()\nsize = batch['y'].float().mean()\n{logs}")
    finding = SNIPPETS.finding(f"from somewhere import all_reduce, several\n{text}")
    assert finding.by_default
    assert finding.message.startswith("`size` is computed from this rank's own data")


SYNCED = """\
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Meter:
    def __init__(self):
        self.own, self.of_all = 0, 0

    def update(self, value):
        self.own += value

    def sync(self):
        own = torch.tensor([self.own], device="cuda")
        dist.all_reduce(own)
        self.of_all += own.item()
        self.own = 0

    @property
    def total(self):
        return self.of_all + self.own


def validate(model, loader):
    accuracy, losses = Meter(), Meter()
    for x, y in loader:
        output = model(x)
        losses.update(torch.nn.functional.cross_entropy(output, y).item())
        accuracy.update((output.argmax(-1) == y).float().mean().item())
    accuracy.sync()
    return accuracy.total, losses.total


def main(data):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    accuracy, loss = validate(model, DataLoader(data, sampler=DistributedSampler(data)))
    if dist.get_rank() == 0:
        wandb.log({"accuracy": accuracy, "loss": loss})


main([])
"""


def test_a_meter_that_a_call_of_sync_reduces_in_place_is_not_named_beside_one_that_it_leaves_alone():
    finding = SNIPPETS.finding(SYNCED)
    assert finding.by_default
    assert finding.message.startswith("`loss` is computed from this rank's own data")
    finding = SNIPPETS.finding(SYNCED.replace("accuracy.sync()", "accuracy.add()"))
    assert finding.message.startswith("`accuracy`, `loss` are computed from this rank's own data")


def test_metrics_of_one_statement_are_one_finding():
    finding = SNIPPETS.finding(loop("accelerator.log({'loss': loss.item(), 'tokens': mask.sum().item()})"))
    assert finding.message.startswith("`loss`, `tokens` are computed from this rank's own data and reach ")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("wandb.log({'loss': loss})", "wandb.log({'loss': loss})"),
        ("metrics = {}\nmetrics['loss'] = loss.item()\nwandb.log(metrics)", "metrics['loss'] = loss.item()"),
        (
            "metrics = {'lr': 1.0}\nmetrics.update(loss=loss.item())\nwandb.log(metrics)",
            "metrics.update(loss=loss.item())",
        ),
        ("def show(**values):\n    wandb.log(values)\nshow(loss=loss.item())", "wandb.log(values)"),
        ("import mlflow\nmlflow.log_metric('loss', loss.item())", "mlflow.log_metric('loss', loss.item())"),
        ("values = []\nvalues.append(loss.item())\nwandb.log({'loss': sum(values)})", None),
        (
            "parts = {}\nparts['a'] = loss\nparts['b'] = 2 * loss\nwandb.log({'sum': sum(parts.values()).item()})",
            "wandb.log({'sum': sum(parts.values()).item()})",
        ),
    ],
)
def test_the_finding_stands_where_the_value_is_first_stored(body, where):
    text = loop(body)
    finding = SNIPPETS.finding(text)
    assert where is None or shown(text, finding) == where


def test_a_metric_store_of_a_trainer():
    text = (
        "from trl import DPOTrainer\n"
        "class T(DPOTrainer):\n"
        "    def get_batch_loss_metrics(self, model, batch, train_eval='train'):\n"
        "        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)\n"
        "        value = model(**batch).logits.mean()\n"
        "        metrics['my/value'] = value.item()\n"
        "        metrics['my/right'] = self.accelerator.gather(value).mean().item()\n"
        "        return loss, metrics\n"
    )
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "metrics['my/value'] = value.item()"
    assert finding.message.startswith("`my/value` is computed")


@pytest.mark.parametrize(
    "body",
    [
        # reduced
        "wandb.log({'loss': accelerator.gather(loss).mean().item()})",
        "loss = accelerator.reduce(loss, 'mean')\nwandb.log({'loss': loss.item()})",
        "torch.distributed.all_reduce(loss)\nwandb.log({'loss': loss.item()})",
        "def mean(x):\n    return accelerator.gather(x).mean()\nwandb.log({'loss': mean(loss).item()})",
        "metrics = {'loss': loss}\nmetrics = accelerator.reduce(metrics, 'mean')\nwandb.log(metrics)",
        # the same on all ranks
        "wandb.log({'step': step, 'lr': optimizer.param_groups[0]['lr']})",
        "norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)\nwandb.log({'norm': norm.item()})",
        "wandb.log({'weights': next(model.parameters()).norm().item()})",
        # differs, but not with the data
        "wandb.log({'seconds': time.time()})",
        "start = time.time()\nwandb.log({'speed': mask.sum().item() / (time.time() - start)})",
        "wandb.log({'memory': torch.cuda.max_memory_allocated()})",
        # no log
        "print(loss.item())",
        "import logging\nlogging.getLogger().info('loss %s', loss.item())",
        "history = []\nhistory.append(loss.item())",
        # not known
        "wandb.log({'loss': unknown(loss)})",
        "wandb.log(unknown)",
    ],
)
def test_right_code_is_silent(body):
    assert SNIPPETS.findings(loop(body)) == []


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ("{'acc': loss.item(), 'lr': 0.1}", ["`acc`"]),
        ("{'lr': 0.1, 'acc': loss.item(), 'epoch': step}", ["`acc`"]),
        ("{'acc': accelerator.gather(loss).mean().item(), 'lr': 0.1}", []),
    ],
)
def test_a_helper_called_with_each_value_of_a_dict_keeps_them_apart(values, found):
    helper = "def one(key, value):\n    wandb.log({key: value})\n"
    text = helper + loop(f"logs = {values}\nfor k, v in logs.items():\n    one(k, v)")
    assert [each.message.partition(" is computed")[0] for each in SNIPPETS.findings(text)] == found


@pytest.mark.parametrize(
    "body",
    [
        "return loss",
        "self.log({'aux': self.accelerator.gather(loss).mean().item()})\nreturn loss",
        "self.log({'aux': self._nested_gather(loss).mean().item()})\nreturn loss",
        "self.log({'epoch': self.state.epoch, 'beta': self.args.learning_rate})\nreturn loss",
        "self.last = loss.item()\nreturn loss",
    ],
)
def test_right_code_in_a_hook_is_silent(body):
    assert SNIPPETS.findings(hook(body)) == []


def test_a_store_that_log_reduces_is_right():
    text = trainer("""
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.values = []

        def compute_loss(self, model, inputs, *args, **kwargs):
            loss = model(**inputs).loss
            self.values.append(loss.detach().mean())
            return loss

        def log(self, logs, *args, **kwargs):
            logs["aux"] = self._nested_gather(torch.stack(self.values)).mean().item()
            self.values.clear()
            super().log(logs, *args, **kwargs)
    """)
    assert SNIPPETS.findings(text) == []


# --- the fix ----------------------------------------------------------------------------------------------


def added(text: str) -> list[str]:
    """The lines that `--fix --unsafe-fixes` writes."""
    mended = SNIPPETS.mended(text, unsafe=True)
    compile(mended, "mended.py", "exec")
    assert not SNIPPETS.findings(mended)
    return [line[2:].strip() for line in ndiff(text.splitlines(), mended.splitlines()) if line.startswith("+")]


def logged(value: str) -> str:
    return f"accelerator.log({{'x': {value}}})"


def applicability(text: str) -> Applicability:
    (fix,) = {finding.fix for finding in SNIPPETS.findings(text)}
    assert fix is not None
    return fix.applicability


@pytest.mark.parametrize(
    ("value", "new"),
    [
        ("loss.item()", "accelerator.gather(loss).mean().item()"),
        ("loss", "accelerator.gather(loss).mean()"),
        ("float(loss)", "float(accelerator.gather(loss).mean())"),
        ("round(loss.item(), 3)", "round(accelerator.gather(loss).mean().item(), 3)"),
        ("loss.detach().cpu()", "accelerator.gather(loss.detach()).mean().cpu()"),
        ("loss.cpu().mean()", "accelerator.gather(loss.mean()).mean().cpu()"),
        ("loss.detach().to('cpu').mean()", "accelerator.gather(loss.detach().mean()).mean().cpu()"),
        ("(loss * 2).cpu().mean()", "accelerator.gather((loss * 2).mean()).mean().cpu()"),
        ("loss.to('cpu').item()", "accelerator.gather(loss).mean().to('cpu').item()"),
        ("mask.sum().item()", "accelerator.gather(mask.sum()).sum().item()"),
        ("mask.max().item()", "accelerator.gather(mask.max()).max().item()"),
        ("mask.amin().item()", "accelerator.gather(mask.amin()).amin().item()"),
        ("mask.float().mean()", "accelerator.gather(mask.float().mean()).mean()"),
        ("mask.float().nanmean()", "accelerator.gather(mask.float().nanmean()).nanmean()"),
        ("torch.mean(loss)", "accelerator.gather(torch.mean(loss)).mean()"),
        ("(loss - loss.detach()).mean()", "accelerator.gather((loss - loss.detach()).mean()).mean()"),
        ("mask.any(dim=-1).float().mean().item()", "accelerator.gather(mask.any(dim=-1).float().mean()).mean().item()"),
    ],
)  # fmt: skip
def test_the_reduction_is_repeated_over_the_ranks_and_the_tail_stays(value, new):
    text = loop(logged(value))
    assert added(text) == [logged(new)]
    assert applicability(text) is SAFE


@pytest.mark.parametrize(
    ("value", "new"),
    [
        ("-loss.item()", "-accelerator.gather(loss).mean().item()"),
        ("100 * loss.item() + 1", "100 * accelerator.gather(loss).mean().item() + 1"),
        ("1 - loss.item()", "1 - accelerator.gather(loss).mean().item()"),
        ("loss.item() / len(loader)", "accelerator.gather(loss).mean().item() / len(loader)"),
        ("mask.sum().item() / 1000", "accelerator.gather(mask.sum()).sum().item() / 1000"),
    ],
)
def test_what_is_the_same_on_all_ranks_stays_outside(value, new):
    text = loop(logged(value))
    assert added(text) == [logged(new)]
    assert applicability(text) is SAFE


def test_an_accumulator_is_mended_at_the_log():
    text = loop("total += loss.detach()").replace(
        "    for step", "    total = torch.zeros(1, device=dev)\n    for step"
    )
    text += "    accelerator.log({'x': total.item() / len(loader)})\n"
    assert added(text) == ["accelerator.log({'x': accelerator.gather(total).mean().item() / len(loader)})"]


@pytest.mark.parametrize(
    ("before", "value", "new"),
    [
        ("", "len(mask)", "accelerator.gather(torch.tensor(len(mask), device=accelerator.device)).sum().item()"),
        (
            "n = loss.item()\nbest = max(n, 0)\n", "n",
            "accelerator.gather(torch.tensor(n, device=accelerator.device)).mean().item()",
        ),
        (
            "a = loss.detach().cpu().numpy()\nb = a * 2\n", "a.item()",
            "accelerator.gather(torch.tensor(a, device=accelerator.device)).mean().item()",
        ),
    ],
)  # fmt: skip
def test_a_python_number_becomes_a_tensor_on_the_accelerator(before, value, new):
    text = loop(before + logged(value))
    assert added(text) == [logged(new)]
    assert applicability(text) is UNSAFE


@pytest.mark.parametrize(
    ("value", "tensor"),
    [
        ("loss.detach().cpu().numpy().mean()", "loss.detach().mean()"),
        ("(mask * 2).cpu().numpy().max()", "(mask * 2).max()"),
        ("mask.cpu().numpy().sum()", "mask.sum()"),
        ("(mask == 1).cpu().numpy().mean()", "(mask == 1).float().mean()"),
        ("float(loss.cpu().numpy().mean())", "loss.mean()"),
        # It may be on the CPU anyway, more than the move would be lost, or it is already another reduction.
        ("loss.detach().numpy().mean()", ""),
        ("(loss * 2).cpu().numpy().max()", ""),
        ("loss.cpu().double().numpy().mean()", ""),
    ],
)
def test_what_numpy_reduces_is_reduced_on_the_device(value, tensor):
    text = loop(logged(value))
    (new,) = added(text)
    assert ("torch.tensor(" in new) is not tensor
    number = f"accelerator.gather({tensor}).{value.rpartition('.')[2].partition('(')[0]}()"
    number = f"float({number})" if value.startswith("float") else f"{number}.item()"
    assert not tensor or new == logged(number)
    assert applicability(text) is UNSAFE


def test_integers_and_booleans_are_made_floats_before_a_mean():
    text = loop("hits = (mask == 1)[0].long().mean() if step else loss\n" + logged("loss.long()"))
    assert added(text) == [logged("accelerator.gather(loss.long().float()).mean()")]


def test_a_tensor_on_the_cpu_is_gathered_on_the_device():
    text = loop("c = loss.detach().cpu()\nd = c * 2\n" + logged("c.item()"))
    assert added(text) == [logged("accelerator.gather(c.to(accelerator.device)).mean().item()")]


def test_a_tensor_that_is_only_logged_is_gathered_before_it_goes_to_the_cpu():
    text = loop("c = loss.detach().cpu()\n" + logged("c.item()"))
    assert added(text) == ["c = accelerator.gather(loss.detach()).mean().cpu()"]


@pytest.mark.parametrize("step", ["clone", "contiguous", "cpu", "detach", "double", "float", "half"])
def test_what_is_shown_as_it_is_is_only_logged(step):
    text = loop(f"c = loss.detach().cpu()\nprint(c.{step}())\n" + logged("c.item()"))
    assert added(text) == ["c = accelerator.gather(loss.detach()).mean().cpu()"]


@pytest.mark.parametrize("step", ["exp", "long", "numpy", "sum"])
def test_what_something_is_computed_from_is_not_only_logged(step):
    text = loop(f"c = loss.detach().cpu()\nprint(c.{step}())\n" + logged("c.item()"))
    assert added(text) == [logged("accelerator.gather(c.to(accelerator.device)).mean().item()")]


@pytest.mark.parametrize("use", ["", "best = max(kl, 0)\n"])
def test_a_ratio_behind_a_name_is_divided_once(use):
    text = loop("kl = (mask * 2).sum() / mask.sum()\n" + use + logged("kl.item()"))
    assert added(text)[0] == (
        'x_sum, x_count = accelerator.reduce(torch.stack([(mask * 2).sum(), mask.sum()]), reduction="sum")'
    )
    assert added(text)[1] == (logged("(x_sum / x_count).item()") if use else "kl = x_sum / x_count")


def test_a_ratio_behind_a_name_whose_parts_have_changed_is_a_hint():
    text = loop("kl = (mask * 2).sum() / mask.sum()\nmask = mask * 0\nbest = kl + 0\n" + logged("kl.item()"))
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY


@pytest.mark.parametrize("statement", ["stats['kl'] += [loss.item()]", "stats['kl'].extend([loss.item()])"])
def test_a_list_of_one_value_is_mended_inside(statement):
    text = trainer(f"""
        def compute_loss(self, model, inputs, *args, **kwargs):
            loss = model(**inputs).loss
            self.{statement}
            return loss

        def log(self, logs, *args):
            logs["kl"] = sum(self.stats["kl"]) / len(self.stats["kl"])
            super().log(logs, *args)

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.stats = {{"kl": []}}
    """)
    assert added(text) == [f"self.{statement.replace('loss', 'self.accelerator.gather(loss).mean()')}"]


@pytest.mark.parametrize(
    ("value", "stacked", "new"),
    [
        ("(mask * 2).sum() / mask.sum()", "torch.stack([(mask * 2).sum(), mask.sum()])", "x_sum / x_count"),
        (
            "(mask * 2).sum() / mask.sum().clamp(min=1)",
            "torch.stack([(mask * 2).sum(), mask.sum()])",
            "x_sum / x_count.clamp(min=1)",
        ),
        (
            "mask.sum().item() / max(mask.sum().item(), 1)",
            "torch.stack([mask.sum(), mask.sum()])",
            "x_sum.item() / max(x_count.item(), 1)",
        ),
        (
            "mask.sum().item() / mask.numel()",
            "torch.stack([mask.sum(), torch.tensor(mask.numel(), device=accelerator.device)])",
            "x_sum.item() / x_count.item()",
        ),
    ],
)
def test_a_ratio_is_divided_once(value, stacked, new):
    line = f'x_sum, x_count = accelerator.reduce({stacked}, reduction="sum")'
    assert added(loop(logged(value))) == [line, logged(new)]


def test_a_new_name_does_not_take_one_that_is_there():
    text = loop("x_sum = 1\n" + logged("(mask * 2).sum() / mask.sum()") + "\nprint(x_sum)")
    assert added(text)[0].startswith("x_sum_2, x_count = ")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("mask.float().std()", "the deviation over all ranks is not a mean"),
        ("mask.float().var().item()", "the variance over all ranks is not a mean"),
        ("mask.float().median().item()", "the median over all ranks can't be computed"),
        ("mask.float().quantile(0.9)", "a quantile over all ranks can't be computed"),
        ("torch.exp(loss).item()", "is not known"),
        ("loss.item() * len(mask)", "is not known"),
        ("mask.sum().item() / optimizer.batch_size", "is not known"),
        ("mask", "is not known"),
        ("mask.mean(dim=0)", "it may have more than one element"),
        ("accelerator.process_index * loss.item()", "it depends on the rank"),
    ],
)
def test_what_no_reduction_completes_is_a_hint(value, reason):
    text = loop(logged(value))
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert reason in finding.fix.reason
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_comprehension_is_a_hint():
    finding = SNIPPETS.finding(loop(logged("0").replace("'x': 0", "k: v.item() for k, v in {'a': loss}.items()")))
    assert finding.fix.reason == "the expression is not evaluated exactly once where it is logged"


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ("logs = {}\nlogs['x'] = loss.item()\naccelerator.log(logs)", "logs['x'] = {}"),
        ("logs = {'x': loss.item()}\naccelerator.log(logs)", "logs = {{'x': {}}}"),
        ("logs = dict(x=loss.item())\naccelerator.log(logs)", "logs = dict(x={})"),
        ("logs = {}\nlogs.update(x=loss.item())\naccelerator.log(logs)", "logs.update(x={})"),
        ("logs = {}\nlogs.update({'x': loss.item()})\naccelerator.log(logs)", "logs.update({{'x': {}}})"),
    ],
)
def test_the_fix_stands_where_the_value_is_put_into_the_dict(body, new):
    assert added(loop(body)) == [new.format("accelerator.gather(loss).mean().item()")]


def test_a_helper_s_argument_is_gathered_where_it_is_handed_over():
    body = "def show(v):\n    accelerator.log({'x': v.item()})\nshow(loss)"
    assert added(loop(body)) == ["show(accelerator.gather(loss).mean())"]


def test_a_store_s_entry_is_gathered_where_it_is_appended():
    text = trainer("""
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._stats = {"kl": []}

        def compute_loss(self, model, inputs, *args, **kwargs):
            loss = model(**inputs).loss
            self._stats["kl"].append(loss.item())
            return loss

        def log(self, logs, *args):
            logs["kl"] = sum(self._stats["kl"]) / len(self._stats["kl"])
            super().log(logs, *args)
    """)
    assert added(text) == ['self._stats["kl"].append(self.accelerator.gather(loss).mean().item())']


def test_a_value_bound_for_its_logs_is_gathered_where_it_is_bound():
    text = loop("value = loss.item()\nprint(value)\naccelerator.log({'x': value})\nwandb.log({'x': value})")
    assert added(text) == ["value = accelerator.gather(loss).mean().item()"]


HELPERS = """\
def shown(step, value):
    logs = {"step": step, "value": value}
    print(logs)


def used(value):
    return value * 2


def train("""
AT_ITS_BINDING = "value = accelerator.gather(loss).mean().item()"
ON_MAIN = "if accelerator.is_main_process:\n    wandb.log({'x': value})"


def counting(body: str) -> str:
    """A training loop with a sum, and with helpers in its file."""
    return loop(body).replace("def train(", HELPERS, 1).replace("    for ", "    total = 0\n    for ", 1)


@pytest.mark.parametrize(
    "after",
    [
        "if not accelerator.is_main_process:\n    continue\nwandb.log({'x': value})",
        f"{ON_MAIN}\nprint(value)",
        f"recorder.add(step=0, loss=value)\n{ON_MAIN}",
        f"total += value\naverage = total / 2\nprint(average)\n{ON_MAIN}",
        f"average: float = value / 2\nprint(average)\n{ON_MAIN}",
        f"shown(1, value)\n{ON_MAIN}",
        f"shown(1, value=value)\n{ON_MAIN}",
    ],
)  # fmt: skip
def test_a_number_that_is_shown_and_kept_is_gathered_once_where_it_is_bound(after):
    """It is not turned into a tensor again where it is logged."""
    text = counting(f"value = loss.item()\n{after}")
    assert added(text) == [AT_ITS_BINDING]
    assert applicability(text) is UNSAFE  # in every iteration


def test_a_tensor_that_becomes_a_number_of_its_own_name_is_gathered_there():
    logged = ON_MAIN.replace("value", "loss")
    text = loop(f"loss = loss.item()\nif accelerator.is_main_process:\n    print(loss)\n{logged}")
    assert added(text) == ["loss = accelerator.gather(loss).mean().item()"]


LATE = "if step > 5:\n    extra = loss.mean()\nelse:\n    extra = 0\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (LATE, "on some path to the log it is a number, not a tensor"),
        (f"{LATE}extra += loss.mean()\n", "it is gathered before the condition"),
        ("extra = 0\nif step > 5:\n    extra = 1\nextra = loss.mean()\n", "it is gathered before the condition"),
    ],
)
def test_a_number_that_stands_in_for_a_tensor_is_not_gathered(body, reason):
    text = loop(f"{body}if accelerator.is_main_process:\n    wandb.log({{'x': extra}})")
    assert reason in SNIPPETS.finding(text).fix.reason


def test_a_number_would_fail_as_it_is_where_a_tensor_is_asked_for():
    assert added(loop(f"{LATE}accelerator.log({{'x': extra.item()}})")) == [
        "accelerator.log({'x': accelerator.gather(extra.float()).mean().item()})"
    ]


@pytest.mark.parametrize(
    "after",
    [
        "if value > 3:\n    scheduler.step()",
        "scheduler.step(value)",
        "weight = loss * value\nweight.backward()",
        "other = total.add(value)",
        "total += value\nscheduler.step(total)",
        "used(value)",
        "later = lambda: value",
        "if mask.any():\n    value = 3.0",
    ],
)
def test_a_number_that_is_needed_for_more_stays_what_it_is(after):
    text = counting(f"value = loss.item()\n{after}\n{ON_MAIN}")
    assert AT_ITS_BINDING not in SNIPPETS.mended(text, unsafe=True)


def test_a_count_is_not_gathered_for_the_quotient_that_is_made_of_it():
    text = counting("value = mask.sum().item()\ntotal += value\nprint(3 / total)\n" + ON_MAIN)
    assert "        value = mask.sum().item()\n" in SNIPPETS.mended(text, unsafe=True)


def test_each_of_several_bindings_of_a_name_is_gathered_for_its_own_uses():
    text = loop(
        "value = loss.item()\nprint(value)\nwandb.log({'x': value})\n"
        "for other in losses:\n    value = mask.float().mean().item()\n    wandb.log({'y': value})"
    )
    assert AT_ITS_BINDING in added(text)


def test_a_sum_of_numbers_that_are_logged_themselves_is_not_gathered_again():
    text = counting(f"value = loss.item()\ntotal += value\n{ON_MAIN}\n    wandb.log({{'total': total / 3}})")
    assert added(text) == [AT_ITS_BINDING]


def test_a_value_with_two_sinks_is_gathered_once():
    text = loop("# both\nwandb.log({'x': loss.item()})\naccelerator.log({'x': loss.item()})")
    new = ["wandb.log({'x': mean_loss.item()})", "accelerator.log({'x': mean_loss.item()})"]
    assert added(text) == ["mean_loss = accelerator.gather(loss).mean()", *new]


def test_a_value_that_changes_between_two_sinks_is_gathered_twice():
    text = loop("wandb.log({'x': loss.item()})\nloss = loss * 2\naccelerator.log({'x': loss.item()})")
    assert [line.count("gather(loss)") for line in added(text)] == [1, 1]


def test_metrics_without_a_fix_do_not_keep_the_others_from_theirs():
    text = loop("wandb.log({'x': loss.item(), 'y': mask.float().std()})")
    mended = SNIPPETS.mended(text)
    assert "{'x': accelerator.gather(loss).mean().item(), 'y': mask.float().std()}" in mended
    assert SNIPPETS.finding(mended).message.startswith("`y` is computed")


# --- places of findings -----------------------------------------------------------------------------------


GUARDED = "if accelerator.is_main_process:\n    wandb.log({'x': loss.item()})"
REST_HOLDS = "it is gathered whenever the rest of the condition holds, so that all ranks take part"
HOISTED = ["mean_loss = accelerator.gather(loss).mean()", "wandb.log({'x': mean_loss.item()})"]


@pytest.mark.parametrize(
    "body",
    [
        GUARDED,
        "if accelerator.is_main_process and step % 10 == 0:"
        + "\n    step + 1" * 12
        + "\n    wandb.log({'x': loss.item()})",
        "if accelerator.is_main_process and step % 10 == 0 and unknown():\n    wandb.log({'x': loss.item()})",
        "if accelerator.is_main_process:\n    if step % 10 == 0:\n        wandb.log({'x': loss.item()})",
        "if step % 10 == 0:\n    if accelerator.is_main_process:\n        wandb.log({'x': loss.item()})",
        "if accelerator.is_main_process:\n    with torch.no_grad():\n        wandb.log({'x': loss.item()})",
        "if step == 3:\n    pass\nelif accelerator.is_main_process:\n    wandb.log({'x': loss.item()})",
        "if not accelerator.is_main_process:\n    continue\nwandb.log({'x': loss.item()})",
    ],
)
def test_under_a_guard_the_value_is_gathered_before_it(body):
    text = loop(body)
    assert added(text) == HOISTED
    assert applicability(text) is UNSAFE


@pytest.mark.parametrize(
    ("test", "shared"),
    [
        ("accelerator.is_main_process and step % 10 == 0", "step % 10 == 0"),
        ("step % 10 == 0 and step > 3 and accelerator.is_main_process", "step % 10 == 0 and step > 3"),
    ],
)
def test_what_all_ranks_test_stays_around_the_gather(test, shared):
    text = loop(f"# only here\nif {test}:\n    wandb.log({{'x': loss.item()}})")
    text = text.replace("wandb.log", "print(step)\n            wandb.log")
    lines = [f"if {shared}:", HOISTED[0], "if accelerator.is_main_process:", "print(step)", HOISTED[1]]
    mended = SNIPPETS.mended(text, unsafe=True)
    assert [each.strip() for each in mended[mended.index("# only here") :].splitlines()[1:]] == lines
    assert SNIPPETS.findings(mended) == []
    finding = SNIPPETS.finding(text)
    assert (finding.fix.applicability, finding.fix.reason) == (UNSAFE, REST_HOLDS)


def test_the_line_before_a_guard_comes_before_its_comment_and_behind_the_blank_line():
    mended = SNIPPETS.mended(loop(f"step = 0\n\n# only here\n{GUARDED}"), unsafe=True)
    start = mended.index("step = 0")
    assert [line.strip() for line in mended[start:].splitlines()[:5]] == [
        "step = 0", "", HOISTED[0], "# only here", "if accelerator.is_main_process:",
    ]  # fmt: skip


def test_a_guard_on_one_line_stays_on_one_line():
    text = loop("if accelerator.is_main_process: wandb.log({'x': loss.item()})")
    assert added(text) == [HOISTED[0], "if accelerator.is_main_process: wandb.log({'x': mean_loss.item()})"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if mask.any():\n    wandb.log({'x': loss.item()})", "that depends on more than the rank"),
        (
            "if accelerator.is_main_process:\n    kl = loss * 2\n    kl += 1\n    wandb.log({'x': kl.item()})",
            "is not computed on all ranks",
        ),
        (
            "kl = None\nif step:\n    kl = loss * 2\n"
            "if accelerator.is_main_process:\n    if kl is not None:\n        wandb.log({'x': kl.item()})",
            "more than a condition on the rank",
        ),
        (
            "if accelerator.is_main_process:\n    for _ in range(2):\n        wandb.log({'x': loss.item()})",
            "more than a condition on the rank",
        ),
        (
            "if accelerator.is_main_process and loss is not None:\n    wandb.log({'x': loss.item()})",
            "the condition depends on what is logged",
        ),
        (
            "if accelerator.is_main_process:\n    wandb.log({'x': loss.item()})\n    loss = loss * 0",
            "only some ranks would set anew",
        ),
    ],
)
def test_under_a_guard_that_nothing_can_be_put_before_it_is_a_hint(body, reason):
    text = loop(body)
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert reason in finding.fix.reason
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_value_handed_over_under_a_guard_is_gathered_in_the_caller():
    text = loop("if accelerator.is_main_process:\n    show(loss)")
    text += "\n\ndef show(loss):\n    wandb.log({'x': loss.item()})\n"
    assert added(text) == [HOISTED[0], "show(mean_loss)"]


def test_a_value_computed_under_the_caller_s_guard_is_a_hint():
    text = loop("if accelerator.is_main_process:\n    show(accelerator, batch)")
    text += "\n\ndef show(accelerator, batch):\n    wandb.log({'x': batch['y'].sum().item()})\n"
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert finding.fix.reason == "not all ranks call the function that logs it"


def test_where_it_is_not_known_whether_all_ranks_get_there_the_fix_is_unsafe():
    text = loop("if unknown():\n    wandb.log({'x': loss.item()})")
    assert added(text) == ["wandb.log({'x': accelerator.gather(loss).mean().item()})"]
    assert applicability(text) is UNSAFE


@pytest.mark.parametrize(
    ("decorator", "base", "reason"),
    [
        ("@torch.compile", "", "compiled or run again"),
        ("@torch.utils.checkpoint.checkpoint", "", "compiled or run again"),
    ],
)
def test_no_collective_goes_into_a_compiled_function(decorator, base, reason):
    text = loop(f"{decorator}\ndef show(v):\n    loss2 = v * 1\n    accelerator.log({{'x': loss2.item()}})\nshow(loss)")
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert reason in finding.fix.reason


def test_without_an_accelerator_the_help_says_what_to_write():
    text = """
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(model, data):
    model = DDP(model)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).loss
        wandb.log({"loss": loss.item()})
"""
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert finding.fix.reason == "no `Accelerator` is available here"
    assert (
        "`torch.distributed.all_reduce(value)`, then `value.item() / torch.distributed.get_world_size()`"
        in finding.help
    )
    with_accelerate = SNIPPETS.finding(f"from accelerate.utils import set_seed\n{text}")
    assert "available: `accelerator.gather(loss).mean().item()`" in with_accelerate.help


@pytest.mark.parametrize(
    ("before", "applicability"),
    [
        ("_use_apex = False\n", DISPLAY),
        ("from datasets import load_metric\n", DISPLAY),
        ("sharded_ddp = None\n", SAFE),
        ("_use_apex = False\naccelerator = None\n", SAFE),
        ("apex = False\n", SAFE),
    ],
)
def test_a_trainer_of_before_accelerate_has_no_accelerator(before, applicability):
    finding = SNIPPETS.finding(before + hook("self.log({'aux': loss.mean().item()})\nreturn loss"))
    assert finding.fix.applicability is applicability
    assert ("torch.distributed.all_reduce(value)" in finding.help) is (applicability is DISPLAY)


# --- values that a gathered value can't replace -----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "metrics = {}\nmetrics['x'] = model(**batch).loss\naccelerator.log(metrics)\n"
            "accelerator.backward(metrics['x'])",
            "read again",
        ),
        ("out = {}\nout.update(x=loss)\naccelerator.log(out)\naccelerator.backward(out['x'])", "read again"),
        ("out = {'x': loss}\naccelerator.log(out)\naccelerator.backward(out['x'])", "read again"),
        ("out = {'x': loss}\naccelerator.log(out)\nsum(out.values()).backward()", "read again"),
        (
            "def step(v):\n    accelerator.log({'x': v})\n    accelerator.backward(v)\nstep(loss)",
            "`step` also uses it for something else",
        ),
    ],
)
def test_a_loss_that_is_gone_back_from_keeps_its_gradient(body, reason):
    text = loop(body)
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability is DISPLAY
    assert reason in finding.fix.reason
    assert SNIPPETS.mended(text, unsafe=True) == text


@pytest.mark.parametrize(
    "use", ["info = {'v': value}", "kept = [value]", "total = value + 1", "accelerator.backward(value)"]
)
def test_a_tensor_that_is_used_elsewhere_is_gathered_in_the_log_alone(use):
    text = loop(f"value = loss.mean()\naccelerator.log({{'x': value}})\n{use}")
    assert added(text) == ["accelerator.log({'x': accelerator.gather(value).mean()})"]


@pytest.mark.parametrize("context", ["main_process_first", "local_main_process_first"])
def test_where_one_rank_goes_after_the_other_it_is_a_hint(context):
    text = loop(f"with accelerator.{context}():\n    accelerator.log({{'x': loss.item()}})")
    assert SNIPPETS.finding(text).fix.reason == "ranks get here one after the other"


@pytest.mark.parametrize(("test", "expected"), [("loss > 3", DISPLAY), ("step > 3", SAFE), ("unknown()", UNSAFE)])
@pytest.mark.parametrize("leave", ["break", "return"])
def test_ranks_that_left_the_loop_are_not_there_in_its_next_round(test, expected, leave):
    assert applicability(loop(f"accelerator.log({{'x': loss.item()}})\nif {test}:\n    {leave}")) is expected


# --- what is reduced already ------------------------------------------------------------------------------


GATHERED = "average = accelerator.gather(loss.repeat(4)).mean()\n"


@pytest.mark.parametrize(
    ("body", "log"),
    [
        (GATHERED + "accelerator.log({'x': loss.item()})", "accelerator.log({'x': average.item()})"),
        (GATHERED + "accelerator.log({'x': loss.detach().cpu()})", "accelerator.log({'x': average.cpu()})"),
        (GATHERED + GUARDED, "wandb.log({'x': average.item()})"),
        (
            GATHERED + "if loss > 3:\n    accelerator.log({'x': loss.item()})",
            "accelerator.log({'x': average.item()})",
        ),
        (
            f"with torch.no_grad():\n    {GATHERED}accelerator.log({{'x': loss.item()}})",
            "accelerator.log({'x': average.item()})",
        ),
        (
            "most = accelerator.gather(loss).max()\naccelerator.log({'x': loss.item()})",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
        (
            GATHERED + "loss = loss * 2\naccelerator.log({'x': loss.item()})",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
        (
            GATHERED + "loss.mul_(2)\naccelerator.log({'x': loss.item()})",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
        (
            f"if step % 2 == 0:\n    {GATHERED}accelerator.log({{'x': loss.item()}})",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
        (
            GATHERED + "for _ in range(3):\n    accelerator.log({'x': loss.item()})\n    loss = loss * 2",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
        (
            f"accelerator.log({{'x': loss.item()}})\n{GATHERED}",
            "accelerator.log({'x': accelerator.gather(loss).mean().item()})",
        ),
    ],
)
def test_what_is_reduced_before_is_logged(body, log):
    assert added(loop(body)) == [log]


def test_to_log_what_is_reduced_before_is_safe_wherever_it_is():
    assert applicability(loop(GATHERED + "if loss > 3:\n    accelerator.log({'x': loss.item()})")) is SAFE


# --- names and imports ------------------------------------------------------------------------------------


def test_two_ratios_of_one_statement_have_names_of_their_own():
    ratio = "(mask == {0}).sum() / (mask > {0}).sum()"
    text = loop(f"accelerator.log({{'a/x': {ratio.format(1)}, 'b/x': {ratio.format(2)}}})")
    assert [line.partition(" = ")[0] for line in added(text)[:2]] == ["x_sum, x_count", "x_sum_2, x_count_2"]
    assert added(text)[2] == "accelerator.log({'a/x': x_sum / x_count, 'b/x': x_sum_2 / x_count_2})"


def test_two_values_before_one_guard_have_names_of_their_own():
    log = "wandb.log({'a': loss.mean(), 'b': other.loss.mean()})"
    body = f"other = model(**batch)\nif accelerator.is_main_process:\n    {log}"
    assert added(loop(body)) == [
        "mean_loss = accelerator.gather(loss.mean()).mean()",
        "mean_loss_2 = accelerator.gather(other.loss.mean()).mean()",
        "wandb.log({'a': mean_loss, 'b': mean_loss_2})",
    ]


def test_one_value_before_two_guards_has_one_name():
    guard = "if accelerator.is_main_process:\n    wandb.log({'a': loss.mean()})"
    line = "mean_loss = accelerator.gather(loss.mean()).mean()"
    assert added(loop(f"{guard}\nloss = loss * 2\n{guard}")).count(line) == 2
    assert not any("mean_loss_2" in each for each in added(loop(f"{guard}\nloss = loss * 2\n{guard}")))


def test_a_name_has_no_gap_where_a_key_has_a_part_of_its_own():
    assert [identifier(key) for key in ("a/few_…_rows", "a/…_rows", "top-5 (%)", "5", "_a_")] == [
        "few_rows", "rows", "top_5", "", "a",
    ]  # fmt: skip


def test_torch_is_imported_where_it_is_not():
    text = loop(logged("len(mask)")).replace("import torch\n", "")
    assert "import torch" in added(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "if step:\n    import torch\n"),
        ("for torch in range(3):\n    pass\n", ""),
        ("torch = optimizer.torch\n", ""),
    ],
)
@pytest.mark.parametrize("value", ["len(mask)", "mask.sum() / (mask > 1).sum()"])
def test_where_torch_means_something_else_it_is_a_hint(before, after, value):
    text = loop(f"{before}{logged(value)}\n{after}").replace("import torch\n", "", 1)
    assert {finding.fix.applicability for finding in SNIPPETS.findings(text)} == {DISPLAY}


# --- where the tensor is, and of what type ------------------------------------------------------------------


@pytest.mark.parametrize("move", ["cpu()", "to('cpu', non_blocking=True)", "to(device='cpu')"])
def test_a_tensor_on_the_cpu_stays_one(move):
    assert added(loop(logged(f"loss.{move}"))) == [logged(f"accelerator.gather(loss).mean().{move}")]
    body = f"c = loss.detach().{move}\nd = c * 2\n{logged('c')}"
    assert added(loop(body)) == [logged("accelerator.gather(c.to(accelerator.device)).mean().cpu()")]


def test_a_count_is_not_rounded_to_the_type_of_its_sum():
    line = added(loop(logged("(loss * mask).sum() / (mask != -100).sum()")))[0]
    assert "torch.stack([(loss * mask).sum(), (mask != -100).sum().float()])" in line


# --- what is evaluated once, again or elsewhere ---------------------------------------------------------


def test_two_values_that_are_shared_have_names_of_their_own():
    log = "log({'a': loss.item(), 'b': out.loss.item()})"
    lines = added(loop(f"out = model(**batch)\nwandb.{log}\naccelerator.{log}"))
    assert lines[:2] == [
        "mean_loss = accelerator.gather(loss).mean()",
        "mean_loss_2 = accelerator.gather(out.loss).mean()",
    ]
    assert lines[2] == "wandb.log({'a': mean_loss.item(), 'b': mean_loss_2.item()})"


@pytest.mark.parametrize(
    ("value", "between"),
    [
        ("loss.item()", "loss.mul_(2)\n"),
        ("loss.item()", "optimizer.step()\n"),
        ("model(**batch).loss.item()", ""),
        ("batch['y'].sum().item()", "batch['y'] = mask\n"),
    ],
)
def test_a_value_that_may_differ_is_not_shared(value, between):
    text = loop(f"wandb.log({{'x': {value}}})\n{between}accelerator.log({{'x': {value}}})")
    assert [line.count("accelerator.gather(") for line in added(text)] == [1, 1]


@pytest.mark.parametrize(
    "body",
    [
        "for b in [mask, mask * 2]: accelerator.log({'x': (loss * b).sum() / b.sum()})",
        "if step: accelerator.log({'x': (loss * mask).sum() / mask.sum()})",
        "accelerator.log({'s': (m := mask * 2).dtype, 'x': (loss * m).sum() / m.sum()})",
        "accelerator.log({'x': (loss.mul_(2) * mask).sum() / mask.sum()})",
        "print(1); accelerator.log({'x': (loss * mask).sum() / mask.sum()})",
    ],
)
def test_where_no_line_can_come_just_before_a_ratio_is_a_hint(body):
    assert SNIPPETS.finding(loop(body)).fix.applicability is DISPLAY


@pytest.mark.parametrize(
    ("ratio", "between"),
    [
        ("(loss * mask).sum() / mask.sum()", "mask.zero_()"),
        ("(loss * mask).sum() / mask.sum()", "mask[0] = 0"),
        ("(torch.rand_like(loss) * mask).sum() / mask.sum()", "pass"),
        ("(model(**batch).logits * mask).sum() / mask.sum()", "pass"),
    ],
)
def test_a_ratio_is_not_computed_again_where_that_could_give_another_one(ratio, between):
    text = loop(f"kl = {ratio}\nbest = max(kl, 0)\n{between}\n{logged('kl.item()')}")
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY


@pytest.mark.parametrize(
    "body",
    [
        "x = None\nif step:\n    x = loss\nif accelerator.is_main_process:\n    wandb.log({'x': x.item()})",
        "if accelerator.is_main_process:\n    loss.mul_(2)\n    wandb.log({'x': loss.item()})",
        "if not accelerator.is_main_process: continue\nloss.mul_(2)\nwandb.log({'x': loss.item()})",
        "if accelerator.is_main_process:\n    batch['y'] = mask\n    wandb.log({'x': batch['z'].sum().item()})",
        "if accelerator.is_main_process:\n    wandb.log({'x': model(**batch).loss.item()})",
    ],
)
def test_what_may_have_no_value_or_do_more_stays_under_its_guard(body):
    text = loop(body)
    assert DISPLAY in {finding.fix.applicability for finding in SNIPPETS.findings(text)}
    assert SNIPPETS.mended(text, unsafe=True) == text


@pytest.mark.parametrize("floor", ["clamp(max=100)", "clamp(1, 10)", "clamp(min=5)"])
def test_a_bound_that_is_meant_for_the_count_of_one_rank_is_a_hint(floor):
    text = loop(logged(f"(loss * mask).sum() / mask.sum().{floor}"))
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY


@pytest.mark.parametrize("divisor", ["optimizer.size", "size", "accelerator.num_processes"])
def test_a_sum_over_a_count_of_one_rank_is_a_hint(divisor):
    text = loop(f"size = 8\n{logged(f'mask.sum().item() / {divisor}')}")
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY


# --- gradients ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "d = {'x': loss}\naccelerator.log(d)\nfinish(d)",
        "d = dict(x=loss)\naccelerator.log(d)\nfinish(d)",
        "d = {}\nd['x'] = loss\naccelerator.log(d)\nkept.append(d)",
        "d = {'x': loss}\naccelerator.log(d)\ne = d",
    ],
)
def test_a_loss_in_a_dict_that_goes_elsewhere_is_mended_at_the_user_s_risk(body):
    (fix,) = (finding.fix for finding in SNIPPETS.findings(loop(body)))
    assert fix.applicability is UNSAFE
    assert fix.reason == "a loss computed from it elsewhere would no longer have a gradient"
    for mended in (body.replace("loss", "loss.detach()"), body.replace("loss", "(mask > 1).sum()")):
        assert applicability(loop(mended)) is SAFE


def test_under_no_grad_there_is_no_gradient():
    body = "with torch.no_grad():\n    d = {'x': loss.mean()}\naccelerator.log(d)\nfinish(d)"
    assert applicability(loop(body)) is SAFE


def test_a_logarithm_is_no_log():
    text = loop("v = loss.mean()\nw = -torch.log(v)\naccelerator.log({'x': v})\naccelerator.backward(w)")
    assert added(text) == ["accelerator.log({'x': accelerator.gather(v).mean()})"]


# --- which ranks get there ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ("accelerator.on_main_process", DISPLAY),
        ("accelerator.on_local_main_process", DISPLAY),
        ("rank_zero_only", DISPLAY),
        ("somebody.s", UNSAFE),
        ("torch.no_grad()", SAFE),
    ],
)
def test_a_decorator_may_let_only_some_ranks_in(decorator, expected):
    body = f"@{decorator}\ndef show(v):\n    w = v * 2\n    accelerator.log({{'x': w.mean().item()}})\nshow(loss)"
    assert applicability(loop(body)) is expected


@pytest.mark.parametrize("test", ["wandb.run is not None", "wandb.run"])
def test_a_run_that_only_some_ranks_may_have_makes_it_unsafe(test):
    assert applicability(loop(f"if {test}:\n    wandb.log({{'x': loss.item()}})")) is UNSAFE


def test_what_only_the_main_process_has_made_is_a_guard():
    text = loop("if run is not None:\n    run.log({'x': loss.item()})").replace(
        "    for step", "    run = wandb.init() if accelerator.is_main_process else None\n    for step"
    )
    assert added(text)[0] == HOISTED[0]
    assert applicability(text) is UNSAFE


@pytest.mark.parametrize(("leave", "expected"), [("continue", UNSAFE), ("break", DISPLAY), ("return", DISPLAY)])
def test_a_rank_that_leaves_by_a_handler_is_not_there(leave, expected):
    text = loop(f"try:\n    risky(step)\nexcept ValueError:\n    {leave}\n{logged('loss.item()')}")
    assert applicability(text) is expected


def test_in_a_handler_it_is_a_hint():
    text = loop(f"try:\n    risky(step)\nexcept ValueError:\n    {logged('loss.item()')}")
    assert applicability(text) is DISPLAY


def test_a_log_in_a_lambda_is_a_hint():
    finding = SNIPPETS.finding(loop("f = lambda: accelerator.log({'x': mask.sum().item()})\nf()"))
    assert finding.fix.reason == "it is in a lambda"


# --- metrics that are updated batch by batch ------------------------------------------------------------

FED = """\
import evaluate
from accelerate import Accelerator

accelerator = Accelerator(log_with="wandb")
model, loader = accelerator.prepare(model, loader)
metric = {load}
for batch in loader:
    preds, labels = model(batch["x"]).argmax(-1), batch["labels"]
    {feed}
{show}
"""
LOAD, FEED = 'evaluate.load("accuracy")', "metric.add_batch(predictions=preds, references=labels)"
GATHER = "preds, labels = accelerator.gather_for_metrics((preds, labels))\n    "
SHOW = 'result = metric.compute()\naccelerator.log({"accuracy": result["accuracy"]})'


@pytest.mark.parametrize(
    ("load", "feed"),
    [
        (LOAD, FEED),
        ('evaluate.combine(["accuracy", "f1"])', FEED),
        (LOAD, "for p, l in zip(preds, labels):\n        metric.add(prediction=p, reference=l)"),
    ],
)
def test_a_metric_that_is_fed_with_the_samples_of_one_rank(load, feed):
    finding = SNIPPETS.finding(FED.format(load=load, feed=feed, show=SHOW))
    assert finding.because[-1].text == "it counts only this rank's own samples"
    assert finding.help == (
        "gather the samples before counting them: "
        "`predictions, labels = accelerator.gather_for_metrics((predictions, labels))`"
    )
    assert finding.fix.reason == "the metric over all samples can't be computed from the ranks' own"


def test_a_result_is_logged_as_a_whole():
    assert len(SNIPPETS.findings(FED.format(load=LOAD, feed=FEED, show="accelerator.log(metric.compute())"))) == 1


@pytest.mark.parametrize(
    ("feed", "show", "count"),
    [
        (FEED, 'print("accuracy", metric.compute()["accuracy"])', 1),
        (FEED, "accelerator.print(metric.compute())", 1),
        (FEED, "result = metric.compute()\nprint('eval', result)\nprint(result['accuracy'])", 1),
        (FEED, "print({'step': 3, **metric.compute()})", 1),
        (FEED, "print({'step': 3, 'rows': len(labels)})", 0),
        (FEED, "print(accelerator.process_index, metric.compute())", 0),
        (GATHER + FEED, "accelerator.print(metric.compute())", 0),
    ],
)
def test_a_result_is_printed(feed, show, count):
    printed = FED.format(load=LOAD, feed=feed, show=show)
    printed = printed.replace("    preds, labels = model", "    with torch.no_grad():\n        preds, labels = model")
    assert len(SNIPPETS.findings(printed)) == count


OF_FABRIC = """\
import torch
from lightning.fabric import Fabric
from lightning.fabric.utilities import rank_zero_info

fabric = Fabric(devices=2)
fabric.launch()
net, optimizer = fabric.setup(make_net(), make_optimizer())
loader = fabric.setup_dataloaders(make_loader())
with torch.no_grad():
    hits, rows = torch.zeros((), device=fabric.device), 0
    for inputs, labels in loader:
        hits += (net(inputs).argmax(-1) == labels).sum()
        rows += len(labels)
{show}
"""


@pytest.mark.parametrize(
    ("show", "says"),
    [
        ('fabric.print(f"accuracy {(hits / rows).item():.3f}")', ["only the main process's value is shown"]),
        ('print(f"accuracy {(hits / rows).item():.3f}")', ["each process shows its own value"]),
        ('hits, rows = fabric.all_reduce((hits, rows), reduce_op="sum")\nfabric.print((hits / rows).item())', []),
        ('fabric.print("rank", fabric.global_rank, hits / rows)', []),
        ('rank_zero_info(f"accuracy {(hits / rows).item()}")', ["only the main process's value is shown"]),
        ('hits, rows = fabric.all_reduce((hits, rows), reduce_op="sum")\nrank_zero_info(f"{hits / rows}")', []),
    ],
)
def test_a_fabric_prints_what_the_first_process_has(show, says):
    found = SNIPPETS.findings(OF_FABRIC.format(show=show))
    assert [each.message.rpartition("on several GPUs ")[2] for each in found] == says


@pytest.mark.parametrize(
    ("load", "feed", "show"),
    [
        (LOAD, GATHER + FEED, SHOW),
        ('evaluate.load("accuracy", num_process=accelerator.num_processes, process_id=0)', FEED, SHOW),
        (LOAD, FEED, "metric.compute()\n" + SHOW),
        (LOAD, "fill(metric, preds, labels)", SHOW),
        ('torchmetrics.Accuracy(task="binary")', "metric.update(preds, labels)",
         'accelerator.log({"accuracy": metric.compute()})'),
    ],
)  # fmt: skip
def test_a_metric_of_all_samples(load, feed, show):
    assert SNIPPETS.findings("import torchmetrics\n" + FED.format(load=load, feed=feed, show=show)) == []


def test_a_progress_bar_that_was_made_partial_is_followed():
    text = "from functools import partial\nfrom tqdm import tqdm\n\nbar = partial(tqdm, disable=True)\n" + FED.format(
        load="0", feed='accelerator.log({"hits": (preds == labels).float().mean()})', show=""
    )
    assert len(SNIPPETS.findings(text.replace("in loader", "in bar(loader)"))) == 1
    assert SNIPPETS.findings(text.replace("in loader", "in unknown(loader)")) == []


@pytest.mark.parametrize(
    ("metric", "speaks"),
    [
        ("loss * weights[self.turn % 2]", True),
        ("loss.mean() / self.turn", True),
        ("self.accelerator.gather(loss / self.turn).mean()", False),
        ("self.turn", False),
    ],
)
def test_a_counter_of_a_base_out_of_sight_hides_nothing(metric: str, speaks: bool):
    text = hook(f"self.turn += 1\nself.log({{'aux': ({metric})}})\nreturn loss")
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("call", "speaks"),
    [
        ("Trainer.log(self, {'aux': loss.mean().item()})", True),
        ("Trainer.log(self, logs={'aux': loss.mean().item()})", True),
        ("Trainer.log(self, {'aux': self.accelerator.gather(loss).mean().item()})", False),
        ("Trainer.log(other, {'aux': loss.mean().item()})", False),
        ("self.log({'aux': Trainer._prepare_inputs(self, inputs)['x'].mean().item()})", True),
        ("self.log({'aux': Trainer.unheard_of(self, inputs)['x'].mean().item()})", False),
    ],
)
def test_a_method_that_is_called_through_its_class(call: str, speaks: bool):
    text = hook(f"{call}\nreturn loss")
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("call", "speaks"),
    [("gather(loss)", False), ("loss", True), ("gather_object([loss])[0]", False), ("pad_mean(loss)", False)],
)
def test_what_a_module_of_trl_has_from_accelerate(call: str, speaks: bool):
    text = "from trl.trainer.grpo_trainer import gather, gather_object, pad_mean\n"
    text += hook(f"self.log({{'aux': {call}.mean().item()}})\nreturn loss")
    assert bool(SNIPPETS.findings(text)) is speaks


REWARDS = """\
prompts = [x['prompt'] for x in inputs]
texts = self.processing_class.batch_decode(model.generate(**batch))
rewards = torch.zeros(len(prompts), len(self.reward_funcs))
for i, (reward, processor) in enumerate(zip(self.reward_funcs, self.processors)):
    if isinstance(reward, torch.nn.Module):
        made = processor(prompts, return_tensors='pt')
        rewards[:, i] = reward(**made).logits[:, 0]
    else:
        rewards[:, i] = torch.tensor(reward(prompts=prompts, completions=texts))
"""


@pytest.mark.parametrize(
    ("change", "metric", "speaks"),
    [
        (("", ""), "rewards.mean().item()", True),
        (("", ""), "gather(rewards).mean().item()", False),
        # Rewards of what all ranks have combined are the same on all of them, or unknown.
        (("prompts=prompts", "prompts=gather_object(prompts)"), "rewards.mean().item()", False),
        # The callee may gather.
        (("completions=texts", "found=texts"), "rewards.mean().item()", False),
        (("return_tensors='pt'", "copies=2"), "rewards.mean().item()", False),
        (("torch.nn.Module", "Scorer"), "rewards.mean().item()", False),
    ],
)
def test_rewards_are_this_ranks_own(change: tuple[str, str], metric: str, speaks: bool):
    text = "from accelerate.utils import gather, gather_object\nfrom elsewhere import Scorer\n"
    text += hook(REWARDS.replace(*change) + f"self.log({{'reward': {metric}}})\nreturn loss")
    assert bool(SNIPPETS.findings(text)) is speaks


EPOCH = """\
import torch
from accelerate import Accelerator

def run_epoch(model, loader, optimizer, accelerator, train):
    total, seen = 0.0, 0
    for step, batch in enumerate(loader):
        {turned}
        loss = model(batch["x"]).loss
        if {asked}:
            accelerator.backward(loss)
            optimizer.step()
        seen += batch["x"].shape[0]
        total += loss.item() * batch["x"].shape[0]
        print(step)
    return total / seen

def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with {around}:
        mean = run_epoch(model, loader, optimizer, accelerator, {flag})
    print(f"loss {{mean:.4f}}")
"""


@pytest.mark.parametrize(
    ("asked", "flag", "is_reported"),
    [
        ("train", "False", True),
        ("not train", "True", True),
        ("train", "True", False),  # it trains
        ("train", "is_training()", False),
        ("train or always()", "False", False),
    ],
)
def test_a_loop_that_trains_by_a_flag_evaluates_without_it(asked, flag, is_reported):
    text = EPOCH.format(asked=asked, flag=flag, around="torch.no_grad()", turned="pass")
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("turned", "flag", "is_reported"),
    [
        ("torch.set_grad_enabled(False)", "False", True),
        ("torch.set_grad_enabled(train)", "False", True),
        ("torch.set_grad_enabled(not train)", "False", False),
        ("torch.set_grad_enabled(train)", "True", False),
        ("torch.set_grad_enabled(is_training())", "False", False),
    ],
)
def test_a_loop_that_turns_gradients_off_evaluates(turned, flag, is_reported):
    text = EPOCH.format(asked="train", flag=flag, around="here()", turned=turned)
    assert bool(SNIPPETS.findings("import torch\n" + text)) is is_reported


@pytest.mark.parametrize(
    ("element", "is_reported"),
    [
        ("layer.item()", True),
        ("accelerator.reduce(layer, 'mean').item()", False),  # more of them on one rank would hang there
        ("accelerator.reduce(loss, 'mean').item() if last else layer.item()", True),
    ],
)
def test_as_many_elements_are_on_each_rank_as_it_has_reduced_one_by_one(element, is_reported):
    lines = [
        "outputs = model(**batch)",
        "own = []",
        "for layer in outputs['kl']:",
        f"    own.append({element})",
        "accelerator.log({'kl': sum(own) / len(own)})",
    ]
    assert bool(SNIPPETS.findings(loop("\n".join(lines)))) is is_reported


def test_what_a_base_class_logs_for_a_subclass_is_not_said_to_be_returned_by_the_class():
    text = (
        "from trl import GRPOTrainer\n\n\n"
        "class Own(GRPOTrainer):\n"
        "    def _compute_loss(self, model, inputs):\n"
        "        loss = super()._compute_loss(model, inputs)\n"
        "        self._metrics['train']['own'].append(inputs['rewards'].mean().item())\n"
        "        return loss\n"
    )
    assert "and reaches `GRPOTrainer.log` unreduced" in SNIPPETS.finding(text).message


@pytest.mark.parametrize(
    ("value", "is_reported"),
    [
        ("len(scores)", False),
        ("len(rewards)", False),
        ("(scores == 2).sum().item() / len(scores)", True),
        ("len(scores[scores > 0])", True),
        ("len(torch.nonzero(scores))", True),
        ("len([each for each in scores if each > 0])", True),
    ],
)
def test_all_ranks_reward_as_many_samples_of_the_batch_of_a_trainer(value, is_reported):
    text = (
        "import torch\nfrom trl import GRPOTrainer\n\n\n"
        "class Own(GRPOTrainer):\n"
        "    def _generate_and_score_completions(self, inputs):\n"
        "        prompts = [each['prompt'] for each in inputs]\n"
        "        rewards = torch.zeros(len(prompts), len(self.reward_funcs))\n"
        "        for index, score in enumerate(self.reward_funcs):\n"
        "            rewards[:, index] = torch.tensor(score(prompts=prompts, completions=inputs))\n"
        "        scores = rewards[:, 0]\n"
        f"        self._metrics['train']['rows'].append({value})\n"
        "        return {}\n"
    )
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_a_name_whose_start_is_unknown_is_left_out_beside_those_that_it_may_be():
    text = (
        "from trl import DPOTrainer\n\n\n"
        "class Own(DPOTrainer):\n"
        "    def get_batch_loss_metrics(self, model, batch, train_eval='train'):\n"
        "        prefix = 'eval_' if train_eval == 'eval' else ''\n"
        "        loss = model(**batch).loss\n"
        "        return loss, {f'{prefix}margins': batch['margins'].mean()}\n\n"
        "    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        "        loss, metrics = self.get_batch_loss_metrics(model, inputs, train_eval='train')\n"
        "        self.log(metrics)\n"
        "        return loss\n"
    )
    assert SNIPPETS.finding(text).message.startswith("`margins` is computed")


@pytest.mark.parametrize(
    ("release", "package", "is_reported"),
    [
        (None, "pytorch_lightning", True),
        ("1", "pytorch_lightning", True),
        ("1.6", "pytorch_lightning", False),
        ("1.6", "lightning.pytorch", True),
        ("2", "pytorch_lightning", True),
    ],
)
def test_some_releases_of_lightning_reduce_at_the_end_of_each_epoch(release, package, is_reported):
    text = f"""\
from {package} import LightningModule, Trainer


class Net(LightningModule):
    def training_step(self, batch, index):
        return self.net(batch).mean()

    def validation_step(self, batch, index):
        self.log("val/loss", self.net(batch).mean())


Trainer(devices=8, strategy="ddp").fit(Net())
"""
    assert bool(Snippets("TRL003", Settings(lightning=release)).findings(text)) is is_reported
