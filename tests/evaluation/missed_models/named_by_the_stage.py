from pathlib import Path

import tables
from lightning.pytorch.callbacks import Callback


class BatchWriter(Callback):
    def __init__(self, output_dir):
        self.output_dir = output_dir
        self.file = tables.open_file(Path(output_dir, "batches.h5"), "w")  # expect: TRL008
        self.rows = tables.open_file(Path(output_dir, "rows.h5"))

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        folder = Path(self.output_dir, f"{trainer.state.stage}", f"batch_{batch_idx}")
        folder.mkdir(parents=True)  # expect: TRL008
        own = Path(self.output_dir, f"{trainer.state.stage}", f"rank_{trainer.global_rank}")
        own.mkdir(parents=True)

    def on_validation_batch_start(self, trainer, pl_module, batch, batch_idx, dataloader_idx=0):
        folder = Path(self.output_dir, f"{trainer.state.stage}", f"batch_{batch_idx}")
        folder.mkdir(parents=True, exist_ok=True)
        if trainer.is_global_zero:
            (folder / "images").mkdir()
