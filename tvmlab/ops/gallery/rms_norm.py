"""Divide each row by its root mean square, and scale each column by `gain`."""


class Attrs:
    epsilon: float = 1e-5

    def validate(self):
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive, got {self.epsilon}")


def type_rule(x, gain):
    if x.shape is None or gain.shape is None:
        return TensorType(dtype=x.dtype, ndim=x.ndim)
    if x.ndim < 1 or gain.ndim != 1 or rules.different(x.shape[-1], gain.shape[0]):
        raise ValueError(f"gain must have the {x.shape[-1]} columns of {rules.show(x)}, got {rules.show(gain)}")
    return TensorType(x.shape, rules.common_dtype((x, gain)))


def compute(x, gain, epsilon):
    *rows, size = x.shape
    k = te.reduce_axis((0, size), name="k")
    squares = te.compute(rows, lambda *i: te.sum(x(*i, k) * x(*i, k), axis=k), name="squares")

    def scaled(*i):
        mean = squares(*i[:-1]) / size.astype(x.dtype)
        return x(*i) * gain[i[-1]] / te.sqrt(mean + const_like(epsilon, x))

    return te.compute(x.shape, scaled, name="rms_norm")


def reference(x, gain, epsilon):
    return x * gain / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon)


def gradient(dy, x, gain, epsilon):
    mean = relax.op.mean(x * x, axis=-1, keepdims=True)
    inverse = relax.op.rsqrt(mean + const_like(epsilon, x))
    scaled = relax.op.multiply(dy, gain)
    along = relax.op.mean(scaled * x, axis=-1, keepdims=True) * inverse * inverse
    dx = (scaled - x * along) * inverse
    return dx, relax.op.collapse_sum_to(relax.op.multiply(dy, x * inverse), gain.ty.shape)
