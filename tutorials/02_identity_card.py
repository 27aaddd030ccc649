# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 The identity card: name, tensors, attributes
#
# Before an operator computes anything, it has to be *somebody*: a name that nobody else has, a number of tensors, and
# attributes with types and defaults. Old books call that its identity card. You make one by hand first, to see what TVM
# checks and what it lets pass. Then you make them in one cell each.
#
# Needed: notebook 01.

# %%
# %load_ext tvmlab
# %config Tvmlab.safe = True

# %%
import numpy as np
import tvm
from tvm import relax, te, tirx
from tvm.ir import Op
from tvm_ffi.dataclasses import py_class

import tvmlab as tl

# %% [markdown]
# ## 1. By hand: what three macros did
# <!-- articles: A23 A24 A25 A26 A28 A29 A30 A31 A33 A34 A57 A72 A81 -->
#
# In Relay an operator was C++, and three macros made it. Here they are with what stands in their place:
#
# | in articles and books | what for | in TVM 0.27 |
# |---|---|---|
# | `RELAY_REGISTER_OP("myop.x")` | the identity card | `tvm.ir._ffi_api.RegisterOp`, which has no public name |
# | `.describe(…)` | documentation | its second argument |
# | `.set_num_inputs(1)`, `.add_argument("data", …)` | number and names of tensors | the same |
# | `.set_attrs_type<T>()` | the class of the attributes | `.set_attrs_type_key("…")` |
# | `.add_type_rel("X", rel)` | the rule book | `.set_attr("FInferType", f)` |
# | `TVM_REGISTER_GLOBAL("topi.myop.x")` | the construction crew | `.set_attr("FLegalize", f)` |
# | `.set_support_level(10)` | "not official" | the same |
#
# So, by hand:

# %%
tvm.ir._ffi_api.RegisterOp("byhand.twice", "Twice the input.")
twice = Op.get("byhand.twice")
twice.set_num_inputs(1)
twice.add_argument("data", "Tensor", "What is doubled.")
twice.set_attr("FInferType", lambda call, bb: call.args[0].ty)
twice.set_attr("FPurity", True)

print(twice.name, "|", twice.description, "|", twice.num_inputs, "|", twice.arguments[0].name)

# %% [markdown]
# `FPurity` had no counterpart in Relay, and it must be there: it says that a call has no side effect, so that the
# compiler may move or drop it.
#
# **Predict:** `num_inputs` is 1. What happens when a call has three?

# %%
x = relax.Var("x", relax.TensorType((2, 3), "float32"))


def graph_of(call):
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    return builder.get()


three = graph_of(relax.Call(twice, [x, x, x]))
relax.analysis.well_formed(three)  # raises an error if it is not
len(three["main"].body.blocks[0].bindings[0].value.args)

# %% [markdown]
# Nothing. TVM builds it, and calls it well formed. `num_inputs` and `add_argument` are documentation; so the old table
# "array index out of bounds: the number of arguments is wrong" sends you looking in the wrong place. If arity is to be
# checked, somebody has to write the check, as a hook called `FValidate`.
#
# And the famous support level, with which an operator says how official it is?

# %%
{Op.get(name).support_level for name in Op.list_op_names() if name.startswith("relax.")}

# %% [markdown]
# One level for all, `relax.add` as well. It means nothing any more.
#
# ### The myth of the global function
#
# Articles say that Relay found an operator's compute by its name, `topi.myop.x`, and that a slip there breaks it. There
# never was such a look-up: Relay held the function in the attribute `FTVMCompute`, and Relax holds it in `FLegalize`.
# **Predict:** no global function is registered for our operator. Can it be lowered?


# %%
def lower_twice(builder, call):
    return builder.call_te(
        lambda data: te.compute(data.shape, lambda *i: data(*i) + data(*i), name="twice"), call.args[0]
    )


twice.set_attr("FLegalize", lower_twice)
lowered = relax.transform.LegalizeOps()(graph_of(relax.Call(twice, [x])))
print(tvm.get_global_func("topi.byhand.twice", allow_missing=True))
tl.run(tl.load(lowered), np.ones((2, 3), "float32"))

