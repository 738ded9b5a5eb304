"""Bugs of released trainers that a later release fixed, by the function that had them.

`evaluation/upstream.py` creates the table from TRL's history and the releases, and reports where it is out of date.
"""

from __future__ import annotations

from typing import NamedTuple


class FixedBug(NamedTuple):
    """A function of a release, the bug it had, and the release that fixed it.

    Attributes:
        last: The last release with the bug.
        pull: The pull request that fixed it.
        digests: The digests of the function's text (`trl_lint.linter.upstream.digest`) in all releases that had the
            bug.
    """

    rule: str
    symbol: str
    last: str
    fixed: str
    pull: str
    digests: tuple[str, ...]


# fmt: off
ROWS: tuple[FixedBug, ...] = (
    FixedBug("TRL002", "DPOTrainer._compute_loss_liger", "1.8.0", "1.9.0", "#6372", (
        "1d5e876ebca6",
        "67aab5c50b9e",
        "e8b9af30c144",
        "562a5185fb28",
        "204e3fe55a9f",
        "dcce52ab6f47",
    )),
    FixedBug("TRL002", "OnlineDPOTrainer._generate", "0.16.1", "0.17.0", "#3225", (
        "3d6dfbaf680a",
    )),
    FixedBug("TRL002", "PPOTrainer._save_pretrained", "0.2.1", "0.3.0", "#157", (
        "0a6889a3ce47",
    )),
    FixedBug("TRL003", "CPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "04e52e8dcd24",
        "14700c27ec61",
        "346d3d8a855e",
        "4393508646b7",
    )),
    FixedBug("TRL003", "DPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "26f95452af10",
        "5b6c30f0038b",
        "e35e32f53210",
        "b3e6ec9afab3",
        "2bce6d774216",
        "a298f87cfc03",
        "9dc971f895da",
    )),
    FixedBug("TRL003", "ORPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "184f1eb7624e",
        "7c7ce1cad6ee",
        "c210b5f55bef",
        "1fedf50b79fd",
        "118da6e8233e",
    )),
    FixedBug("TRL005", "CPOTrainer.get_batch_loss_metrics", "0.16.1", "0.17.0", "#3069", (
        "127d0c17c908",
    )),
    FixedBug("TRL005", "GRPOTrainer.get_high_entropy_mask", "0.22.2", "0.23.0", "#3964", (
        "f16182834e84",
        "e188149c0206",
    )),
    FixedBug("TRL005", "ORPOTrainer.get_batch_loss_metrics", "0.16.1", "0.17.0", "#3069", (
        "25f955f3b06e",
    )),
    FixedBug("TRL006", "DPOTrainer._precompute_ref_logps", "1.8.0", "1.9.0", "#6403", (
        "dd2fbe30c8ac",
        "589c3d365617",
        "2140140e9ce3",
    )),
    FixedBug("TRL006", "GRPOTrainer.get_high_entropy_mask", "0.23.0", "0.23.1", "#4041", (
        "ac00d71b72f5",
        "f16182834e84",
        "e188149c0206",
    )),
    FixedBug("TRL006", "KTOTrainer._precompute_ref_logps", "1.8.0", "1.9.0", "#6403", (
        "7331450367b7",
    )),
    FixedBug("TRL007", "GMPOTrainer._compute_loss", "1.8.0", "1.9.0", "#6380", (
        "1ec9b335f481",
    )),
    FixedBug("TRL007", "GRPOTrainer._compute_loss", "1.8.0", "1.9.0", "#6380", (
        "15b9d96e50e0",
        "e5ad53279720",
        "bb04b57f259b",
        "f671fb11fbbc",
        "e91f84dba5c0",
        "2947d0b48a50",
        "7ca5186fdf7e",
        "e7083c76c76a",
        "5bb83f70695d",
        "a1a14eb85413",
        "d6976c59d46f",
        "829c2d7fad63",
        "9f1448b0beb0",
        "76798815adf2",
        "113d042bb0ff",
    )),
    FixedBug("TRL007", "GRPOTrainer._compute_loss", "1.8.0", "1.9.0", "#6380", (
        "7b2775b77bda",
        "ccaa1cf0d138",
        "a661c7129885",
    )),
    FixedBug("TRL007", "KTOTrainer.get_batch_loss_metrics", "0.8.1", "0.8.2", "#1499", (
        "eaf8fc286fc1",
    )),
    FixedBug("TRL007", "RLOOTrainer._compute_loss", "1.8.0", "1.9.0", "#6380", (
        "c5bc364bb668",
        "1bcb31ab5d81",
        "acb82daf1101",
        "2856c1ab7f39",
        "18f6a4108571",
    )),
    FixedBug("TRL007", "RLOOTrainer._generate_and_score_completions", "1.8.0", "1.9.0", "#6380", (
        "cb1594b2432e",
        "4be6a7a59af4",
        "dc1295b853be",
        "d2b9b1499cd3",
        "aa058c688a97",
    )),
    FixedBug("TRL008", "PPOv2Trainer.generate_completions", "0.9.6", "0.10.1", "#1951", (
        "f378909ef6f5",
    )),
    FixedBug("TRL008", "RLOOTrainer.generate_completions", "0.9.6", "0.10.1", "#1951", (
        "c41be28a6d3c",
    )),
    FixedBug("TRL009", "DPOTrainer._compute_loss_liger", "0.24.0", "0.29.0", "#6372", (
        "aecd299e7c6d",
        "11eb9df52eca",
        "28a1f2586263",
        "c4db1667fbb2",
    )),
    FixedBug("TRL009", "DistillationTrainer._compute_liger_loss", "1.5.1", "1.6.0", "#5934", (
        "7f7e5e64a2be",
    )),
    FixedBug("TRL009", "GKDTrainer.compute_loss", "1.5.1", "1.6.0", "#5934", (
        "121508710d5c",
        "390071b8babc",
    )),
    FixedBug("TRL009", "GOLDTrainer.compute_loss", "1.5.1", "1.6.0", "#5934", (
        "d45d219eb01d",
        "6e8e1e50d373",
    )),
    FixedBug("TRL009", "KTOTrainer._compute_loss_liger", "0.24.0", "0.29.0", "#6372", (
        "60e362e8bb50",
    )),
    FixedBug("TRL010", "GRPOTrainer._move_model_to_vllm", "0.15.2", "0.16.0", "#2871", (
        "010ddd713e31",
        "6845ccb2ef8b",
    )),
    FixedBug("TRL010", "GRPOTrainer._prepare_inputs", "0.15.2", "0.16.0", "#2871", (
        "450c3bd1bbbb",
    )),
    FixedBug("TRL011", "PreTrainedModelWrapper._get_current_device", "0.4.7", "0.5.0", "#515", (
        "d6c3d566b79c",
    )),
    FixedBug("TRL011", "RewardTrainer.prediction_step", "0.4.7", "0.5.0", "#513", (
        "7bc943b964ae",
    )),
    FixedBug("TRL011", "SFTTrainer.compute_loss", "0.16.1", "0.17.0", "#3245", (
        "f482de163f2d",
    )),
    FixedBug("TRL012", "BCOTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "4c287f9d87f7",
        "60a1ac71ad60",
        "90277fb42f76",
        "a075bef47956",
        "9485b0268229",
    )),
    FixedBug("TRL012", "CPOTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "26474c98e3eb",
        "9ad02e9bb266",
        "34c8e80c6972",
        "f405e21141bf",
        "f74dc5272559",
        "0cddb511a925",
        "56472de704c8",
    )),
    FixedBug("TRL012", "DPOTrainer.__init__", "0.7.10", "0.7.11", "#1291", (
        "523346f7ba55",
    )),
    FixedBug("TRL012", "DPOTrainer._prepare_dataset", "0.15.2", "0.16.0", "#3106", (
        "e51d57823ec3",
    )),
    FixedBug("TRL012", "KTOTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "24041b275706",
        "87ee675ecaa7",
        "cc036d9fd12b",
        "64b07fb7445d",
        "5598b9518259",
        "8dbeba098cd5",
        "7935f081ed76",
        "9217393820ae",
    )),
    FixedBug("TRL012", "ORPOTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "d8f1b6cbd63c",
        "c6fd11198680",
        "6c2182cbf84f",
        "03f70d1a591d",
        "10be7e492b35",
        "7eb80516a11f",
    )),
    FixedBug("TRL012", "PRMTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "9c03226237ff",
        "5be77dda65ef",
    )),
    FixedBug("TRL012", "RewardTrainer.__init__", "0.15.2", "0.16.0", "#3106", (
        "718987200c4b",
        "c3f42756b217",
        "b1f349f75249",
    )),
    FixedBug("TRL012", "SFTTrainer._prepare_dataset", "0.15.2", "0.16.0", "#3106", (
        "250a7b0096ca",
        "194fbaf997dd",
    )),
    FixedBug("TRL013", "GRPOTrainer.compute_liger_loss", "1.5.1", "1.6.0", "#5891", (
        "2cddf7a7d7c2",
        "484537db783c",
        "b0164d8ed3d3",
        "6b2612041dd6",
        "6fa29f5f84e4",
        "a94babee5f48",
        "e36997d92ea1",
        "cd42646c8549",
        "2d72b4ddb473",
    )),
)
# fmt: on
