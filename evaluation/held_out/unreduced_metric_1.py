"""DPO on short synthetic dialogues. Keeps an eye on the length of what the policy is taught to prefer."""

import random
from dataclasses import dataclass, field

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer

TEXT = "sure here is the plan we go home now then eat soup and sleep well until dawn"
WORDS = TEXT.split()


@dataclass
class ScriptArguments:
    num_pairs: int = field(default=36, metadata={"help": "number of preference pairs"})
    hidden_size: int = field(default=32, metadata={"help": "size of the model"})
    max_steps: int = field(default=4, metadata={"help": "optimizer steps"})
    seed: int = field(default=3, metadata={"help": "seed of data and training"})


def make_pairs(count, seed):
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        prompt = " ".join(rng.choices(WORDS, k=rng.randint(2, 6)))
        chosen = " ".join(sorted(rng.choices(WORDS, k=rng.randint(3, 14))))
        rejected = " ".join(rng.choices(WORDS, k=rng.randint(2, 8)))
        pairs.append({"prompt": prompt, "chosen": " " + chosen, "rejected": " " + rejected})
    return Dataset.from_list(pairs)


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        [WORDS], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[BOS]", "[EOS]"])
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", bos_token="[BOS]", eos_token="[EOS]"
    )


class LengthAwareDPOTrainer(DPOTrainer):
    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)
        prefix = "eval_" if train_eval == "eval" else ""
        chosen_lengths = batch["chosen_attention_mask"].sum(dim=1).float()
        metrics[f"{prefix}lengths/chosen"] = chosen_lengths.mean().item()
        return loss, metrics


def main():
    (script_args,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses()
    set_seed(script_args.seed)
    tokenizer = make_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=script_args.hidden_size,
        n_layer=2,
        n_head=4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    training_args = DPOConfig(
        output_dir="dpo_lengths",
        per_device_train_batch_size=4,
        max_steps=script_args.max_steps,
        learning_rate=5e-4,
        logging_steps=1,
        beta=0.2,
        save_strategy="no",
        seed=script_args.seed,
        report_to="none",
    )
    trainer = LengthAwareDPOTrainer(
        model=GPT2LMHeadModel(config),
        ref_model=GPT2LMHeadModel(config),
        args=training_args,
        train_dataset=make_pairs(script_args.num_pairs, script_args.seed),
        processing_class=tokenizer,
    )
    trainer.train()


if __name__ == "__main__":
    main()
