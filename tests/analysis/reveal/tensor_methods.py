"""Methods and attributes of tensors, one for each kind of transfer, and the unusual ones."""

import torch
from transformers import Trainer


class Methods(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        x, y = inputs["x"].float(), inputs["y"].float()
        mask = inputs["attention_mask"]
        loss = model(**inputs).loss
        reduced = self.accelerator.gather(x)

        # Reductions, over everything and over dimensions.
        reveal_rank(x.sum())  # revealed: partial(sum)
        reveal_rank(x.sum(0))  # revealed: partial(sum)
        reveal_rank(x.sum(dim=0))  # revealed: partial(sum)
        reveal_rank(x.sum(dim=(0, 1)))  # revealed: partial(sum)
        reveal_rank(x.sum(axis=0))  # revealed: partial(sum)
        reveal_rank(x.sum(dim=None))  # revealed: partial(sum)
        reveal_rank(x.sum(1))  # revealed: shard
        reveal_rank(x.sum(-1))  # revealed: shard
        reveal_rank(x.sum(dim=(1, 2)))  # revealed: shard
        reveal_rank(x.sum(dim=self.args.dim))  # revealed: local(data)
        reveal_rank(x.sum(1).mean())  # revealed: partial(mean)
        reveal_rank(x.mean().sum())  # revealed: partial(mean)
        reveal_rank(x.sum().max())  # revealed: partial(sum)
        reveal_rank(x.mean(0).max())  # revealed: local(data)
        reveal_rank(x.max())  # revealed: partial(max)
        reveal_rank(x.max(y))  # revealed: shard
        reveal_rank(x.max(dim=1).values)  # revealed: shard
        reveal_rank((x > 0).any())  # revealed: partial(any)
        reveal_rank(x.sum().var())  # revealed: local(data)
        reveal_rank(reduced.mean())  # revealed: same
        reveal_rank(loss.mean())  # revealed: local(data)
        reveal_rank((x * mask).sum() / mask.sum())  # revealed: local(data)
        reveal_rank(x[mask.bool()].mean())  # revealed: partial(mean)

        # Passed through.
        reveal_rank(x.detach().cpu().numpy())  # revealed: shard
        reveal_rank(x.mean().detach().to("cpu").float())  # revealed: partial(mean)
        reveal_rank(x.view(-1).unsqueeze(0).T)  # revealed: shard
        reveal_rank(mask.sum().bool())  # revealed: local(data)
        reveal_rank((x > 0).any().bool())  # revealed: partial(any)
        reveal_rank(x.sum().expand(4))  # revealed: partial(sum)
        reveal_rank(loss.clone())  # revealed: local(data)

        # To the host.
        reveal_rank(x.sum().item())  # revealed: partial(sum)
        reveal_rank(loss.item())  # revealed: local(data)
        reveal_rank(x.tolist())  # revealed: shard
        reveal_rank(x.tolist()[0])  # revealed: shard
        reveal_rank(sum(x.tolist()))  # revealed: partial(sum)
        reveal_rank(reduced.mean().item())  # revealed: same

        # Counts and types.
        reveal_rank(x.nelement())  # revealed: partial(count)
        reveal_rank(loss.numel())  # revealed: same
        reveal_rank(reduced.numel())  # revealed: same
        reveal_rank(x.shape)  # revealed: local(data)
        reveal_rank(x.size())  # revealed: local(data)
        reveal_rank(x.size()[0])  # revealed: partial(count)
        reveal_rank(x.size(dim=0))  # revealed: partial(count)
        reveal_rank(x.size(-1))  # revealed: local(data)
        reveal_rank(x.shape[1:])  # revealed: local(data)
        reveal_rank(len(x.shape))  # revealed: same
        rows, columns = x.shape
        reveal_rank(rows)  # revealed: partial(count)
        reveal_rank(columns)  # revealed: local(data)
        _, tokens, features = x.shape
        reveal_rank(tokens)  # revealed: local(data)
        reveal_rank(features)  # revealed: unknown
        samples, channels, *sizes = x.shape
        reveal_rank(channels)  # revealed: local(data)
        samples, channels, height, width = x.shape
        reveal_rank(samples)  # revealed: partial(count)
        reveal_rank(channels)  # revealed: unknown
        reveal_rank(width)  # revealed: unknown
        reveal_rank(x.requires_grad)  # revealed: same
        reveal_rank(x.is_floating_point())  # revealed: same

        # One answer about all elements.
        reveal_rank(x.argmax(-1))  # revealed: shard
        reveal_rank(x.argmax())  # revealed: local(data)
        reveal_rank(x.equal(y))  # revealed: local(data)
        reveal_rank(reduced.equal(reduced))  # revealed: same

        # In place.
        a = torch.zeros(4)
        a.add_(x)
        reveal_rank(a)  # revealed: shard
        a.zero_()
        reveal_rank(a)  # revealed: same
        a.copy_(loss)
        reveal_rank(a)  # revealed: local(data)
        a.fill_(1.0)
        reveal_rank(a)  # revealed: same
        a.normal_()
        reveal_rank(a)  # revealed: local(rng)
        b = x.sum()
        b.div_(2)
        reveal_rank(b)  # revealed: partial(sum)
        b.add_(y.sum())
        reveal_rank(b)  # revealed: partial(sum)
        b.exp_()
        reveal_rank(b)  # revealed: local(data)
        reveal_rank(torch.zeros(4).add_(loss))  # revealed: local(data)
        buffer = torch.zeros(4)
        buffer[0] = loss
        reveal_rank(buffer)  # revealed: local(data)
        buffer[1] += 1
        reveal_rank(buffer.mean())  # revealed: local(data)

        # Made from another.
        reveal_rank(x.new_zeros(3))  # revealed: same
        reveal_rank(x.new_full((3,), 1.0))  # revealed: same
        reveal_rank(x.new_full((3,), loss))  # revealed: local(data)
        reveal_rank(x.new_tensor(1.0))  # revealed: same
        reveal_rank(x.bernoulli())  # revealed: local(data, rng)

        # Indexing.
        reveal_rank(x[0])  # revealed: shard
        reveal_rank(x[:, 1:])  # revealed: shard
        reveal_rank(x[..., -1])  # revealed: shard
        reveal_rank(reduced[0])  # revealed: same
        reveal_rank(reduced[reduced > 0])  # revealed: same
        reveal_rank(reduced[self.accelerator.process_index])  # revealed: local(rank)
        start = self.accelerator.process_index * 4
        reveal_rank(reduced[start : start + 4])  # revealed: local(rank)
        reveal_rank(reduced[slice(start, start + 4)])  # revealed: local(rank)
        reveal_rank(reduced[something_unknown()])  # revealed: unknown
        reveal_rank(x.gather(1, inputs["index"]))  # revealed: shard
        reveal_rank(x.masked_fill(mask == 0, 0.0))  # revealed: shard
        reveal_rank(x.grad)  # revealed: shard
        reveal_rank(loss.backward())  # revealed: same
        return loss
