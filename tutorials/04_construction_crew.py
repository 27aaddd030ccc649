# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 Construction crew: how each element is computed
#
# An operator has a name and attributes, a rule for its types, and a **compute**: a formula for one element of the
# result. This notebook is about that formula. At the end you can write reductions, guards and windows, you can read the
# loops that TVM makes of them, and you know which of the usual slips TVM will not tell you about.
#
# The pattern is as before: **predict**, run, look, read why. Exercises have one to three stars.

# %%
# %load_ext tvmlab
# %config Tvmlab.safe = True

# %%
import numpy as np
import tvm
from tvm import relax, te, tirx, topi

import tvmlab as tl
from tvmlab.prelude import const_like

# %% [markdown]
# ## 1. A shape, and a formula
# <!-- articles: A50 A52 A53 A56 -->
#
# `te.compute(shape, function)` makes a tensor. The shape comes first. The function is called **once**, with variables
# and not with numbers, and what it returns is kept as a formula.
#
# **Predict:** what does this print, and how often?

# %%
x = te.placeholder((3, 4), "float32", name="x")


def doubled(i, j):
    print("called with", i, j, "which are", type(i).__name__)
    return x[i, j] * const_like(2, x)


y = te.compute((3, 4), doubled, name="doubled")
y.shape, y.dtype

# %% [markdown]
# Once, for twelve elements. There is no `if` on values here and no `print` of a value: the values do not exist yet.
#
# Loops are made of the formula later. This is TIR, and you will read a lot of it:

# %%
print(te.create_prim_func([x, y]).script(show_meta=False).split("\n\n")[-1])

# %% [markdown]
# From the outside in:
#
# - The `T.Buffer` arguments are the memory: first what is read, last what is written.
# - `T.grid(3, 4)` are two loops.
# - `T.sblock("doubled")` is the unit that a schedule moves around. It has the `name=` that you gave to `te.compute`, so
#   give one. (The *kernel's* name comes from elsewhere, as section 6 shows.)
# - `T.axis.remap("SS", …)`: both axes are **S**patial, so their order does not matter.
# - `T.reads` and `T.writes` are found by TVM, and fusion is decided by them.
#
# (Sizes that come from Relax are 64-bit integers, and TIR writes them so: `T.int64(3)`.)
#
# A formula that works for every rank takes its indices as a tuple. `x[i]` and `x(*i)` mean the same then:


# %%
# %%tvm_op lab.halved
"""Half of each element, for any rank."""


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(0.5, x), name="halved")


# %%
tl.ops.lab.halved(np.float32(3)), tl.ops.lab.halved(np.ones((2, 1, 3), "float32"))

# %% [markdown]
# Which elements is an element made of? `tl.reads` draws it. **Predict:** what does element [1, 2] of the second tensor
# read?

# %%
tl.reads(lambda x: te.compute((4, 3), lambda i, j: x[j, i] * x[j, 3 - i], name="folded"), (1, 2), shapes=[(3, 4)])

# %% [markdown]
# ### Exercise 04a ★
#
# Write the compute of leaky_clamp. Between lower and upper it is x. Above upper it is upper. Below lower it is lower,
# and leaks: slope times as far below as x is. A NaN stays a NaN.


# %%
# %%tvm_exercise 04a
"""Clamp to [lower, upper], leaking with `slope` below `lower`."""


class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01


def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return ...

    return te.compute(x.shape, clamp, name="leaky_clamp")


# %% [markdown]
# ## 2. What an article made of it
# <!-- articles: A50 A51 A57 A58 -->
#
# The article that this course follows prints a compute of leaky_clamp with a function inside a function: the outer one
# takes the tensor and the attributes and returns the inner one, which takes a list of inputs. Nothing ever calls the
# inner one. In plain TVM that looks so. **Predict:** at which step does it fail?


