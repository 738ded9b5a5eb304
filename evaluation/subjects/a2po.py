"""Trains with trl's A2POTrainer, on answers that earn a reward if they are long (they come from `scripted.py`)."""

import scripted
import shared
from shared import tiny
from trl.experimental.a2po import A2POConfig, A2POTrainer

# filters: 1 to drop prompts whose answers all earn nothing from a dataset that is kept in a file.
chosen = shared.options(filters=0)


def reward(completions: list[str], **kwargs: object) -> list[float]:
    return [float(scripted.is_long(each)) for each in completions]


tokenizer = tiny.tiny_tokenizer()
tokenizer.padding_side = "left"
prompts = scripted.prompts(shared.size(chosen), chosen.batch).remove_columns("privileged_context")
trainer = A2POTrainer(
    model=scripted.policy(),
    reward_funcs=reward,
    args=A2POConfig(
        **shared.arguments(chosen),
        num_value_samples=2,
        max_completion_length=scripted.LONG + 1,
        filter_all_incorrect=bool(chosen.filters),
    ),
    train_dataset=tiny.stored(prompts) if chosen.filters else prompts,
    processing_class=tokenizer,
)
trainer.train()
