"""DPO with samples of the policy: the share of preferred words in them is logged next to the usual metrics."""

import random
from dataclasses import dataclass, field

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import HfArgumentParser, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer
from trl.models.utils import unwrap_model_for_generation

GOOD = ["kind", "warm", "bright", "calm", "gentle"]
BAD = ["rude", "cold", "dark", "loud", "harsh"]
NOUNS = ["day", "voice", "room", "river", "friend"]


@dataclass
class ScriptArguments:
    num_pairs: int = field(default=40)
    sample_every: int = field(default=2, metadata={"help": "steps between two samples of the policy"})
    sample_tokens: int = field(default=6)


def make_pairs(count):
    rng = random.Random(0)
    pairs = []
    for _ in range(count):
        noun, length = rng.choice(NOUNS), rng.randint(1, 4)
        pairs.append(
            {
                "prompt": f"tell me of a {noun} :",
                "chosen": " " + " ".join(rng.choices(GOOD, k=length)),
                "rejected": " " + " ".join(rng.choices(BAD, k=length)),
            }
        )
    return Dataset.from_list(pairs)


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [" ".join(GOOD), " ".join(BAD), " ".join(NOUNS), "tell me of a :"]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<s>", "</s>"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


class SamplingDPOTrainer(DPOTrainer):
    def __init__(self, *args, sample_every, sample_tokens, **kwargs):
        super().__init__(*args, **kwargs)
        self.sample_every = sample_every
        self.sample_tokens = sample_tokens
        self.good_ids = torch.tensor(self.processing_class.convert_tokens_to_ids(GOOD), device=self.accelerator.device)

    def training_step(self, model, inputs, num_items_in_batch=None):
        if self.state.global_step % self.sample_every == 0:
            self.sample(inputs)
        return super().training_step(model, inputs, num_items_in_batch)

    @torch.no_grad()
    def sample(self, inputs):
        prompt_ids = inputs["prompt_input_ids"].to(self.accelerator.device)
        prompt_mask = inputs["prompt_attention_mask"].to(self.accelerator.device)
        with unwrap_model_for_generation(self.model, self.accelerator) as policy:
            output = policy.generate(
                input_ids=prompt_ids,
                attention_mask=prompt_mask,
                max_new_tokens=self.sample_tokens,
                min_new_tokens=self.sample_tokens,
                do_sample=True,
                pad_token_id=self.processing_class.pad_token_id,
            )
        new_tokens = output[:, prompt_ids.size(1) :]
        good_share = torch.isin(new_tokens, self.good_ids).float().mean(dim=1)
        good_share = self.accelerator.gather(good_share).mean().item()
        self.store_metrics({"samples/good_words": good_share}, train_eval="train")


def main():
    parser = HfArgumentParser((ScriptArguments, DPOConfig))
    parser.set_defaults(
        output_dir="dpo_samples",
        per_device_train_batch_size=4,
        max_steps=4,
        learning_rate=1e-3,
        logging_steps=2,
        save_strategy="no",
        report_to=["none"],
    )
    script_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)
    tokenizer = make_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    trainer = SamplingDPOTrainer(
        model=LlamaForCausalLM(config),
        ref_model=LlamaForCausalLM(config),
        args=training_args,
        train_dataset=make_pairs(script_args.num_pairs),
        processing_class=tokenizer,
        sample_every=script_args.sample_every,
        sample_tokens=script_args.sample_tokens,
    )
    trainer.train()


if __name__ == "__main__":
    main()
