# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 Wiring: from a call to machine code, and how to test it
#
# You have a compute. How does the compiler come to it from a call in a graph? Which passes lie between that call and
# machine code, and in which order? And when it runs, how do you know that it is right? The second half of this notebook
# tests a famous test, and finds it poor.
#
# The pattern is as before: **predict**, run, look, read why.

# %%
# %load_ext tvmlab
# %config Tvmlab.safe = True

# %%
import numpy as np
import tvm
from tvm import relax, te, tirx, topi
from tvm.ir import Op

import tvmlab as tl
from tvmlab.prelude import const_like

# %% [markdown]
# This operator is with us all the way. `calls` remembers when its compute is run.

# %%
calls = []


# %%
# %%tvm_op lab.leaky_clamp -q
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
    calls.append(str(x.shape))
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)

    return te.compute(x.shape, clamp, name="leaky_clamp")


def reference(x, lower, upper, slope):
    return np.clip(x, lower, upper) + slope * np.minimum(x - lower, 0)


# %% [markdown]
# ## 1. The operator holds a function
# <!-- articles: A59 A60 A61 A62 A63 -->
#
# Under the key `FLegalize`. A pass, `LegalizeOps`, walks over the graph, and asks that function of each operator what
# to put in place of the call.

# %%
for name in ("relax.nn.relu", "relax.lab.leaky_clamp"):
    print(name, Op.get(name).get_attr("FLegalize"))


# %%
# %%tvm_graph one
def one(x: "float32[2, 3]"):
    return tl.ops.lab.leaky_clamp(x, lower=-0.5)


# %% [markdown]
# **Predict:** what stands in `main` after `LegalizeOps`, and what else is in the module?

# %%
print(one.module["main"].script(show_meta=False))
legalized = relax.transform.LegalizeOps()(one.module)
print(legalized.script(show_meta=False).split("\n\n", 1)[1])

# %% [markdown]
# A meaning became a call of certain loops. That is all of "registering a construction crew". In old texts it took a
# macro in C++ that unpacks `args[0]` to `args[3]`, or `tvm.register_func("topi.myop.…")`. The article adds that the C++
# way is slightly faster. **Predict:** how often does the compute run when the kernel is called a thousand times?

# %%
calls.clear()
x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
for _ in range(1000):
    tl.ops.lab.leaky_clamp(x)
calls

# %% [markdown]
# For this shape once, when the kernel was made. A compute is a program that writes a program; in which language you
# wrote it, the machine code cannot know. Nothing had to be rebuilt either: there is no `make`, no `ninja`.
#
# One function can be exchanged for one run of the pass: `LegalizeOps({"relax.lab.leaky_clamp": f})`. That is how you
# try a lowering out. It gets a block builder and the call, and returns an expression. Relay's `FTVMCompute` got te
# tensors and returned te tensors. Here `call.args` are Relax variables, which no `te.compute` takes; `bb.call_te` makes
# te tensors of them.
#
# ### Exercise 05a ★
#
# LegalizeOps meets a call of leaky_clamp, and asks your function what to put in its place. `call.args` are its tensors,
# `call.attrs` its attributes by name. Let `bb.call_te` make a kernel of `compute`, called leaky_clamp (for the name it
# has the argument `primfunc_name_hint`).


# %%
# %%tvm_exercise 05a
def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)

    return te.compute(x.shape, clamp, name="clamp")


def legalize(bb, call):
    """The expression that replaces the call."""
    ...


# %% [markdown]
# Two things can go wrong here without a word from TVM.
#
# **Order.** `call_te` hands its arguments on by place. **Predict:** what does a swap of two of them look like?


# %%
def clip(x, lower, upper):
    lo, hi = const_like(lower, x), const_like(upper, x)
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clip")


def swapped(bb, call):
    return bb.call_te(clip, call.args[0], call.attrs.upper, call.attrs.lower, primfunc_name_hint="clip")


def run(module, *arrays):
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, arrays)).numpy()


