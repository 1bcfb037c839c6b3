"""Probes of training: modules, optimizers, autograd, mixed precision, compilation."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional


def _trained(module: Callable[[], nn.Module], optimizer: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """Train for three steps, and return the loss."""

    def probe(device: str) -> float:
        model = module().to(device)
        step = optimizer(list(model.parameters()))
        data = torch.randn(*shape)
        loss = torch.zeros(())
        for _ in range(3):
            step.zero_grad()
            loss = model(data.to(device)).pow(2).mean()
            loss.backward()
            step.step()
        parameter = next(model.parameters())
        if parameter.device.type != device or parameter.grad is None or parameter.grad.device.type != device:
            raise AssertionError("a parameter or its gradient is elsewhere")
        return loss.item()

    return probe


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))


def _cnn() -> nn.Module:
    layers = (nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(2))
    model = nn.Sequential(*layers)
    model(torch.zeros(2, 1, 8, 8))
    return model


class _Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cell = kind(3, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.cell(x)[0]


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _of(name: str, **options: Any) -> Any:
    return lambda parameters: getattr(torch.optim, name)(parameters, **options)


def _lbfgs(device: str) -> float:
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.LBFGS(model.parameters())
    data = torch.randn(5, 4).to(device)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(data).pow(2).sum()
        loss.backward()
        return loss

    return float(optimizer.step(closure))


def _mapped_by_function(device: str) -> float:
    stream = io.BytesIO()
    torch.save(torch.ones(3).to(device), stream)
    stream.seek(0)
    loaded = torch.load(stream, map_location=lambda storage, _: storage.cuda() if device == "cuda" else storage)
    if loaded.device.type != device:
        raise AssertionError(f"loaded to {loaded.device}")
    return float(loaded.sum())


def _script_file(device: str) -> float:
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Linear(3, 2)), stream)
    stream.seek(0)
    loaded = torch.jit.load(stream, map_location=device)
    out = loaded(torch.ones(1, 3, device=device))
    if out.device.type != device:
        raise AssertionError(f"a result is on {out.device}")
    return float(out.sum())


def _traced(device: str) -> float:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()).to(device)
    x = torch.ones(1, 1, 5, 5, device=device)
    return float(torch.jit.trace(model, x)(x).sum())


def _asked(device: str) -> list[bool]:
    with torch.autocast(device, torch.bfloat16):
        inside = torch.is_autocast_enabled(device)
    return [inside, torch.is_autocast_enabled(device)]


def _lazy(device: str) -> float:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU()).to(device)
    out = model(torch.ones(2, 4).to(device))
    if out.device.type != device:
        raise AssertionError(f"a result is on {out.device}")
    return float(out.sum())


def _packed(device: str) -> float:
    model = nn.GRU(3, 4, batch_first=True).to(device)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(2, 5, 3).to(device), torch.tensor([5, 3]), batch_first=True)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True)
    if lengths.device.type != "cpu" or padded.device.type != device:
        raise AssertionError("lengths belong to the host, the rest to the device")
    return float(padded.sum())


def _function(device: str) -> Any:
    seen: list[str] = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            seen.extend((gradient.device.type, ctx.saved_tensors[0].device.type))
            return gradient * 2

    x = torch.ones(3).to(device).requires_grad_()
    Double.apply(x * 1).sum().backward()
    return [name == device for name in seen], float(x.grad.sum())


def _hook(device: str) -> Any:
    seen: list[str] = []
    x = torch.ones(3).to(device).requires_grad_()
    y = x * 2
    y.register_hook(lambda gradient: seen.append(gradient.device.type))
    (y * y).sum().backward()
    return [name == device for name in seen], float(x.grad.sum())


def _twice(device: str) -> float:
    x = torch.ones(3).to(device).requires_grad_()
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    return float(second.sum())


def _leaf(device: str) -> Any:
    x = torch.ones(3, requires_grad=True)
    x.to(device).mul(2).sum().backward()
    made = torch.ones(3, device=device, requires_grad=True)
    return float(x.grad.sum()), x.grad.device.type, made.is_leaf


def _checkpoint(device: str) -> float:
    from torch.utils.checkpoint import checkpoint

    model, x = nn.Linear(3, 3).to(device), torch.ones(2, 3).to(device).requires_grad_()
    loss = checkpoint(model, x, use_reentrant=False).sum()
    loss.backward()
    return float(loss)


def _autocast(device: str) -> Any:
    model = nn.Linear(4, 2).to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        out = model(torch.randn(3, 4).to(device))
    return str(out.dtype), float(out.float().sum())


def _scaler(device: str) -> float:
    model = nn.Linear(4, 2).to(device)
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler(device)
    loss = model(torch.randn(3, 4).to(device)).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return float(loss)


def _clip(device: str) -> float:
    model = nn.Linear(3, 2).to(device)
    model(torch.ones(2, 3).to(device)).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm.device.type != device:
        raise AssertionError("the norm is elsewhere")
    return float(norm)


def _compiled(backend: str) -> Any:
    def probe(device: str) -> float:
        model = nn.Linear(3, 2).to(device)
        out = torch.compile(model, backend=backend)(torch.ones(1, 3).to(device))
        out.sum().backward()
        return float(out.sum())

    return probe


def _scripted(device: str) -> float:
    model = torch.jit.script(nn.Linear(3, 2)).to(device)
    return float(model(torch.ones(1, 3).to(device)).sum())


def _state(device: str) -> Any:
    one, other = nn.Linear(3, 2).to(device), nn.Linear(3, 2).to(device)
    other.load_state_dict(one.state_dict())
    return other.weight.device.type == device, torch.equal(one.weight, other.weight)


def _saved(device: str) -> Any:
    buffer = io.BytesIO()
    torch.save(nn.Linear(3, 2).to(device).state_dict(), buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)
    return loaded["weight"].device.type == device, float(loaded["weight"].sum())


def _mapped(device: str) -> Any:
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2).to(device)}, buffer)
    buffer.seek(0)
    host = torch.load(buffer, map_location="cpu")["a"]
    buffer.seek(0)
    there = torch.load(buffer, map_location=device)["a"]
    return host.device.type, there.device.type == device, float(there.sum())


def _copied(device: str) -> Any:
    model = nn.Linear(3, 2).to(device)
    other = copy.deepcopy(model)
    return other.weight.device.type == device, float(other.weight.sum())


def _functional_call(device: str) -> float:
    model = nn.Linear(3, 2).to(device)
    out = torch.func.functional_call(model, dict(model.named_parameters()), (torch.ones(1, 3).to(device),))
    return float(out.sum())


def _weight_norm(device: str) -> float:
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).to(device)
    return float(model(torch.ones(1, 3).to(device)).sum())


def _averaged(device: str) -> float:
    model = nn.Linear(3, 2).to(device)
    average = torch.optim.swa_utils.AveragedModel(model)
    average.update_parameters(model)
    return float(next(average.parameters()).sum())


def _data(device: str) -> float:
    model = nn.Linear(3, 2)
    model.weight.data = model.weight.data.to(device)
    if model.weight.device.type != device:
        raise AssertionError("the parameter stayed")
    return float(model.weight.sum())


def _buffers(device: str) -> Any:
    model = nn.BatchNorm1d(3).to(device)
    model(torch.randn(4, 3).to(device))
    return model.running_mean.device.type == device, float(model.running_mean.sum())


def _initialized(device: str) -> float:
    model = nn.Linear(3, 2, device=device)
    nn.init.kaiming_normal_(model.weight)
    return float(model.weight.sum())


def _losses(device: str) -> float:
    logits, labels = torch.randn(4, 3).to(device), torch.tensor([0, 1, 2, 0]).to(device)
    total = functional.cross_entropy(logits, labels) + functional.nll_loss(logits.log_softmax(1), labels)
    return float(total + functional.binary_cross_entropy_with_logits(logits, torch.ones_like(logits)))


def _hooked(device: str) -> Any:
    """Gradients are the same to the last bit whether or not hooks run in the backward pass."""
    model = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)).to(device)
    found = []
    for hooked in (False, True):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).to(device).requires_grad_()
        if hooked:
            x.register_hook(lambda gradient: gradient * 1)
        model(x).pow(2).sum().backward()
        gradient = x.grad
        found.append([] if gradient is None else gradient.tolist())
    return found


PROBES: dict[str, Callable[[str], Any]] = {
    "sgd": _trained(_mlp, _of("SGD", lr=0.1, momentum=0.9), (5, 4)),
    "adam": _trained(_mlp, _of("Adam"), (5, 4)),
    "adam_foreach": _trained(_mlp, _of("Adam", foreach=True), (5, 4)),
    "adam_single": _trained(_mlp, _of("Adam", foreach=False), (5, 4)),
    "adam_fused": _trained(_mlp, _of("Adam", fused=True), (5, 4)),
    "adamw": _trained(_mlp, _of("AdamW"), (5, 4)),
    "rmsprop": _trained(_mlp, _of("RMSprop"), (5, 4)),
    "adagrad": _trained(_mlp, _of("Adagrad"), (5, 4)),
    "convolutions": _trained(_cnn, _of("SGD", lr=0.1), (4, 1, 8, 8)),
    "lstm": _trained(lambda: _Recurrent(nn.LSTM), _of("SGD", lr=0.1), (2, 5, 3)),
    "gru": _trained(lambda: _Recurrent(nn.GRU), _of("SGD", lr=0.1), (2, 5, 3)),
    "transformer": _trained(_encoder, _of("AdamW"), (2, 5, 8)),
    "lbfgs": _lbfgs,
    "lazy_linear": _lazy,
    "packed_sequence": _packed,
    "autograd_function": _function,
    "tensor_hook": _hook,
    "second_derivative": _twice,
    "leaves": _leaf,
    "checkpoint": _checkpoint,
    "autocast": _autocast,
    "grad_scaler": _scaler,
    "clip_grad_norm": _clip,
    "compile_eager": _compiled("eager"),
    "compile_aot": _compiled("aot_eager"),
    "script": _scripted,
    "state_dict": _state,
    "save_load": _saved,
    "map_location_function": _mapped_by_function,
    "script_file": _script_file,
    "trace": _traced,
    "autocast_asked": _asked,
    "map_location": _mapped,
    "deepcopy": _copied,
    "functional_call": _functional_call,
    "weight_norm": _weight_norm,
    "hooked": _hooked,
    "averaged_model": _averaged,
    "parameter_data": _data,
    "buffers": _buffers,
    "init": _initialized,
    "losses": _losses,
}