# %% [markdown]
# ### One of the three is missing
#
# The old rule says: all three macros are needed, and what is missing shows at different stages. **Predict** the stage
# for each of these hooks.

# %%
HOOKS = {
    "FInferType": lambda call, bb: call.args[0].ty,
    "FPurity": True,
    "FLegalize": lower_twice,
}


def stages_of(call):
    yield "the type is inferred", lambda: relax.BlockBuilder().normalize(call)
    yield "the graph is checked", lambda: relax.analysis.well_formed(graph_of(call))
    yield "operators are lowered", lambda: relax.transform.LegalizeOps()(graph_of(call))
    yield "code is generated", lambda: tvm.compile(graph_of(call), target="llvm")


def first_failure(call):
    for stage, work in stages_of(call):
        try:
            work()
        except Exception as error:
            return f"{stage}: {str(error).strip().splitlines()[0][:90]}"
    return "nothing fails"


for missing in HOOKS:
    tvm.ir._ffi_api.RegisterOp(f"byhand.without_{missing}", "")
    lacking = Op.get(f"byhand.without_{missing}")
    lacking.set_attr("TScriptPrinterName", lacking.name)  # how it is printed in messages
    for hook, value in HOOKS.items():
        if hook != missing:
            lacking.set_attr(hook, value)
    print(f"without {missing:11} {first_failure(relax.Call(lacking, [x]))}")

# %% [markdown]
# Three stages, three messages, and not one names your cell. Without `FLegalize` the operator simply survives
# `LegalizeOps`, and only the code generator stops.
#
# ## 2. A name that nobody else has
# <!-- articles: A21 A22 A46 -->
#
# Names are global to the process. Run a cell of the usual kind twice, as one does in a notebook:

# %% tags=["raises-exception"]
tvm.ir._ffi_api.RegisterOp("byhand.twice", "Twice the input, better.")

# %% [markdown]
# TVM can neither forget nor replace an operator. By hand that means: restart the kernel for each change.
#
# `%%tvm_op` registers a name once, with hooks that ask for the version that is live. Then a cell can be run a thousand
# times. A name has two parts, and the first may not be TVM's:

# %% tags=["raises-exception"]
# %%tvm_op nn.twice


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="twice")


# %% [markdown]
# `lab.…` is for experiments. Inside TVM it becomes `relax.lab.…`, so that a program prints as `R.lab.twice(x)` and can
# be read back.
#
# Articles tell you to register the Python wrapper with a decorator, `tvm.script.register_object`, and to get it as
# `relay.op._make.x` "automatically". **Predict:** do they exist?

# %%
import tvm.script

hasattr(tvm.script, "register_object"), hasattr(relax.op, "_make"), hasattr(relax.op, "_ffi_api")

# %% [markdown]
# The decorator never existed. `_make` did, but nothing made its entries: each took another line of C++. Today
# `relax.op._ffi_api` has the built-in ones, and yours is under `tl.ops`:

# %%
# %%tvm_op lab.twice
"""Twice the input, `x` + `x`."""


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="twice")


# %% [markdown]
# Look at the card above. "Set" is what the cell says, "derived" what tvmlab found out, "missing" what can be added. The
# grey line under each has the old words for it. Now ask it the question that TVM did not mind:

# %% tags=["raises-exception"]
tl.ops.lab.twice(x, x, x)

# %% [markdown]
# ### Exercise 02a ★
#
# Register `lab.hypot(x, y)`, the root of x² + y², element by element. Its docstring is what the card shows: one
# sentence that mentions `x` and `y`, in backticks. `te.sqrt` is the root.

# %%
# %%tvm_exercise 02a
"""Say in one sentence what it gives, with `x` and `y`."""


def compute(x, y):
    return ...


# %% [markdown]
# ## 3. Attributes
# <!-- articles: A32 A35 A36 A37 A38 A71 A80 A89 -->
#
# A tensor is data, and changes from call to call. An **attribute** is part of the program: an axis, a slope, a mode. It
# is known when the program is compiled, and stands in it. In C++ there was a struct with `TVM_DECLARE_ATTRS`; by hand
# it is a class now:


