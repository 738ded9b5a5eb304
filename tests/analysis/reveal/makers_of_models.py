"""Functions and methods that make or give back a model, whose weights are the same on all ranks."""

import clip
from diffusers import ControlNetModel
from peft import PeftModel, prepare_model_for_int8_training
from transformers import AutoModelForCausalLM, VisionEncoderDecoderModel


def made(path: str, unet) -> None:
    model = AutoModelForCausalLM.from_pretrained(path)
    reveal_rank(prepare_model_for_int8_training(model))  # revealed: same
    reveal_rank(ControlNetModel.from_unet(unet))  # revealed: same
    reveal_rank(VisionEncoderDecoderModel.from_encoder_decoder_pretrained(path, path))  # revealed: same
    towers, preprocess = clip.load(path)
    reveal_rank(towers)  # revealed: same


def run(path: str, batch) -> None:
    adapted = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(path), path)
    merged = adapted.merge_and_unload()
    reveal_rank(merged(batch))  # revealed: unknown
    reveal_rank(merged.config.vocab_size)  # revealed: same
