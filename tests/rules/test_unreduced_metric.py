"""TRL003: where it speaks, what it says, and what it leaves alone."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown, trainer

SNIPPETS = Snippets("TRL003")


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
        "on several GPUs the log shows the main process's share only"
    )
    assert [step.text for step in finding.because] == ["`inputs` is this rank's own data"]
    assert text.splitlines()[finding.because[0].start.line - 1].lstrip().startswith("def compute_loss")
    assert finding.help == (
        "gather it over the ranks first: `accelerator.gather(value).mean()`, then `.item()`"
    )
    assert finding.fix is None
    assert finding.url.endswith("#trl003-unreduced-metric")


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
    assert "where all of them get to, before the condition" in finding.help


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
