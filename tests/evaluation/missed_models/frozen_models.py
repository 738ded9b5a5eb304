# Accelerate wraps no model in DDP of which nothing is trained.
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def frozen():
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model.requires_grad_(False)
    model = accelerator.prepare(model)
    return model.config


def evaluated():
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model.eval()
    model = accelerator.prepare(model)
    return model.config  # expect: TRL002


def thawed():
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model.requires_grad_(False)
    model.lm_head.requires_grad_(True)
    model = accelerator.prepare(model)
    return model.config  # expect: TRL002
