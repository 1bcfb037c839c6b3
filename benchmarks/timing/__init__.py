"""What benchmarks/speed.py is made of: contestants, measurements, goals and the page."""

from __future__ import annotations