wrong = relax.transform.LegalizeOps({"relax.lab.leaky_clamp": swapped})(one.module)
relax.analysis.check_well_formed(wrong), run(wrong, np.array([[-3, -1, 0], [0.5, 1, 3]], "float32"))

# %% [markdown]
# Well formed, compiled, and upper everywhere.
#
# **A missing return.** Plain TVM takes what your function returns as it is. So this runs in a process of its own:

# %%
import subprocess
import sys

child = """
import tvm
from tvm import relax
x = relax.Var("x", relax.TensorType((2,), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(builder.emit(relax.op.nn.relu(x)))
    builder.emit_func_output(y)
print("before", flush=True)
relax.transform.LegalizeOps({"relax.nn.relu": lambda bb, call: None})(builder.get())
print("after")
"""
done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
print(done.stdout, "exit code", done.returncode)

# %% [markdown]
# A negative exit code is a signal: 11 is a read of memory that is not there. A notebook would lose its kernel. In the
# exercise, and wherever tvmlab calls your functions, a guard looks at what comes back first.
#
# ## 2. Lower to what is there
# <!-- articles: A62 -->
#
# The expression that replaces a call need not be a kernel. It may be made of other operators, which are then lowered in
# their turn.
#
# ### Exercise 05b ★★
#
# logsumexp(x, axis) is the logarithm of the sum of exp(x) along an axis, which is dropped. Lower it to TVM's own
# operators, `relax.op`, and write no kernel: each of them works along any axis. exp(300) is no float32, so take the
# largest element out first, and add it at the end.


# %%
# %%tvm_exercise 05b
def legalize(bb, call):
    """The expression that replaces the call; call.attrs.axis is the axis."""
    x, axis = call.args[0], call.attrs.axis
    ...


# %% [markdown]
# When is which better? Here is leaky_clamp, lowered to operators. **Predict:** how many kernels does each way have,
# before fusion and after?


# %%
def composed(bb, call):
    x, attrs = call.args[0], call.attrs
    low, leak, zero = (relax.const(v, str(x.ty.dtype)) for v in (attrs.lower, attrs.slope, 0.0))
    below = relax.op.minimum(relax.op.subtract(x, low), zero)
    return relax.op.add(relax.op.clip(x, attrs.lower, attrs.upper), relax.op.multiply(leak, below))


def kernels(module):
    return sum(isinstance(function, tirx.PrimFunc) for function in module.functions.values())


passes = relax.transform
for name, chosen in (("te.compute", None), ("operators", {"relax.lab.leaky_clamp": composed})):
    lowered = passes.LegalizeOps(chosen)(one.module)
    fused = passes.FuseTIR()(passes.FuseOps()(passes.AnnotateTIROpPattern()(lowered)))
    print(f"{name:11} {kernels(lowered)} kernels, fused {kernels(fused)}")

# %% [markdown]
# After fusion there is no difference. So:
#
# - **Operators**, if each step is one that TVM has, and does better than you: reductions along any axis, matrix
#   products, convolutions. The type of every step is checked, and other targets come with it.
# - **`te.compute`**, if the formula is one piece that you want to stay one piece, also where nothing is fused; or if no
#   operator says it.
#
# In an operator cell the first is written as `lower_for_llvm(x, …)`, which returns a Relax expression. Section 6 has
# more of that.
#
# ## 3. The way to machine code
# <!-- articles: A62 A63 A67 -->
#
# | in articles and books | in TVM 0.27 | here |
# |---|---|---|
# | `relay.transform.InferType` | types are there when a call is built | |
# | lowering, `FTVMCompute`, `FTVMStrategy` | `LegalizeOps`, `FLegalize` | stage `legalize` |
# | `relay.transform.FuseOps` | `AnnotateTIROpPattern`, `FuseOps`, `FuseTIR` | stages `annotate`, `fuse` |
# | `te.create_schedule`, `schedule_injective` | `tvm.s_tir.Schedule` on the kernel | stage `schedule` |
# | `relay.build(mod, target)` | `tvm.compile(mod, target)`; `tvm.build` is for kernels alone | stage `build` |
# | `graph_executor`, `set_input`, `run`, `get_output` | `relax.VirtualMachine(ex, tvm.cpu())["main"](x)` | `tl.run` |
# | `tvm.nd.array` | `tvm.runtime.tensor` | NumPy |
# | `relay.transform.PrintIR` | `tvm.transform.PrintIR`, which never was Relay's | `tl.trace(model)` |