# %%
def article(data, lower, upper, slope):
    def body(inputs):
        x = inputs[0]
        return te.compute(x.shape, lambda *i: te.max(te.min(x[i], upper), lower) + slope * te.min(x[i] - lower, 0.0))

    return body


v = relax.Var("x", relax.TensorType((2, 3), "float32"))

# %% tags=["raises-exception"]
relax.utils.gen_call_tir_inputs(article, v, -1.0, 1.0, 0.01)  # what bb.call_te does first

# %%
# %tvm_why

# %% [markdown]
# When it is lowered, and with a message about types of lists. In tvmlab the same is told when the cell runs.
#
# ### Exercise 04b ★
#
# Here is such a compute as an operator. Three things keep it from working. Run it, read the verdict, mend what it says,
# and run it again.


# %%
# %%tvm_exercise 04b
class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01


def compute(data, lower, upper, slope):
    def _compute(ins):
        x = ins[0]

        def clamp(*i):
            clamped = te.max(te.min(x[i], upper), upper)
            return clamped + slope * te.min(x[i] - lower, 0.0)

        return te.compute(x.shape, clamp, name="leaky_clamp", tag="elemwise")

    return _compute


# %% [markdown]
# Two more sentences of that article, tried out.
#
# *"The parameters of the compute must stand in the order of the arguments and attributes."* True of TVM, where a swap
# of `lower` and `upper` goes unnoticed. Here attributes are bound **by name**:


# %%
# %%tvm_op lab.clip_by_name -q
"""Clamp; the limits are declared in one order and taken in the other."""


class Attrs:
    lower: float = -1.0
    upper: float = 1.0


def compute(x, upper, lower):
    lo, hi = const_like(lower, x), const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clip")


# %%
tl.ops.lab.clip_by_name(np.array([-9, 0, 9], "float32"), lower=-2.0)

# %% [markdown]
# *"The compute is found by its name: topi. and the name of the operator."* **Predict:** if that were so, what would
# relu be after the next cell?


# %%
@tvm.register_global_func("topi.nn.relu", override=True)
def not_relu(x):
    return te.compute(x.shape, lambda *i: x(*i) + const_like(100, x), name="not_relu")


# %%
# %%tvm_graph one_relu
def one_relu(x: "float32[3]"):
    return relax.op.nn.relu(x)


# %%
tl.run(one_relu, np.array([-1, 0, 1], "float32"))

# %% [markdown]
# It is relu. Nothing looks a compute up by name, and nothing did in Relay: there too the operator held a function. It
# holds one under the key `FLegalize`; notebook 05 is about that. tvmlab registers one under `topi.` as well, so that
# old code finds it:

# %%
from tvm_ffi.registry import remove_global_func

remove_global_func("topi.nn.relu")
tvm.get_global_func("topi.lab.halved")

# %% [markdown]
# ## 3. Many elements into one
# <!-- articles: A50 A56 A75 -->
#
# A sum has a variable more than its result has axes: `te.reduce_axis((first, end), name)`. **Predict:** what will
# `T.axis.remap` say of three loops, two of which are axes of the result?


# %%
def product(a, b):
    k = te.reduce_axis((0, a.shape[1]), name="k")
    return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="product")


a, b = te.placeholder((4, 6), "float32", name="a"), te.placeholder((6, 5), "float32", name="b")
print(te.create_prim_func([a, b, product(a, b)]).script(show_meta=False).split("\n\n")[-1])

# %% [markdown]
# `SSR`: two are spatial and one is a **R**eduction. The result is its own running total: it starts at `T.init`, and
# each step reads and writes it. Keep that in mind for section 7.

# %%
tl.reads(product, (1, 2), shapes=[(4, 6), (6, 5)])

# %% [markdown]
# A reduction has to be the *whole* body. Mean is a sum and a division, and this is what everybody tries first:

# %% tags=["raises-exception"]
r = te.reduce_axis((0, 6), name="r")
te.compute((4,), lambda i: te.sum(a[i, r], axis=r) / const_like(6, a), name="mean")

# %%
# %tvm_why

