"""The hostile corpus: inputs, models, folders and faults that must end in a right answer or a typed error.

Each `test_*.py` is a family. `make test` runs a sample of every family, `make hostile` the whole.
"""
