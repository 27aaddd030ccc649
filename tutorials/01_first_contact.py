# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 First contact: compose or add?
#
# You need an operator that your compiler does not seem to have. Before you write one, three questions: is it in the
# library under another name? Can it be composed of what is there? And what does each way cost, here, on this machine?
# At the end you answer them with figures and not with a feeling.
#
# You should be able to write NumPy. You need know neither TVM nor any compiler. Five words to begin with; the glossary
# of the documentation has all the others.
#
# - TVM is a **compiler**: it takes a network and makes machine code of it.
# - A network is a **graph** of **operators**, which are steps such as `relu` or `matmul`.
# - For each operator the compiler makes a **kernel**: a function of loops that computes arrays from arrays.
# - **Relax** is the language in which TVM holds a graph. The one before it was called *Relay*.
#
# The pattern of every section: **predict**, run the cell, look, and read why. Write your prediction down before you
# run; that is where the learning is.
#
# A line that starts with `%` or `%%` is a command to the notebook. The next cell loads tvmlab, with which this course
# is made. In its *safe mode* a kernel that is not proved harmless runs in a process of its own, so that a crash is an
# error message.

# %%
# %load_ext tvmlab
# %config Tvmlab.safe = True

# %%
import numpy as np
import tvm
from tvm import relax, te, tirx
from tvm.ir import Op

import tvmlab as tl

# %% [markdown]
# ## 1. Who needs an operator of their own?
# <!-- articles: A01 A02 -->
#
# Three motives come up again and again: a paper's new activation; a piece of logic of your own firm that should be one
# kernel; a model file with a node that nobody converts. In all other cases the library has it.
#
# **Predict:** how many operators does TVM bring? And what happens if you import Relay, of which most articles and books
# speak?

# %%
library = [name for name in Op.list_op_names() if name.startswith("relax.")]
len(library)

# %% tags=["raises-exception"]
from tvm import relay

# %% [markdown]
# Relay is gone. Its place has **Relax**, and old texts have to be translated as you read them. This is the dictionary
# for this notebook. You need none of its words yet; come back when an old text has one:
#
# | in articles and books | in TVM 0.27 |
# |---|---|
# | `from tvm import relay` | `from tvm import relax` |
# | `relay.Function`, `relay.var` | `@R.function`, `relax.Var`; here: `%%tvm_graph` |
# | `relay.transform.InferType` | types are there as soon as a call is built |
# | Relay operator → TOPI compute and schedule | Relax operator → TE → TIR; schedules come afterwards, as passes |
# | `relay.build`, `graph_executor` | `tvm.compile`, `relax.VirtualMachine`; here: `tl.trace`, `tl.run` |
# | `tvm.tir` | `tvm.tirx` |
#
# What do you have to know already? You read Python, you know what a tensor is, and you have seen a computation drawn as
# a graph. The rest is in the next section.

# %% [markdown]
# ## 2. Read what a compiler reads
# <!-- articles: A02 A03 A18 -->
#
# A **graph** is a function over tensors. `%%tvm_graph` makes one of plain Python; the annotations are the types of its
# inputs. `n` is a **symbol**: a size that is not known yet.


# %%
# %%tvm_graph small
def small(x: "float32[n, 64]", w: "float32[64, 64]"):
    return relax.op.nn.relu(relax.op.matmul(x, w))


# %% [markdown]
# The same in TVMScript, which is Python's syntax for what is in the compiler's memory:

# %%
print(small.module.script())

# %% [markdown]
# Read it from the inside out. `R` stands for Relax. `lv` and `gv` are names that TVM made up, for a value in between
# and for the output.
#
# - `R.Tensor((n, 64), dtype="float32")` is a type. Every variable has one, and nobody ran anything to find it.
# - `R.matmul` and `R.nn.relu` are **operators**: names with a meaning, and no code yet.
# - `R.dataflow()` is a block in which nothing has side effects. Only in there may the compiler rearrange.
#
# Code comes later, in stages. `tl.trace` goes through them and keeps the program after each. What makes one program of
# another is called a **pass**:

# %%
trace = tl.trace(small)
trace

