"""Reward model on synthetic preferences; logs how long the rejected answers are."""

import argparse
import random
from collections import defaultdict

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, set_seed
from trl import RewardConfig, RewardTrainer

QUESTIONS = ["how are you", "what is your name", "where do you live", "do you like tea"]
POLITE = ["thank", "you", "for", "asking", "i", "am", "happy", "to", "tell", "you", "that", "all", "is", "well"]
RUDE = ["no", "go", "away", "i", "do", "not", "care"]


def make_pairs(count):
    rng = random.Random(9)
    pairs = []
    for _ in range(count):
        question = rng.choice(QUESTIONS)
        chosen = " ".join(POLITE[: rng.randint(3, len(POLITE))])
        rejected = " ".join(rng.choices(RUDE, k=rng.randint(1, 9)))
        pairs.append({"chosen": f"{question} ? {chosen}", "rejected": f"{question} ? {rejected}"})
    return pairs


def make_tokenizer(pairs):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [text for pair in pairs for text in pair.values()]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class LengthRewardTrainer(RewardTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.lengths = defaultdict(list)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        if model.training:
            lengths = inputs["attention_mask_rejected"].sum(dim=1)
            lengths = self.accelerator.gather(lengths.cpu())
            self.lengths["length/rejected"].append(lengths.float().mean().item())
        return super().compute_loss(model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch)

    def log(self, logs, start_time=None):
        for name, values in self.lengths.items():
            logs[name] = sum(values) / len(values)
        self.lengths.clear()
        super().log(logs, start_time)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_pairs", type=int, default=42)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--max_length", type=int, default=32)
    parser.add_argument("--output_dir", default="reward_model")
    args = parser.parse_args()

    set_seed(14)
    pairs = make_pairs(args.num_pairs)
    tokenizer = make_tokenizer(pairs)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=args.max_length,
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
    )
    trainer = LengthRewardTrainer(
        model=BertForSequenceClassification(config),
        args=RewardConfig(
            output_dir=args.output_dir,
            per_device_train_batch_size=args.batch_size,
            num_train_epochs=1,
            learning_rate=args.learning_rate,
            max_length=args.max_length,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
        ),
        train_dataset=Dataset.from_list(pairs),
        processing_class=tokenizer,
    )
    trainer.train()


if __name__ == "__main__":
    main()
