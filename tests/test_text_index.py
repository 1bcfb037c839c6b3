"""The identifiers of a text: an identifier that is not in the set never occurs."""

from __future__ import annotations

import pytest

from torchlint.prefilter.needs import (
    Need,
    all_of,
    any_of,
    identifier_parts,
    identifiers,
    imported,
    of_library,
    text_pattern,
)
from torchlint.prefilter.text_index import TextIndex

TEXT = (
    "import torch.nn as nn  # zeros\nfrom torch import (\n    ones,  # all\n    eye,\n)\n"
    "from a import b, \\\n    full\n"
    "class Größe(nn.Module):\n    x_1 = self. to(device)\n    y = x\\\n        .cuda()\n"
)


@pytest.mark.parametrize(
    "need",
    [
        identifiers("torch numpy"),
        identifiers("Größe"),
        identifiers("zeros"),
        of_library(["numpy.Module"]),
        of_library(["torch.ones"]),
        of_library(["torch.full"]),
        of_library(["to"]),
        of_library(["cuda"]),
        imported(["eye"]),
        identifier_parts("DEVICE", "rank"),
        identifier_parts(" torch "),
        text_pattern(r"from\s+torch", identifiers("from")),
        any_of(identifiers("numpy"), identifiers("torch")),
        all_of(identifiers("nn"), identifiers("torch")),
    ],
)
def test_what_stands_there_is_found(need: Need) -> None:
    assert TextIndex.of_text(TEXT).has(need)


@pytest.mark.parametrize(
    "need",
    [
        identifiers("tor orch"),
        of_library(["torch.zeros"]),  # only a comment names it
        imported(["device"]),
        identifier_parts("seno"),
        identifier_parts(" evice"),
        text_pattern(r"from\s+torch", identifiers("numpy")),
        any_of(identifiers("numpy"), identifiers("pandas")),
        all_of(identifiers("nn"), identifiers("numpy")),
    ],
)
def test_what_is_missing_is_told(need: Need) -> None:
    assert not TextIndex.of_text(TEXT).has(need)


def test_needs_of_different_kinds_with_the_same_names_are_kept_apart() -> None:
    text_index = TextIndex.of_text(TEXT)
    assert text_index.has(identifiers("zeros"))
    assert not text_index.has(of_library(["zeros"]))
    assert not text_index.has(imported(["zeros"]))
