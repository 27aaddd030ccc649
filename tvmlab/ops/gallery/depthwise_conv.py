"""Convolve each channel of an NCHW tensor with a filter of its own; the filters are (C, 1, kh, kw)."""


class Attrs:
    stride: int = 1
    padding: int = 1

    def validate(self):
        if self.stride < 1 or self.padding < 0:
            raise ValueError(
                f"stride must be at least 1 and padding not negative, got {self.stride} and {self.padding}"
            )


def out_size(size, kernel, stride, padding):
    return (size + 2 * padding - kernel) // stride + 1


def type_rule(x, w, stride, padding):
    if x.shape is None or w.shape is None:
        return TensorType(dtype=x.dtype, ndim=4)
    if x.ndim != 4 or w.ndim != 4 or rules.different(x.shape[1], w.shape[0]) or rules.different(w.shape[1], 1):
        raise ValueError(f"filters must be (channels, 1, kh, kw), got {rules.show(w)} for {rules.show(x)}")
    n, c, h, width = x.shape
    return TensorType(
        [n, c, out_size(h, w.shape[2], stride, padding), out_size(width, w.shape[3], stride, padding)], x.dtype
    )


def compute(x, w, stride, padding):
    n, c, h, width = x.shape
    kh, kw = w.shape[2], w.shape[3]

    def pad(b, ch, y, z):
        inside = tirx.all(y >= padding, y < h + padding, z >= padding, z < width + padding)
        return tirx.if_then_else(inside, x[b, ch, y - padding, z - padding], const_like(0, x))

    padded = te.compute([n, c, h + 2 * padding, width + 2 * padding], pad, name="padded")
    dy, dx = te.reduce_axis((0, kh), name="dy"), te.reduce_axis((0, kw), name="dx")
    return te.compute(
        [n, c, out_size(h, kh, stride, padding), out_size(width, kw, stride, padding)],
        lambda b, ch, y, z: te.sum(padded[b, ch, y * stride + dy, z * stride + dx] * w[ch, 0, dy, dx], axis=[dy, dx]),
        name="depthwise_conv",
    )


def reference(x, w, stride, padding):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bcyzij,cij->bcyz", windows, w[:, 0]).astype(x.dtype)


def gradient(dy, x, w, stride, padding):
    kh, kw = int(w.ty.shape[2]), int(w.ty.shape[3])
    *_, height, width = x.ty.shape
    *_, rows, columns = dy.ty.shape
    # rows and columns of x that no window reaches, and the result of a transposed convolution therefore lacks
    extra = [int(height) + 2 * padding - kh - (int(rows) - 1) * stride, int(width) + 2 * padding - kw]
    extra[1] -= (int(columns) - 1) * stride
    dx = relax.op.nn.conv2d_transpose(
        dy, w, strides=[stride] * 2, padding=[padding] * 2, output_padding=extra, groups=int(x.ty.shape[1])
    )
    padded = relax.op.nn.pad(x, [0, 0, 0, 0, padding, padding, padding, padding])

    def tap(i, j):
        end = [i + (int(rows) - 1) * stride + 1, j + (int(columns) - 1) * stride + 1]
        seen = relax.op.strided_slice(padded, axes=[2, 3], begin=[i, j], end=end, strides=[stride, stride])
        return relax.op.sum(relax.op.multiply(seen, dy), axis=[0, 2, 3])

    taps = relax.op.stack([tap(i, j) for i in range(kh) for j in range(kw)], axis=1)
    return dx, relax.op.reshape(taps, w.ty.shape)
