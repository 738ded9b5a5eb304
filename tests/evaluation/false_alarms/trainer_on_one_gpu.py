# A Trainer in a program that sees one GPU wraps nothing.
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2"

from transformers import Trainer


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        lengths = model.get_lengths(inputs["mask"].sum(-1))
        return model(**inputs, lengths=lengths).loss


if __name__ == "__main__":
    Own(model=object(), train_dataset=[]).train()
