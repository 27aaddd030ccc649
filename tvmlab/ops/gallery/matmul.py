"""Matrix product of two matrices."""


def type_rule(a, b):
    if a.shape is None or b.shape is None:
        return TensorType(dtype=a.dtype, ndim=2)
    if a.ndim != 2 or b.ndim != 2 or rules.different(a.shape[1], b.shape[0]):
        raise ValueError(f"cannot multiply {rules.show(a)} by {rules.show(b)}")
    return TensorType([a.shape[0], b.shape[1]], a.dtype)


def compute(a, b):
    k = te.reduce_axis((0, a.shape[1]), name="k")
    return te.compute([a.shape[0], b.shape[1]], lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul")


def reference(a, b):
    return np.matmul(a, b)


def gradient(dy, a, b):
    return relax.op.matmul(dy, relax.op.permute_dims(b)), relax.op.matmul(relax.op.permute_dims(a), dy)
