"""Clamp to [lower, upper], leaking with `slope` below `lower`."""


class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

    def validate(self):
        if self.lower > self.upper:
            raise ValueError(f"lower ({self.lower}) is above upper ({self.upper})")


type_rule = rules.same


def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)

    return te.compute(x.shape, clamp, name="leaky_clamp")


def reference(x, lower, upper, slope):
    return np.clip(x, lower, upper) + slope * np.minimum(x - lower, 0)


def gradient(dy, x, lower, upper, slope):
    lo, hi, leak, one, zero = (const_like(v, x) for v in (lower, upper, slope, 1, 0))
    inside = relax.op.logical_and(relax.op.greater(x, lo), relax.op.less(x, hi))
    below = relax.op.where(relax.op.less_equal(x, lo), leak, zero)
    return relax.op.multiply(dy, relax.op.where(inside, one, below))
