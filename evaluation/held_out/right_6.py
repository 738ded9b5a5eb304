"""DPO trainer that looks at the margin between the answers, and writes samples of the policy to a file."""

import json
import os
import random
from dataclasses import dataclass, field

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer
from trl.models.utils import unwrap_model_for_generation

TOPICS = ["cooking", "chess", "hiking", "painting"]
NICE = ["fun", "healthy", "relaxing", "worth", "learning"]
DULL = ["boring", "slow", "useless", "hard"]


@dataclass
class ScriptArguments:
    num_pairs: int = field(default=44)
    hidden_size: int = field(default=32)
    sample_tokens: int = field(default=5)


def make_pairs(count):
    rng = random.Random(33)
    rows = []
    for _ in range(count):
        nice, dull = rng.choices(NICE, k=rng.randint(1, 6)), rng.choices(DULL, k=rng.randint(1, 3))
        rows.append(
            {
                "prompt": f"what of {rng.choice(TOPICS)} ?",
                "chosen": " it is " + " ".join(nice),
                "rejected": " it is " + " ".join(dull),
            }
        )
    return Dataset.from_list(rows)


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    words = [*TOPICS, *NICE, *DULL, "what of it is ?"]
    tokenizer.train_from_iterator(words, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<s>", "</s>"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


class MarginDPOTrainer(DPOTrainer):
    def dpo_loss(self, chosen_logps, rejected_logps, ref_chosen_logps, ref_rejected_logps):
        losses, chosen_rewards, rejected_rewards = super().dpo_loss(
            chosen_logps, rejected_logps, ref_chosen_logps, ref_rejected_logps
        )
        margins = self.accelerator.gather((chosen_rewards - rejected_rewards).detach())
        mode = "train" if self.model.training else "eval"
        self.store_metrics({"margins/min": margins.min().item(), "margins/std": margins.std().item()}, mode)
        return losses, chosen_rewards, rejected_rewards

    @torch.no_grad()
    def write_samples(self, prompts, max_new_tokens, path):
        inputs = self.processing_class(prompts, return_tensors="pt", padding=True, padding_side="left")
        inputs = inputs.to(self.accelerator.device)
        with unwrap_model_for_generation(self.model_wrapped, self.accelerator) as policy:
            was_training = policy.training
            policy.eval()
            output = policy.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=max_new_tokens,
                do_sample=False,
                pad_token_id=self.processing_class.pad_token_id,
            )
            policy.train(was_training)
        if self.is_world_process_zero():
            texts = self.processing_class.batch_decode(output, skip_special_tokens=True)
            with open(path, "w") as file:
                json.dump(texts, file, indent=2)


def main():
    parser = HfArgumentParser((ScriptArguments, DPOConfig))
    parser.set_defaults(
        output_dir="dpo_margins",
        per_device_train_batch_size=4,
        num_train_epochs=1,
        learning_rate=1e-3,
        logging_steps=2,
        save_strategy="no",
        report_to=["none"],
    )
    script_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)
    tokenizer = make_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=48,
        n_embd=script_args.hidden_size,
        n_layer=2,
        n_head=4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    trainer = MarginDPOTrainer(
        model=GPT2LMHeadModel(config),
        ref_model=GPT2LMHeadModel(config),
        args=training_args,
        train_dataset=make_pairs(script_args.num_pairs),
        processing_class=tokenizer,
    )
    trainer.train()
    os.makedirs(training_args.output_dir, exist_ok=True)
    prompts = [f"what of {topic} ?" for topic in TOPICS]
    path = os.path.join(training_args.output_dir, "samples.json")
    trainer.write_samples(prompts, script_args.sample_tokens, path)


if __name__ == "__main__":
    main()
