# A file that is opened for appending, and not kept open, is only created.
import os

from transformers import TrainerCallback


class Marks(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open(os.path.join(args.output_dir, "completed"), "a"):
            os.utime(args.output_dir)
        with open(os.path.join(args.output_dir, "log"), "a") as log:  # expect: TRL008
            log.write("completed")
