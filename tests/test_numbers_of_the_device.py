"""A tensor of the device where torch takes a number, and a number of the host where it takes a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_seen import in_helper, project

INNOCENT = [
    "other = out.clamp(max=out.mean())",
    "other = out.clamp(out.min(), out.max())",
    "other = out.clamp(0, 1)",
    "other = out.masked_fill(out > 0, 0.0)",
    "other = out.add(out, alpha=2)",
    "other = out + out.mean()",
    "other = out ** out.mean()",
    "other = out.lerp(out, out.mean())",
    "other = out.topk(self.check)",
    "other = out.roll(3).tril(1)",
    "other = out.masked_fill(value=0.0, mask=out > 0)",
    "import torch; other = torch.where(out > 0, out, 0.0)",
    "import torch; other = torch.where(out > 0, out, torch.zeros((), device=out.device))",
    "import torch; other = torch.where(out > 0, out, out.mean())",
    "import torch; other = torch.nn.functional.pad(out, (1, 1), value=0.0)",
    "import torch; other = torch.topk(out, k=2, dim=-1)",
    "import torch; other = torch.nn.functional.ctc_loss(out, self.entries, [1], [1])",
    "import torch; other = out[torch.rand(8) > 0.5]",
]
NUMBERS = [
    "other = out.clamp(0, out.mean())",
    "other = out.clip(min=0.5, max=out.mean())",
    "other = out.masked_fill(out > 0, out.mean())",
    "other = out.index_fill(0, self.entries, out.mean())",
    "other = out.masked_fill(value=out.mean(), mask=out > 0)",
    "out.sub_(out, alpha=out.mean())",
    "other = out.addcmul(out, out, value=out.mean())",
    "other = out.topk(out.argmax())",
    "other = out.roll((out.argmax(), 1), (0, 1))",
    "import torch; other = torch.add(out, out, alpha=out.mean())",
    "import torch; other = torch.nn.functional.leaky_relu(out, out.mean())",
    "import torch; other = torch.nn.functional.pad(out, (1, 1), value=out.mean())",
    "import torch; other = torch.multinomial(out, out.argmax())",
]


@pytest.mark.parametrize("line", INNOCENT)
def test_numbers_and_operations_on_tensors_do_not_wait(tmp_path: Path, line: str) -> None:
    assert in_helper(project(tmp_path, line), "TL1", "TL2", "TL3") == []


@pytest.mark.parametrize("line", NUMBERS)
def test_a_tensor_as_number_is_read(tmp_path: Path, line: str) -> None:
    (finding,) = in_helper(project(tmp_path, line))
    assert finding.rule == "TL301"
    code = line.rpartition("; ")[2].removeprefix("other = ")
    effect = "a tensor as number: the host waits here for the device in every training step"
    assert finding.message.startswith(f"`{code}`, {effect}")
    assert "keep the number on the host" in finding.message


@pytest.mark.parametrize("number", ["torch.tensor(0.0)", "torch.zeros(())"])
def test_a_number_of_the_host_is_copied_by_where(tmp_path: Path, number: str) -> None:
    (finding,) = in_helper(project(tmp_path, f"import torch; other = torch.where(out > 0, out, {number})"), "TL105")
    assert finding.message.startswith("`torch.where` of a tensor of the host: data is copied to the device")


def test_lengths_in_a_list_are_copied_by_ctc_loss(tmp_path: Path) -> None:
    line = "import torch; other = torch.nn.functional.ctc_loss(out, out.argmax(-1), [1], [1])"
    (finding,) = in_helper(project(tmp_path, line))
    assert ", `ctc_loss`, which copies the lengths to the device: the host waits here" in finding.message


def test_all_processes_wait_at_a_barrier(tmp_path: Path) -> None:
    (finding,) = in_helper(project(tmp_path, "import torch; torch.distributed.barrier()"), "TL306")
    assert finding.message.startswith("`torch.distributed.barrier()`: the host waits here")


@pytest.mark.parametrize("index", ["[2, 0, 1]", ":, [0, 1]"])
def test_a_list_is_copied_as_index_of_what_a_model_gives(tmp_path: Path, index: str) -> None:
    helper = f"""
        def fit(model, optimizer, batches):
            model = model.cuda()
            for x in batches:
                out = model(x.cuda())
                out[{index}].mean().backward()
                optimizer.step()
    """
    (finding,) = in_helper(project(tmp_path, "pass", helper=helper), "TL305")
    assert finding.message.startswith("a list as index: data is copied to the device")
    assert "use slices, or an index tensor made on the device once" in finding.message
