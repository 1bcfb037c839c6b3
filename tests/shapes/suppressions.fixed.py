"""Suppressions that are needed, and that are not."""

import torch


def needed(x):
    return x + torch.zeros(3).to("cuda")  # torchlint: ignore[TL104, TL701] the driver needs it


def half_needed(x):
    return x + torch.zeros(3).to("cuda")  # torchlint: ignore[TL104, TL701] two of three


def all_unused(x):
    y = x + 1  # was a copy once
    return y


def beside_other_tools(x):
    y = x + 1  # noqa: E501
    z = y + 1  # type: ignore
    return z


def on_a_line_of_its_own(x):
    return (
        x
        + 1
    )


def misspelt(x):
    return x  # torchlint: ignore[TL99]
