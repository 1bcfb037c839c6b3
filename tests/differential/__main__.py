"""Runs campaigns, and prints figures and failures. Status 1 if a safe fix has changed a program."""

from __future__ import annotations

import argparse
import sys
import time

from tests.differential.campaign import progress, run, shown
from tests.differential.strategies import STRATEGIES


def main() -> int:
    """Run one campaign for each selected rule."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    known = sorted(STRATEGIES)
    parser.add_argument("--rule", action="append", choices=known, help="a rule with safe fixes (default: all)")
    parser.add_argument("--programs", type=int, default=5_000, help="programs to repair a rule (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same programs (%(default)s)")
    options = parser.parse_args()
    failed = False
    for rule in options.rule or known:
        start = time.process_time()
        campaign = run(rule, options.programs, options.seed, progress)
        lines = [f"{campaign}, {time.process_time() - start:.0f} s (seed {options.seed})"]
        sys.stdout.write("\n".join([*lines, *(shown(*found) for found in campaign.found.values()), ""]))
        sys.stdout.flush()
        failed |= campaign.differing > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