# %% [markdown]
# In `legalize` each operator is **lowered**: it becomes a call of a kernel. A kernel is a *loop nest*, loops within
# loops, as you would write it in Python without NumPy.
#
# **Predict:** what does the loop nest of `relu` look like, and how many loops has that of `matmul`?

# %%
print(trace["legalize"].module.script())

# %% [markdown]
# `@T.prim_func` is **TIR**: loops, and arrays that are read and written. `R.call_tir(cls.relu, (lv,), …)` calls one and
# gives it memory for its output. `T.axis.remap("SSR", …)` says of the three loops of `matmul` that two are **S**patial
# (each element on its own) and one is a **R**eduction.
#
# So there are four layers, and there were four in Relay's days too:
#
# | layer | what it says | in Relay's days |
# |---|---|---|
# | Relax operator | *what*: `R.nn.relu(lv)` | Relay operator |
# | TE | *each element*: `te.max(x(*i), 0)` | the same, in TOPI |
# | TIR | *which loops* | the same, after `tvm.lower` |
# | LLVM | machine code | the same |
#
# TE is short for *tensor expressions*: a formula for each element, and no loops yet. TOPI is TVM's library of them, and
# LLVM a compiler that TVM uses. A **schedule** says how loops are arranged: their order, vectors, threads. It changes
# the speed and never the result.
#
# What is gone are TOPI's schedules, the hand-written loops for each operator and target:

# %%
hasattr(te, "create_schedule"), hasattr(tvm.topi, "x86"), hasattr(tvm.topi.nn, "relu")

# %% [markdown]
# ## 3. Three things make an operator, and they used to be in five files
# <!-- articles: A03 A04 A05 A19 A20 A101 -->
#
# *What it looks like* (name and attributes), *which types* (input types to output type) and *how it is computed*. That
# chain never changed. People get stuck since the three stand far apart. Where does TVM keep those of `relax.nn.relu`?

# %%
import inspect
from pathlib import Path

from tvm.relax.transform.legalize_ops import nn as legalize_nn

home = Path(tvm.__file__).parent
for what, module in (
    ("the call", relax.op.nn.nn),
    ("the lowering", legalize_nn),
    ("the compute", tvm.topi.nn.elemwise),
):
    print(f"{what:13} {Path(inspect.getsourcefile(module)).relative_to(home)}")

# %% [markdown]
# The name, the type rule and the attributes are in C++, in `src/relax/op/nn/nn.cc`, and not in the package at all. Yet
# the registry can be asked about every operator. Read a similar one before you write your own, *in the version that you
# have*: documents age faster than code.

# %%
relu = Op.get("relax.nn.relu")
print(relu.name, relu.num_inputs, [f"{a.name}: {a.type_info}" for a in relu.arguments])
print([line for line in inspect.getsource(legalize_nn).splitlines() if '"relax.nn.relu"' in line])
print(inspect.getsource(tvm.topi.nn.relu).splitlines()[-1].strip())

# %% [markdown]
# One line says that `relax.nn.relu` is lowered by `topi.nn.relu`, and one line computes an element. Nothing forces the
# three into different files. In tvmlab they are one cell; when it works, it can still be moved.
#
# You need not be able to write the next cell yet. To read it:
#
# - `te.compute(shape, f)` is an array in which the element at `i, j` is `f(i, j)`. `*i` stands for all indices.
# - `x(*i)` is the element of `x` there. `const_like(0, x)` is a number of the dtype of `x`.
# - `rules`, `const_like`, `te` and `tirx` need no import in such a cell. `rules.same`: the output has the type of `x`.

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
# The card lists the chain: identity card (*what it looks like*), rule book (*which types*), construction crew (*how*),
# with the old names beside the new ones. Notebooks 02, 03 and 04 take one part each. Below it stands the loop nest that
# TVM makes of `compute`. `kElemWise` is what TVM saw in it: each element of the output needs one of the input.
#
# But did we need an operator?

# %% [markdown]
# ## 4. First look: is it in the library?
# <!-- articles: A01 A10 A101 -->
#
# An article from Relay's days takes swish, `x · sigmoid(x)`, as its example of what one composes. **Predict:** is there
# something to compose today?

