# Folds of scikit-learn's that are drawn without a seed: each rank has others, and takes its share of them.
import numpy as np
import torch.distributed as dist
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from torch.utils.data import DataLoader, DistributedSampler, Subset


def each_fold(data):
    folds = KFold(n_splits=5, shuffle=True)  # expect: TRL015
    for fold, (train, test) in enumerate(folds.split(np.arange(len(data)))):
        part = Subset(data, train)
        print(fold, DataLoader(part, sampler=DistributedSampler(part)), len(test))


def one_fold(names, fold):
    divided = list(StratifiedKFold(5, shuffle=True, random_state=None).split(names, names))  # expect: TRL015
    train, _ = divided[fold]
    return DistributedSampler([names[i] for i in train])


def one_draw(names):
    train, test = next(ShuffleSplit(n_splits=1, test_size=0.1).split(names))  # expect: TRL015
    print(len(test))
    return DistributedSampler(np.array(names)[train])


def with_a_seed(names, fold):
    divided = list(StratifiedKFold(5, shuffle=True, random_state=7).split(names, names))
    train, _ = divided[fold]
    return DistributedSampler([names[i] for i in train])


def in_order(data):
    for train, _ in KFold(n_splits=5).split(np.arange(len(data))):
        print(DistributedSampler(Subset(data, train)))


def only_counted(names):
    train, test = next(ShuffleSplit(n_splits=1, test_size=0.1).split(names))
    return DistributedSampler(names[len(test) :]), len(train)


def main(data, fold):
    dist.init_process_group("nccl")
    names = [line.strip() for line in open("names.txt")]
    each_fold(data)
    one_fold(names, fold)
    one_draw(names)
    with_a_seed(names, fold)
    in_order(data)
    only_counted(names)


main([], 0)
