# All parameters of a model are frozen before `prepare`, which then leaves it as it is, whatever its class is.
from accelerate import Accelerator
from somewhere import Codec, make_loader, make_model
from torch import nn


class Tokenizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def encode(self, frames):
        return self.inner(frames)


def frozen_after_eval():
    accelerator = Accelerator()
    frozen, evaluated = Tokenizer(), Tokenizer()
    frozen.eval()
    for param in frozen.parameters():
        param.requires_grad = False
    evaluated.eval()
    print(sum(each.numel() for each in evaluated.parameters()))
    model, frozen, evaluated = accelerator.prepare(make_model(), frozen, evaluated)
    for batch in accelerator.prepare(make_loader()):
        model(frozen.encode(batch))
        model(evaluated.encode(batch))  # expect: TRL002


def one_or_the_other(folder, other_folder):
    accelerator = Accelerator()
    images = None
    if folder:
        images = Codec(folder)
        images.eval()
        for param in images.parameters():
            param.requires_grad = False
    videos = Codec(other_folder)
    videos.eval()
    for param in videos.parameters():
        param.requires_grad = False
    if images is None:
        images = videos
    model, videos, images = accelerator.prepare(make_model(), videos, images)
    for batch in accelerator.prepare(make_loader()):
        model(images.encode(batch), videos.encode(batch))


def one_or_a_trained_one(folder, other_folder):
    accelerator = Accelerator()
    images = None
    if folder:
        images = Codec(folder)
    if images is None:
        images = Codec(other_folder)
    print(sum(each.numel() for each in images.parameters()))
    model, images = accelerator.prepare(make_model(), images)
    for batch in accelerator.prepare(make_loader()):
        loss = model(images.encode(batch))  # expect: TRL002
        accelerator.backward(loss)


if __name__ == "__main__":
    frozen_after_eval()
    one_or_the_other("a", "b")
    one_or_a_trained_one("a", "b")
