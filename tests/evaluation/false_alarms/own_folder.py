# Each rank draws a different name for its folder: creating the folder does not change its name.
import json
import os
import uuid

from accelerate import Accelerator


class Rollouts:
    def __init__(self, config):
        self.accelerator = Accelerator()
        self.folder = os.path.join(config.folder, f"run-{uuid.uuid4()}")
        self.shared = os.path.join(config.folder, "runs")
        self.note(config)

    def note(self, config):
        os.mkdir(self.folder)
        os.makedirs(self.shared, exist_ok=True)
        with open(os.path.join(self.folder, "config.json"), "w") as file:
            file.write(json.dumps(config.to_dict()))
        with open(os.path.join(self.shared, "config.json"), "w") as file:  # expect: TRL008
            file.write(json.dumps(config.to_dict()))
