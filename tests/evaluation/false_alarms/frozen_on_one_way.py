# A model that is frozen under a condition is wrapped on one branch only, and the branch taken is unknown.
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModel


class Sampler:
    def __init__(self, accelerator, args, rows):
        self.path = args.path
        self.coder = AutoModel.from_pretrained("coder")
        self.head = AutoModel.from_pretrained("head")
        if self.path:
            self.coder = AutoModel.from_pretrained(self.path)
            for parameter in self.coder.parameters():
                parameter.requires_grad = False
            for parameter in self.head.bias.parameters():
                parameter.requires_grad = False
        self.coder.eval()
        loader = DataLoader(rows, batch_size=4)
        self.coder, self.head, self.loader = accelerator.prepare(self.coder, self.head, loader)

    def sample(self):
        for batch in self.loader:
            if self.path:
                print(self.coder.decode(batch["latents"]), self.coder.generate(batch["latents"]))
            print(self.head.decode(batch["latents"]))  # expect: TRL002


def main(args, rows):
    Sampler(Accelerator(), args, rows).sample()
    accelerator = Accelerator()
    unet = AutoModel.from_pretrained("unet")
    text = AutoModel.from_pretrained("text")
    if args.frozen:
        unet.requires_grad_(False)
        text.requires_grad_(False)
    text.requires_grad_(True)
    unet, text = accelerator.prepare(unet, text)
    print(unet.config)
    print(text.config)  # expect: TRL002
    if args.frozen and not args.tuned:
        unet.requires_grad_(False)
    other = AutoModel.from_pretrained("other")
    if args.tuned is None:
        other.requires_grad_(False)
    if args.tuned:
        other = accelerator.prepare(other)
        print(other.config)  # expect: TRL002


if __name__ == "__main__":
    main(None, [])
