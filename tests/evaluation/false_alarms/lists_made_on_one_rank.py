# A list that the main process makes and fills for itself: nothing depends on its length there.
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from transformers import TrainerCallback


def shard(model):
    return FSDP(model)


class Shows(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        if args.local_rank <= 0:
            prompts = []
            for row in self.rows:
                prompts.append(row["prompt"])
            if not prompts:
                return
            for prompt in prompts:
                model.generate(prompt)  # expect: TRL016

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        prompts = []
        if args.local_rank <= 0:
            prompts.append(self.rows[0])
        if not prompts:
            return  # expect: TRL016
        model.generate(prompts[0])
