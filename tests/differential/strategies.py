"""The Hypothesis strategy for each rule with safe fixes."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis.strategies import SearchStrategy

from tests.differential import (
    arrays,
    comments,
    content,
    factories,
    numbers,
)
from tests.differential.case import Case
from tests.differential.disguises import ALL, disguised

_PLAIN: Mapping[str, SearchStrategy[Case]] = {
    "TL001": comments.unused(),
    "TL101": arrays.copied(),
    "TL103": content.generated(),
    "TL104": factories.moved(),
    "TL105": numbers.uploaded(),
}
STRATEGIES = {rule: disguised(plain, ALL) for rule, plain in _PLAIN.items()}
