"""How each rule's bug is mended, under the name of the rule: plans of edits, which `support/editing.py` makes."""
