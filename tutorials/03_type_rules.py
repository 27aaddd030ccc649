# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 The rule book: type rules
#
# A compiler has to know the shape and the dtype of every value before anything runs. For each operator somebody has to
# say which output type follows from which input types: its **type rule**. You write five of them, for numbers, for
# symbols, and for shapes that nobody knows. At the end you catch two that lie.
#
# Needed: notebook 02.

# %%
# %load_ext tvmlab
# %config Tvmlab.safe = True

# %%
import numpy as np
import tvm
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import Op

import tvmlab as tl
from tvmlab.prelude import TensorType, rules

# %% [markdown]
# ## 1. A type without running anything
# <!-- articles: A39 -->
#
# **Predict:** `x` has `n` rows of 4, and `w` is 4 × 8. What is the type of the product, and of its softmax?


# %%
# %%tvm_graph chain
def chain(x: "float32[n, 4]", w: "float32[4, 8]"):
    return relax.op.nn.softmax(relax.op.matmul(x, w))


# %%
for binding in chain.module["main"].body.blocks[0].bindings:
    print(binding.var.name, "has the type", binding.var.ty)

# %% [markdown]
# Nobody knows `n`, and yet every type is known. A rule that cannot be kept is an error while the graph is built, and
# not in the middle of the night on a cluster. Here the inner sizes are 4 and 5:


# %% tags=["raises-exception"]
# %%tvm_graph broken
def broken(x: "float32[n, 4]", w: "float32[5, 8]"):
    return relax.op.matmul(x, w)


# %% [markdown]
# A type says one of three things about a shape. Its sizes are no Python numbers: one that is a number is a
# `tirx.IntImm`, and a symbol is a `tirx.Var`. The number of axes is called the **rank**, `ndim`. `rules.show` writes a
# type in short: `?` is an axis whose size is not known, `…` any number of axes.

# %%
n = tirx.Var("n", "int64")
for kind in (
    TensorType([2, 3], "float32"),
    TensorType([n, n + 1], "float32"),
    TensorType(dtype="float32", ndim=2),
    TensorType(dtype="float32", ndim=-1),
):
    print(f"{rules.show(kind):18} shape={kind.shape!s:20} ndim={kind.ndim:2}   {kind}")

# %% [markdown]
# Sizes that are numbers or formulas of symbols; only the number of axes; or nothing at all (`ndim` is -1, and `shape`
# is `None`). The last two are no theory. Where an output depends on *data*, nothing else can be said. (`normalize` is
# what works out the type of a call, here outside of a graph.)

# %%
x = relax.Var("x", TensorType([2, 3], "float32"))
for call in (relax.op.nonzero(x), relax.op.unique(x)):
    print(rules.show(relax.BlockBuilder().normalize(call).ty))

# %% [markdown]
# Old names you will meet:
#
# | in articles, and in TVM until 2026 | in TVM 0.27 |
# |---|---|
# | type relation, `add_type_rel("X", rel)` | type rule, `set_attr("FInferType", f)` |
# | `relax.TensorStructInfo(shape, dtype)` | `relax.TensorType(shape, dtype)` |
# | `expr.struct_info`, `expr.checked_type` | `expr.ty` |
# | `FInferStructInfo` | `FInferType` |
# | `out_sinfo=`, `sinfo_args=` | `out_ty=`, `ty_args=` |

# %% tags=["raises-exception"]
x.struct_info

# %% [markdown]
# ## 2. The simplest rule, and a name that never was
# <!-- articles: A27 A40 A43 A70 -->
#
# An article advises: for an operator that works element by element, reuse `ElemwiseRel`; write a subclass of
# `TypeRelation` for your own. There was no `ElemwiseRel` in Relay's source either; it was called `IdentityRel`, and a
# relation was a plain function. What is there today?

# %%
functions = [str(name) for name in tvm_ffi.registry.list_global_func_names()]
len(functions), [name for name in functions if name.endswith("Rel") or "type_relation" in name]

# %% [markdown]
# Nothing, among all functions that C++ shows to Python. TVM's own rules are C++ and cannot be reused from Python; so
# one writes them, or takes tvmlab's `rules.same`, `rules.broadcast`, `rules.reduce`, `rules.permute` and
# `rules.from_attrs`. By hand a rule is a function of the call and a builder:
#
#     Op.get("byhand.x").set_attr("FInferType", lambda call, builder: call.args[0].ty)
#
# In a cell it gets the `TensorType` of each tensor, then the attributes by name. What it can ask are `x.shape`,
# `x.dtype` and `x.ndim`.
#
# ### Exercise 03a ★
#
# Write the type rule of an operator that works element by element: the output has the type of the input, whether its
# sizes are numbers, symbols, or not known at all.


