# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The tour: your own operator inside ResNet-50
#
# In the next two minutes you write an operator in one cell, put it into a real network, see what the compiler makes
# of it, prove that the result is right, and time it against a rival. Nothing is rebuilt, and no C++ is written.
#
# Run the cells from top to bottom. Then change the operator, and run them again.

# %%
# %load_ext tvmlab

# %% [markdown]
# A kernel is machine code: one wrong index, or an integer divided by zero, and it takes the whole notebook with it.
# In *safe mode* a kernel that is not proved harmless runs in a process of its own, whose death is an error message.

# %%
# %config Tvmlab.safe = True

# %% [markdown]
# ## 1. An operator in one cell
# <!-- articles: A03 A04 A05 A23 A25 -->
#
# An operator needs three things. Older books on TVM call them the **identity card** (its name and attributes), the
# **rule book** (which output type follows from which input types) and the **construction crew** (how each element
# is computed). Here they are `class Attrs`, `type_rule` and `compute`. The `reference` in NumPy says what the
# operator *should* be.
#
# **Predict:** below `lower` the function leaks with slope `slope`. What is `leaky_clamp(-3)` for the defaults?

# %%
# %%tvm_op lab.leaky_clamp
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


# %% [markdown]
# The card shows the operator as TVM now knows it: what of the chain is set, what was derived, and what is missing;
# and the loop nest (TIR) that it becomes. `kElemWise` is the *pattern kind*: TVM read it off the loop nest, and it
# will decide with what the operator may be fused.
#
# It is live. NumPy arrays go in, and a kernel is compiled on the first call:

# %%
import numpy as np

import tvmlab as tl

x = np.array([-3, -1, 0, 1, 3], dtype="float32")
tl.ops.lab.leaky_clamp(x)

# %% [markdown]
# -1 + 0.01 · (-3 - (-1)) = -1.02. Does it agree with its reference on a million numbers?

# %%
many = np.random.default_rng(0).standard_normal(1_000_000).astype("float32") * 3
float(np.abs(tl.ops.lab.leaky_clamp(many, lower=-0.5) - tl.ops.lab.leaky_clamp.reference(many, lower=-0.5)).max())

# %% [markdown]
# ## 2. A slip, on purpose
# <!-- articles: A76 -->
#
# TVM would compile the next cell without a word and read beyond the end of its input; at best the result is
# garbage, at worst the kernel of this notebook dies. tvmlab looks before it runs, and says what, where, and
# how to mend it.

# %% tags=["raises-exception"]
# %%tvm_op lab.neighbour


def compute(x):
    return te.compute(x.shape, lambda i, j: x[i, j + 1], name="neighbour")


# %% [markdown]
# ## 3. A real network
# <!-- articles: A66 -->
#
# ResNet-50 comes with the `onnx` package, without its weights; random ones are put in, so that a wrong result would
# show. Then each of its 49 ReLUs is replaced by your operator, here as a leaky ReLU6.

# %%
# %tvm_load light_resnet50.onnx --weights random --seed 0 --name resnet50

# %%
model = resnet50.replace("relax.nn.relu", "lab.leaky_clamp", lower=0.0, upper=6.0, slope=0.1)
model

# %% [markdown]
# ## 4. What the compiler makes of it
# <!-- articles: A90 B02 -->
#
# The network is a graph of small kernels. *Fusion* puts a convolution, the addition that follows it and your
# operator into one kernel, so that what is between them need not be written to memory.
#
# **Predict:** how many kernels are left?

# %%
# %tvm_fuse model -v partition

# %% [markdown]
# What happened to the code? Each changed function, before and after fusion:

# %%
# %tvm_diff model legalize fuse

# %% [markdown]
# ## 5. Is it right?
# <!-- articles: A65 B32 B39 -->
#
# The oracle shares no code with what is tested: onnxruntime with its optimiser off runs the network up to each of
# your operators, and the NumPy reference takes it from there to the next segment.

# %%
# %tvm_verify model -v verification

# %% [markdown]
# ## 6. Is it fast?
# <!-- articles: A95 B40 -->
#
# Fusing alone re-groups kernels; what makes them fast is the *schedule*: inlining, vector instructions, threads.
# All four are timed in one run, in turn and in random order, with the same number of threads. Each dot is one
# repeat.

# %%
# %tvm_time model -v timing

# %% [markdown]
# The figures are those of the machine that ran this cell. The rival, onnxruntime, has kernels written by hand for
# years, and runs the network that it knows, with ReLU.
#
# ## Where to go from here
# <!-- articles: none -->
#
# - Change `compute` above, run its cell again, and run the rest again: the operator is replaced, while models that were
#   built before keep the one that they were built with.
# - `%%tvm_op?` says what else a cell may hold: a lowering for one target, a forced pattern kind, examples.
# - `%tvm_doctor` looks over your installation.
