# … nor here, with the placement among other settings.
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

settings = dict(device_map="auto", torch_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("tiny", **settings)
tokenizer = AutoTokenizer.from_pretrained("tiny")
data = load_dataset("json", data_files="rows.json")["train"]
data = data.map(lambda row: {"text": row["a"] + row["b"]})
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=data)
trainer.train()
model.save_pretrained("out/final")