# %%
# %%tvm_graph block
def block(x: "float32[4, 8]", w: "float32[8, 8]"):
    return relax.op.exp(tl.ops.lab.leaky_clamp(relax.op.matmul(x, w), lower=-0.5))


# %%
trace = tl.trace(block)
trace

# %% [markdown]
# Fold a stage open: it lists the passes that ran in it. What has changed between two of them?

# %%
# %tvm_diff block annotate fuse

# %% [markdown]
# After that comes the virtual machine. Its passes turn calls of kernels into memory and plain calls: `CallTIRRewrite`
# allocates each output, `StaticPlanBlockMemory` lets outputs share memory, and so on. The machine then runs
# instructions that call kernels. One can look over its shoulder. **Predict:** which kernels are called, unfused?

# %%
machine = relax.VirtualMachine(tvm.compile(block.module, target="llvm"), tvm.cpu())
seen = []


def look(function, name, before, _result, *args):
    if not before and not name.startswith("vm.builtin"):
        seen.append((name, args[-1].numpy()[0, :3]))


machine.set_instrument(look)
rng = np.random.default_rng(0)
inputs = [tvm.runtime.tensor(rng.normal(size=size).astype("float32")) for size in ((4, 8), (8, 8))]
machine["main"](*inputs)
for name, values in seen:
    print(f"{name:16} … {values}")

# %% [markdown]
# That is also how to look for a wrong value in a network: the instrument sees every value in between.
#
# Why three kernels? `tvm.compile` runs the pipeline `default`, which does not fuse. `relay.build` did, and
# `PassContext(opt_level=3)` is still there; around `tvm.compile` it fuses nothing. The order of passes is yours to
# choose, and the choice is checked by nobody.
#
# ### Exercise 05c ★
#
# A network: weights that are scaled by a constant, a matrix product with them, leaky_clamp, and a function of each
# element. Put these six passes into an order so that it compiles, and so that one kernel is left. What comes after them
# is fixed, and lowers no operator. More than one order is right: yours is judged by running it.


# %%
# %%tvm_exercise 05c
def order():
    """The names of the six passes, the first one first."""
    # In alphabetical order, which does not work, they are
    #   AnnotateTIROpPattern
    #   CallTIRRewrite
    #   FoldConstant
    #   FuseOps
    #   FuseTIR
    #   LegalizeOps
    return ...


# %% [markdown]
# Of the 720 orders many do not compile, a few fail in the middle, and many run and give the right values with more
# kernels than one. Those are the worst: no error, and no fusion. (`tl.fuse` and `%tvm_why MODEL A B` say why two nodes
# share no kernel; notebook 07 is about that.)
#
# ## 4. Three levels of tests
# <!-- articles: A64 A65 A66 A67 A68 A87 -->
#
# The article has a good idea here: test in three levels, and start with the cheapest.
#
# **Level 1: does it have a type?** A call that is built has one, or there was an error. `check_well_formed` looks at
# the whole module.

# %%
call = one.module["main"].body.blocks[0].bindings[0].value
print(call.ty, relax.analysis.check_well_formed(one.module))

# %% [markdown]
# **Predict:** the type rule of the next operator says (3, 2) for an input of (2, 3), and its compute keeps the shape.
# Which of type, `well_formed`, `LegalizeOps` and compiler notices? This is plain TVM; tvmlab refuses such a cell.

# %%
from tvmlab import tvm_api
from tvmlab.runtime import quiet

