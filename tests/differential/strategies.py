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
    portability,
    training,
    transfers,
)
from tests.differential.case import Case
from tests.differential.disguises import ALL, disguised, from_elsewhere

_PLAIN: Mapping[str, SearchStrategy[Case]] = {
    "TL001": comments.unused(),
    "TL101": arrays.copied(),
    "TL103": content.generated(),
    "TL104": factories.moved(),
    "TL105": numbers.uploaded(),
    "TL201": transfers.copied(),
    "TL202": transfers.batches("TL202"),
    "TL204": transfers.downloaded(),
    "TL302": transfers.elements(),
    "TL401": transfers.batches("TL401"),
    "TL607": training.summed(),
    "TL701": portability.hard_coded(),
}
# TL204 takes what is moved for a tensor if no linted file defines moves of its own, as docs/design.md says.
_UNSEEN = {"TL204": [disguise for disguise in ALL if disguise is not from_elsewhere]}
STRATEGIES = {rule: disguised(plain, _UNSEEN.get(rule, ALL)) for rule, plain in _PLAIN.items()}
