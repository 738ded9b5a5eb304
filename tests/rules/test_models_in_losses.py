"""TRL002: losses that keep their model, which a trainer of sentence_transformers replaces by the wrapped one."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

SCRIPT = """\
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer


class Contrastive(torch.nn.Module):
    def __init__(self, model, guide):
        super().__init__()
        self.model = {kept}
        self.guide = guide
        print(self.model.tokenizer)

    def forward(self, features, labels):
        return self.scores(features)

    def scores(self, features):
        {read}
        return self.model(features).sum()

    def shown(self):
        return self.model.tokenizer


model = SentenceTransformer("all")
loss = Contrastive(model, SentenceTransformer("guide"))
trainer = {trainer}
"""
TRAINER = "SentenceTransformerTrainer(model=model, train_dataset=rows, loss=loss)"
READ = "print(self.model.tokenizer)"


def script(kept: str = "model", read: str = READ, trainer: str = TRAINER) -> str:
    return SCRIPT.format(kept=kept, read=read, trainer=trainer)


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        (script(), True),
        (script(trainer='SentenceTransformerTrainer(model, loss={"pairs": loss})'), True),
        # The wrapper has it; another model; one that the loss has made itself.
        (script(read="self.model.eval()"), False),
        (script(read="print(self.guide.tokenizer)"), False),
        (script(kept='SentenceTransformer("own")'), False),
        # No trainer is passed it, or one that leaves it as it is.
        (script(trainer="loss(rows)"), False),
        (script(trainer="SentenceTransformerTrainer(model, train_dataset=rows)"), False),
        (script(trainer="fit(model, loss=loss)"), False),
    ],
)
def test_the_trainer_puts_the_wrapped_model_into_the_loss(text, is_reported):
    findings = SNIPPETS.findings(text)
    lines = text.splitlines()
    assert [lines[each.start.line - 1].strip() for each in findings] == [READ] * is_reported


def test_a_trainer_of_the_project_inherits_that():
    own = "class Mine(SentenceTransformerTrainer):\n    pass\n\n\nmodel = Sentence"
    text = script(trainer="Mine(model=model, loss=loss)").replace("model = Sentence", own, 1)
    assert [each.message for each in SNIPPETS.findings(text)] == [
        "`.tokenizer` is read from `self.model`, a wrapped model: AttributeError under DDP and DataParallel"
    ]


def test_the_chain_names_the_trainer():
    (step,) = SNIPPETS.finding(script()).because
    assert step.text == "the trainer puts the wrapped model into this loss"
    assert script().splitlines()[step.start.line - 1].startswith("trainer = ")
