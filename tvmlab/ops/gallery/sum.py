"""Sum over `axis` (all axes if None); with `keepdims` the summed axes stay, with size 1."""


class Attrs:
    axis: tuple[int, ...] | None = None
    keepdims: bool = False


type_rule = rules.reduce()


def compute(x, axis, keepdims):
    summed = rules.normalize_axes(axis, len(x.shape))
    if not summed:
        return te.compute(x.shape, lambda *i: x(*i), name="sum")
    kept = [a for a in range(len(x.shape)) if a not in summed]
    over = {a: te.reduce_axis((0, x.shape[a]), name=f"k{a}") for a in summed}
    shape = [1 if a in summed else x.shape[a] for a in range(len(x.shape)) if keepdims or a in kept]

    def total(*i):
        spatial = dict(zip(kept, [i[a] for a in kept] if keepdims else i))
        return te.sum(x(*(over.get(a, spatial.get(a)) for a in range(len(x.shape)))), axis=list(over.values()))

    return te.compute(shape, total, name="sum")


def reference(x, axis, keepdims):
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def gradient(dy, x, axis, keepdims):
    summed = rules.normalize_axes(axis, x.ty.ndim)
    if not keepdims and summed:
        dy = relax.op.expand_dims(dy, sorted(summed))
    return relax.op.broadcast_to(dy, x.ty.shape)
