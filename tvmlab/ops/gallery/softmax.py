"""Softmax over the last axis; the largest element is subtracted first, so that exp does not overflow."""

type_rule = rules.same


def compute(x):
    *rows, size = x.shape
    k = te.reduce_axis((0, size), name="k")
    largest = te.compute(rows, lambda *i: te.max(x(*i, k), axis=k), name="largest")
    power = te.compute(x.shape, lambda *i: te.exp(x(*i) - largest(*i[:-1])), name="power")
    j = te.reduce_axis((0, size), name="j")
    total = te.compute(rows, lambda *i: te.sum(power(*i, j), axis=j), name="total")
    return te.compute(x.shape, lambda *i: power(*i) / total(*i[:-1]), name="softmax")


def reference(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def gradient(dy, x):
    y = relax.op.nn.softmax(x, axis=-1)
    weighted = relax.op.multiply(dy, y)
    total = relax.op.sum(weighted, axis=-1, keepdims=True)
    return relax.op.subtract(weighted, relax.op.multiply(y, total))
