# A DeepSpeed engine forwards the attributes of its module.
import deepspeed
import torch
from transformers import AutoModelForCausalLM


def run(args, loader):
    model = AutoModelForCausalLM.from_pretrained("tiny")
    engine, _optimizer, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    print(engine.config.vocab_size)
    for batch in loader:
        engine.backward(engine(**batch).loss)
        engine.step()
    return generate(engine, batch)


def generate(model, batch):
    return model.generate(**batch, eos_token_id=model.config.eos_token_id)


class Holder:
    def __init__(self, model, args):
        self.model, *_ = deepspeed.initialize(args=args, model=model, config={"train_batch_size": 8})

    def step(self, batch):
        loss = self.model(**batch).loss
        self.model.backward(loss)
        self.model.step()
        return self.model.config.hidden_size


def by_ddp(rank):
    model = torch.nn.parallel.DistributedDataParallel(AutoModelForCausalLM.from_pretrained("tiny"), device_ids=[rank])
    return model.config.hidden_size  # expect: TRL002


def main(args, loader, rank):
    run(args, loader)
    Holder(AutoModelForCausalLM.from_pretrained("tiny"), args).step(next(iter(loader)))
    by_ddp(rank)
