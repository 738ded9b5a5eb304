"""Libraries whose functions and objects only compute from what they are given: losses, scores of texts and images.

None of them asks for a process group, so that a loss of this rank's batch is this rank's own. Source: the documentation
of each package. What gathers over ranks there is in classes of its own, which are not listed: DistributedLossWrapper of
pytorch_metric_learning, the metrics of monai that are classes, the metrics of torcheval and torchmetrics.
"""

from __future__ import annotations

# The layout of a table is by hand.
# fmt: off

# Roots of functions: a function of one of them returns what it makes of its arguments.
FUNCTIONS = frozenset({
    "Levenshtein", "bert_score.score", "clip.clip.tokenize", "clip.tokenize", "cut_cross_entropy", "cv2",
    "editdistance", "einops_exts", "einx", "entmax", "fastdtw", "flash_attn.bert_padding",
    "flash_attn.flash_attn_func", "flash_attn.flash_attn_interface", "flash_attn.flash_attn_varlen_func", "ftfy",
    "fvcore.nn.giou_loss", "fvcore.nn.sigmoid_focal_loss", "fvcore.nn.sigmoid_focal_loss_jit",
    "fvcore.nn.sigmoid_focal_loss_star", "fvcore.nn.smooth_l1_loss", "jieba.cut", "jieba.lcut", "jiwer",
    "kornia.color", "kornia.enhance", "kornia.filters", "kornia.geometry", "kornia.losses", "kornia.metrics",
    "kornia.morphology", "librosa", "math_verify", "mir_eval", "monai.data.decollate_batch",
    "monai.inferers.sliding_window_inference", "monai.losses", "monai.metrics.compute_average_surface_distance",
    "monai.metrics.compute_dice", "monai.metrics.compute_hausdorff_distance", "monai.metrics.compute_iou",
    "monai.metrics.compute_meandice", "monai.metrics.compute_roc_auc", "monai.metrics.do_metric_reduction", "museval",
    "nltk.bleu_score", "nltk.edit_distance", "nltk.metrics", "nltk.ngrams", "nltk.pos_tag", "nltk.sent_tokenize",
    "nltk.stem", "nltk.tokenize", "nltk.translate", "nltk.util", "nltk.word_tokenize", "opt_einsum", "pesq", "piq",
    "pycocotools.cocoeval.COCOeval", "pycocotools.mask", "pypinyin", "pystoi", "pytorch3d.loss",
    "pytorch3d.ops.ball_query", "pytorch3d.ops.corresponding_points_alignment",
    "pytorch3d.ops.estimate_pointcloud_normals", "pytorch3d.ops.knn_gather", "pytorch3d.ops.knn_points",
    "pytorch3d.transforms", "pytorch_metric_learning.utils.accuracy_calculator",
    "pytorch_metric_learning.utils.loss_and_miner_utils", "pytorch_msssim", "pytorch_ssim", "qwen_vl_utils",
    "rapidfuzz", "regex", "rouge_chinese", "sacrebleu", "segmentation_models_pytorch.metrics",
    "sentence_transformers.util.cos_sim", "sentence_transformers.util.dot_score",
    "sentence_transformers.util.pytorch_cos_sim", "sentence_transformers.util.semantic_search", "seqeval", "skimage",
    "tabulate", "termcolor.colored", "torch_geometric.nn.global_add_pool", "torch_geometric.nn.global_max_pool",
    "torch_geometric.nn.global_mean_pool", "torch_geometric.utils.scatter", "torch_geometric.utils.softmax",
    "torch_geometric.utils.to_dense_adj", "torch_geometric.utils.to_dense_batch", "torch_scatter",
    "torchaudio.functional", "torcheval.metrics.functional", "torchmetrics.functional",
    "xformers.ops.memory_efficient_attention",
})
# Of these, what reads or writes files or devices, draws, or keeps a state.
OTHERS = frozenset({
    "cv2.FileStorage", "cv2.VideoCapture", "cv2.VideoWriter", "cv2.destroyAllWindows", "cv2.getTickCount",
    "cv2.imdecode", "cv2.imread", "cv2.imreadmulti", "cv2.imshow", "cv2.imwrite", "cv2.imwritemulti",
    "cv2.namedWindow", "cv2.randShuffle", "cv2.randn", "cv2.randu", "cv2.setNumThreads", "cv2.setRNGSeed",
    "cv2.waitKey", "librosa.display", "librosa.ex", "librosa.example", "librosa.get_duration",
    "librosa.get_samplerate", "librosa.load", "librosa.output", "librosa.stream", "skimage.data", "skimage.io",
    "skimage.util.random_noise", "skimage.viewer",
})
# Of these, error rates of several texts: the errors in all of them, over the words or characters in all of them.
ERROR_RATES = frozenset({
    "jiwer.cer", "jiwer.mer", "jiwer.wer", "jiwer.wil", "torchmetrics.functional.char_error_rate",
    "torchmetrics.functional.match_error_rate", "torchmetrics.functional.text.char_error_rate",
    "torchmetrics.functional.text.match_error_rate", "torchmetrics.functional.text.word_error_rate",
    "torchmetrics.functional.text.word_information_lost", "torchmetrics.functional.word_error_rate",
    "torchmetrics.functional.word_information_lost",
})
# Of these, numbers of errors in one text.
_ERRORS = frozenset({
    "Levenshtein.distance", "editdistance.distance", "editdistance.eval", "nltk.edit_distance",
    "nltk.metrics.edit_distance", "rapidfuzz.distance.Levenshtein.distance", "torchaudio.functional.edit_distance",
})
OF_TEXTS = ERROR_RATES | _ERRORS
# Modules of classes whose objects are called, or have methods that are, and keep nothing of it.
CLASSES = (
    "geomloss.", "info_nce.", "jiwer.", "kornia.losses.", "liger_kernel.chunked_loss.",
    "liger_kernel.transformers.LigerCrossEntropyLoss", "liger_kernel.transformers.LigerFusedLinearCrossEntropyLoss",
    "monai.losses.", "monai.transforms.Activations", "monai.transforms.AsDiscrete",
    "monai.transforms.Compose", "monai.transforms.EnsureType", "nltk.translate.bleu_score.SmoothingFunction", "piq.",
    "pycocoevalcap.bleu.bleu.Bleu", "pycocoevalcap.cider.cider.Cider", "pycocoevalcap.meteor.meteor.Meteor",
    "pycocoevalcap.rouge.rouge.Rouge", "pycocoevalcap.spice.spice.Spice",
    "pycocoevalcap.tokenizer.ptbtokenizer.PTBTokenizer", "pycocotools.coco.COCO",
    "pytorch_metric_learning.distances.", "pytorch_metric_learning.losses.", "pytorch_metric_learning.miners.",
    "pytorch_metric_learning.reducers.", "pytorch_metric_learning.regularizers.", "pytorch_msssim.", "pytorch_ssim.",
    "rouge.Rouge", "rouge_chinese.Rouge", "rouge_score.rouge_scorer.RougeScorer", "sacrebleu.",
    "segmentation_models_pytorch.losses.", "segmentation_models_pytorch.utils.losses.", "timm.loss.",
    "torchaudio.transforms.",
)
