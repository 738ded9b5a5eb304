"""Trains with trl's SDPOTrainer: a policy learns from those of its answers that earn a reward (see `scripted.py`)."""

import scripted
import shared
import tiny
from trl.experimental.sdpo import SDPOConfig, SDPOTrainer

# fails: 1 if short answers earn nothing. server: 1 for a teacher that answers on a server.
chosen = shared.options(fails=0, server=0)


def reward(completions: list[str], **kwargs: object) -> list[float]:
    return [float(scripted.is_long(each) or not chosen.fails) for each in completions]


trainer = SDPOTrainer(
    model=scripted.policy(),
    reward_funcs=reward,
    args=SDPOConfig(
        **shared.arguments(chosen),
        num_generations=2,
        shuffle_dataset=False,
        max_completion_length=scripted.LONG + 1,
        teacher_model_kind="live",
        distillation_mode="sampled_token",
    ),
    train_dataset=scripted.prompts(shared.size(chosen) // 2),
    processing_class=tiny.tiny_tokenizer(),
)
if chosen.server:
    scripted.serve(trainer)
trainer.train()
