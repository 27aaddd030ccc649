"""Add one number a channel; `axis` says which axis holds the channels."""


class Attrs:
    axis: int = -1


def type_rule(x, bias, axis):
    if x.shape is None or bias.shape is None:
        return TensorType(dtype=x.dtype, ndim=x.ndim)
    (channels,) = rules.normalize_axes(axis, x.ndim)
    if bias.ndim != 1 or rules.different(x.shape[channels], bias.shape[0]):
        raise ValueError(f"bias must have the {x.shape[channels]} channels of axis {axis}, got {rules.show(bias)}")
    return TensorType(x.shape, x.dtype)


def compute(x, bias, axis):
    return te.compute(x.shape, lambda *i: x(*i) + bias[i[axis]], name="bias")


def reference(x, bias, axis):
    shape = [1] * x.ndim
    shape[axis] = -1
    return x + bias.reshape(shape)


def gradient(dy, x, bias, axis):
    (channels,) = rules.normalize_axes(axis, x.ty.ndim)
    others = [a for a in range(x.ty.ndim) if a != channels]
    return dy, relax.op.sum(dy, axis=others) if others else dy
