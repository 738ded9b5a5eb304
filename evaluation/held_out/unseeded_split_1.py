"""SFT on recipes with a part of them held back for evaluation."""

import argparse

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

DISHES = ["soup", "bread", "salad", "stew", "pie", "rice", "noodles"]
STEPS = ["wash", "cut", "salt", "boil", "fry", "serve"]


def make_recipes():
    recipes = []
    for number, dish in enumerate(DISHES):
        for first in range(len(STEPS)):
            steps = STEPS[first:] if (number + first) % 2 else STEPS[: first + 1]
            recipes.append({"text": f"to make {dish} you {' and '.join(steps)} it"})
    return Dataset.from_list(recipes)


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<eos>"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval_share", type=float, default=0.25)
    parser.add_argument("--num_train_epochs", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=3e-3)
    parser.add_argument("--output_dir", default="sft_recipes")
    args = parser.parse_args()

    dataset = make_recipes()
    tokenizer = make_tokenizer(dataset["text"])
    training_args = SFTConfig(
        output_dir=args.output_dir,
        num_train_epochs=args.num_train_epochs,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        learning_rate=args.learning_rate,
        eval_strategy="epoch",
        logging_steps=2,
        save_strategy="no",
        seed=7,
        report_to="none",
    )
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )

    split = dataset.train_test_split(test_size=args.eval_share)
    trainer = SFTTrainer(
        model=GPT2LMHeadModel(config),
        args=training_args,
        train_dataset=split["train"],
        eval_dataset=split["test"],
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
