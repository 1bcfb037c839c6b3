"""Results of ``torchlint compare`` that are stored beside evidence, as ``compare*.json``."""

from __future__ import annotations

import glob
import os

from torchlint.confirm.order import Order
from torchlint.confirm.stored import NotStored, stored
from torchlint.confirm.stored_types import StoredComparison
from torchlint.model import Finding
from torchlint.report.figures import duration

_SCHEMA = 1
Key = tuple[str, str, int]


def key_of(finding: Finding) -> Key:
    """What a comparison names of its finding."""
    return finding.rule, finding.path, finding.span.line


def comparisons(order: Order) -> dict[Key, str]:
    """What the fixes of findings are worth, in words. Files that are something else are passed over."""
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(order.directory), "compare*.json"))):
        try:
            one = stored(path, StoredComparison, _SCHEMA)
        except NotStored:
            continue
        on = one["device"] or ("the CPU" if one["mode"] == "cpu" else "a GPU")
        low, high = one["interval"]
        times = f"{duration(one['old_us'])} a step before and {duration(one['new_us'])} after"
        said = f"{one['decided']}, x{one['ratio']:.2f} [{low:.2f}, {high:.2f}], {times} (measured on {on})"
        found[one["rule"], one["path"], one["line"]] = said
    return found
