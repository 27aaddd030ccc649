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