name = "relax.plain.liar"
bare = Op.get(name) if name in Op.list_op_names() else tvm_api.register_op(name, "its type rule is wrong")
tvm_api.set_op_hook(bare, "FInferType", lambda _call, _bb: relax.TensorType((3, 2), "float32"))
tvm_api.set_op_hook(bare, "FLegalize", lambda bb, call: bb.call_te(topi.exp, call.args[0]))
tvm_api.set_op_hook(bare, "FPurity", value=True)
v = relax.Var("x", relax.TensorType((2, 3), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [v]):
    with builder.dataflow():
        built = builder.emit(relax.Call(bare, [v]))
        out = builder.emit_output(built)
    builder.emit_func_output(out)
module = builder.get()
with quiet():
    formed = relax.analysis.check_well_formed(module)
print("declared", built.ty, "| well formed", formed, "| result", run(module, np.zeros((2, 3), "float32")).shape)

# %% [markdown]
# None. It runs, and the result has another shape than its type. That is check C05 of tvmlab, and the core of level 1:

# %%
# %tvm_check lab.leaky_clamp --only C01,C02,C03,C04,C05,C06

# %% [markdown]
# **Level 2: are the values right?** The article's test, in today's words: random numbers, default attributes, and a
# line of NumPy in which -1, 1 and 0.01 are written out.


# %%
def article_in_numpy(x):
    return np.maximum(np.minimum(x, 1.0), -1.0) + 0.01 * np.minimum(x + 1.0, 0)


# %%
# %%tvm_graph at_defaults
def at_defaults(x: "float32[2, 3]"):
    return tl.ops.lab.leaky_clamp(x)


# %%
x = np.random.default_rng().standard_normal((2, 3)).astype("float32")
np.testing.assert_allclose(run(at_defaults.module, x), article_in_numpy(x), rtol=1e-5)
print("passed")

# %% [markdown]
# Passed. What is that worth? A test is good if it fails when something is wrong. So make things wrong on purpose:
# **mutants**, copies of leaky_clamp with one slip each.

# %%
mutants = tl.course.mutants.MUTANTS
for name, (slip, formula) in mutants.items():
    print(f"{name:9} {slip:37} {formula}")

# %% [markdown]
# **Predict:** in what share of its runs does the article's test notice each of them? It is run four thousand times.
# (The mutants work element by element, so that all runs can be evaluated as one array.)

# %%
runs = np.random.default_rng(0).standard_normal((4000, 6)).astype("float32")
given = tl.course.mutants.outputs(runs)
for name in mutants:
    noticed = ~np.isclose(given[name], article_in_numpy(runs), rtol=1e-5, atol=0)
    print(f"{name:9} {mutants[name][0]:37} noticed in {noticed.any(axis=1).mean():5.1%} of the runs")
print(f"\nruns without any element below -1: {(runs >= -1).all(axis=1).mean():.1%}")

# %% [markdown]
# Four of the seven real slips are never noticed, and none of them reliably. The reasons:
#
# - At the defaults lower is -upper, -1 and 0.01 are what the reference has written out, and v - lower is v + 1.
# - There is no NaN among normal numbers.
# - Six numbers often miss a whole branch: look at the last line.
#
# And one of the eight is no slip at all. Which, you will have to say.
#
# ### Exercise 05d ★★
#
# Write calls, each an array of float32 and attributes, at which the mutants give something else than leaky_clamp does.
# One of the eight cannot be told from it by any legal call: name that one. This is the score of the article's inputs;
# yours has to be better.

# %%
tl.course.mutation_score([(runs[0].reshape(2, 3), {}), (runs[1].reshape(2, 3), {})])


# %%
# %%tvm_exercise 05d
def tests():
    """A list of (x, attributes), and the name of the mutant that no call can kill."""
    calls = [
        (np.array([-0.5, 0, 0.5], "float32"), {}),
    ]
    nobody_kills = ...
    return calls, nobody_kills


# %% [markdown]
# Does tvmlab do better? Check C10 chooses its inputs: numbers at and beside every comparison in the kernel, NaN,
# infinities, both zeros, and attributes that are not symmetric. A mutant that swallows a NaN is refused even before.

# %%
from tvmlab import ops
from tvmlab.errors import TvmlabError

for name in mutants:
    try:
        mutant = ops.define("lab.mutant", ops.read_cell(tl.course.mutants.cell(name, reference=True)))
    except TvmlabError as error:
        print(f"{name:9} refused: {error.what.partition(': ')[2]}")
        continue
    result = tl.check("lab.mutant", only=["C10"])["C10"]
    print(f"{name:9} {result.status}: {result.why[:96]}")

# %% [markdown]
# All real slips are found, and the one that is none passes, as it should. A counterexample is shrunk to one element:
# start small, as the article says, and let a machine do it.
#
# **Level 3: is it right in a network?** There it meets layouts, fusion and schedules. The oracle is the same network,
# unfused and unscheduled, with the reference in place of your kernel. (For a model from an ONNX file it is onnxruntime,
# as in the tour, where a whole ResNet-50 was verified.)


# %%
# %%tvm_graph network -q
def network(x: "float32[1, 3, 16, 16]", k: "float32[8, 3, 3, 3]", w: "float32[512, 10]"):
    seen = tl.ops.lab.leaky_clamp(relax.op.nn.conv2d(x, k, padding=1), lower=0.0, upper=6.0, slope=0.1)
    pooled = relax.op.nn.max_pool2d(seen, pool_size=(2, 2), strides=(2, 2))
    return relax.op.matmul(relax.op.reshape(pooled, (1, 512)), w)


# %%
# %tvm_verify network

# %% [markdown]
# ## 5. At which stage did it fail?
# <!-- articles: A68 A83 A87 -->
#
# An error comes from one of five stages, and the stage says which part of your operator to look at. (Notebook 06 is a
# zoo of them.)
#
# | stage | what TVM looks at | part of the operator |
# |---|---|---|
# | the call is built | attributes, type rule | `Attrs`, `type_rule` |
# | `well_formed` | purity, number of inputs | set for you |
# | `LegalizeOps` | nothing: what it cannot lower, it leaves | `compute`, or an unknown shape |
# | compiler | operators that are left; dtypes | `compute` |
# | the kernel runs | shapes of what it is given | the caller |
#
# The third is silent. **Predict:** the rank of x is known and its shape is not. What does `LegalizeOps` do, and who
# complains?

# %%
unknown = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
builder = relax.BlockBuilder()
with builder.function("main", [unknown]):
    with builder.dataflow():
        out = builder.emit_output(builder.emit(tl.ops.lab.leaky_clamp(unknown)))
    builder.emit_func_output(out)
left = relax.transform.LegalizeOps()(builder.get())
print(left["main"].script(show_meta=False).split("\n\n")[-1])

# %% tags=["raises-exception"]
tvm.compile(left, target="llvm")

# %%
# %tvm_why

# %% [markdown]
# TVM's sentence does not say that a shape is missing; `%tvm_why` lists it among the causes. If a *value* is wrong, no
# stage complains: then it is level 2, and the smallest shape that shows it.
#
# ## 6. Another target, another lowering
# <!-- articles: A62 A65 -->
#
# A pass knows the target that it works for: `with tvm.target.Target("c"):`. So an operator may be lowered in another
# way for each. In a cell, `lower_for_<target>` stands beside `compute`. **Predict:** which of the two is used for
# `llvm`, and which for `c`?


# %%
# %%tvm_op lab.scaled -q
"""Twice x; on the target c by an addition."""


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="scaled")


