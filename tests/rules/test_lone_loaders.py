"""TRL003: a Trainer that is told just before it makes a loader that it is alone gets all rows on each rank.

Up to transformers 4.28 the loader of an evaluation has this rank's share only where `args.local_rank` is not -1.
"""

import pytest
from snippets import Snippets

from trl_lint.settings import Settings

PROGRAM = """\
import torch
from transformers import Trainer

class Own(Trainer):
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        {before}
        loader = self.get_eval_dataloader(eval_dataset)
        self.args.local_rank = torch.distributed.get_rank()
        return self.prediction_loop(loader, "Evaluation")

    {predict}

    def prediction_loop(self, dataloader, description):
        losses = []
        for inputs in dataloader:
            loss = self.model(**self._prepare_inputs(inputs)).loss
            losses.append(loss.mean().item())
        self.log({{"eval_loss": sum(losses) / len(losses)}})
"""
ALONE = "self.args.local_rank = -1"
REPLACED = """def predict(self, test_dataset):
        self.args.local_rank = -1
        return self.prediction_loop(self.get_test_dataloader(test_dataset), "Prediction")"""


def lines(before: str, predict: str = REPLACED, release: str = "4.5.1") -> list[int]:
    text = PROGRAM.format(before=before, predict=predict)
    return [each.start.line for each in Snippets("TRL003", Settings(target_transformers=release)).findings(text)]


@pytest.mark.parametrize("release", ["4.5.1", "4.28.1"])
def test_each_rank_evaluates_all_rows(release):
    assert not lines(ALONE, release=release)


def test_accelerate_says_how_many_processes_there_are():
    assert lines(ALONE, release="4.29.2")


@pytest.mark.parametrize(
    "before",
    [
        "pass",
        "self.args.local_rank = 0",
        "if self.is_small: self.args.local_rank = -1",
        "self.args.local_rank = -1; self.args.local_rank = torch.distributed.get_rank()",
        "self.args.seed = -1",
    ],
)
def test_each_rank_has_its_share(before):
    assert lines(before)


def test_the_library_passes_the_loop_a_share_of_the_rows():
    assert lines(ALONE, predict="def predict(self, rows): return super().predict(rows)")
