"""What PEFT does with a model. Read from peft 0.21.2."""

from __future__ import annotations

from trl_lint.knowledge.schema import BARE_MODEL, SAME, Class, Function, Row

# The layout of a table is by hand: one or two lines per row.
# fmt: off

ROWS: tuple[Row, ...] = (
    Class(name="peft.PeftModel", source="peft_model.py::PeftModel", makes=BARE_MODEL),
    Function(name="peft.get_peft_model", source="mapping_func.py::get_peft_model", returns="adapted"),
    Function(name="peft.prepare_model_for_int8_training",
             source="utils/other.py::prepare_model_for_int8_training", returns="first", until="0.10"),
    Function(name="peft.prepare_model_for_kbit_training",
             source="utils/other.py::prepare_model_for_kbit_training", returns="first"),
    Function(name="peft.utils.get_peft_model_state_dict",
             source="utils/save_and_load.py::get_peft_model_state_dict", returns=SAME),
)