# %% [markdown]
# So a mean is two stages: a `te.compute` for the sum, and one that divides. Stages are cheap to write, and whether they
# are one kernel or one loop in the end is not decided here.
#
# A stage that comes out wrong can be looked at: a compute may return **several** tensors, as a tuple or a list, and
# nothing else. So return the one in between too, on a matrix that is small enough to check by hand.


# %%
# %%tvm_op lab.peek -q
"""Mean of each row, and the total that it is made of."""


def compute(x):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    total = te.compute((rows,), lambda i: te.sum(x[i, k], axis=k), name="total")
    mean = te.compute((rows,), lambda i: total[i] / columns.astype(x.dtype), name="mean")
    return mean, total


# %%
tl.ops.lab.peek(np.array([[1, 2, 3], [10, 20, 60]], "float32"))

# %% [markdown]
# ### Exercise 04c ★★
#
# Write softmax over the rows of a matrix: exp of each element, over the sum of exp of its row. exp(100) is no float32
# any more. Subtract the largest element of the row first: that changes no quotient.


# %%
# %%tvm_exercise 04c
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    ...


# %% [markdown]
# ### Exercise 04d ★★
#
# Write cumprod along the rows of a matrix: element [i, j] is the product of x[i, 0] to x[i, j]. A `te.compute` cannot
# read what it writes. So let each element multiply all that it needs. `te.comm_reducer` makes a reduction out of any
# operation that may be done in any order.


# %%
# %%tvm_exercise 04d
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    product = te.comm_reducer(lambda a, b: a * b, lambda dtype: tirx.const(1, dtype), name="product")
    k = te.reduce_axis((0, columns), name="k")

    def element(i, j):
        return ...

    return te.compute(x.shape, element, name="cumprod")


# %% [markdown]
# TVM has `topi.cumprod`. It is a loop that is written out by hand, one element after the other, and TVM cannot look
# inside. Here is the same question for sums, both ways. **Predict:** which of the two can be fused with a neighbour,
# and which loads more from memory?


# %%
# %%tvm_op lab.running_loop -q
"""Running total, as TVM has it."""


def compute(x):
    return topi.cumsum(x, axis=1)


# %%
# %%tvm_op lab.running_formula -q
"""Running total, each element by itself."""


def compute(x):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    return te.compute(
        x.shape, lambda i, j: te.sum(tirx.if_then_else(k <= j, x[i, k], const_like(0, x)), axis=k), name="running"
    )


# %%
row = np.arange(64, dtype="float32").reshape(1, 64)
assert np.array_equal(tl.ops.lab.running_loop(row), tl.ops.lab.running_formula(row))
for op in (tl.ops.lab.running_loop, tl.ops.lab.running_formula):
    print(op.name, op.card().kind)
tl.loads("lab.running_formula", row)

# %% [markdown]
# The formula is a reduction, and what comes after may join it. It pays with loads that grow with the square of the
# row: for 64 elements thousands, where a loop needs one for each and one for the total before. The loop is opaque: it
# stays alone. Neither is better; a long row and a short one want different things.
#
# ## 4. Every constant has a dtype
# <!-- articles: A54 A76 -->
#
# The article warns to wrap constants, and then writes `0.0` itself. **Predict:** x is float16. Which of these results
# are?

# %%
h = te.placeholder((4,), "float16", name="h")
forms = {
    "te.min(h[i], 0.0)": lambda i: te.min(h[i], 0.0),
    "h[i] * 0.5": lambda i: h[i] * 0.5,
    "h[i] * 2": lambda i: h[i] * 2,
    'h[i] * tirx.const(0.5, "float32")': lambda i: h[i] * tirx.const(0.5, "float32"),
    "h[i] * tirx.const(0.5, h.dtype)": lambda i: h[i] * tirx.const(0.5, h.dtype),
    "h[i] * const_like(0.5, h)": lambda i: h[i] * const_like(0.5, h),
}
for text, form in forms.items():
    print(f"{text:36} {te.compute((4,), form).dtype}")