def lower_for_c(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="scaled")


# %%
# %%tvm_graph twice
def twice(x: "float32[4]"):
    return tl.ops.lab.scaled(x)


# %%
for kind in ("llvm", "c"):
    with tvm.target.Target(kind):
        lowered = relax.transform.LegalizeOps()(twice.module)
    (kernel,) = (function for function in lowered.functions.values() if isinstance(function, tirx.PrimFunc))
    print(f"{kind:5}", kernel.script(show_meta=False).splitlines()[-1].strip())

# %% [markdown]
# ### Exercise 05e ★★
#
# gate(x) is x times the logistic function of x. A small chip gets C code, and has no mathematical library. Add a
# lowering for the target c that calls none: there a straight line replaces the logistic function, x / 6 + 1/2, cut off
# at 0 and at 1. On other targets nothing changes.
#
# If your function mentions te or topi, x is a te tensor, else a Relax expression. `const_like(6, x)` works on both.


# %%
# %%tvm_exercise 05e
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name="gate")


def lower_for_c(x):
    """A te.compute, or a Relax expression."""
    ...


# %% [markdown]
# A lowering that is another formula gives other values. That may be the point, as here; then say so in its docstring,
# and test both.
#
# ## 7. A certificate
# <!-- articles: A64 A65 A66 A67 A87 -->
#
# The three levels again, as twenty checks: C01 to C06 are about what it is and its types, C07 to C12 about its kernel
# and values, C13 to C18 about life in a model, C19 and C20 about speed. The first six were in section 4. Here are the
# next twelve, of leaky_clamp as it is above. (`%tvm_check lab.leaky_clamp` makes all of them, and a table of dtypes and
# targets; that takes longer.)

