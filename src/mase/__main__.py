"""`python -m mase` is the command `mase`."""

from mase.cli import main

if __name__ == "__main__":
    main(prog_name="mase")