# %%
# %%tvm_exercise 03a
def type_rule(x):
    """x is a TensorType; return the TensorType of the output."""
    return ...


# %% [markdown]
# **Predict:** you follow an older text and set `FInferStructInfo`. When do you hear of it?

# %%
tvm.ir._ffi_api.RegisterOp("byhand.older", "With a rule under its old name.")
older = Op.get("byhand.older")
older.set_attr("FInferStructInfo", lambda call, builder: call.args[0].ty)
older.set_attr("FPurity", True)

# %% tags=["raises-exception"]
relax.BlockBuilder().normalize(relax.Call(older, [x]))

# %% [markdown]
# Any attribute can be set, under any name. Only when a type is asked for, the right one is missing.
#
# And a forgotten `return`? By hand, TVM complains that it cannot convert `None`. In a cell:


# %% tags=["raises-exception"]
# %%tvm_op lab.forgetful
def type_rule(x):
    TensorType(x.shape, x.dtype)


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="forgetful")


# %% [markdown]
# ## 3. TVM believes a lie
# <!-- articles: A39 A73 -->
#
# By hand, an operator whose rule and compute have nothing in common. The rule promises float16 of shape 3 × 2; the
# compute makes what it is given.
#
# **Predict:** at which stage does TVM notice? Building the graph, the well-formedness check, lowering, compiling, or
# running?

# %%
tvm.ir._ffi_api.RegisterOp("byhand.liar", "Its rule and its compute disagree.")
liar = Op.get("byhand.liar")
liar.set_attr("FPurity", True)
liar.set_attr("FInferType", lambda call, builder: TensorType([3, 2], "float16"))


def same_values(data):
    return te.compute(data.shape, lambda *i: data(*i) + data(*i), name="values")


liar.set_attr(
    "FLegalize", lambda builder, call: builder.call_te(same_values, call.args[0], primfunc_name_hint="values")
)


def graph_of(call):
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    return builder.get()


module = graph_of(relax.Call(liar, [x]))
relax.analysis.well_formed(module)  # raises an error if it is not
print("the graph promises ", rules.show(module["main"].ret_ty))
lowered = relax.transform.LegalizeOps()(module)
print("after lowering     ", rules.show(lowered["main"].ret_ty))
machine = relax.VirtualMachine(tvm.compile(lowered, target="llvm"), tvm.cpu())
result = machine["main"](np.ones((2, 3), "float32")).numpy()
print("it runs, and gives ", f"{result.dtype}{list(result.shape)}")

# %% [markdown]
# At none. `LegalizeOps` derives the type anew from the compute and says nothing. Only if something downstream relied on
# the promise there is an error, and then it names *that* operator.
#
# tvmlab compares the two as soon as the cell runs, for numbers, for symbols and for float16:


# %% tags=["raises-exception"]
# %%tvm_op lab.liar
def type_rule(x):
    return TensorType([x.shape[1], x.shape[0]], x.dtype)


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="liar")


# %% [markdown]
# So why write a rule at all? Leave it away, and it is *derived*: tvmlab lowers the operator for the types that are
# asked about, and looks. Rules of your own are faster, can refuse in words of your own, and can say more where little
# is known. For this course: they teach what a compiler knows.

# %% [markdown]
# ## 4. Numbers, symbols, nothing: broadcasting
# <!-- articles: A41 A86 -->
#
# Write a rule in three steps, and test after each: sizes that are numbers; symbols; unknown. Symbols are where it gets
# interesting. **Predict** the four outputs:

# %%
m = tirx.Var("m", "int64")
for a, b in (([n, 4], [4]), ([n, 1], [1, m]), ([n], [n]), ([n], [m])):
    p, q = TensorType(a, "float32"), TensorType(b, "float32")
    print(f"{rules.show(p):15} {rules.show(q):15} → {rules.show(rules.broadcast(p, q))}")

# %% [markdown]
# `n` against `m`: they may be equal, one may be 1, or it may be an error. Nobody knows until it runs, and so the honest
# answer is "one axis". A rule that says `n` lies for `n = 1`. What is *provable* is decided by an analyser of formulas:

# %%
from tvm.sym import Analyzer

