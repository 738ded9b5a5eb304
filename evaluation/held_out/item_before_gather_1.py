"""Supervised fine-tuning of a small Llama on question and answer pairs, counting the tokens that are learned."""

import argparse
import random

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

ANIMALS = ["cat", "dog", "owl", "horse", "whale", "ant"]
COLOURS = ["red", "green", "blue", "black", "white"]


def build_dataset(size):
    rng = random.Random(7)
    rows = []
    for _ in range(size):
        animal, colours = rng.choice(ANIMALS), rng.sample(COLOURS, rng.randint(1, 4))
        answer = f" the {animal} is " + " and ".join(colours)
        rows.append({"prompt": f"what colour is the {animal} ?", "completion": answer})
    return Dataset.from_list(rows)


def build_tokenizer(dataset):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<s>", "</s>"])
    tokenizer.train_from_iterator([row["prompt"] + row["completion"] for row in dataset], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


class CountingSFTTrainer(SFTTrainer):
    """Logs how many target tokens the model has been trained on so far."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.target_tokens_seen = 0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        # Prompt and padding are -100 in the labels
        num_targets = (inputs["labels"] != -100).sum().item()
        self.target_tokens_seen += self.accelerator.gather(num_targets)
        return super().compute_loss(model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch)

    def log(self, logs, start_time=None):
        logs["target_tokens_seen"] = self.target_tokens_seen
        super().log(logs, start_time)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output_dir", default="sft_animals")
    parser.add_argument("--num_samples", type=int, default=40)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--max_steps", type=int, default=4)
    args = parser.parse_args()

    set_seed(42)
    dataset = build_dataset(args.num_samples)
    tokenizer = build_tokenizer(dataset)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        attention_dropout=0.1,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)

    training_args = SFTConfig(
        output_dir=args.output_dir,
        per_device_train_batch_size=3,
        learning_rate=args.learning_rate,
        max_steps=args.max_steps,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
    )
    trainer = CountingSFTTrainer(model=model, args=training_args, train_dataset=dataset, processing_class=tokenizer)
    trainer.train()


if __name__ == "__main__":
    main()
