"""Fixable code in every layout: what stands around an edit must survive it."""

import numpy as np
import torch
from torch.utils.data import DataLoader

default_device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def comment_inside_the_call(path, device):
    return torch.tensor(  # read once
        np.load(path),  # from the disk
        device=device,
    )


def comment_between_the_links(n, device):
    return (
        torch.zeros(n, 3)  # on the host
        # and then
        .to(device)
    )


def chain_over_several_lines(path, device):
    return (
        torch.tensor(np.load(path), dtype=torch.float32, device=device)
        .unsqueeze(0)
    )


def continued_with_backslashes(path, device):
    x = torch.tensor(np.load(path), device=device)
    return x


def trailing_comma(device):
    return torch.zeros(2, 3, device=device,)


def one_argument_a_line(device):
    return torch.zeros(
        2,
        3,
        device=device,
    )


def no_trailing_comma(device):
    return torch.full(
        (2, 3),
        0.5,  # half
        device=device
    )


def no_trailing_comma_and_no_comment(device):
    return torch.full(
        (2, 3),
        0.5,
        device=device
    )


def parentheses_around(device):
    return ((torch.zeros)((2, 3), device=(device)))


def semicolons(device):
    a = torch.zeros(3, device=device); b = torch.ones(3, device=device); return a + b


def moved_among_semicolons(device):
    a = torch.zeros(3); a = a.to(device); return a


def one_line_suite(device, flag):
    if flag: return torch.zeros(3, device=device)
    return None


def in_a_lambda(device):
    return lambda n: torch.zeros(n, 2, device=device)


def walrus(device):
    if (z := torch.zeros(3, device=device)).sum() > 0:
        return z
    return None


def f_string(device):
    return f"{torch.zeros(3, device=device)}", f'{torch.zeros(3, device=default_device)}', f"""{torch.zeros(3, device=default_device)}"""


def default_argument(x=torch.zeros(3, device="cuda")):
    return x


def decorated(make):
    return make


@decorated(torch.zeros(3, device=default_device))
def conditional(device, flag):
    return torch.zeros(3, device=device) if flag else torch.ones(3, device=device)


def chained_comparison(device):
    return 0 < torch.zeros(3, device=device).sum() < 1


def single_quotes(dataset, model):
    loader = DataLoader(dataset, batch_size=4, num_workers=2, pin_memory=torch.cuda.is_available())
    for x in loader:
        model(x.to(default_device, non_blocking=True))


class Body:
    table = torch.zeros(3, device=default_device)

    async def later(self, device):
        return await self.send(torch.zeros(3, device=device))


def nested_fixes(device):
    return torch.tensor(np.array([np.zeros(3), np.ones(3)]), device=device), torch.zeros((2, 2), dtype=torch.float64, device=device)


def nested_in_each_other(device):
    return torch.full((2,), float(torch.zeros(1, device=device).sum()), device=device)


def tabs_and_spaces(device):
	return torch.zeros( 3, device=device )
