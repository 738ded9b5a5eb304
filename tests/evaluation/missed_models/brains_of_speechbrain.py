# A program of SpeechBrain on several processes: what the first one does alone, and what all do together.
import os
import sys

import speechbrain as sb
import torch
import wandb
from hyperpyyaml import load_hyperpyyaml
from speechbrain.utils.distributed import ddp_all_reduce, ddp_barrier, if_main_process, run_on_main


class ASR(sb.Brain):
    def on_fit_start(self):
        super().on_fit_start()
        with open("modules.txt", "w") as file:  # expect: TRL008
            file.write(str(self.modules))

    def on_stage_end(self, stage, stage_loss, epoch):
        if if_main_process():
            with open("wer.txt", "w") as file:
                file.write(str(stage_loss))
        ddp_barrier()
        if if_main_process():
            ddp_barrier()  # expect: TRL006
        total = torch.tensor(stage_loss, device=self.device)
        if sb.utils.distributed.if_main_process():
            ddp_all_reduce(total, torch.distributed.ReduceOp.SUM)  # expect: TRL006

    def own_helper(self):
        with open("helper.txt", "w") as file:
            file.write("not called by the brain")


def prepare(folder):
    os.makedirs(os.path.join(folder, "prepared"))


def clean(folder):
    os.remove(os.path.join(folder, "prepared"))  # expect: TRL008


if __name__ == "__main__":
    hparams_file, run_opts, overrides = sb.parse_arguments(sys.argv[1:])
    sb.utils.distributed.ddp_init_group(run_opts)
    with open(hparams_file) as fin:
        hparams = load_hyperpyyaml(fin, overrides)
    sb.create_experiment_directory(hparams["output_folder"], hparams_file, overrides)
    run_on_main(prepare, kwargs={"folder": hparams["data_folder"]})
    clean(hparams["data_folder"])
    if if_main_process():
        run_on_main(prepare, args=[hparams["data_folder"]])  # expect: TRL006
    if if_main_process():
        wandb.init(project="asr")
    brain = ASR(hparams["modules"], hparams["opt_class"], hparams, run_opts, hparams["checkpointer"])
    brain.fit(brain.hparams.epoch_counter, hparams["train"], hparams["valid"])
    if if_main_process():
        brain.fit(brain.hparams.epoch_counter, hparams["train"], hparams["valid"])  # expect: TRL006