# %% [markdown]
# A float in Python is a float32 to TVM, and the wider of two dtypes wins, without a word. The network still runs. It
# just is no float16 network any more, from there on. An integer is harmless. (`tvm.tir.const`, in articles and books,
# is `tvm.tirx.const` today.)
#
# In an operator that is an error:

# %% tags=["raises-exception"]
# %%tvm_op lab.widened


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * 0.5, name="halved")


# %% [markdown]
# But narrow is not always right. The largest float16 is 65504, and 256 · 256 is more than that. **Predict:** what is
# the root of the mean square of 300, 300, 300 in float16?


# %%
# %%tvm_op lab.naive_rms -q
"""Root of the mean square of each row, all of it in x's dtype."""


def compute(x):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    squares = te.compute((rows,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="squares")
    return te.compute((rows,), lambda i: te.sqrt(squares[i] / columns.astype(x.dtype)), name="rms")


# %%
tl.ops.lab.naive_rms(np.full((1, 3), 300, "float16")), tl.ops.lab.naive_rms(np.full((1, 3), 300, "float32"))

# %% [markdown]
# ### Exercise 04e ★★
#
# Write it so that it works in float16, float32 and float64. The result has the dtype of x. Squares of float16 numbers
# overflow beyond 255, so add up in float32 there; float64 must not be narrowed on the way.


# %%
# %%tvm_exercise 04e
def compute(x):
    """x: [rows, columns], of a floating-point dtype."""
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    wide = ...
    squares = te.compute((rows,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="squares")
    return te.compute((rows,), lambda i: te.sqrt(squares[i] / columns), name="rms")


# %% [markdown]
# ## 5. Inside, and outside
# <!-- articles: A76 A77 -->
#
# **Predict:** what does plain TVM say to a kernel that reads one element beyond the end of each row, and what is in
# those places?


# %%
def neighbour(x):
    return te.compute(x.shape, lambda i, j: x[i, j + 1], name="neighbour")


plain = te.create_prim_func([source := te.placeholder((2, 4), "float32", name="x"), neighbour(source)])
module = tvm.IRModule({"main": plain.with_attr("global_symbol", "main")})
child = """
import numpy, sys, tvm
kernel = tvm.compile(tvm.ir.load_json(sys.stdin.read()), target="llvm")
x, y = (tvm.runtime.tensor(a) for a in (numpy.arange(8, dtype="float32").reshape(2, 4), numpy.zeros((2, 4), "float32")))
kernel["main"](x, y)
print(y.numpy())
"""
import subprocess
import sys

text = tvm.ir.save_json(module)
done = subprocess.run([sys.executable, "-c", child], input=text, capture_output=True, text=True, check=False)
print(done.stdout, "exit code", done.returncode)

# %% [markdown]
# Nothing. It compiles and it runs. At the end of the first row stands the first element of the second: wrong, and
# plausible. At the end of the last row stands what happens to lie behind the array. (It ran in a process of its own,
# since with other sizes it may end the process.)
#
# The picture shows in red what does not exist:

# %%
tl.reads(neighbour, (1, 3), shapes=[(2, 4)])

# %% [markdown]
# TVM has a checker, which nobody calls for you:

# %%
from tvm.s_tir.analysis import OOBChecker

from tvmlab.runtime import quiet

try:
    with quiet():
        OOBChecker()(module)
except RuntimeError as error:
    print("\n".join(str(error).splitlines()[-8:]))

# %% [markdown]
# tvmlab looks before anything runs, for every size that the operator accepts, and refuses. What depends on data,
# `x[table[i]]`, cannot be seen before. That is what `%config Tvmlab.safe = True` at the top of this notebook is for:
# then such a kernel runs in a child process.


# %%
# %%tvm_op lab.look_up -q
"""Elements of a table, at places that a second tensor says."""


def compute(table, at):
    return te.compute(at.shape, lambda i: table[at[i]], name="look_up")


# %%
table, inside = np.arange(5, dtype="float32"), np.array([4, 0], "int32")
tl.ops.lab.look_up(table, inside)

# %% tags=["raises-exception"]
tl.ops.lab.look_up(table, np.array([4, 1 << 30], "int32"))

# %% [markdown]
# This notebook still lives.
#
# A guard chooses: `tirx.if_then_else(condition, a, b)` computes only the side that it needs. `tirx.Select` has the same
# arguments, computes both, and then chooses, so it guards no read. **Predict:** how many loads has each?

# %%
zero = tirx.const(0, "float32")
for name, choose in (("if_then_else", tirx.if_then_else), ("Select", tirx.Select)):
    one = tl.reads(
        lambda x, choose=choose: te.compute((4,), lambda i: choose(i >= 1, x[i - 1], zero), name="shifted"),
        (0,),
        shapes=[(4,)],
    )
    print(f"{name:13} reads outside: {not one.ok}")

# %% [markdown]
# ### Exercise 04f ★★
#
# A blur: each element becomes the mean of itself and its two neighbours in the row; beyond an end of the row, the
# element at that end counts again. This compute is guarded on both sides, and still reads outside on both. Find out
# where, and mend it. Drawing helps: copy `compute` into a cell of its own, and call
# `tl.reads(compute, (0, 0), shapes=[(2, 4)])`.


# %%
# %%tvm_exercise 04f
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape

    def blur(i, j):
        left = tirx.Select(j > 0, x[i, j - 1], x[i, j])
        right = tirx.if_then_else(j <= columns - 1, x[i, j + 1], x[i, j])
        return (left + x[i, j] + right) / const_like(3, x)

    return te.compute(x.shape, blur, name="blur")


# %% [markdown]
# ## 6. It runs, and is wrong
# <!-- articles: A55 A56 A76 A77 -->
#
# The article blames a wrong value on an index, a constant, a swapped min and max, or a dtype. Three of these it could
# have met itself.
#
# **A NaN.** TVM's max(a, b) is "a if a > b, else b", and a comparison with NaN is false. So the order of the two
# counts. **Predict:** which of the two keeps the NaN?

# %%
one = te.placeholder((1,), "float32", name="one")
lo = tirx.const(-1, "float32")
for text, form in (
    ("tirx.max(x, lo)", lambda i: tirx.max(one[i], lo)),
    ("tirx.max(lo, x)", lambda i: tirx.max(lo, one[i])),
):
    kernel = tvm.compile(te.create_prim_func([one, te.compute((1,), form)]), target="llvm")
    given, result = tvm.runtime.tensor(np.array([np.nan], "float32")), tvm.runtime.tensor(np.zeros(1, "float32"))
    kernel(given, result)
    print(f"{text}: {result.numpy()[0]}      NumPy: {np.maximum(np.float32(np.nan), -1)}")

# %% [markdown]
# Constants first, then. (`te.max(a, b)`, in the article, is the reducer with two arguments. It is legal and means the
# same, and it looks like a reduction without an axis: write `tirx.max`.)
#
# **A reference that is right at the defaults only.** The article tests its operator against a line of NumPy in which
# -1 and 0.01 are written out:

# %%
given = np.array([-3, -0.75, 0.5, 2], "float32")


def article_in_numpy(x):
    return np.maximum(np.minimum(x, 1.0), -1.0) + 0.01 * np.minimum(x + 1.0, 0)


def formula(x, lower=-1.0, upper=1.0, slope=0.01):
    return np.maximum(np.minimum(x, upper), lower) + slope * np.minimum(x - lower, 0)


print("defaults  ", formula(given), article_in_numpy(given))
print("lower -0.5", formula(given, lower=-0.5), article_in_numpy(given))

# %% [markdown]
# Equal in the first row, so a test at the defaults says nothing about the rest. Notebook 05 measures how much such a
# test is worth.
#
# **A tag.** `tag="elemwise"` is said to decide fusion. **Predict:** the pattern kind with each of four tags.

# %%
for tag in ("elemwise", "broadcast", "nonsense", ""):
    kernel = te.create_prim_func([x, te.compute(x.shape, lambda i, j: x[i, j] + const_like(1, x), name="y", tag=tag)])
    annotated = relax.transform.AnnotateTIROpPattern()(tvm.IRModule({"main": kernel}))
    print(f"tag={tag!r:12} kind {annotated['main'].attrs['op_pattern']}")

# %% [markdown]
# Always 0, element by element. The kind is read off the loops, and the tag off nothing at all. Notebook 07 has more.
#
# **Names**, on the other hand, are worth giving. `name=` is the block's; the kernel has the operator's name, or in
# plain TVM what `primfunc_name_hint=` says:


# %%
# %%tvm_graph named
def named(x: "float32[2, 3]"):
    return tl.ops.lab.clip_by_name(tl.ops.lab.halved(x))


# %%
print(tl.trace(named)["legalize"].function_text("main"))

# %% [markdown]
# How to look for a wrong value: take the smallest shape, (1, 1) or (2, 2); return what is in between, as in section 3;
# compare with NumPy. `%tvm_check` does that for you. Here min and max are swapped, and it has shrunk the counterexample
# to one element:


# %%
# %%tvm_op lab.swapped -q
"""Clamp to [lower, upper], with min and max swapped."""


class Attrs:
    lower: float = -1.0
    upper: float = 1.0


def compute(x, lower, upper):
    lo, hi = const_like(lower, x), const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.min(lo, tirx.max(hi, x(*i))), name="clip")


def reference(x, lower, upper):
    return np.clip(x, lower, upper)


# %%
# %tvm_check lab.swapped --only C10

# %% [markdown]
# ## 7. Count what is loaded
# <!-- articles: A50 A52 -->
#
# Arithmetic is cheap and memory is not. `tl.loads` counts every load of every iteration, as the loops are written.
# **Predict:** for a matrix product of 4 × 6 and 6 × 5, which of three buffers is loaded most, and which is the third?


# %%
# %%tvm_op lab.product -q
"""Matrix product."""


def compute(a, b):
    k = te.reduce_axis((0, a.shape[1]), name="k")
    size = (a.shape[0], b.shape[1])
    return te.compute(size, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="product")


# %%
tl.loads("lab.product", np.zeros((4, 6), "float32"), np.zeros((6, 5), "float32"))

# %% [markdown]
# All three the same: 4 · 5 · 6 times. The third is the running total of section 3. A schedule can keep it in a
# register; notebook 10 does that. Here we only write formulas, and a formula alone can already save a lot.
#
# Two ways to pad. With a padded copy, a stage of its own:


# %%
# %%tvm_op lab.window_copy -q
"""Sum of each element and its two neighbours in a row, zero outside; of a padded copy."""


def compute(x):
    (size,) = x.shape
    zero = const_like(0, x)
    wider = te.compute(
        (size + 2,), lambda i: tirx.if_then_else(tirx.all(i >= 1, i <= size), x[i - 1], zero), name="wider"
    )
    k = te.reduce_axis((0, 3), name="k")
    return te.compute((size,), lambda i: te.sum(wider[i + k], axis=k), name="window")


# %%
tl.loads("lab.window_copy", np.zeros(16, "float32"))

# %% [markdown]
# And with a guard in the sum, written out term by term. A loop in Python over three terms is no loop in the kernel: it
# makes one long formula.


# %%
# %%tvm_op lab.window_guard -q
"""Sum of each element and its two neighbours in a row, zero outside; term by term."""


def compute(x):
    (size,) = x.shape
    zero = const_like(0, x)

    def window(i):
        total = zero
        for step in (-1, 0, 1):
            total = total + tirx.if_then_else(tirx.all(i + step >= 0, i + step < size), x[i + step], zero)
        return total

    return te.compute((size,), window, name="window")


# %%
tl.loads("lab.window_guard", np.zeros(16, "float32"))

# %%
tl.reads("lab.window_guard", (0,))

# %% [markdown]
# ### Exercise 04g ★★★
#
# Convolve each channel of x, float32[channels, height, width], with a filter of its own, w, float32[channels, rows,
# columns]: element [c, y, z] is the sum of x[c, y + i - padding, z + j - padding] · w[c, i, j], and what is outside of
# the image is zero. The score is the number of loads, as `tl.loads` counts them. Par is two for each tap that is
# inside: one of x, one of w, and none of anything else.


# %%
# %%tvm_exercise 04g
class Attrs:
    padding: int = 1


def compute(x, w, padding):
    """x: [channels, height, width], w: [channels, rows, columns], whose size is known: int(w.shape[1])."""
    channels, height, width = x.shape
    rows, columns = int(w.shape[1]), int(w.shape[2])

    def element(c, y, z):
        return ...

    size = (channels, height + 2 * padding - rows + 1, width + 2 * padding - columns + 1)
    return te.compute(size, element, name="depthwise")


# %% [markdown]
# Under par is not yet fast. A formula says what is computed; when and where is said by a schedule. And a formula that
# is written out has no reduction that a schedule could still move. Notebook 10 weighs the two.
#
# ## 8. What to keep in mind
# <!-- articles: A50 A51 A54 A76 -->
#
# | in articles and books | in TVM 0.27 |
# |---|---|
# | TOPI compute `compute(attrs, inputs, out_type)` | `compute(x, …)`, called by `bb.call_te` |
# | `tvm.tir.const(v, x.dtype)` | `tvm.tirx.const(v, x.dtype)`, here `const_like(v, x)` |
# | `te.create_schedule(y.op)`, `tvm.lower` | `te.create_prim_func([x, y])` |
# | `T.block` | `T.sblock` |
# | `tag="elemwise"` | without effect |
# | registered as `topi.myop.x` and found by name | held by the operator, under `FLegalize` |
#
# 1. A compute returns tensors. Its function is called once, with variables.
# 2. A reduction is the whole body of its stage; its running total is memory.
# 3. Every constant has a dtype. Constants come first in max and min.
# 4. A guard is `if_then_else`. TVM does not look whether you need one.
# 5. When a value is wrong: smallest shape, show what is in between, attributes that are not symmetric.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A50 A53 A54 A55 A75 A76 -->
#
# **1.** In `te.compute(x.shape, f)`, how often is `f` called for a tensor of a million elements, and when?
#
# <details><summary>Answer</summary>
#
# Once, when the tensor is declared. It gets variables, and what it returns is the formula for every element.
#
# </details>
#
# **2.** `te.sum(x[i, k], axis=k) * half` fails inside a `te.compute`. Why, and what do you write?
#
# <details><summary>Answer</summary>
#
# A reduction has to be the whole body, since it becomes a block with an init and an update. Write two stages: one with
# the sum, one that multiplies.
#
# </details>
#
# **3.** A network in float16 is half as fast as it should be, and all of its results are float32. Where do you look?
#
# <details><summary>Answer</summary>
#
# For a bare float in a compute, such as `* 0.5` or `te.max(x, 0.0)`. It is a float32, and widens all that comes after.
#
# </details>
#
# **4.** Why does `tirx.Select(i > 0, x[i - 1], zero)` guard nothing?
#
# <details><summary>Answer</summary>
#
# It computes both sides and chooses afterwards, so x[-1] is read for i = 0. `tirx.if_then_else` computes one side.
#
# </details>
#
# **5.** The running total written as one formula for each element loads more than a loop does. What is it good for?
#
# <details><summary>Answer</summary>
#
# TVM sees into it. Its elements do not wait for each other, so they can run in parallel, and what follows can be fused
# into the kernel. A hand-written loop is opaque.
#
# </details>
