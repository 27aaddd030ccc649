"""x · sigmoid(x), the activation that its paper calls Swish and TVM calls silu."""

type_rule = rules.same


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name="swish")


def reference(x):
    return x / (1 + np.exp(-x))


def gradient(dy, x):
    s = relax.op.sigmoid(x)
    slope = relax.op.multiply(s, const_like(1, x) + x * (const_like(1, x) - s))
    return relax.op.multiply(dy, slope)
