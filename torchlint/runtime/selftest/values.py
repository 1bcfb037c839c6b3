"""Probes of values: what is made from data, and what torch computes by other ways than calls of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def _leaves(device: str) -> Any:
    array = np.array([1.0, 2.0], np.float32)
    made = [torch.tensor(data, device=device, requires_grad=True) for data in (0.5, np.float64(0.5), array, [1.0])]
    made += [torch.asarray(data, device=device, requires_grad=True) for data in (array, torch.from_numpy(array))]
    computed = torch.ones(2, device=device, requires_grad=True) * 2
    made += [torch.tensor(computed, device=device), torch.as_tensor(computed, device=device)]
    array[0] = 7
    return [(x.is_leaf, x.requires_grad, x.device.type == device) for x in made], made[2].tolist()


def _nested(layout: torch.layout) -> Callable[[str], Any]:
    """A nested tensor that is made there, one of tensors there, and one that is moved there; and their gradients."""

    def probe(device: str) -> Any:
        layer = torch.nn.Linear(3, 2).to(device)
        parts = [torch.ones(2, 3), torch.full((1, 3), 2.0)]
        source = torch.ones(2, 3, requires_grad=True)
        made = [
            torch.nested.nested_tensor(parts, layout=layout, device=device),
            torch.nested.as_nested_tensor([part.to(device) for part in parts], layout=layout),
            torch.nested.as_nested_tensor([source, source * 2], layout=layout, device=device),
            torch.nested.as_nested_tensor([source, source * 2], layout=layout).to(device),
        ]
        total = torch.stack([torch.nested.to_padded_tensor(layer(nested), 0.0).sum() for nested in made]).sum()
        total.backward()
        places = [part.device.type == device for nested in made for part in (nested, *nested.unbind())]
        gradients = [layer.weight.grad, source.grad]
        found = [(gradient.device.type, gradient.tolist()) for gradient in gradients if gradient is not None]
        return all(places), total.item(), found[0][0] == device, found[0][1], found[1]

    return probe


PROBES: dict[str, Callable[[str], Any]] = {
    "leaves": _leaves,
    "nested_strided": _nested(torch.strided),
    "nested_jagged": _nested(torch.jagged),
}