analyzer = Analyzer()
for a, b in ((n + 1 - 1, n), ((n + 2) // 2, n // 2 + 1), ((n + 1) // 2, n // 2)):
    print(f"{rules.as_written(str(a)):12} = {rules.as_written(str(b)):10} provable: {analyzer.can_prove_equal(a, b)}")

# %% [markdown]
# The two sides of the last line differ for odd `n` alone. Keep that in mind.
#
# In a rule this means: no `==` between sizes and no `if` on one, since of a symbol they are formulas and no answers.
# `rules.equal(a, b)` says whether two sizes are provably equal, `rules.different(a, b)` whether they are provably not,
# and `isinstance(d, tirx.IntImm)` whether one is a number; then `int(d)` is that number.
#
# ### Exercise 03b ★★
#
# Write the type rule of an operator that broadcasts two tensors as NumPy does: align the shapes at the right; two sizes
# have to be equal, or one of them is 1. Raise `ValueError` where they are not, and for two dtypes. Where a symbol meets
# a size that it is not provably equal to and that is not 1, another symbol or a number such as 4, say only the rank, as
# TVM does: `TensorType(dtype=…, ndim=…)`. So it is where a shape is not known, and without a rank it is `ndim=-1`.
# Write it by hand, not with `rules.broadcast`.

# %%
# %%tvm_exercise 03b
from tvm import tirx


def type_rule(a, b):
    """a and b are TensorTypes."""
    rank = ...
    shape = []
    for axis in range(-rank, 0):
        # the sizes that a and b have there, counted from the right
        ...
    return TensorType(shape, a.dtype)


# %% [markdown]
# ## 5. Attributes decide: a reduction
# <!-- articles: A42 A86 -->
#
# The axis is an attribute, and the rule reads it. Here is a rule that forgot something. **Predict** what before you run
# it:

# %%
# %%tvm_op lab.first_column
"""The first element of each row."""


def type_rule(x):
    return TensorType(list(x.shape)[:-1], x.dtype)


def compute(x):
    return te.compute(x.shape[:-1], lambda *i: x(*i, 0), name="first_column")


# %% [markdown]
# It can be used, and for every shape that is known it is right. C04, one of the quick checks under the card, asked it
# about a shape that is not: there `x.shape` is `None`. Where in a network would such a shape come from? From `nonzero`
# and `unique` of section 1.
#
# ### Exercise 03c ★★
#
# The compute of `lab.total` is written: it sums over one axis, which goes, or stays with size 1 if `keepdims` is true.
# Write its type rule, by hand and not with `rules.reduce`. An axis may count from the end. One that is not there is
# refused with a `ValueError`, and where only the rank is known, that of the output still is. (`te.reduce_axis` is a
# loop over what is summed; notebook 04 is about such computes.)


# %%
# %%tvm_exercise 03c
class Attrs:
    axis: int = -1
    keepdims: bool = False


def type_rule(x, axis, keepdims):
    # begin with what is known least
    ...


def compute(x, axis, keepdims):
    at = axis % len(x.shape)
    k = te.reduce_axis((0, x.shape[at]), "k")
    shape = [1 if i == at else d for i, d in enumerate(x.shape) if keepdims or i != at]

    def element(*i):
        before, after = i[:at], i[at + keepdims :]
        return te.sum(x(*before, k, *after), axis=k)

    return te.compute(shape, element, name="total")


# %% [markdown]
# ## 6. A formula: stride and padding
# <!-- articles: A42 A87 -->
#
# A convolution lays a window of 3 on 7 elements, at every second place: its *stride* is 2. (The window is called kernel
# too, and has nothing to do with kernels of loops.) How many places? The formula has a floor in it, and that is where
# rules go wrong. Articles advise to test with shapes (1, 1) and (2, 2) first.
#
# **Predict:** `(length - 3) // 2 + 1` is right, and `length // 2` is tempting. For which lengths do they differ?

# %%
for length in range(3, 10):
    right = (length - 3) // 2 + 1
    tempting = length // 2
    print(f"length {length}:  {right} places, and half is {tempting}", "" if right == tempting else "  ← differ")

# %% [markdown]
# Small cases are good to *look* at, and say little. Odd sizes, a size of 1, a size that the stride does not divide:
# those decide. The same with symbols, here with one zero of padding on each side; the rule is computed with them just
# like with numbers, and `//` rounds down:

# %%
rules.as_written(str((n + 2 * 1 - 3) // 2 + 1))

# %% [markdown]
# ### Exercise 03d ★★
#
# The compute of `lab.conv1d` is written. x is [batch, channels, length], w is [outputs, channels, kernel]; x is padded
# with `padding` zeros on both sides, and w is laid on every `stride`-th place. Write its type rule: [batch, outputs,
# how many places]. It has to be right for symbols too. Refuse with a `ValueError` other ranks than 3, two dtypes,
# numbers of channels that are different (`rules.different`), and a kernel longer than the padded x where both are
# numbers. If a shape is not known, the rank of the output still is 3.


# %%
# %%tvm_exercise 03d
class Attrs:
    stride: int = 1
    padding: int = 0


def type_rule(x, w, stride, padding):
    # refuse first, then count
    ...


def compute(x, w, stride, padding):
    batch, channels, length = x.shape
    outputs, _, kernel = w.shape
    c, k = te.reduce_axis((0, channels), "c"), te.reduce_axis((0, kernel), "k")

    def element(b, o, i):
        at = i * stride + k - padding
        inside = tirx.all(at >= 0, at < length)
        return te.sum(tirx.if_then_else(inside, x(b, c, at), const_like(0, x)) * w(o, c, k), axis=[c, k])

    places = (length + 2 * padding - kernel) // stride + 1
    return te.compute((batch, outputs, places), element, name="conv1d")


# %% [markdown]
# ## 7. Two outputs
# <!-- articles: A42 A43 -->
#
# A rule returns one `TensorType`, or a tuple of them. TVM's own `split` does:

# %%
relax.BlockBuilder().normalize(relax.op.split(x, [1], axis=1)).ty

# %% [markdown]
# ### Exercise 03e ★★★
#
# The compute of `lab.top2` is written: the two largest of the last axis and where they are, as int64. Write its type
# rule: a pair of TensorTypes. Refuse with a `ValueError` a last axis of which is known that it has no two elements, and
# a tensor without axes. Keep what is known: symbols, and the rank where only that is. (`topi` is TVM's library of
# computes.)


# %%
# %%tvm_exercise 03e
def type_rule(x):
    # one type for the values, one for the places
    ...


def compute(x):
    lowest = tirx.min_value(x.dtype)
    first = topi.argmax(x, axis=-1)
    rest = te.compute(x.shape, lambda *i: tirx.if_then_else(i[-1] == first(*i[:-1]), lowest, x(*i)), name="rest")
    second = topi.argmax(rest, axis=-1)
    high, low = topi.max(x, axis=-1), topi.max(rest, axis=-1)
    shape = [*x.shape[:-1], 2]

    def pair(a, b, name):
        return te.compute(shape, lambda *i: tirx.if_then_else(i[-1] == 0, a(*i[:-1]), b(*i[:-1])), name=name)

    return pair(high, low, "values"), pair(first, second, "places")


# %% [markdown]
# ## 8. Catch the lie
# <!-- articles: A54 A73 A86 A87 -->
#
# Five operators, each a type rule and a compute. They were tried with small even shapes of float32, and all was well.

# %%
from tvmlab.course.exercises import ex03f

print(ex03f.SUSPECTS)

# %%
for name in ex03f.suspects():
    said, made = ex03f.told_and_made(name, "float32[2, 2]")
    print(f"{name:8} float32[2, 2]: the rule says {said}, compute makes {made}")

# %% [markdown]
# ### Exercise 03f ★★
#
# The rules of two of them promise what compute does not make, for some inputs. Return a dict: the name of each liar,
# and the type of an input that proves it, such as `float32[2, 3]`. Try other types in the cell above.


# %%
# %%tvm_exercise 03f
def liars():
    """{name: type of an input}, such as {"rows": "float32[2, 3]"}."""
    return ...


# %% [markdown]
# Checks C04 (the rule answers every question) and C05 (it promises what compute makes) try hundreds of types, odd
# sizes, symbols and dtypes among them. They are part of `%tvm_check`:

# %%
tl.check("lab.first_column", only=["C04", "C05"])

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A27 A41 A70 A86 -->
#
# **1.** What may a type rule know, and what may it not?
#
# <details><summary>Answer</summary>
#
# It knows the types of the inputs and the attributes. It does not know the data, nor the values of symbols.
#
# </details>
#
# **2.** Why is `float32[n]` the wrong answer to broadcasting `float32[n]` with `float32[m]`?
#
# <details><summary>Answer</summary>
#
# If `n` is 1 and `m` is 5, the output has 5 elements. What can be promised for all `n` and `m` is that there is one
# axis.
#
# </details>
#
# **3.** The rule of an operator says float16, its compute makes float32. Who notices in TVM, and who in tvmlab?
#
# <details><summary>Answer</summary>
#
# In TVM nobody, unless something later relies on it; lowering replaces the promise by what compute makes. In tvmlab the
# cell is refused when it runs, and check C05 looks again with many more types.
#
# </details>
#
# **4.** TVM says "Cannot find the FInferType attribute registered to op". Name two slips that lead there.
#
# <details><summary>Answer</summary>
#
# No rule was set at all; or it was set under an old name, `FInferStructInfo`, which is accepted and never read.
#
# </details>
#
# **5.** You test a rule with shapes (1, 1) and (2, 2). What do you not see?
#
# <details><summary>Answer</summary>
#
# Floors that round the other way at odd sizes, axes that were swapped (both shapes are square), broadcasting of
# different sizes, symbols, unknown shapes, and dtypes.
#
# </details>
