"""How the findings of our rules are mended: a module of the rule's name for each."""
