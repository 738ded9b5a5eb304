"""Trains with trl's IWOPDTrainer: a policy learns from a teacher on its own answers (which come from `scripted.py`)."""

import tempfile

import scripted
import shared
from datasets import Dataset
from shared import tiny
from trl.experimental.iw_opd import IWOPDConfig, IWOPDTrainer

TEMPLATE = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"


def conversation(prompt: str) -> list[dict[str, str]]:
    """The loss is divided by the tokens of this answer, although the policy's own answer replaces it."""
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": tiny.sentence(0, 4)}]


chosen = shared.options()
prompts = scripted.prompts(shared.size(chosen), chosen.batch)["prompt"]
tokenizer = tiny.tiny_tokenizer()
tokenizer.chat_template = TEMPLATE
teacher = tiny.tiny_model()
for parameter in teacher.parameters():
    parameter.data *= 1.5
with tempfile.TemporaryDirectory() as folder:
    tokenizer.save_pretrained(folder)
    teacher.config._name_or_path = folder
    trainer = IWOPDTrainer(
        model=scripted.policy(),
        teacher_model=teacher,
        args=IWOPDConfig(
            **shared.arguments(chosen),
            max_length=32,
            max_prompt_length=8,
            max_completion_length=scripted.LONG + 1,
        ),
        train_dataset=Dataset.from_dict({"messages": [conversation(each) for each in prompts]}),
        processing_class=tokenizer,
    )
trainer.train()
