# A trainer puts a wrapper into a part of the model that it is given, and passes that model on.
import argparse

import torch
from somewhere import load
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Agent(nn.Module):
    def __init__(self, policy):
        super().__init__()
        self.policy = policy
        self.critic = load("critic")

    def forward(self, x):
        return self.policy(x).mean()

    def act(self, state):
        return self.policy(state.view(-1, self.policy.size))  # expect: TRL002

    def value(self, state):
        return self.critic(state.view(-1, self.critic.size))

    def first(self, state):
        return self.policy(state.view(-1, self.policy.size))


class Evaluator:
    def run(self, policy, others):
        policy.eval()
        policy.value(torch.zeros(3))
        return self.episode(1, agent=policy)

    def episode(self, number, agent):
        return agent.act(torch.zeros(3))


class Trainer:
    def __init__(self, agent, evaluator, args):
        self.args = args
        agent.first(torch.zeros(3))
        if args.ddp:
            agent.policy = DDP(agent.policy)
        self.agent = agent
        self.evaluator = evaluator

    def train(self, batches):
        for batch in batches:
            self.agent(batch).backward()
            self.evaluator.run(self.agent, batches)


def main(args):
    torch.distributed.init_process_group("nccl")
    trainer = Trainer(Agent(load("policy")), Evaluator(), args)
    trainer.train([torch.zeros(3)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    main(parser.parse_args())
