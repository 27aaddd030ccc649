from __future__ import annotations

import pytest

from tvmlab.pipeline.schedule.caches import second_level_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("2048K\n", 2 << 20), ("1M", 1 << 20), ("", 512 << 10), ("many", 512 << 10), ("7", 512 << 10)]
)
def test_the_size_that_the_system_tells(tmp_path, text, size):
    said = tmp_path / "size"
    said.write_text(text)
    assert second_level_bytes(said) == size


def test_a_system_that_tells_nothing(tmp_path):
    assert second_level_bytes(tmp_path / "none") == 512 << 10
