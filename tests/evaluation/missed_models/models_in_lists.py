# Models that are prepared one by one and kept in a list, on at least one branch; and those that only some ranks unwrap.
from accelerate import Accelerator

from models import build, build_loader, build_optimizer


def main(args, tokenizers):
    accelerator = Accelerator()
    encoders, loader, optimizer = build(args), build_loader(args), build_optimizer(args)
    if len(encoders) == 1:
        encoder, loader, optimizer = accelerator.prepare(encoders[0], loader, optimizer)
    elif len(encoders) == 2:
        one, two, loader, optimizer = accelerator.prepare(encoders[0], encoders[1], loader, optimizer)
        encoders = [one, two]
    else:
        raise NotImplementedError
    for tokenizer, encoder in zip(tokenizers, encoders):
        accelerator.unwrap_model(encoder).resize_token_embeddings(len(tokenizer))
        encoder.text_model.requires_grad_(False)  # expect: TRL002
    for batch in loader:
        accelerator.backward(encoders[0](batch))
        encoder.get_input_embeddings()  # expect: TRL002
        if len(encoders) == 1:
            encoder.get_input_embeddings()
    if accelerator.is_main_process:
        encoder = accelerator.unwrap_model(encoder)
    encoder.get_input_embeddings()  # expect: TRL002


def asked(args):
    accelerator = Accelerator()
    encoders, loaders = build(args), build_loader(args)
    if args.both:
        encoders = [accelerator.prepare(encoders[0]), accelerator.prepare(encoders[1])]
        loaders = [accelerator.prepare(loaders[0]), accelerator.prepare(loaders[1])]
    for loader in loaders:
        print(loader.sampler)
    if args.both:
        return
    for encoder in encoders:
        encoder.get_input_embeddings()


def unwrapped_by_some(model, loader, optimizer):
    accelerator = Accelerator()
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    for batch in loader:
        accelerator.backward(model(batch))
    is_main = accelerator.is_main_process
    if is_main:
        model = accelerator.unwrap_model(model)
    if is_main:
        print(model.config)
    if accelerator.process_index == 0:
        print(model.config)
    print(model.config)  # expect: TRL002
    if not is_main:
        return
    print(model.config)


def unwrapped_where_wrapped(args, model, loader, optimizer):
    accelerator = Accelerator()
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    for batch in loader:
        accelerator.backward(model(batch))
    if args.distributed:
        model = accelerator.unwrap_model(model)
    print(model.config)
