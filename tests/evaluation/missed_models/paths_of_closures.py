# A function that a Trainer is given has the path of the function that made it, which all of its calls know alike.
import json

from accelerate import PartialState
from transformers import Trainer
from trl import GRPOTrainer


def keeping(path: str):
    def reward(completions, **others):
        with open(path, "w") as file:  # expect: TRL008
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_two(path, weight=1.0):
    def reward(completions, **others):
        open(path, "w").write(str(weight))  # expect: TRL008
        return [weight for _ in completions]

    return reward


def keeping_own(path, rank):
    def reward(completions, **others):
        with open(path, "w") as file:
            json.dump(completions, file)
        with open(f"{rank}.json", "w") as file:
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_by_one(path):
    path = f"{path}.{PartialState().process_index}"

    def reward(completions, **others):
        with open(path, "w") as file:
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_in(folder):
    path = folder + "/rows.json"

    def reward(completions, **others):
        with open(path, "w") as file:  # expect: TRL008
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_in_own(folder, rank):
    path = f"{folder}/{rank}.json"

    def reward(completions, **others):
        with open(path, "w") as file:
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_in_one_of(folder, own):
    path = folder + "/rows.json"
    if own:
        path = f"{folder}/{PartialState().process_index}.json"

    def reward(completions, **others):
        with open(path, "w") as file:
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_each(folders):
    for folder in folders:
        path = folder + "/rows.json"

    def reward(completions, **others):
        with open(path, "w") as file:
            json.dump(completions, file)
        return [float(len(each)) for each in completions]

    return reward


def keeping_if(path, keeps):
    def metrics(prediction):
        if keeps:
            open("metrics.json", "w").close()  # expect: TRL008
        if PartialState().is_main_process:
            open(path, "w").close()
        return {"one": 1.0}

    return metrics


def keeping_on_main(path, keeps):
    def metrics(prediction):
        if keeps:
            open(path, "w").close()
        return {"one": 1.0}

    return metrics


def main(args):
    state = PartialState()
    rewards = [
        keeping("rows.json"),
        keeping_two("first.txt"),
        keeping_two(args.output_dir, weight=0.5),
        keeping_own("own.json", state.process_index),
        keeping_own(f"own{state.process_index}.json", state.process_index),
        keeping_by_one("rows.json"),
        keeping_in("rows"),
        keeping_in("more_rows"),
        keeping_in_own("rows", state.process_index),
        keeping_in_one_of("rows", True),
        keeping_each(["rows"]),
    ]
    GRPOTrainer(model="small", reward_funcs=rewards).train()
    Trainer(model="small", compute_metrics=keeping_if("metrics.json", True)).evaluate()
    Trainer(model="small", compute_metrics=keeping_on_main("metrics.json", state.is_main_process)).evaluate()


main(read())
