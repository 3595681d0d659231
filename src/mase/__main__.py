"""Run the command `mase` as `python -m mase`."""

from mase.cli import main

if __name__ == "__main__":
    main(prog_name="mase")
