from accelerate import Accelerator
from transformers import PretrainedConfig, PreTrainedTokenizer


class Taxa(PreTrainedTokenizer):
    def __init__(self, names):
        self.names = names
        super().__init__()


class SavedOnce(PreTrainedTokenizer):
    def save_pretrained(self, folder):
        if Accelerator().is_main_process:
            super().save_pretrained(folder)


class Settings(PretrainedConfig):
    pass


class Other:
    pass


def main(names):
    accelerator = Accelerator()
    tokenizer = Taxa(names)
    tokenizer.save_pretrained("out")  # expect: TRL008
    Settings().save_pretrained("out")  # expect: TRL008
    SavedOnce(names).save_pretrained("out")
    Other().save_pretrained("out")
    if accelerator.is_main_process:
        tokenizer.save_pretrained("out")


main(["a"])
