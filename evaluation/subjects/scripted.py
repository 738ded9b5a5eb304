"""A policy whose answers are predetermined, so that two runs, on one process or more, train on the same ones.

The model is trained like any other; only the answers that it would sample are replaced. The length of an answer follows
from the prompt: a prompt with an odd number of words gets a long one (of several answers every other one is short), the
others a short one. Rows are distributed in turn, so that with two answers per prompt in a batch, every second process
has short answers only.
"""

from types import SimpleNamespace
from typing import Any

import torch
from datasets import Dataset
from shared import tiny
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaForCausalLM, Trainer

LONG, SHORT = 7, 2
FIRST_WORD = len(tiny.SPECIAL)


def prompts(size: int, at_once: int = 1) -> Dataset:
    """Prompts of three and of four words, `at_once` of each in turn, and the context that only a teacher sees."""
    return Dataset.from_dict(
        {
            "prompt": [tiny.sentence(index, 3 + index // at_once % 2) for index in range(size)],
            "privileged_context": [tiny.sentence(index + 5, 4) for index in range(size)],
        }
    )


def policy() -> LlamaForCausalLM:
    model = tiny.tiny_model()
    model.config._name_or_path = "tiny"
    model.generate = _generate
    return model


def is_long(answer: str) -> bool:
    return len(answer.split()) >= LONG


def serve(trainer: Trainer) -> None:
    """Take the teacher's log-probabilities from a server, of which only the answers exist."""
    trainer.use_teacher_server = True
    trainer.teacher_client = SimpleNamespace(get_sequence_logprobs=_logprobs)
    trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)


def _logprobs(sequences: list[list[int]], prompt_lengths: list[int], **kwargs: object) -> dict[str, list]:
    """The server's log-probabilities for each token of the answers."""
    answers = [ids[length:] for ids, length in zip(sequences, prompt_lengths, strict=True)]
    values = [[[-1.0 - (token * 7 + at) % 5] for at, token in enumerate(answer)] for answer in answers]
    tokens = [[[token] for token in answer] for answer in answers]
    return {"actual_logprobs": values, "logprobs": values, "logprob_token_ids": tokens}


def _generate(input_ids: torch.Tensor, attention_mask: torch.Tensor, **kwargs: Any) -> Any:
    """The prompts with their answers, in the form that `generate` returns."""
    config = kwargs.get("generation_config")
    count = getattr(config, "num_return_sequences", None) or 1
    input_ids, attention_mask = (each.repeat_interleave(count, 0) for each in (input_ids, attention_mask))
    answers = []
    for index, (ids, mask) in enumerate(zip(input_ids, attention_mask, strict=True)):
        is_long = int(mask.sum()) % 2 == 1 and index % count == 0
        answers.append(_answer(LONG if is_long else SHORT, int(ids[mask.bool()].sum())))
    sequences = torch.cat([input_ids, pad_sequence(answers, batch_first=True, padding_value=0)], dim=1)
    return SimpleNamespace(sequences=sequences) if kwargs.get("return_dict_in_generate") else sequences


def _answer(words: int, seed: int) -> torch.Tensor:
    return torch.tensor([*(FIRST_WORD + (seed * 5 + at * 7) % len(tiny.WORDS) for at in range(words)), 1])
