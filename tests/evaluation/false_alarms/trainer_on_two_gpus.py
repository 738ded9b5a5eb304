# A Trainer in a program that sees two GPUs wraps the model, in one process or in two.
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"

from transformers import Trainer


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        lengths = model.get_lengths(inputs["mask"].sum(-1))  # expect: TRL002
        return model(**inputs, lengths=lengths).loss


if __name__ == "__main__":
    Own(model=object(), train_dataset=[]).train()