# %%
@py_class("byhand.attrs.Clamp")
class ClampAttrs(tvm.ir.attrs.Attrs):
    lower: float = -1.0
    upper: float = 1.0


ClampAttrs(lower=-2), ClampAttrs(lower=-2).upper

# %% [markdown]
# `lower=-2` was an `int`, and is a `float` now. **Predict:** what happens to `lower="low"`?

# %% tags=["raises-exception"]
ClampAttrs(lower="low")

# %% [markdown]
# Types are checked, and values can be saved with the program and read back:

# %%
text = tvm.ir.save_json(ClampAttrs(lower=-0.5))
tvm.ir.load_json(text).lower, len(text)

# %% [markdown]
# Which types can an attribute have? The old rule was: integers, doubles, booleans, strings and arrays, anything else
# does not compile. Try:

# %%
import decimal

for at, kind in enumerate(
    [float, int, bool, str, tuple[int, ...], list[str], dict[str, int], int | None, set, complex, decimal.Decimal]
):
    try:
        made = type("Attrs", (tvm.ir.attrs.Attrs,), {"__annotations__": {"value": kind}})
        py_class(f"byhand.attrs.Try{at}")(made)
        outcome = "yes"
    except (TypeError, ValueError) as error:
        outcome = str(error).splitlines()[0][:70]
    print(f"{kind!s:30} {outcome}")

# %% [markdown]
# The key, `byhand.attrs.Clamp`, has to be unique, just like the operator's name, and with the same trouble:


# %% tags=["raises-exception"]
@py_class("byhand.attrs.Clamp")
class ClampAttrs(tvm.ir.attrs.Attrs):
    lower: float = -2.0


# %% [markdown]
# And it has to exist before an operator can name it:

# %% tags=["raises-exception"]
twice.set_attrs_type_key("byhand.attrs.Nobody")

# %% [markdown]
# In an operator's cell it is `class Attrs`, and the key is made for you:

# %%
# %%tvm_op lab.clamp_to
"""Clamp to [`lower`, `upper`]."""


class Attrs:
    lower: float = -1.0
    upper: float = 1.0


def compute(x, lower, upper):
    lo, hi = const_like(lower, x), const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clamp_to")


def reference(x, lower, upper):
    return np.clip(x, lower, upper)


# %% [markdown]
# Open what stands in red under the card: a quick check found attributes for which the operator and its reference
# disagree. Section 4 deals with them.
#
# `compute` takes tensors first, then attributes, **by name**: their order cannot be wrong. A default that is missing
# has to be given in every call; give sensible ones. And a slip is told:

# %% tags=["raises-exception"]
tl.ops.lab.clamp_to(np.ones(3, "float32"), uper=2.0)

# %% [markdown]
# What a call is inside TVM: the operator, its tensors, and one object with the attributes. (An article shows
# `_make.leaky_clamp(data, lower, upper, slope)`, "packed by the FFI". It is packed here, in the open.)

# %%
call = tl.ops.lab.clamp_to(x, lower=-0.5)
print(call)
print(call.op.name, [str(a) for a in call.args], call.attrs, sep=" | ")

# %% [markdown]
# ### Exercise 02b ★
#
# The compute of `lab.quantize` is written: it rounds x to the nearest of `levels` levels that are `step` apart; with
# `signed` about half of them are below zero. Declare its attributes: step, 0.25 unless given; levels, a whole number,
# 16 unless given; signed, true unless given. Choose types that refuse `levels=16.5` and `step="a"`.


# %%
# %%tvm_exercise 02b
class Attrs:
    # one attribute a line
    ...


