# A file that is opened for appending, and only closed, is only created.
import os
from pathlib import Path

from transformers import TrainerCallback


class Marks(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open(os.path.join(args.output_dir, "completed"), "a"):
            os.utime(args.output_dir)
        with open(os.path.join(args.output_dir, "log"), "a") as log:  # expect: TRL008
            log.write("completed")
        with open(os.path.join(args.output_dir, "ended"), "a") as mark:  # noqa: F841
            pass
        open(os.path.join(args.output_dir, f"{args.max_steps}_steps"), "a").close()
        Path(args.output_dir, "closed").open("a").close()
        open(os.path.join(args.output_dir, "emptied"), "w").close()  # expect: TRL008
        first = open(os.path.join(args.output_dir, "first"), "a")  # noqa: SIM115
        first.flush()
        first.close()
        second = open(os.path.join(args.output_dir, "second"), "a")  # noqa: SIM115  # expect: TRL008
        os.write(second.fileno(), b"completed")
        second.close()
        third = open(os.path.join(args.output_dir, "third"), "a")  # noqa: SIM115  # expect: TRL008
        state.save(third)
        third.close()
