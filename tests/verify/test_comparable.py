"""When one process can be compared with several, and in which order ranks are named."""

from trl_lint.verify.oracles import termination, true_value
from trl_lint.verify.oracles.logged_metrics import TRAINER
from trl_lint.verify.record.traces import End, Log, RankRecord, Run
from trl_lint.verify.record.verdicts import Outcome


def run_of(*losses: float, margin: float) -> Run:
    """A run whose ranks call backward on these first losses, and log the same loss and the same margin."""
    logs = [Log(TRAINER, {"loss": 2.7077, "rewards/margins": margin}, ())]
    return Run([RankRecord(number, losses=[loss], logs=logs, end=End(0, 0)) for number, loss in enumerate(losses)])


def test_another_first_loss_is_another_training_however_close_the_logged_losses_are():
    # A mean of means: 1e-4 off in the loss, and 2 % in a metric that is a difference.
    run, single = run_of(2.7711, 2.7616, margin=0.01819), run_of(2.7666, margin=0.01779)
    verdict = true_value.judge(run, single)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "its first loss is 2.7666, the mean of the 2 processes' is 2.76635" in verdict.summary


def test_the_same_first_loss_up_to_rounding_is_the_same_training():
    run, single = run_of(2.77, 2.75, margin=0.01819), run_of(2.7600002, margin=0.01779)
    assert true_value.judge(run, single).failed
    assert not true_value.judge(run, run_of(2.7600002, margin=0.01819)).failed


def test_a_first_loss_near_nothing_is_rounding_alone():
    run, single = run_of(3e-9, -1e-9, margin=0.5), run_of(-2e-9, margin=0.5)
    assert true_value.judge(run, single).outcome is Outcome.PASSED


def test_ranks_that_fail_alike_are_named_in_their_order():
    ranks = [RankRecord(0, end=End(2.0, 1, "ValueError", "no")), RankRecord(1, end=End(1.0, 1, "ValueError", "no"))]
    assert termination.judge(Run(ranks)).summary == "ranks 0, 1: ValueError: no"


def logged(value: float, *, grad_norm: float = 1.0, name: str = "seen") -> Run:
    logs = [Log("wandb.log", {name: value}, ())]
    ranks = [RankRecord(number, losses=[0.7], grad_norms=[grad_norm], logs=logs, end=End(0, 0)) for number in (0, 1)]
    for rank in ranks:
        rank.world_size, rank.weights = 2, [[1.0, 1.0]]
    return Run(ranks)


def test_what_follows_from_the_number_of_processes_is_no_value_of_the_data():
    assert true_value.judge(logged(24.0), logged(12.0)).outcome is Outcome.UNKNOWN
    assert true_value.judge(logged(24.0), logged(13.0)).failed
    assert true_value.judge(logged(0.5), logged(0.25)).failed


def test_a_first_loss_may_say_nothing_of_the_data_and_its_gradients_do():
    assert "of norm 2" in true_value.judge(logged(0.5), logged(0.4, grad_norm=2.0)).summary


def test_what_the_program_names_nowhere_fails_nothing():
    verdict = true_value.judge(logged(0.5), logged(0.4), lambda name: name != "seen")
    assert verdict.outcome is Outcome.PASSED
    assert verdict.evidence == ("seen: logged 0.5, one process has 0.4 (not its own)",)


def test_a_loss_that_is_divided_by_the_number_of_gpus():
    single = Run([RankRecord(0, losses=[2.6], end=End(0, 0))])
    said = {
        loss: true_value.judge_bare(Run([RankRecord(0, losses=[loss], end=End(0, 0))]), single, 2).outcome
        for loss in (2.6, 1.3, 1.4)
    }
    assert said == {2.6: Outcome.PASSED, 1.3: Outcome.FAILED, 1.4: Outcome.UNKNOWN}


def test_rows_that_no_gpu_got():
    single = Run([RankRecord(0, losses=[2.6], end=End(0, 0))])
    verdict = true_value.judge_bare(Run([RankRecord(0, losses=[2.6], scattered=(4, 2), end=End(0, 0))]), single, 2)
    assert (verdict.kind, verdict.data) == ("rows", {"given": 4, "kept": 2})
