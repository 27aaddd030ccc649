"""``tl.fuse(…, templates=[…])``: what is matched is a group, and the rules decide about the rest."""

from __future__ import annotations

import pytest

import tvmlab as tl
from tvmlab.errors import CallError, GraphError


@pytest.fixture(scope="module")
def resnet():
    return tl.load("light_resnet50.onnx")


def test_every_match_is_a_group(resnet):
    partition = tl.fuse(resnet, level="onnx", templates=["conv_bn_relu"])
    operations = [tuple(group.operations) for group in partition.groups]
    assert operations.count(("Conv", "BatchNormalization", "Relu")) == 33


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"templates": ["conv_bn_relu"]}, CallError, "matched on the nodes of ONNX"),
        ({"templates": ["conv_bn_relu"], "level": "onnx", "engine": "none"}, CallError, 'for engine="python"'),
        ({"templates": ["nothing"], "level": "onnx"}, GraphError, "no template 'nothing' is shipped"),
    ],
)
def test_what_cannot_be_matched_is_refused(resnet, options, error, words):
    with pytest.raises(error, match=words):
        tl.fuse(resnet, **options)