# %%
found = [n for n in library if n.startswith("relax.nn.") and not any(w in n for w in ("conv", "pool", "norm"))]
sorted(found)

# %% [markdown]
# ### Exercise 01a ★
#
# Swish is x · sigmoid(x). Return one call of the library's own function. `%%tvm_exercise` runs your cell and checks it
# at once; write something in place of `...`. `%tvm_hint 01a` gives one hint after the other, and
# `tl.course.find("01a")` says what is checked.


# %%
# %%tvm_exercise 01a
def swish(x):
    """x is a Relax expression; relax.op.nn has the activations."""
    return ...


# %% [markdown]
# ## 5. Second look: can it be composed?
# <!-- articles: A06 A08 A10 A12 -->
#
# The article that made `leaky_clamp` famous adds it to the compiler as *the* example of an operator that one has to
# add, and tells you in its first section to prefer composing. Both cannot be right.
#
# ### Exercise 01b ★
#
# Compose leaky_clamp of operators that TVM has: clamp x to [-0.5, 1], and where x is below -0.5 add 0.1 · (x + 0.5),
# which is negative there: -3 becomes -0.75. At most six calls of `relax.op`, and no operator of your own. Most
# operators take no Python numbers; `relax.const(0.1, "float32")` makes a constant of one.


# %%
# %%tvm_exercise 01b
def leaky_clamp(x):
    """x is a Relax expression of float32."""
    return ...


# %% [markdown]
# Here is one for every `lower`, `upper` and `slope`, so that the rest of this notebook does not depend on your answer.
# Fold it open when you have yours.


# %% jupyter={"source_hidden": true}
def composed(x, lower=-1.0, upper=1.0, slope=0.01):
    low, leak, zero = (relax.const(v, "float32") for v in (lower, slope, 0.0))
    below = relax.op.minimum(relax.op.subtract(x, low), zero)
    return relax.op.add(relax.op.clip(x, lower, upper), relax.op.multiply(leak, below))


# %%
# %%tvm_graph five_calls
def five_calls(x: "float32[512, 512]"):
    return composed(x)


# %% [markdown]
# Does it give the same? On ordinary numbers, and on the three that are not:

# %%
ordinary = np.random.default_rng(0).normal(0, 2, (512, 512)).astype("float32")
odd = np.full((512, 512), 0.5, "float32")
odd[0, :3] = np.nan, np.inf, -np.inf
for name, x in (("ordinary", ordinary), ("NaN and infinities", odd)):
    ours, theirs = tl.ops.lab.leaky_clamp(x), tl.run(five_calls, x)
    print(f"{name:19} equal: {np.array_equal(ours, theirs, equal_nan=True)}", ours[0, :3], theirs[0, :3])

# %% [markdown]
# Bit for bit the same on ordinary numbers. So the article's own example is no example: it can be composed, of five
# calls. They may differ in what they do with a NaN, and whether that matters is a question about your model and not
# about compilers.
#
# What speaks for composing: no code to keep, gradients that exist already, and fusion "for free". **Fusion** puts
# several operators into one kernel, so that what is between them need not be written to memory.
#
# **Predict:** how many kernels are left of the five calls?

# %%
# %tvm_fuse five_calls

# %% [markdown]
# One. But "for free" has a footnote that articles leave out. TVM's own `tvm.compile` runs the pipeline called
# `default`:

# %%
default = tvm.compile(five_calls.module, target="llvm").as_text().split("\n\n")[0]
called = [line.split()[1] for line in default.splitlines() if line.split()[:1] == ["call"]]
[name for name in called if not name.startswith("vm.builtin")]

# %% [markdown]
# Five kernels: it does not fuse. `relax.get_default_pipeline(target)` does, and so does everything in this course. If
# you measure a composition, know which of the two you measure.
#
# ### Exercise 01c ★★
#
# Norms are made of a mean, a root and products, and the article says: compose. Compose RMS-norm: x divided by the root
# of the mean of its squares along the last axis, with 1e-5 added under the root, times the weights w. Two kernels have
# to be left when TVM has fused it. `relax.op.nn.rms_norm` does not count, it is one operator already.


