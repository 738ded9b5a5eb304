# A branch of a helper for no accelerator does not run if one is always given; it runs if it may be None.
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM


def rollout(model, batch, accelerator=None):
    if accelerator:
        return accelerator.unwrap_model(model).generate(**batch)
    else:
        return model.generate(**batch)


def other(model, batch, accelerator=None):
    if accelerator is not None:
        return accelerator.unwrap_model(model).generate(**batch)
    return model.generate(**batch)


def always(model, batch, accelerator=None):
    if not accelerator:
        return None
    return model.generate(**batch)  # expect: TRL010


def main(loader):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        rollout(model, batch, accelerator)
        other(model, batch, accelerator)
        always(model, batch, accelerator)


def of_either(args, loader):
    accelerator = Accelerator() if args.accelerate else None
    model = AutoModelForCausalLM.from_pretrained("tiny")
    if accelerator is None:
        model = DistributedDataParallel(model)
        print(model.config)  # expect: TRL002
    for batch in loader:
        model(**batch)


if __name__ == "__main__":
    main([])
