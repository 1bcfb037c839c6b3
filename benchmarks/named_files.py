"""Whether a run of a named file reports what a run of its whole project reports there.

``python benchmarks/named_files.py FOLDER`` lints each checkout in FOLDER (``FOLDER/owner+name``), then some of its
files on their own in the context of the others, and prints each file with other findings. The exit status is 1 if there
is one.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from torchlint.config.config import Config
from torchlint.model import Finding
from torchlint.run import session
from torchlint.run.discovery import discover
from torchlint.run.discovery.context import Context


def differing(root: Path, count: int) -> tuple[list[str], int]:
    """The files of a checkout with other findings if they are named, and how many were tried."""
    os.chdir(root)
    plan = session.plan(Config(root=str(root)))
    files = discover.files(["."], plan.scopes.configurations, str(root)).files
    whole = _by_file(session.run(files, plan).findings)
    guilty = [path for path in files if path in whole]
    draw = random.Random(0)
    chosen = [*draw.sample(guilty, min(count, len(guilty))), *draw.sample(files, min(2, len(files)))]
    around = plan._replace(around=Context(tuple(files)))
    named = {path: _by_file(session.run([path], around, jobs=1).findings) for path in dict.fromkeys(chosen)}
    return [path for path, found in named.items() if found.get(path) != whole.get(path)], len(named)


def _by_file(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.path, []).append(finding)
    return found


def main() -> int:
    """Print the files that differ in each checkout, and how many were compared in all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts")
    parser.add_argument("--files", type=int, default=3, metavar="N", help="files with findings of each checkout")
    arguments = parser.parse_args()
    compared, wrong = 0, 0
    checkouts = sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir())
    for checkout in checkouts:
        differ, tried = differing(checkout, arguments.files)
        compared, wrong = compared + tried, wrong + len(differ)
        for path in differ:
            print(f"{checkout.name}: {path} has other findings if it is named")
    print(f"{len(checkouts)} checkouts, {compared} files named, {wrong} with other findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
