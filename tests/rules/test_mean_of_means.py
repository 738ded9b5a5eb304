"""TRL007: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

from textwrap import dedent

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL007")
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY
RATIO = "mean = (kl * mask).sum() / mask.sum()\n"
DATA = 'kl = model(**batch).logits\nmask = batch["labels"] != -100\n'


def found(body: str) -> list[str]:
    """The code at the findings of a training loop that ends in these lines."""
    text = loop(DATA + dedent(body))
    return [shown(text, finding) for finding in SNIPPETS.findings(text)]


# --- the finding ----------------------------------------------------------------------------------------


def test_a_finding_says_what_where_why_and_how():
    text = loop(DATA + RATIO + "value = accelerator.gather(mean).mean()")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.gather(mean).mean()"
    assert (finding.code, finding.name) == ("TRL007", "mean-of-means")
    assert finding.message == (
        "the ranks' means are averaged, although each rank has its own number of elements: on several GPUs a rank with "
        "few of them counts as much as one with many"
    )
    assert finding.because[-1].text == "`(kl * mask).sum() / mask.sum()` averages this rank's own number of elements"
    assert finding.because[-1].start.line == finding.start.line - 1
    assert finding.help.startswith("add up the sum and the count over the ranks, and divide once")


@pytest.mark.parametrize(
    "average",
    [
        "accelerator.gather(mean).mean()",
        "accelerator.gather(mean).nanmean()",
        "torch.mean(accelerator.gather(mean))",
        "accelerator.gather_for_metrics(mean).mean()",
        "accelerator.gather(mean.detach()).float().mean()",
        "accelerator.gather(mean * 100).mean()",
        'accelerator.reduce(mean, "mean")',
        'accelerator.reduce(mean, reduction="mean")',
        "accelerator.gather(mean).sum() / accelerator.num_processes",
        "accelerator.reduce(mean) / accelerator.num_processes",
        "accelerator.reduce(mean / accelerator.num_processes)",
    ],
)
def test_every_way_to_average(average: str):
    assert found(RATIO + f"value = {average}") == [average]


@pytest.mark.parametrize(
    "mean",
    [
        "(kl * mask).sum() / mask.sum()",
        "(kl * mask).sum() / mask.sum().clamp(min=1)",
        "(kl * mask).sum() / (mask.sum() + 1e-8)",
        "torch.sum(kl * mask) / torch.clamp(torch.sum(mask), min=1)",
        "(kl * mask).sum().div(mask.sum())",
        "kl[mask].mean()",
        "(kl.argmax(-1)[mask] == mask[mask]).float().mean()",
        "kl[~mask].mean()",
        "kl[mask & (kl > 0)].mean()",
        "torch.masked_select(kl, mask).mean()",
        "kl[mask].sum() / kl[mask].numel()",
        "kl.nanmean()",
        'torch.nn.functional.cross_entropy(kl, batch["labels"], ignore_index=-100)',
    ],
)
def test_every_mean_over_this_rank_s_own_count(mean: str):
    assert found(f"value = accelerator.gather({mean}).mean()") == [f"accelerator.gather({mean}).mean()"]


@pytest.mark.parametrize(
    ("sums", "is_there"),
    [
        ("torch.stack([(kl * mask).sum(), mask.sum()])", True),
        ("torch.stack([(kl * mask).sum(), mask.sum()]).unbind()", True),
        # The sums of all ranks; means of which each has the same number of elements; those of each sample.
        ('accelerator.reduce(torch.stack([(kl * mask).sum(), mask.sum()]), "sum")', False),
        ("torch.stack([kl.mean(), kl.std()])", False),
        ("torch.stack([(kl * mask).sum(-1), mask.sum(-1)])", False),
    ],
)
def test_sums_that_are_unpacked(sums: str, is_there: bool):
    lines = f"total, count = {sums}\nown = total / count\nvalue = accelerator.gather(own).mean()"
    assert found(lines) == ["accelerator.gather(own).mean()"] * is_there


@pytest.mark.parametrize(
    "lines",
    [
        "value = accelerator.gather(kl.mean()).mean()",
        "value = accelerator.gather((kl * mask).sum(-1).mean()).mean()",
        "value = accelerator.gather(((kl * mask).sum(-1) / mask.sum(-1)).mean()).mean()",
        "value = accelerator.gather((kl * mask).sum() / kl.shape[0]).mean()",
        "value = accelerator.gather((kl * mask).sum() / 8).mean()",
        RATIO + "value = accelerator.gather(mean).max()",
        RATIO + "value = accelerator.gather(mean)",
        RATIO + "value = accelerator.reduce(mean)",
        RATIO + "value = (accelerator.gather(mean) * accelerator.gather(mask.sum())).sum() / 8",
        RATIO + "value = accelerator.gather(mean * mask.sum()).mean()",
        RATIO + "value = accelerator.gather(mean * unknown()).mean()",
        "value = accelerator.gather(loss).mean()",
        "value = accelerator.gather((kl * mask).sum()).sum() / accelerator.gather(mask.sum()).sum()",
        "value = accelerator.gather(unknown(kl) / mask.sum()).mean()",
        "value = accelerator.gather(kl[torch.arange(4) % 2 == 0].mean()).mean()",
        "n = accelerator.reduce(mask.sum())\nvalue = accelerator.gather((kl * mask).sum() / n).mean()",
    ],
)
def test_what_is_right_or_not_known(lines: str):
    assert found(lines) == []


def test_the_loss_that_is_trained_is_averaged_by_its_gradients():
    body = DATA + RATIO + "own = mean / 4 + 1\nvalue = accelerator.gather(mean.detach()).mean()\n"
    assert SNIPPETS.findings(loop(body))
    assert not SNIPPETS.findings(loop(body + "accelerator.backward(own)"))
    assert not SNIPPETS.findings(loop(body + "own.backward()"))


def test_what_compute_loss_returns_is_trained():
    text = """
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            kl, mask = model(**inputs).logits, inputs["labels"] != -100
            loss = (kl * mask).sum() / mask.sum()
            self.log({"loss": self.accelerator.gather(loss.detach()).mean().item()})
            return RETURNED
    """
    assert not SNIPPETS.findings(trainer(text.replace("RETURNED", "(loss, kl) if return_outputs else loss")))
    assert SNIPPETS.findings(trainer(text.replace("RETURNED", "kl.mean()")))


def test_a_mean_is_followed_through_attributes_containers_helpers_and_returns():
    text = trainer("""
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            kl, mask = model(**inputs).logits, inputs["labels"] != -100
            count = mask.sum().clamp(min=1.0)

            def masked_mean(x):
                if x.shape[1] == 1:
                    return x.mean()
                return (x * mask).sum() / count

            self.kept = masked_mean(kl)
            metrics = {"kept": self.kept}
            self.show(metrics)
            return kl.mean()

        def show(self, metrics):
            for key, value in metrics.items():
                gathered = self.accelerator.gather(value)
                self.log({key: gathered.nanmean().item()})
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "gathered.nanmean()"
    assert finding.fix is None or finding.fix.applicability is DISPLAY


