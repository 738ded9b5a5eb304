# The first element that passes a test of this rank's data is another one on each rank, or none.
from accelerate import Accelerator

accelerator = Accelerator()


def places(loader, names):
    labels = []
    for batch in accelerator.prepare(loader):
        labels += [int(each) for each in batch["labels"]]
    reveal_rank(next((place for place, label in enumerate(labels) if label), None))  # revealed: local(data)
    reveal_rank(next((1.0 / (place + 1) for place, label in enumerate(labels) if label)))  # revealed: local(data)
    reveal_rank(next((True for label in labels if label > 3), False))  # revealed: local(data)
    # Without a test, and with one that is the same on all ranks.
    reveal_rank(next(place for place, label in enumerate(labels)))  # revealed: same
    reveal_rank(next((place for place, name in enumerate(["a", "b"]) if name in names), None))  # revealed: same
    gathered = accelerator.gather_for_metrics(labels)
    reveal_rank(next((place for place, label in enumerate(gathered) if label), None))  # revealed: same
