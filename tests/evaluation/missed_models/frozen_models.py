# Accelerate does not wrap a model in DDP if nothing of it is trained.
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


def one_of_two(args, optimizer, loader):
    accelerator = Accelerator()
    model, side = AutoModelForCausalLM.from_pretrained("tiny"), AutoModelForCausalLM.from_pretrained("side")
    if args.on_the_side:
        model.requires_grad_(False)
    trained = side if args.on_the_side else model
    results = accelerator.prepare(trained, optimizer, loader)
    if args.on_the_side:
        side = results[0]
    else:
        model = results[0]
        print(model.config)  # expect: TRL002


def without_an_optimizer(args, scheduler):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    if args.frozen:
        model.requires_grad_(False)
    model, scheduler = accelerator.prepare(model, scheduler)
    print(model.config)


def two_of_three(args, optimizer, loader):
    accelerator = Accelerator()
    model, encoder = AutoModelForCausalLM.from_pretrained("tiny"), AutoModelForCausalLM.from_pretrained("encoder")
    if args.frozen:
        encoder.requires_grad_(False)
    model, encoder, optimizer, loader = accelerator.prepare(model, encoder, optimizer, loader)
    print(encoder.config)
