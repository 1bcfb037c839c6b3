"""The parts of ``scripts/gpu_check.py``, and how they are run."""