def compute(x, step, levels, signed):
    lowest = -(levels // 2) if signed else 0
    low, high, width = (const_like(v, x) for v in (lowest, lowest + levels - 1, step))

    def element(*i):
        return tirx.max(low, tirx.min(high, tirx.nearbyint(x(*i) / width))) * width

    return te.compute(x.shape, element, name="quantize")


# %% [markdown]
# ## 4. Values that mean nothing
# <!-- articles: A44 A45 A47 -->
#
# A type is not a meaning. **Predict:** TVM's own clip with its limits the wrong way round: an error, or numbers?


# %%
# %%tvm_graph wrong_way
def wrong_way(x: "float32[5]"):
    return relax.op.clip(x, 1.0, -1.0)


# %%
tl.run(wrong_way, np.array([-2, -0.5, 0, 0.5, 2], "float32"))

# %% [markdown]
# Numbers, and all the same. Nobody complains, until a model has learnt nothing for three days. The place for that check
# is `validate` of the attributes. It is called for every call, before anything is built.
#
# ### Exercise 02c ★★
#
# A clamp whose lower limit is above its upper one means nothing. Write `validate`, so that no call with such limits can
# be made. Equal limits are legal, and so are negative ones.


# %%
# %%tvm_exercise 02c
class Attrs:
    lower: float = -1.0
    upper: float = 1.0

    def validate(self):
        """Raise ValueError, with a message that names both values."""
        ...


def compute(x, lower, upper):
    lo, hi = (const_like(v, x) for v in (lower, upper))
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clamp")


# %% [markdown]
# ## 5. Lists, and counting from the end
# <!-- articles: A37 A47 -->
#
# NumPy lets you say axis -1. Which axis that is depends on the rank of the tensor, and `validate` does not know it: it
# sees attributes alone. So one part of the check is done in `validate`, and the other where the types are known. What
# is in the library does that too:

# %%
relax.op.nn.softmax(x, axis=-1), relax.op.flip(x, axis=-2)

# %% [markdown]
# **Predict:** `x` has two axes. What does the library say to axis 5?


# %%
def ask(make):
    try:
        return make()
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:110]


call = ask(lambda: relax.op.nn.softmax(x, axis=5))
print("the call is built: ", call)
print("its type is asked: ", ask(lambda: relax.BlockBuilder().normalize(call)))

# %% [markdown]
# The call can be built; only when its type is inferred does the rule complain.
#
# ### Exercise 02d ★★
#
# `lab.flip` turns x round along each of its axes. Make `chosen`, the axes as numbers from 0. Refuse an axis that is not
# there, and one that is named twice, also if it is named once from each end.


# %%
# %%tvm_exercise 02d
class Attrs:
    axes: tuple[int, ...] = (-1,)


def compute(x, axes):
    rank = len(x.shape)
    chosen = ...

    def element(*i):
        return x(*(x.shape[a] - 1 - v if a in chosen else v for a, v in enumerate(i)))

    return te.compute(x.shape, element, name="flip")


# %% [markdown]
# ## 6. Run it again
# <!-- articles: A21 A38 A103 -->
#
# You will change a default. What becomes of the models that were built before?


# %%
# %%tvm_graph before
def before(x: "float32[2, 3]"):
    return tl.ops.lab.clamp_to(x)


# %%
# %%tvm_op lab.clamp_to
"""Clamp to [`lower`, `upper`], and now to other limits."""


class Attrs:
    lower: float = -0.25
    upper: float = 0.25


def compute(x, lower, upper):
    lo, hi = const_like(lower, x), const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clamp_to")


# %% [markdown]
# **Predict:** 0.9 goes into the old model and into the new operator. What comes out?

# %%
data = np.full((2, 3), 0.9, "float32")
float(tl.run(before, data)[0, 0]), float(tl.ops.lab.clamp_to(data)[0, 0])

# %%
print(before.module.script())

# %% [markdown]
# The program holds the values of the attributes, and the *class* of its attributes says which version built it:

# %%
old = before.module["main"].body.blocks[0].bindings[0].value.attrs
new = tl.ops.lab.clamp_to(x).attrs
print(str(old).split("(")[0], str(new).split("(")[0], sep="\n")

# %% [markdown]
# One thing TVM does not let go of is the description. It is that of the first version for ever, while the card has
# today's:

# %%
Op.get("relax.lab.clamp_to").description, tl.ops.lab.clamp_to.spec.doc

