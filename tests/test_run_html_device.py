"""The picture of the device in the HTML report of a run."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser import TOO_FAINT, opened
from tests.test_run_html import followed, ordered, recorded, words
from torchlint.confirm.html import render


def test_a_followed_device_has_a_row_for_each_kind_of_work_and_gaps_with_their_lines(tmp_path: Path) -> None:
    page = render(recorded(tmp_path, ordered(tmp_path), **followed(tmp_path)), ())
    assert "The device was idle 50 % of 4 steps that took 40 ms." in words(page)
    lanes = re.findall('<svg class="lane".*?</svg>', page)
    assert [lane.count('<rect class="idle"') for lane in lanes] == [12] * 4
    assert [len(re.findall('<rect class="(?:data|computing|blocked)"', lane)) for lane in lanes] == [8, 5, 4, 4]
    assert '<rect class="idle" x="0.0" width="100.0"' in lanes[0]
    assert "idle for 4 ms after the wait at train.py:5" in words(lanes[0])
    assert "A train.py:5 4 gaps 16 ms 40 % B train.py:3 4 gaps 3.4 ms 8.5 % no wait is known 4 gaps" in words(page)
    assert re.findall(r'<text x="([\d.]+)%" y="80%">(.)</text>', page)[:3] == [
        ("5.0", "A"),
        ("21.44", "B"),
        ("30.0", "A"),
    ]
    assert "The 12 longest gaps are shown, 3 are not." in words(page)
    assert 'href="#f0-5">train.py:5' in page


def test_what_the_waits_of_a_line_cost_stands_beside_its_gaps(tmp_path: Path) -> None:
    more = followed(tmp_path)
    site = next(site for site in more["profiled"]["device"]["sites"] if site[1] == 3)
    none = {"mentioned": False, "beside": False, "pinned": False, "bytes": 0, "blocked_ns": 1}
    line = {"kind": "download", "site": site, "count": 4, "idle_ns": 8_000, **none}
    more["profiled"]["blocked"] = {"steps": 4, "ns": 40_000_000, "idle_ns": 20_000_000, "lines": [line]}
    page = words(render(recorded(tmp_path, ordered(tmp_path), **more), ()))
    assert "of the time because of it, a step A train.py:3 4 gaps 3.4 ms 8.5 % 2 us" in page


@pytest.mark.parametrize("profiled", [None, {"steps": 20, "copies": [], "seen": {}, "device": None}])
def test_a_device_that_was_not_followed_has_no_picture(tmp_path: Path, profiled: Any) -> None:
    page = render(recorded(tmp_path, ordered(tmp_path), mode="gpu", profiled=profiled), ())
    assert 'class="lane"' not in page
    assert 'id="device"' not in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_the_picture_of_the_device_fits_the_window(chromium: Any, tmp_path: Path, scheme: str, width: int) -> None:
    target = tmp_path / "report.html"
    target.write_text(render(recorded(tmp_path, ordered(tmp_path), **followed(tmp_path)), ()), encoding="utf-8")
    with opened(chromium, target, width=width, scheme=scheme) as seen:
        assert not seen.overflows
        assert seen.evaluate(TOO_FAINT) == []
        boxes = seen.evaluate("[...document.querySelectorAll('.letters text')].map(b => b.getBoundingClientRect().x)")
        assert len(boxes) == 8
        assert all(other - one > 12 for one, other in pairwise(boxes))
