# The result of a tokenizer or a processor loaded from files: it only computes, and differs if its input does.
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoProcessor, AutoTokenizer

accelerator = Accelerator()
tokenizer = AutoTokenizer.from_pretrained("gpt2")
processor = AutoProcessor.from_pretrained("clip")
loader = accelerator.prepare(DataLoader(prompts(), batch_size=2))

for texts in loader:
    tokens = tokenizer(texts, return_tensors="pt", padding=True)
    reveal_rank(tokens)  # revealed: shard
    reveal_rank(tokens["input_ids"])  # revealed: shard
    reveal_rank(tokenizer.batch_decode(tokens["input_ids"]))  # revealed: shard
    reveal_rank(processor(text="a cat", images=texts["image"]))  # revealed: shard
    # The same text on all ranks, an unknown text, and gathered tokens.
    reveal_rank(tokenizer("a cat", return_tensors="pt"))  # revealed: unknown
    reveal_rank(tokenizer(from_elsewhere(texts)))  # revealed: unknown
    reveal_rank(tokenizer.batch_decode(accelerator.gather(tokens["input_ids"])))  # revealed: same
    reveal_rank(tokenizer.vocab_size)  # revealed: same
    reveal_rank(tokenizer.get_vocab())  # revealed: same
