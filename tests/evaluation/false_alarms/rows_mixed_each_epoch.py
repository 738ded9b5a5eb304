# The rows of the data set are put into another order before each pass: the same indices then mean other rows.
import random

from elsewhere import list_files, load, make_model, make_optimizer
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Clips(Dataset):
    def __init__(self, files, seed):
        self.files, self.seed = list(files), seed

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return load(self.files[index])

    def mix(self):
        random.shuffle(self.files)

    def show(self):
        print(len(self.files))


def make_loader(clips):
    return DataLoader(clips, batch_size=8, sampler=DistributedSampler(clips))


def one_pass(loader, model, optimizer):
    loader.dataset.mix()
    for rows in loader:
        model(rows).sum().backward()
        optimizer.step()


def one_pass_as_it_is(loader, model, optimizer):
    print(loader.dataset.count())
    for rows in loader:
        model(rows).sum().backward()
        optimizer.step()


def mixed_in_each_pass(files, model, optimizer):
    loader = make_loader(Clips(files, 0))
    for _ in range(10):
        one_pass(loader, model, optimizer)


def mixed_by_the_loop(files, model, optimizer):
    clips = Clips(files, 1)
    loader = make_loader(clips)
    for _ in range(10):
        clips.mix()
        for rows in loader:
            model(rows).sum().backward()
            optimizer.step()


def mixed_once(files, model, optimizer):
    clips = Clips(files, 2)
    loader = make_loader(clips)
    loader.dataset.mix()
    for _ in range(10):  # expect: TRL019
        clips.show()
        for rows in loader:
            model(rows).sum().backward()
            optimizer.step()


def other_rows_are_mixed(files, model, optimizer):
    loader = make_loader(Clips(files, 3))
    other = DataLoader(Clips(files, 4), batch_size=8, shuffle=True)
    for _ in range(10):  # expect: TRL019
        other.dataset.mix()
        one_pass_as_it_is(loader, model, optimizer)


if __name__ == "__main__":
    random.seed(0)
    mixed_in_each_pass(list_files(), make_model(), make_optimizer())
    mixed_by_the_loop(list_files(), make_model(), make_optimizer())
    mixed_once(list_files(), make_model(), make_optimizer())
    other_rows_are_mixed(list_files(), make_model(), make_optimizer())
