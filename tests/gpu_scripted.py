"""A process of a part of the check on a GPU, for tests: what it does stands in the names of its items."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from scripts.gpu import tasks
from scripts.gpu.common import Part, Row, Settings


def scripted(_: Settings, items: Iterator[str]) -> Iterator[Row]:
    """Each item is known before it crashes, fails or hangs."""
    for item in items:
        yield {"known": {item: os.environ.get("OMP_NUM_THREADS")}, "same": 1}
        if item == "crashes":
            os._exit(7)
        if item == "fails":
            raise ValueError("no such thing")
        if item == "hangs":
            time.sleep(600)
    if "last" in item:
        os._exit(8)


if __name__ == "__main__":
    names = sys.argv[sys.argv.index("--items") + 1 :]
    if "nothing" in names:
        sys.exit("cannot begin")
    tasks.work(Part(lambda _: names, scripted, 0), Settings("sim"), names, sys.argv[sys.argv.index("--task") + 2])
