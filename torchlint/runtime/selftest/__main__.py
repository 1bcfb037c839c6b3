"""``python -m torchlint.runtime.selftest``: prints the names of the probes that fail, as JSON on the last line."""

from __future__ import annotations

import json
import sys

from torchlint.runtime.selftest import run

sys.stdout.write(json.dumps([failure.name for failure in run()]) + "\n")