# %%
# %%tvm_exercise 01c
def rms_norm(x, w):
    """x: float32[rows, columns], w: float32[columns]."""
    return ...


# %% [markdown]
# ## 6. A third way that is easily forgotten
# <!-- articles: A08 A14 A15 -->
#
# Often you need a kernel and no operator: no name, no attributes, no type rule. `emit_te` puts a `te.compute` into the
# graph that is being built. `relax.BlockBuilder.current()` is what is building it.


# %%
def leaky_clamp_te(x):
    low, high, leak, zero = (tirx.const(v, x.dtype) for v in (-1.0, 1.0, 0.01, 0.0))
    return te.compute(
        x.shape, lambda *i: tirx.max(low, tirx.min(high, x(*i))) + leak * tirx.min(zero, x(*i) - low), name="clamp"
    )


# %%
# %%tvm_graph no_operator
def no_operator(x: "float32[512, 512]"):
    return relax.BlockBuilder.current().emit_te(leaky_clamp_te, x, primfunc_name_hint="clamp")


# %%
print(no_operator.module["main"].script())
np.array_equal(tl.run(no_operator, ordinary), tl.ops.lab.leaky_clamp(ordinary))

# %% [markdown]
# There is no `R.lab…` in it: a `call_tir` stands there from the beginning. So nothing can ask what it *means*. Nobody
# can replace it by name, differentiate it, or choose another lowering for another target. If you need none of that, you
# are done with five lines.
#
# ## 7. What does each way cost?
# <!-- articles: A07 A13 A09 -->
#
# The old warning: a composition is a row of small kernels, each of which reads and writes all of its tensor.
#
# ### Exercise 01d ★★
#
# leaky_clamp of 256 rows of 1024 numbers, three ways: composed of five operators, with `emit_te`, and as an operator.
# Rank them, the fastest first, once compiled without fusion and once with fusion and schedule. Put ways into one tuple
# if none of them takes 1.5 times as long as another. Do not measure first: the map of `%tvm_progress` counts your
# attempts, and the check measures on this machine.


# %%
# %%tvm_exercise 01d
def prediction():
    """Rank "compose", "emit_te" and "op", such as ["op", ("compose", "emit_te")]."""
    unfused = ...
    scheduled = ...
    return {"unfused": unfused, "scheduled": scheduled}


# %% [markdown]
# Now look. Three builds of the composition against each other; a dot is one repeat:

# %%
# %tvm_time five_calls --threads 1 --budget 1.5 -v composition

# %% [markdown]
# And the composition, fused and scheduled, against the operator's own kernel and NumPy:

# %%
timing = tl.bench("lab.leaky_clamp", composed=composed, threads=1, budget=1.5)
timing

# %%
low, middle, high = composition.ratio("unfused", "scheduled")
print(f"unfused, the composition takes {middle:.1f} times as long as scheduled ({low:.1f} … {high:.1f})")
low, middle, high = timing.ratio("composed", "kernel")
print(f"scheduled, it takes {middle:.2f} times as long as the operator ({low:.2f} … {high:.2f})")

# %% [markdown]
# The warning is right about unfused code, and wrong here about fused and scheduled code: nothing is left that could be
# slower. The figures above are those of the machine that ran this cell. `tl.advise` puts all of this together: it
# evaluates every operator of TVM, looks for one that gives the same values, and measures the composition that you give
# it. It takes about half a minute; run it when you have time:
#
#     tl.advise("lab.leaky_clamp", composed=composed)
#
# ## 8. When an operator has to be added
# <!-- articles: A07 A14 A15 A16 A17 -->
#
# Four reasons stay:
#
# - **The meaning cannot be composed**: a layout, or a formula in which an element needs the one before it.
# - **What is between is too large**: one kernel could do without a value that any composition has to write.
# - **You need the loops**: a schedule of your own needs one loop nest to work on.
# - **A file carries it**: a node with a name and attributes. A converter makes operators of the nodes of a file.
#
# The second is worth a look. **Predict:** for 1024 positions of 16 numbers each, how much does attention write between
# its kernels, and how much are its inputs?