# %%
# %tvm_check lab.leaky_clamp --only C07,C08,C09,C10,C11,C12,C13,C14,C15,C16,C17,C18

# %% [markdown]
# Nothing failed. But C16 was skipped, since there is no gradient, and what is skipped is not known.
#
# ### Exercise 05f ★★★
#
# soft_shrink(x, threshold) moves x towards zero by threshold, and makes zero of what is nearer than that: x - threshold
# above it, x + threshold below -threshold. A NaN stays a NaN, and a negative threshold is illegal. Write all of the
# operator: what it is, its attributes, type rule, compute, reference and `gradient(dy, x, threshold)`, where dy is the
# gradient of the result. C01 to C18 have to be ok, with no warning and nothing skipped. C19 and C20 are about speed,
# and not judged: on a machine that others use too, a time is no proof. (`%tvm_check lab.soft_shrink --only C20` asks
# for it.)


# %%
# %%tvm_exercise 05f
class Attrs:
    threshold: float = 0.5


def compute(x, threshold):
    t, zero = const_like(threshold, x), const_like(0, x)
    ...


# %% [markdown]
# ## 8. What to keep in mind
# <!-- articles: A62 A64 A65 A66 A68 A87 -->
#
# 1. An operator holds its lowering. Nothing is looked up by name, and nothing of it is left at run time.
# 2. A lowering returns a kernel (`bb.call_te`) or other operators. After fusion they are often the same.
# 3. Passes have an order, and a wrong one is mostly silent. Count the kernels.
# 4. Type, values, network: in this order, small first.
# 5. Inputs decide what a test is worth. Make slips on purpose, and count how many it notices.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A61 A62 A65 A67 A68 -->
#
# **1.** What does `FLegalize` get, and what does it return?
#
# <details><summary>Answer</summary>
#
# A block builder and the call. It returns the expression that replaces the call: a `call_tir`, such as `bb.call_te`
# makes, or calls of other operators.
#
# </details>
#
# **2.** FuseOps ran, nothing failed, and no kernels were fused. Name two orders of passes that do this.
#
# <details><summary>Answer</summary>
#
# FuseOps before LegalizeOps (there are no kernels yet), FuseOps before AnnotateTIROpPattern (their kinds are not
# known), and CallTIRRewrite before FuseOps (there are no `call_tir` any more).
#
# </details>
#
# **3.** Why does `randn(2, 3)` with default attributes never notice that the slope is always 0.01?
#
# <details><summary>Answer</summary>
#
# The default slope is 0.01. Only a call with another slope, and an element below lower, can tell.
#
# </details>
#
# **4.** A type rule says (3, 2), the compute makes (2, 3). What does TVM say?
#
# <details><summary>Answer</summary>
#
# Nothing. LegalizeOps takes the type that the compute has. Only a check that compares the two finds it, such as C05.
#
# </details>
#
# **5.** What is an equivalent mutant, and why does it not count against a test?
#
# <details><summary>Answer</summary>
#
# A changed program that gives the same for every legal input. No test can notice it. Clamping in the other order is
# one, as long as lower is not above upper.
#
# </details>
