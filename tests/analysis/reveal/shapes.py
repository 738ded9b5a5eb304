"""Which dimensions of a tensor differ between ranks: those that this rank's own data decide on."""

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.fields(inputs)
        self.of_models(model, inputs)
        self.reductions(inputs)
        self.views(inputs)
        self.picked(inputs)
        self.put_together(inputs)
        self.padded(inputs)
        self.merged(inputs)
        return model(**inputs).loss

    def fields(self, inputs):
        reveal_shape(inputs["input_ids"])  # revealed: (same, ragged)
        reveal_shape(inputs["chosen_attention_mask"])  # revealed: (same, ragged)
        reveal_shape(inputs.pop("completion_mask"))  # revealed: (same, ragged)
        reveal_shape(inputs["labels"])  # revealed: (same, ...)
        reveal_shape(inputs["labels"][..., 1:])  # revealed: (same, ragged)
        reveal_shape(inputs["labels"][:, 1:])  # revealed: (same, ragged)
        reveal_shape(inputs["labels"].sum())  # revealed: ()
        reveal_shape(inputs["scores"])  # revealed: unknown
        moved = {k: v.to("cuda") if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
        reveal_shape(moved["input_ids"])  # revealed: (same, ragged)
        reveal_shape(moved["scores"])  # revealed: unknown
        reduced = {k: v.sum(1) for k, v in inputs.items()}
        reveal_shape(reduced["input_ids"])  # revealed: unknown
        inputs["use_cache"] = False
        reveal_shape(inputs["input_ids"])  # revealed: (same, ragged)
        reveal_shape(inputs["use_cache"])  # revealed: ()
        reveal_shape(inputs["input_ids"].shape[1] + 1)  # revealed: ()

    def of_models(self, model, inputs):
        outputs = model(**inputs)
        reveal_shape(outputs.logits)  # revealed: (same, ragged, same)
        reveal_shape(outputs.logits[:, :-1, :])  # revealed: (same, ragged, same)
        reveal_shape(outputs.logits[:, -1])  # revealed: (same, same)
        reveal_shape(outputs.logits.argmax(dim=-1))  # revealed: (same, ragged)
        reveal_shape(outputs.logits.view(-1, 8))  # revealed: (ragged, same)
        reveal_shape(outputs.loss)  # revealed: ()
        reveal_shape(outputs.hidden_states)  # revealed: unknown
        reveal_shape(F.cross_entropy(outputs.logits.view(-1, 8), inputs["input_ids"].view(-1), reduction="none"))  # revealed: (ragged)
        tokens = self.model.generate(inputs["prompt_ids"])
        reveal_shape(tokens)  # revealed: (same, ragged)
        reveal_shape(tokens[:, inputs["prompt_ids"].shape[1] :])  # revealed: (same, ragged)
        reveal_shape(self.model.generate(inputs["prompt_ids"], min_new_tokens=8, max_new_tokens=8))  # revealed: unknown

    def reductions(self, inputs):
        mask = inputs["attention_mask"]
        reveal_shape(mask.sum())  # revealed: ()
        reveal_shape(mask.sum(1))  # revealed: (same)
        reveal_shape(mask.sum(-1, keepdim=True))  # revealed: (same, same)
        reveal_shape(mask.sum(0))  # revealed: (ragged)
        reveal_shape(torch.sum(mask, dim=1))  # revealed: (same)
        reveal_shape(mask.cumsum(1))  # revealed: (same, ragged)
        reveal_shape(mask.max(dim=1))  # revealed: unknown
        reveal_shape((mask * 2.0).float() > 1)  # revealed: (same, ragged)
        reveal_shape(mask * torch.rand(3))  # revealed: (unknown, ragged)

    def views(self, inputs):
        reveal_shape(inputs["input_ids"].repeat_interleave(2, dim=0))  # revealed: (same, ragged)
        reveal_shape(inputs["input_ids"].repeat_interleave(2))  # revealed: unknown
        mask = inputs["attention_mask"]
        reveal_shape(mask.unsqueeze(-1))  # revealed: (same, ragged, same)
        reveal_shape(mask.unsqueeze(-1).squeeze(-1))  # revealed: (same, ragged)
        reveal_shape(mask.t())  # revealed: (ragged, same)
        reveal_shape(mask.transpose(0, 1))  # revealed: (ragged, same)
        reveal_shape(mask.reshape(-1))  # revealed: (ragged)
        flat = F.cross_entropy(inputs["logits"].view(-1, 8), inputs["labels"].view(-1), reduction="none")
        reveal_shape(flat.view(mask.shape))  # revealed: (same, ragged)
        reveal_shape(flat.reshape(mask.size()))  # revealed: (same, ragged)
        reveal_shape(flat.view_as(mask))  # revealed: (same, ragged)
        reveal_shape(flat.reshape_as(mask[:, 0]))  # revealed: (same)
        reveal_shape(mask.sum(1, keepdim=True).expand_as(mask))  # revealed: (same, ragged)
        reveal_shape(flat.view(somewhere.shape))  # revealed: unknown
        reveal_shape(mask[:, None, :])  # revealed: (same, same, ragged)
        reveal_shape(mask[0])  # revealed: (ragged)
        reveal_shape(mask[:, :4])  # revealed: (same, unknown)
        reveal_shape(mask[:, -1])  # revealed: (same)
        reveal_shape(mask.to(torch.bool).clone())  # revealed: (same, ragged)
        mask[mask == 0] = 2
        reveal_shape(mask)  # revealed: (same, ragged)

    def picked(self, inputs):
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        reveal_shape(ids[mask.bool()])  # revealed: (ragged)
        reveal_shape(inputs["scores"][mask.bool()])  # revealed: (ragged, ...)
        reveal_shape(inputs["scores"][mask.bool()].mean())  # revealed: ()
        reveal_shape(torch.nonzero(mask))  # revealed: (ragged, same)
        reveal_shape(mask.nonzero().squeeze(-1))  # revealed: (ragged)
        reveal_shape(torch.masked_select(ids, mask == 1))  # revealed: (ragged)
        chosen = [index for index in range(len(ids)) if inputs["good"][index]]
        reveal_shape(ids[chosen])  # revealed: (ragged, ragged)
        embedded = self.embed(ids)
        reveal_shape(embedded)  # revealed: unknown
        reveal_shape(embedded[chosen])  # revealed: (ragged, ...)
        reveal_shape(embedded[chosen, ...])  # revealed: (ragged, ...)
        reveal_shape(embedded[mask.bool()].float())  # revealed: (ragged, ...)
        reveal_shape(embedded[0, ...])  # revealed: unknown
        reveal_shape(embedded[..., chosen])  # revealed: unknown
        every = [index for index in range(len(ids))]
        reveal_shape(ids[every])  # revealed: unknown
        reveal_shape(ids.index_select(0, mask.nonzero().squeeze(-1)))  # revealed: (ragged, ragged)

    def put_together(self, inputs):
        for row in torch.cat([inputs["input_ids"], inputs["input_ids"]]):
            reveal_shape(row)  # revealed: (ragged)
        mask = inputs["attention_mask"]
        reveal_shape(torch.stack([mask.sum(), mask.max()]))  # revealed: (same)
        reveal_shape(torch.stack((mask.sum(1), mask.sum(1)), dim=1))  # revealed: (same, same)
        reveal_shape(torch.cat([mask, mask], dim=1))  # revealed: (same, ragged)
        reveal_shape(torch.cat([mask.sum(1), mask.sum(1)]))  # revealed: (same)
        kept = inputs["scores"][mask.bool()]
        reveal_shape(torch.cat([kept.float()]))  # revealed: (ragged, ...)
        reveal_shape(torch.cat([kept, torch.zeros(2, 4)]))  # revealed: (ragged, ...)
        reveal_shape(torch.cat([kept, inputs["scores"][~mask.bool()]]))  # revealed: unknown
        reveal_shape(torch.cat([kept, torch.zeros(9 - len(kept), 4)]))  # revealed: unknown
        reveal_shape(torch.cat([kept, torch.zeros(9 - len(kept), 4)], dim=-1))  # revealed: unknown
        collected = []
        for _ in range(3):
            collected.append(inputs["scores"][mask.bool()])
        reveal_shape(torch.cat(collected))  # revealed: (ragged, ...)
        reveal_shape(torch.tensor(3.0))  # revealed: ()
        reveal_shape(torch.zeros(2, 3))  # revealed: (same, same)
        reveal_shape(torch.zeros_like(mask))  # revealed: (same, ragged)
        reveal_shape(pad_sequence([row for row in inputs["completions"]], batch_first=True))  # revealed: (same, ragged)
        rank = self.accelerator.process_index
        mine = [torch.tensor(ids) for ids in self.completions[rank * 4 : rank * 4 + 4]]
        reveal_shape(pad_sequence(mine, batch_first=True))  # revealed: (same, ragged)
        ours = [torch.tensor(ids) for ids in self.args.prompts]
        reveal_shape(pad_sequence(ours, batch_first=True))  # revealed: unknown

    def padded(self, inputs):
        mask = inputs["attention_mask"]
        reveal_shape(self.accelerator.pad_across_processes(mask, dim=1))  # revealed: (same, same)
        reveal_shape(self.accelerator.pad_across_processes(mask))  # revealed: (same, ragged)
        both = self.accelerator.pad_across_processes({"mask": mask, "ids": inputs["input_ids"]}, dim=1)
        reveal_shape(both["ids"])  # revealed: (same, same)
        reveal_shape(F.pad(mask, (0, 64 - mask.shape[1])))  # revealed: unknown

    def merged(self, inputs):
        mask = inputs["attention_mask"]
        if self.args.pad:
            mask = self.accelerator.pad_across_processes(mask, dim=1)
        reveal_shape(mask)  # revealed: (same, unknown)


def load():
    return AutoModelForCausalLM.from_pretrained("tiny")
