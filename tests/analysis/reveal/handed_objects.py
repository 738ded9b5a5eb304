"""Objects and methods that are passed to a trainer, which calls them with its own values."""

from trl import GRPOTrainer


class Brevity:
    def __init__(self, limit):
        self.limit = limit
        self.history = []

    def __call__(self, prompts, completions, **kwargs):
        scores = [len(each) / 9 for each in completions]
        self.history.extend(scores)
        reveal_rank(completions)  # revealed: shard
        reveal_rank(sum(self.history))  # revealed: local(data)
        reveal_rank(self.limit)  # revealed: same
        return scores

    def of_one(self, completions, **kwargs):
        reveal_rank(completions)  # revealed: shard
        return [1.0 for _ in completions]

    def of_none(self, completions):
        reveal_rank(completions)  # revealed: unknown
        return []


brevity = Brevity(limit=9)
trainer = GRPOTrainer(model="gpt2", reward_funcs=[brevity, Brevity(limit=4).of_one])
