# A study that is kept in memory is each process's own, and one process may make what the others load.
import mlflow
import optuna
from physicsnemo.distributed import DistributedManager


def in_memory(objective):
    study = optuna.create_study(direction="minimize")
    study.optimize(objective, n_trials=3)


def in_a_data_base(objective, storage):
    study = optuna.create_study(study_name="rates", storage=storage, load_if_exists=True)  # expect: TRL008
    study.optimize(objective, n_trials=3)


def on_one_process(storage, manager):
    if manager.rank == 0:
        optuna.create_study(study_name="rates", storage=storage)
        mlflow.create_experiment("rates")


def on_all(client):
    if client.get_experiment_by_name("widths") is None:
        client.create_experiment("widths")  # expect: TRL008


def main():
    DistributedManager.initialize()
    manager = DistributedManager()
    in_memory(print)
    on_one_process("sqlite:///rates.db", manager)
    in_a_data_base(print, "sqlite:///rates.db")
    on_all(mlflow.MlflowClient())


main()