# %% [markdown]
# ### Exercise 02e ★
#
# `define(factor)` makes `lab.scale` live with that default, `function` calls it without giving a factor, and
# `tl.graph(function)` builds a model. Return two models of the same function: the first multiplies by 2, the second by
# 3. Both have to be right after both were built.

# %%
# %%tvm_exercise 02e
import tvmlab as tl


def two_models():
    def define(default):
        @tl.op("lab.scale")
        class Scale:
            class Attrs:
                factor: float = default

            def compute(x, factor):
                return te.compute(x.shape, lambda *i: x(*i) * const_like(factor, x), name="scale")

    def function(x: "float32[2, 3]"):
        return tl.ops.lab.scale(x)

    define(2.0)
    first = ...
    second = ...
    return first, second


# %% [markdown]
# ## 7. Any number of tensors
# <!-- articles: A29 A72 -->
#
# `num_inputs` of the library's operators is a number, except where it is -1:

# %%
[name for name in Op.list_op_names() if name.startswith("relax.") and Op.get(name).num_inputs == -1][:12]

# %% [markdown]
# `relax.concat` and others take one *tuple* of tensors instead. In a cell it is Python's own `*xs`, and each call is
# compiled for the number that it has.
#
# ### Exercise 02f ★★★
#
# Register `lab.weighted(*xs, weights)`: the sum of any number of tensors, each times its weight. Two tensors with
# weights of 1 are the default. Refuse another number of weights than tensors, and tensors of different shapes. A
# float16 stays a float16.


# %%
# %%tvm_exercise 02f
class Attrs:
    weights: tuple[float, ...] = (1.0, 1.0)


def compute(*xs, weights):
    # xs is a tuple of te tensors
    ...


# %% [markdown]
# ## 8. Have it checked
# <!-- articles: A34 A36 -->
#
# Three of the twenty checks are about the card: C01 (registered, documented, pure), C02 (arity) and C03 (attributes:
# types, defaults, saved and read back).

# %%
tl.check("lab.clamp_to", only=["C01", "C02", "C03"])

# %% [markdown]
# An operator of TVM has more hooks than the card needs. Which of them does ours carry?

# %%
hooks = [
    "FInferType",
    "FLegalize",
    "FPurity",
    "FValidate",
    "FPrimalGradient",
    "FRelaxInferLayout",
    "TMixedPrecisionPolicy",
    "FNormalize",
    "FCallPacked",
]
ours = Op.get("relax.lab.clamp_to")
{hook: ours.get_attr(hook) is not None for hook in hooks}

# %% [markdown]
# `FInferType` is notebook 03, `FLegalize` 04 and 05, `FPrimalGradient` 11.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A23 A29 A38 A57 -->
#
# **1.** You register an operator by hand with `num_inputs` 2 and call it with one tensor. Which part of TVM notices?
#
# <details><summary>Answer</summary>
#
# None. `num_inputs` is documentation. At best your own type rule reads `call.args[1]` and fails with an IndexError. An
# `FValidate` hook can check it.
#
# </details>
#
# **2.** Is `axis` a tensor or an attribute? And the weights of a convolution?
#
# <details><summary>Answer</summary>
#
# An axis is an attribute: it decides which loops there are, so it has to be known when the program is compiled. Weights
# are a tensor: only their type has to be known.
#
# </details>
#
# **3.** Why can `validate` refuse `lower > upper`, and not axis 5?
#
# <details><summary>Answer</summary>
#
# It sees the attributes of a call and nothing else. Whether there is an axis 5 depends on the rank of a tensor, which
# the type rule and the compute know.
#
# </details>
#
# **4.** You change a default and run the cell again. What do models that were built before do?
#
# <details><summary>Answer</summary>
#
# The same as before. The values stand in the program, and the class of the attributes leads to the version that the
# model was built with.
#
# </details>
#
# **5.** Does the name of a global function `topi.lab.x` decide how `lab.x` is lowered?
#
# <details><summary>Answer</summary>
#
# No. TVM calls the function that the hook `FLegalize` holds, and asks for no name. (In tvmlab that function goes
# through `topi.lab.x`, so that what is registered is what runs; but that is tvmlab's choice.)
#
# </details>
