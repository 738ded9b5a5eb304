# Whatever loads a model onto all GPUs, one process does it.
from accelerate import Accelerator
from builders import BUILDERS
from datasets import load_dataset


def main(path, name):
    accelerator = Accelerator()
    model = BUILDERS[name](path, device_map="auto")
    data = load_dataset("pairs", split="test").filter(lambda row: row["kept"])
    return accelerator, model, data


main("model", "default")
