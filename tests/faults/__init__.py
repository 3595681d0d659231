"""Faults during `mase run`: kills, full disks, read-only moments, signals and lost machines (`make faults`)."""
