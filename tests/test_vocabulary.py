"""The vocabulary of a text: what it says does not stand there never does."""

from __future__ import annotations

import random

import pytest

from torchlint.vocabulary import Vocabulary, is_word

TEXT = "import torch.nn as nn\nclass Größe(nn.Module):\n    x_1 = self.to(device)\n".encode()


@pytest.mark.parametrize("text", [b"torch", b"orch", b".nn", b"nn.Module", b".to(", b"x_1 =", b"Gr\xc3\xb6", b"as nn"])
def test_what_stands_there_may_stand_there(text: bytes) -> None:
    assert Vocabulary(TEXT).may_hold(text)


@pytest.mark.parametrize("text", [b"numpy", b".mod.", b"torchx", b".t(", b".devic.", b"(elf)"])
def test_words_that_are_missing_are_told(text: bytes) -> None:
    assert not Vocabulary(TEXT).may_hold(text)


def test_nothing_is_denied_that_stands_there_and_words_are_known_for_certain() -> None:
    chance = random.Random(0)
    for _ in range(3000):
        text = bytes(chance.choices(b"ab_(. \n\xc3", k=chance.randrange(60)))
        wanted = bytes(chance.choices(b"ab_(. \n\xc3", k=chance.randrange(1, 5)))
        answer = Vocabulary(text).may_hold(wanted)
        assert answer or wanted not in text
        assert not is_word(wanted) or answer == (wanted in text)
