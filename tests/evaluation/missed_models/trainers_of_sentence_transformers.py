# The trainers of sentence_transformers are those of transformers, wherever they are imported from.
from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from sentence_transformers.cross_encoder import CrossEncoder
from sentence_transformers.cross_encoder.trainer import CrossEncoderTrainer
from sentence_transformers.training_args import SentenceTransformerTrainingArguments


class Own(SentenceTransformerTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **keywords):
        loss = super().compute_loss(model, inputs, return_outputs, **keywords)
        if self.is_world_process_zero():
            self.accelerator.wait_for_everyone()  # expect: TRL006
        return loss


class OwnWaiting(SentenceTransformerTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **keywords):
        loss = super().compute_loss(model, inputs, return_outputs, **keywords)
        self.accelerator.wait_for_everyone()
        return loss


def unseeded():
    args = SentenceTransformerTrainingArguments(output_dir="out")
    rows = load_dataset("json", data_files="rows.json", split="train")
    split = rows.train_test_split(test_size=100)  # expect: TRL015
    trainer = Own(SentenceTransformer("base"), args=args, train_dataset=split["train"], eval_dataset=split["test"])
    trainer.train()
    if trainer.is_world_process_zero():
        print(trainer.evaluate())  # expect: TRL006


def seeded():
    args = SentenceTransformerTrainingArguments(output_dir="out")
    rows = load_dataset("json", data_files="rows.json", split="train")
    split = rows.train_test_split(test_size=100, seed=args.seed)
    trainer = CrossEncoderTrainer(CrossEncoder("base"), args=args, train_dataset=split["train"])
    trainer.train()
    found = trainer.evaluate(split["test"])
    if trainer.is_world_process_zero():
        print(found)


if __name__ == "__main__":
    unseeded()
    seeded()
    OwnWaiting(SentenceTransformer("base")).train()