def test_a_helper_that_averages_is_wrong_only_where_it_is_given_such_a_mean():
    text = trainer("""
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            kl, mask = model(**inputs).logits, inputs["labels"] != -100
            rows = self.average(kl.mean())
            tokens = self.average((kl * mask).sum() / mask.sum())
            return kl.mean()

        def average(self, value):
            return self.accelerator.gather(value).mean()
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "tokens = self.average((kl * mask).sum() / mask.sum())"
    assert finding.help.startswith("pass it the sum and the count instead of the mean")


def test_the_rows_of_one_class_are_selected():
    text = trainer("""
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            logps = model(**inputs).logits.sum(-1)
            chosen = [i for i in range(logps.shape[0]) if inputs["label"][i] is True]
            rewards = logps[chosen, ...]
            self.log({"chosen": self.accelerator.gather(rewards.nanmean()).nanmean().item()})
            return logps.mean()
    """)
    assert "select" in SNIPPETS.finding(text).because[-1].text


# --- the fix --------------------------------------------------------------------------------------------


def test_the_mean_becomes_that_of_all_ranks_where_nothing_else_needs_it():
    text = loop(DATA + RATIO + 'accelerator.log({"kl": accelerator.gather(mean).mean().item()})')
    assert SNIPPETS.finding(text).fix.applicability is SAFE
    expected = text.replace(
        RATIO.rstrip(),
        "mean_sum, mean_count = "
        'accelerator.reduce(torch.stack([(kl * mask).sum(), mask.sum()]), reduction="sum")\n'
        "        mean = mean_sum / mean_count",
    ).replace("accelerator.gather(mean).mean()", "mean")
    assert SNIPPETS.mended(text) == expected


@pytest.mark.parametrize("between", ["kl = kl * 2", "kl.mul_(2)", "mode = 'train' if model.training else 'eval'"])
@pytest.mark.parametrize("around", ["", "with torch.no_grad():\n    "])
def test_it_is_that_of_all_ranks_from_where_it_is_computed(around: str, between: str):
    text = loop(DATA + around + RATIO + between + "\nvalue = accelerator.gather(mean).mean().item()")
    mended = SNIPPETS.mended(text)
    assert mended.index("mean_sum, mean_count = accelerator.reduce(") < mended.index(between)
    assert "value = mean.item()" in mended
    assert SNIPPETS.findings(mended) == []


def test_this_rank_s_mean_stays_where_it_is_needed():
    text = loop(DATA + RATIO + "own = mean.item()\nvalue = accelerator.gather(mean).mean().item()")
    mended = SNIPPETS.mended(text)
    assert RATIO.strip() in mended
    assert "value = (mean_sum / mean_count).item()" in mended


def test_the_bound_of_a_count_is_that_of_the_count_of_all():
    text = loop(
        DATA + "count = mask.sum().clamp(min=1)\nmean_kl = (kl * mask).sum() / count\n"
        "gathered = accelerator.gather(mean_kl)\nvalue = gathered.nanmean().item()"
    )
    mended = SNIPPETS.mended(text)
    assert "gathered = kl_sum / kl_count.clamp(min=1)\n" in mended
    assert "value = gathered.item()" in mended


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            RATIO + "own = mean.item()\nkl = kl * 2\nvalue = accelerator.gather(mean).mean()",
            "its sum or its count may have changed where it is averaged",
        ),
        (
            RATIO + "own = mean.item()\nkl.mul_(2)\nvalue = accelerator.gather(mean).mean()",
            "its sum or its count may have changed where it is averaged",
        ),
        (
            RATIO + "own = mean.item()\nkl[0].data[0] += 1\nvalue = accelerator.gather(mean).mean()",
            "its sum or its count may have changed where it is averaged",
        ),
        (
            RATIO + "g = accelerator.gather(mean)\nvalue = g.mean()\nlargest = g.max()",
            "the ranks' means are needed for more than their average",
        ),
        ("value = accelerator.gather(kl[mask].mean()).mean()", "its sum and its count are not written in the code"),
        (
            RATIO + "if mask.any():\n    value = accelerator.gather(mean).mean()",
            "some ranks may not get here",
        ),
        (
            RATIO + "value = accelerator.reduce(mean) / accelerator.num_processes",
            "it is not known how the average is computed",
        ),
    ],
)
def test_what_is_left_to_the_author(lines: str, reason: str):
    text = loop(DATA + lines)
    finding = SNIPPETS.finding(text)
    assert finding.fix is None or finding.fix.applicability is DISPLAY
    assert reason in repr(finding)
    assert SNIPPETS.fix(text.encode(), unsafe=True).source == text.encode()


def test_under_a_condition_that_is_not_known_the_fix_is_unsafe():
    text = loop(DATA + "if unknown():\n    " + RATIO + "    value = accelerator.gather(mean).mean()")
    assert SNIPPETS.finding(text).fix.applicability is UNSAFE
    assert SNIPPETS.mended(text) == text
    assert "accelerator.reduce(" in SNIPPETS.mended(text, unsafe=True)


def test_the_entries_of_a_dict_are_averaged_where_the_collective_is():
    body = RATIO + 'both = accelerator.reduce({"a": mean, "b": [mean * 2]}, reduction="mean")'
    assert found(body) == ['accelerator.reduce({"a": mean, "b": [mean * 2]}, reduction="mean")']
