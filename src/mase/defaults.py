"""Defaults that the help of the command names; this module imports no package, so that the help is quick."""

__all__ = ["CONFIDENCE", "EVIDENCE", "KS", "MAX_NEW_TOKENS", "OVERLAP"]

# How certain the set of the top units has to be.
CONFIDENCE = 0.95
# How many of the best units are tested on the model.
EVIDENCE = 5
# Numbers of words that metrics mask, those of the paper.
KS = (1, 5, 10, 15)
# Largest number of tokens of an answer that a language model generates.
MAX_NEW_TOKENS = 128
# Share of the units of a window that the next one also has.
OVERLAP = 0.25
