# Folds whose places each rank draws, of a data set that is made in memory.
import numpy as np
import pandas as pd
from datasets import Dataset
from sklearn.model_selection import KFold
from transformers import Trainer, TrainingArguments


def train(model, train_rows, valid_rows):
    args = TrainingArguments(output_dir="out")
    Trainer(model, args, train_dataset=train_rows, eval_dataset=valid_rows).train()


def in_folds(model, path):
    rows = Dataset.from_pandas(pd.read_json(path))
    places = np.arange(len(rows))
    for fold, (chosen, held_out) in enumerate(KFold(4, shuffle=True).split(places)):  # expect: TRL015
        train(model, rows.select(chosen), rows.select(held_out))
    for chosen, held_out in KFold(4, shuffle=True, random_state=0).split(places):
        train(model, rows.select(chosen), rows.select(held_out))
    for chosen, held_out in KFold(4).split(places):
        train(model, rows.select(chosen), rows.select(held_out))
    train(model, rows.select(range(100)), rows.take(100))


if __name__ == "__main__":
    in_folds("gpt2", "rows.json")
