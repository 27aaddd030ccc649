from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tvmlab import runtime
from tvmlab.pipeline.register_tiles import register_tile

SUMS = 24 if runtime.vector_bytes() >= 64 else 8


@given(across=st.integers(1, 300), rows=st.none() | st.integers(0, 500))
def test_a_tile_fits_the_registers_and_divides_the_columns(across, rows):
    tile = register_tile(across, rows)
    assert across % tile.vectors == 0
    assert 1 <= tile.height * tile.vectors <= max(SUMS, tile.height)
    assert rows is None or tile.height <= max(rows, 1)


@given(across=st.integers(1, 300), rows=st.integers(1, 500))
def test_padding_has_to_gain_a_quarter(across, rows):
    tile = register_tile(across, rows)
    if rows % tile.height:
        padded = -(-rows // tile.height) * tile.height
        exact = [
            v * h / (v + h)
            for h in range(1, min(rows, 12) + 1)
            for v in range(1, 9)
            if rows % h == 0 and across % v == 0 and v * h <= SUMS
        ]
        mine = tile.vectors * tile.height / (tile.vectors + tile.height)
        assert mine * rows / padded >= 1.25 * max(exact)


def test_the_width_that_weights_are_packed_in_is_kept():
    assert register_tile(12, 40, vectors=3).vectors == 3
