# Any loader that spreads a model over all GPUs does so in one process.
from accelerate import Accelerator
from builders import BUILDERS
from datasets import load_dataset


def main(path, name):
    accelerator = Accelerator()
    model = BUILDERS[name](path, device_map="auto")
    data = load_dataset("pairs", split="test").filter(lambda row: row["kept"])
    return accelerator, model, data


main("model", "default")
