"""Suppressions that are needed, and that are not."""

import torch


def needed(x):
    return x + torch.zeros(3).to("cuda")  # torchlint: ignore[TL104, TL701] the driver needs it


def half_needed(x):
    return x + torch.zeros(3).to("cuda")  # torchlint: ignore[TL104, TL401, TL701] two of three


def all_unused(x):
    y = x + 1  # torchlint: ignore[TL101, TL103] was a copy once
    return y  # noqa: TL501


def beside_other_tools(x):
    y = x + 1  # noqa: E501, TL101
    z = y + 1  # type: ignore  # noqa: TL101
    return z  # torchlint: ignore


def on_a_line_of_its_own(x):
    return (
        x
        # torchlint: ignore[TL101]
        + 1
    )


def misspelt(x):
    return x  # torchlint: ignore[TL99]
