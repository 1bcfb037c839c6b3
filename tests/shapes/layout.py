"""Fixable code in every layout: what stands around an edit must survive it."""

import numpy as np
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def comment_inside_the_call(path):
    return torch.tensor(  # read once
        np.load(path),  # from the disk
    ).to(device)


def comment_between_the_links(n):
    return (
        torch.zeros(n, 3)  # on the host
        # and then
        .to(device)
    )


def chain_over_several_lines(path):
    return (
        torch.tensor(np.load(path))
        .unsqueeze(0)
        .float()
        .to(device)
    )


def continued_with_backslashes(path):
    x = torch.tensor(np.load(path)) \
        .to(device)
    return x


def trailing_comma():
    return torch.zeros(2, 3,).to(device)


def one_argument_a_line():
    return torch.zeros(
        2,
        3,
    ).to(device)


def no_trailing_comma():
    return torch.full(
        (2, 3),
        0.5  # half
    ).to(device)


def no_trailing_comma_and_no_comment():
    return torch.full(
        (2, 3),
        0.5
    ).to(device)


def parentheses_around():
    return ((torch.zeros)((2, 3))).to((device))


def semicolons():
    a = torch.zeros(3).to(device); b = torch.ones(3).to(device); return a + b


def moved_among_semicolons():
    a = torch.zeros(3); a = a.to(device); return a


def one_line_suite(flag):
    if flag: return torch.zeros(3).to(device)
    return None


def in_a_lambda():
    return lambda n: torch.zeros(n, 2).to(device)


def walrus():
    if (z := torch.zeros(3).to(device)).sum() > 0:
        return z
    return None


def f_string():
    return f"{torch.zeros(3).to(device)}", f'{torch.zeros(3).cuda()}', f"""{torch.zeros(3).cuda()}"""


def default_argument(x=torch.zeros(3).to("cuda")):
    return x


def decorated(make):
    return make


@decorated(torch.zeros(3).to("cuda"))
def conditional(flag):
    return torch.zeros(3).to(device) if flag else torch.ones(3).to(device)


def chained_comparison():
    return 0 < torch.zeros(3).to(device).sum() < 1


def single_quotes(dataset, model):
    loader = DataLoader(dataset, batch_size=4, num_workers=2)
    for x in loader:
        model(x.cuda())


class Body:
    table = torch.zeros(3).to("cuda")

    async def later(self):
        return await self.send(torch.zeros(3).to(device))


def nested_fixes():
    return torch.tensor([np.zeros(3), np.ones(3)]).to(device), torch.tensor(np.zeros((2, 2))).to(device)


def nested_in_each_other():
    return torch.full((2,), float(torch.zeros(1).to(device).sum())).to(device)


def tabs_and_spaces():
	return torch.zeros( 3 ).to( device )
