# Tensors of rows that each rank has drawn, and data sets of a library that hold drawn rows.
import numpy as np
import pandas as pd
import torch
from accelerate import Accelerator
from monai.data import CacheDataset
from sklearn.model_selection import KFold, train_test_split
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()


def as_tensors(table, label):
    x, x_valid, y, y_valid = train_test_split(table, label, test_size=0.1)  # expect: TRL015
    return (
        TensorDataset(torch.from_numpy(x).float(), torch.from_numpy(y)),
        TensorDataset(torch.tensor(x_valid, dtype=torch.float32), torch.tensor(y_valid).long()),
    )


def of_arrays(table, label):
    x, _, y, _ = train_test_split(table, label)  # expect: TRL015
    return TensorDataset(torch.FloatTensor(np.asarray(x)), torch.as_tensor(y.values))


def seeded(table, label):
    x, _, y, _ = train_test_split(table, label, random_state=0)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


def of_a_fold(files, fold):
    train, valid = list(KFold(5, shuffle=True).split(files))[fold]  # expect: TRL015
    return CacheDataset([files[i] for i in train], cache_rate=1.0), CacheDataset([files[i] for i in valid])


def of_a_seeded_fold(files, fold):
    train, valid = list(KFold(5, shuffle=True, random_state=0).split(files))[fold]
    return CacheDataset([files[i] for i in train], cache_rate=1.0), CacheDataset([files[i] for i in valid])


def number_of_rows(table):
    x, _ = train_test_split(table)
    return TensorDataset(torch.arange(len(x)))


def main(table, label, files):
    train, valid = as_tensors(table, label)
    accelerator.prepare(DataLoader(train, shuffle=True))
    accelerator.prepare(DataLoader(valid))
    accelerator.prepare(DataLoader(of_arrays(table, label)))
    accelerator.prepare(DataLoader(seeded(table, label)))
    for rows in of_a_fold(files, 0):
        accelerator.prepare(DataLoader(rows))
    for rows in of_a_seeded_fold(files, 0):
        accelerator.prepare(DataLoader(rows))
    accelerator.prepare(DataLoader(number_of_rows(table)))


if __name__ == "__main__":
    data = pd.read_csv("rows.csv")
    main(data, data.pop("label"), data["file"].tolist())