# %%
# %%tvm_graph attention
def attention(q: "float32[1024, 16]", k: "float32[1024, 16]", v: "float32[1024, 16]"):
    weights = relax.op.nn.softmax(relax.op.matmul(q, relax.op.permute_dims(k)), axis=-1)
    return relax.op.matmul(weights, v)


# %%
# %tvm_fuse attention

# %% [markdown]
# Four kernels. This is what each of them writes:

# %%
for binding in attention.module["main"].body.blocks[0].bindings:
    print(binding.var.name, binding.var.ty, "MiB:", int(np.prod([int(d) for d in binding.var.ty.shape])) * 4 / 2**20)

# %% [markdown]
# The transposed `k` is as large as an input. The two square matrices are far larger, and they grow with the square of
# the number of positions while the inputs grow with the number. No rule of fusion removes them, since a softmax needs
# its whole row. FlashAttention is one kernel that never writes them. There an operator pays.
#
# ### Exercise 01e ★★★
#
# Decide five cases.
#
# - `running_total(x)`: in each row the sum of all numbers before.
# - `squareplus(x)`: (x + √(x² + 4)) / 2.
# - `attention(q, k, v)`: softmax of q kᵀ by rows, times v, for thousands of positions of a few numbers.
# - `echo(x)`: y[0] = x[0], then y[i] = x[i] + y[i - 1] / 2, for hundreds of numbers.
# - `clamp_of_a_file(x)`: a node `my.domain::Clamp` to [-1, 1] of a model. It is to be found by its name after the
#   compiler was there, and written to a file again.
#
# Where TVM's operators do, give the **function** that composes them: it is run, and what it keeps in memory is counted.
# Where an operator has to be added, give the **reason**: `"order"` (each element needs the one before it), `"memory"`
# (a composition keeps a value far larger than its inputs) or `"name"` (a file carries it).


# %%
# %%tvm_exercise 01e
def decide():
    """For each case a function of Relax expressions, or one of "order", "memory", "name"."""
    running_total = ...
    squareplus = ...
    attention = ...
    echo = ...
    clamp_of_a_file = ...
    return {
        "running_total": running_total,
        "squareplus": squareplus,
        "attention": attention,
        "echo": echo,
        "clamp_of_a_file": clamp_of_a_file,
    }


# %% [markdown]
# ## 9. What to keep in mind
# <!-- articles: A06 A11 A18 A100 -->
#
# 1. Look in the library, also under other names. (swish is `silu`, and norms are there too: `layer_norm`, `rms_norm`.)
# 2. Compose, let it be fused, and measure *that*.
# 3. If you need a kernel and no name, `emit_te`.
# 4. Add an operator if its meaning, its memory, its loops or its name demands it. Then you say three things: what it
#    looks like, which types, and how it is computed.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A02 A09 A100 -->
#
# **1.** What is the difference between `R.nn.relu(lv)` and `R.call_tir(cls.relu, (lv,), …)`?
#
# <details><summary>Answer</summary>
#
# The first names a meaning; passes can recognise, differentiate or replace it. The second calls one certain loop nest.
# `legalize` turns the first into the second.
#
# </details>
#
# **2.** A colleague composed five operators and found them five times slower than one kernel. What do you ask?
#
# <details><summary>Answer</summary>
#
# Whether they were fused and scheduled. `tvm.compile` with the pipeline `default` does not fuse, and fused loops that
# are not inlined still write what is between.
#
# </details>
#
# **3.** Somebody shows you a script that starts with `from tvm import relay`. Which two sentences do you say?
#
# <details><summary>Answer</summary>
#
# Relay was removed; Relax has its place. The ideas carry over (operator, type rule, compute, fusion), most names do
# not.
#
# </details>
#
# **4.** What does `emit_te` not give you that an operator does?
#
# <details><summary>Answer</summary>
#
# A name. Without it no pass can find the call by meaning, there is no gradient, no lowering by target, and no node to
# write into a file.
#
# </details>
#
# **5.** Why does no composition of attention avoid the square matrix?
#
# <details><summary>Answer</summary>
#
# Softmax needs the largest value and the sum of a whole row before it can give its first element, and a matrix product
# is never fused with it on the other side. So the rows are written between kernels.
#
# </details>
