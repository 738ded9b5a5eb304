# Texts generated from this rank's prompts, tokenised by a loaded tokenizer, are rank-local.
import torch
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def answer(accelerator, policy, tokenizer, prompts):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True).to(accelerator.device)
    with torch.no_grad():
        answers = accelerator.unwrap_model(policy).generate(**tokens, max_new_tokens=8)
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    return torch.tensor([float(len(text)) for text in texts], device=accelerator.device)


def run(data):
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    policy = AutoModelForCausalLM.from_pretrained("gpt2")
    optimizer = torch.optim.AdamW(policy.parameters())
    policy, optimizer, loader = accelerator.prepare(policy, optimizer, DataLoader(data, batch_size=4))
    for prompts in loader:
        lengths = answer(accelerator, policy, tokenizer, prompts)
        of_one_question = answer(accelerator, policy, tokenizer, ["What is it?"])
        loss = policy(**tokenizer(prompts, return_tensors="pt")).logits.mean()
        accelerator.backward(loss)
        optimizer.step()
        everyones = accelerator.gather(lengths)
        if accelerator.is_main_process:
            wandb.log({"length": lengths.mean().item()})  # expect: TRL003
            wandb.log({"length of all": everyones.mean().item()})
            wandb.log({"length of one": of_one_question.mean().item()})


run(["a", "b"])
