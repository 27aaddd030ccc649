"""Probes go to the answer with what they mention, and with nothing else."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tvmlab.fusion import Kind
from tvmlab.sandbox.probes import pack, unpack

LIMIT = 3
THINGS = object()


def reference(x):
    return "a secret of the course"


def helper(x, by=2):
    return x * by + LIMIT


def probe(answer, x):
    return [helper(answer(n)) for n in x] + [int(Kind.OEF), math.floor(np.float32(1.5))]


def sees_too_much(answer):
    return THINGS


def test_a_probe_does_the_same_there():
    packed = json.loads(json.dumps(pack(probe)))
    assert unpack(packed)(abs, [-1, 2]) == probe(abs, [-1, 2]) == [5, 7, 4, 1]


def test_what_it_does_not_mention_stays_here():
    assert b"secret".hex() not in json.dumps(pack(probe))
    assert b"secret".hex() in json.dumps(pack(reference))


def test_what_cannot_be_sent_is_told():
    with pytest.raises(TypeError, match="mentions THINGS"):
        pack(sees_too_much)
    within = 3
    for no_probe in (lambda answer: within, abs):
        with pytest.raises(TypeError, match="no plain function"):
            pack(no_probe)
