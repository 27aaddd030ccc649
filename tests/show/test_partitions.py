"""The picture of a partition."""

from __future__ import annotations

from tvmlab.records import Group, Partition
from tvmlab.show import palette

KINDS = ("kOutEWiseFusable", "kBroadcast", "kElemWise")


def partition(groups, before, name="block"):
    return Partition(name, "tvm", "relax", tuple(groups), before, len(groups))


def numbered(kernel, nodes, kinds, times):
    """The groups of a network that repeats one pattern, with the numbers TVM gives to namesakes."""
    return [Group(f"{kernel}{i or ''}", tuple(f"{n}{i or ''}" for n in nodes), kinds) for i in range(times)]


def test_few_groups_are_shown_one_by_one(draw):
    groups = [
        Group("fused_matmul_add_relu", ("matmul", "add", "relu"), KINDS),
        Group("softmax", ("softmax",), ("kOpaque",)),
    ]
    page, plain = draw(partition(groups, 4))
    assert page.text.startswith("block: 4 → 2 kernels (TVM's FuseOps)")
    assert "details" not in page.tags
    for word in ("fused_matmul_add_relu", "matmul", "softmax", "kOutEWiseFusable 1", "kBroadcast 1", "kOpaque 1"):
        assert word in page.text
    assert plain.splitlines()[0] == "block: 4 → 2 kernels (tvm)"
    assert "matmul · add · relu" in plain


def test_every_node_wears_the_colour_of_its_kind(draw):
    page, _ = draw(partition([Group("k", ("matmul", "add", "relu"), KINDS)], 3))
    colours = [s["background"] for s in page.styles if s.get("border-radius") == "9px"]
    assert colours[-3:] == [palette.KINDS[k] for k in KINDS]


def test_many_groups_are_summed_up_by_pattern(draw):
    groups = numbered("fused_conv2d_add_relu", ("conv2d", "add", "relu"), KINDS, 33)
    groups += numbered("reshape", ("reshape",), ("kInjective",), 5)
    page, plain = draw(partition(groups, 104))
    assert "33 ×" in page.text
    assert "reshape × 5" in page.text
    assert "all 38 kernels, in order" in page.text
    assert "fused_conv2d_add_relu32" in page.text
    assert "   33 ×  conv2d · add · relu" in plain.splitlines()
    assert "fused_conv2d_add_relu32" not in plain


def test_a_hundred_patterns_do_not_flood_a_terminal(draw):
    groups = [Group(f"k{i}", tuple("add" for _ in range(i + 1)), ("kElemWise",) * (i + 1)) for i in range(100)]
    _, plain = draw(partition(groups, 5050))
    assert len(plain.splitlines()) < 30
    assert "… 80 more patterns" in plain


def test_bars_are_as_long_as_the_numbers(draw):
    page, _ = draw(partition([Group("k", ("a", "b"), ("kElemWise",) * 2)], 4))
    before, after = (s["width"] for s in page.styles if s.get("height") == "0.7em")
    assert float(before.rstrip("%")) == 4 * float(after.rstrip("%"))


def test_names_with_tags_in_them(draw):
    page, _ = draw(partition([Group("<b>k</b>", ("<i>", "a"), ("<script>", "kElemWise"))], 2, name="<img src=x>"))
    for word in ("<img src=x>", "<b>k</b>", "<i>", "<script> 1"):
        assert word in page.text


def test_nothing_at_all(draw):
    page, _ = draw(partition([], 0))
    assert "0 → 0 kernels" in page.text


def test_two_partitions_are_called_by_what_tells_them_apart(draw):
    from tvmlab.fusion import Graph
    from tvmlab.fusion import partition as fused

    graph = Graph.from_kinds(["oef", "elem", "elem"], [[], [0], [1]], [2], labels=["conv", "relu", "add"])
    part = fused(graph).record("net", "python", "onnx")

    def headline(other):
        page, plain = draw(part.diff(other))
        assert page.text.startswith(plain.splitlines()[0])
        return plain.splitlines()[0]

    assert headline(part) == "net: the first and the second agree on 1 group"
    shallow = part.what_if(max_depth=2)
    assert headline(shallow).startswith(
        "net: max_depth=256 and max_depth=2 agree on 0 groups, and have 1 group against"
    )
    assert headline(part.what_if(kinds={"relu": "opaque"})).startswith("net: relu=elem and relu=opaque agree on ")
    assert "without and phase0=off" in headline(part.what_if(without=["phase0"]))
    other = fused(graph).record("net", "tvm", "onnx")
    assert headline(other) == "net: python and tvm agree on 1 group"
