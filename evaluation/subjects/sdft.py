"""Trains with trl's SDFTTrainer: a policy learns from itself, given more context (its answers are in `scripted.py`)."""

import scripted
import shared
import tiny
from trl.experimental.sdft import SDFTConfig, SDFTTrainer

# skip: how many first tokens of an answer the loss ignores. server: 1 for a teacher that answers on a server.
chosen = shared.options(skip=0, server=0)
trainer = SDFTTrainer(
    model=scripted.policy(),
    args=SDFTConfig(
        **shared.arguments(chosen),
        num_generations=2,
        shuffle_dataset=False,
        max_completion_length=scripted.LONG + 1,
        num_loss_tokens_to_skip=chosen.skip,
        teacher_model_kind="live",
        distillation_mode="sampled_token",
        distillation_alpha=1.0,
    ),
    train_dataset=scripted.prompts(shared.size(chosen) // 2),
    processing_class=tiny.tiny_tokenizer(),
)
if chosen.server:
    scripted.serve(trainer)
trainer.train()
