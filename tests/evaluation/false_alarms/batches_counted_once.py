# A batch is counted once by one `accumulate`, whatever other blocks are around it; one inside another counts it again.

from accelerate import Accelerator
from somewhere import meter, options


def train(args, unet, text_encoder, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(unet), accelerator.accumulate(text_encoder):  # expect: TRL023
            accelerator.backward(unet(batch) + text_encoder(batch))
            optimizer.step()
            optimizer.zero_grad()


def train_together(args, unet, text_encoder, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    for batch in loader:
        with accelerator.autocast(), accelerator.accumulate(unet, text_encoder), meter.accumulate("loss"):
            accelerator.backward(unet(batch) + text_encoder(batch))
            optimizer.step()
            optimizer.zero_grad()


def train_in_turns(args, unet, text_encoder, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    for batch in loader:
        for model in (unet, text_encoder):
            with accelerator.accumulate(model):
                accelerator.backward(model(batch))
                optimizer.step()
                optimizer.zero_grad()


class Phase:
    # An Accelerator of its own, with a count of its own.
    def __init__(self, args, model):
        self.accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
        self.model = self.accelerator.prepare(model)

    def step(self, batch):
        with self.accelerator.accumulate(self.model):
            self.accelerator.backward(self.model(batch))


def train_beside(args, unet, phase: Phase, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(unet):
            accelerator.backward(unet(batch))
            phase.step(batch)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    args, unet, text_encoder, optimizer, loader = options()
    train(args, unet, text_encoder, optimizer, loader)
    train_together(args, unet, text_encoder, optimizer, loader)
    train_in_turns(args, unet, text_encoder, optimizer, loader)
    train_beside(args, unet, Phase(args, text_encoder), optimizer, loader)
