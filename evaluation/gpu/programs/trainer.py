"""A Trainer on GPUs, without any code of its own."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=32, num_key_value_heads=2, max_position_embeddings=64, **sizes))
tokens = torch.arange(16 * 12).view(16, 12) * 7 % 32
rows = [{"input_ids": row, "labels": row} for row in tokens]
arguments = TrainingArguments(
    output_dir="trained", max_steps=2, per_device_train_batch_size=2, logging_steps=1, save_strategy="no", report_to=[]
)
Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows).train()
