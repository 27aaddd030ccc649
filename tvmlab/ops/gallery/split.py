"""Cut a tensor into `sections` equal parts along `axis`: an operator with several outputs."""


class Attrs:
    sections: int = 2
    axis: int = 0

    def validate(self):
        if self.sections < 1:
            raise ValueError(f"sections must be at least 1, got {self.sections}")


def type_rule(x, sections, axis):
    if x.shape is None:
        return tuple(TensorType(dtype=x.dtype, ndim=x.ndim) for _ in range(sections))
    (cut,) = rules.normalize_axes(axis, x.ndim)
    if rules.different(x.shape[cut] % sections, 0):
        raise ValueError(f"{sections} sections do not divide the axis {axis} of {rules.show(x)}")
    shape = [d // sections if a == cut else d for a, d in enumerate(x.shape)]
    return tuple(TensorType(shape, x.dtype) for _ in range(sections))


def compute(x, sections, axis):
    (cut,) = rules.normalize_axes(axis, len(x.shape))
    size = x.shape[cut] // sections
    shape = [size if a == cut else d for a, d in enumerate(x.shape)]

    def part(s):
        return lambda *i: x(*(v + s * size if a == cut else v for a, v in enumerate(i)))

    return tuple(te.compute(shape, part(s), name=f"part{s}") for s in range(sections))


def reference(x, sections, axis):
    return tuple(np.split(x, sections, axis))


def gradient(dy, x, axis):
    return relax.op.concat(list(dy) if isinstance(dy, tuple) else [dy], axis=axis)
