from __future__ import annotations

import numpy as np
import pytest

from tvmlab.errors import CallError
from tvmlab.runtime import check_seed


@pytest.mark.parametrize("seed", [0, 7, 2**70, np.int64(3)])
def test_whole_numbers_are_seeds(seed):
    check_seed(seed)
    np.random.default_rng(seed)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None])
def test_others_are_refused_with_a_mend(seed):
    with pytest.raises(CallError, match="from 0 on") as refused:
        check_seed(seed)
    assert "--seed 0" in refused.value.mend
