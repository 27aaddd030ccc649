# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 Pattern kinds: what fuses, and why
#
# A compiler puts operators together into kernels. Which ones, and who decides? In TVM the answer is one small number
# on each kernel, its *pattern kind*. Nobody writes it: it is read off the loops. After this notebook you can say of a
# kernel which kind it has, of a graph which groups come of it, and of two operators that did not fuse why not.
#
# You need to read TIR a little (notebook 04). As always: **predict** first, on paper, then run.

# %%
# %load_ext tvmlab

# %%
import numpy as np
import tvm
from tvm import relax, te
from tvm.relax.dpl import is_op, wildcard

import tvmlab as tl
from tvmlab import fusion
from tvmlab.fusion import Graph, Kind

# %% [markdown]
# ## 1. What fusion is for
# <!-- articles: A90 B01 B02 B03 -->
#
# Eight operators in a row, each of which reads a million numbers and writes a million numbers.
#
# **Predict:** unfused, how many bytes go to memory and back? How many if the eight are one kernel?


# %%
# %%tvm_graph chain
def chain(x: "float32[1024, 1024]"):
    for _ in range(4):
        x = relax.op.multiply(relax.op.nn.relu(x), relax.const(0.5, "float32"))
    return x


# %%
# %tvm_fuse chain -v whole

# %% [markdown]
# Each of the eight reads 4 MiB and writes 4 MiB: 64 MiB. One kernel reads 4 MiB once and writes 4 MiB once. What is in
# between is never written, if the kernel is a good one:

# %%
unfused_bytes = 8 * 2 * np.ones((1024, 1024), "float32").nbytes
print(f"saved: {whole.bytes_saved / 2**20:.0f} MiB of values, each written once and read once")
print(f"bytes unfused over bytes fused: {unfused_bytes / (unfused_bytes - 2 * whole.bytes_saved):.1f}")

# %% [markdown]
# **Predict:** so fused it should be about that many times as fast?

# %%
# %tvm_time chain --sides unfused fused fuse+inline scheduled --repeats 9 --threads 1

# %% [markdown]
# Look at the second row. The articles say that a fused kernel does not write what is between, and TVM's own guide says
# so too. It is not true of fusion alone. FuseTIR puts eight loop nests one after the other *into one function*, with
# an array after each of them. So the second row may be somewhat faster than the first, but the factor that you
# predicted is not there. Here is what fusing did, and here what inlining did after it:

# %%
trace = tl.trace(chain)
fused = next(f for v, f in trace["fuse"].module.functions.items() if v.name_hint.startswith("fused"))
inlined = next(f for v, f in trace["inline"].module.functions.items() if v.name_hint.startswith("fused"))
print("arrays inside of the fused kernel:", fused.script().count("alloc_buffer"))
print("arrays after inlining:            ", inlined.script().count("alloc_buffer"))

# %% [markdown]
# Three values are ascribed to fusion: no write-back of what is between, no gaps between kernels, and forms that an
# accelerator knows. The first needs inlining, a step of its own. The second is there at once, but small on a CPU. The
# third is section 7.
#
# The rest of this notebook is about the decision itself: **which** operators become one kernel.

# %% [markdown]
# ## 2. Seven kinds
# <!-- articles: B15 B16 B17 B18 B19 -->
#
# How does an element of the output come from the inputs? TVM has seven answers, in this order:

# %%
for kind in Kind:
    print(f"{kind.value}  {kind.name:7} {kind.title}")

# %% [markdown]
# | kind | an element comes from | examples |
# |---|---|---|
# | ELEM | the element at the same place | `relu`, `exp`, `a + b` of equal shapes |
# | BCAST | an element at the output's place with axes left out | `[6, 1] + [1, 8]`, `broadcast_to` |
# | INJ | one element at another place | `permute_dims`, `reshape`, `concat` |
# | REDUCE | a whole range of elements | `sum`, `max` |
# | OEF | much, but the *output* may still be changed element by element | `conv2d`, `matmul`, `softmax`, `mean` |
# | TUPLE | several values as one | Relay's tuples; in Relax no kernel has it |
# | OPAQUE | nobody knows | `take`: the place is itself read from an input |
#
# The numbers matter, since TVM *compares* them: the kind of two things together is the larger one, and "at most INJ"
# is a comparison. An article on fusion in pure Python numbers them otherwise, and leaves two out: kElemWise 0,
# kBroadcast 1, kOutEWiseFusable 2, kInjective 3, kOpaque 4. Its code is in tvmlab, to be taken apart.
#
# **Predict:** "everything up to injective may be inlined." Is a convolution then allowed in, by each of the
# numberings?

# %%
from tvmlab.course import naive_fuser as article

print("by the article:", article.OUT_FUSABLE <= article.INJECTIVE)
print("by TVM:        ", Kind.OEF <= Kind.INJ)

# %% [markdown]
# The dictionary for this notebook:
#
# | in articles and books | in TVM 0.27 |
# |---|---|
# | `TOpPattern`, set by hand on each Relay operator | `op_pattern`, which `AnnotateTIROpPattern` reads off a kernel |
# | `tag="elemwise"` in `te.compute` | no meaning for fusion, then or now: section 4 |
# | first `relay.transform.FuseOps`, then lowering | `LegalizeOps`, `AnnotateTIROpPattern`, `FuseOps`, `FuseTIR` |
# | `register_fusion_pattern` | never existed; `FuseOpsByPattern` |
# | `stop_fusion` | nothing of the kind: section 7 |
#
# Who decides? Not a table of names. Here are two kernels that a table would call the same, a reduction over rows:


# %%
def kernel_of(function, *shapes):
    """The kernel that a call is lowered to, with the kind that TVM writes on it."""
    variables = [relax.Var(f"x{i}", relax.TensorType(shape, "float32")) for i, shape in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        builder.emit_func_output(builder.emit(function(*variables)))
    module = relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(builder.get()))
    return next(f for f in module.functions.values() if isinstance(f, tvm.tirx.PrimFunc))


def kind_of(function, *shapes):
    """That kind alone."""
    return Kind(int(kernel_of(function, *shapes).attrs["op_pattern"])).name


print("sum: ", kind_of(lambda x: relax.op.sum(x, [1]), (6, 8)))
print("mean:", kind_of(lambda x: relax.op.mean(x, [1]), (6, 8)))

# %%
print(kernel_of(lambda x: relax.op.mean(x, [1]), (6, 8)).script())

# %% [markdown]
# `mean` has two blocks: it sums, and then divides *in the same kernel*. Somebody may still work on its output element
# by element, and that is what OEF says. For `sum` the same would be true in principle; TVM's rules are stricter with
# it.
#
# ### Exercise 07a ★: twenty kernels
#
# Of which kind is the kernel of each of these operators? Put every name into the list of its kind. For add it depends
# on the shapes: write the rule. kind(op, inputs, output) gets the name, the shapes of the operands, and the shape of
# the result, as tuples. TVM's AnnotateTIROpPattern decides who is right.
#
# A wrong answer shows you the loops of the kernel.

# %%
# %%tvm_exercise 07a
from tvmlab.fusion import Kind


def kind(op, inputs, output):
    """op: "relu"; inputs: [(6, 8)]; output: (6, 8)."""
    if op == "add":
        return ...
    known = {
        Kind.ELEM: ["relu", "exp"],
        Kind.BCAST: [],
        Kind.INJ: ["reshape"],
        Kind.REDUCE: [],
        Kind.OEF: ["matmul"],
        Kind.OPAQUE: [],
    }
    # where, astype, broadcast_to, expand_dims, permute_dims, concat,
    # sum, max, mean, softmax, conv2d, max_pool2d, take
    return next((kind for kind, names in known.items() if op in names), None)


# %% [markdown]
# ## 3. A kind belongs to a kernel, not to a name
# <!-- articles: B20 -->
#
# The article keeps a table from operator types to kinds, in which Add and BatchNormalization are "broadcast".
#
# **Predict:** which kind has `add` of `[6, 8]` and `[8]`? Which has batch_norm?

# %%
for shapes in [((6, 8), (6, 8)), ((6, 8), (8,)), ((6, 1), (1, 8))]:
    print(f"add of {shapes[0]} and {shapes[1]}:", kind_of(relax.op.add, *shapes))


# %%
def norm(training):
    """A batch_norm over the second axis."""
    return lambda x, *of: relax.op.nn.batch_norm(x, *of, axis=1, training=training)


channels = [(8,)] * 4
print("batch_norm at inference:", kind_of(norm(False), (2, 8, 4, 4), *channels))
print("batch_norm in training: ", kind_of(norm(True), (2, 8, 4, 4), *channels))

# %% [markdown]
# Adding a row to a matrix is ELEM: *one* operand at the same place is enough, since the loops are then those of the
# output. Only where no operand is as large as the output it is BCAST. And batch_norm is never "broadcast". At
# inference it is injective with three outputs, which is bad enough: a tuple stands in the way. Models are therefore
# cleaned up first, and what is left is a multiplication and an addition, or nothing at all if they go into the
# weights:


# %%
# %%tvm_graph conv_bn
def conv_bn(
    x: "float32[1, 4, 16, 16]",
    w: "float32[8, 4, 3, 3]",
    a: "float32[8]",
    b: "float32[8]",
    m: "float32[8]",
    v: "float32[8]",
):
    c = relax.op.nn.conv2d(x, w)
    return relax.op.nn.relu(relax.op.nn.batch_norm(c, a, b, m, v, axis=1, training=False)[0])


# %%
for cleanup in ("none", "tvmlab"):
    print(f"cleanup={cleanup!r}:")
    for group in tl.fuse(conv_bn, cleanup=cleanup).groups:
        print(f"    {len(group.nodes)} nodes: {' … '.join(dict.fromkeys([group.nodes[0], group.nodes[-1]]))}")

# %% [markdown]
# ## 4. The tag does nothing
# <!-- articles: A55 A84 A91 A95 -->
#
# "The `tag` of `te.compute` decides the fusion policy: elemwise fuses freely, broadcast after it; and a better tag may
# win more than a schedule." So says the other of the two articles. Let us ask TVM.
#
# **Predict:** the same formula under six tags. Which kinds come out?


# %%
def tagged(tag):
    """The kind of one formula under a tag."""
    x = te.placeholder((4, 8), name="x")
    y = te.compute((4, 8), lambda i, j: x[i, j] + x[i, j], name="y", tag=tag)
    module = tvm.IRModule({"y": te.create_prim_func([x, y])})
    return Kind(int(relax.transform.AnnotateTIROpPattern()(module)["y"].attrs["op_pattern"])).name


{tag: tagged(tag) for tag in ["elemwise", "broadcast", "injective", "comm_reduce", "opaque", "no such thing"]}

# %% [markdown]
# Not even Relay read the tag: its FuseOps looked at `TOpPattern`. Tags were for TOPI's schedules, which are gone. So
# if an operator does not fuse, its tag is the one thing that you need not look at. `TOpPattern` can still be set on an
# operator, by `tvm.ir.register_op_attr`, and there is no error; but nothing reads it any more.
#
# And an operator of your own is not opaque, as the article on fusion has it. It is what its loops are:


# %%
# %%tvm_op lab.twice
"""Twice x, under a tag that lies."""


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="twice", tag="opaque")


# %%
# %%tvm_graph with_twice
def with_twice(x: "float32[64, 64]", w: "float32[64, 64]"):
    return relax.op.nn.relu(tl.ops.lab.twice(relax.op.matmul(x, w)))


# %%
# %tvm_fuse with_twice

# %% [markdown]
# ### Exercise 07b ★★: a tag may say what it likes
#
# An article says that the tag of te.compute decides how an operator fuses. Prove that it decides nothing: write
# liar(x, tag, kind), which gives a te tensor made from the square matrix x that carries the tag, and whose kernel is
# of the kind. You will be asked for every tag with each of ELEM, INJ and REDUCE.

# %%
# %%tvm_exercise 07b
from tvmlab.fusion import Kind


def liar(x, tag, kind):
    """A te tensor with this tag whose kernel is of this kind, whatever the tag says."""
    n = x.shape[0]
    if kind == Kind.ELEM:
        return te.compute((n, n), lambda i, j: x[i, j] + x[i, j], name="double", tag=tag)
    return ...


# %% [markdown]
# ## 5. Who goes with whom
# <!-- articles: B21 B22 B23 B24 B43 -->
#
# FuseOps takes one node after the other and asks whether it can be merged into what follows. What follows is not just
# its reader, but the first node that *everything* made from its value flows through: its **post-dominator**. With it
# goes all that lies on the ways between the two. Whether they may depends on kinds:
#
# | a node that is | is merged if on the way, the end included, there is | and the group at the end is |
# |---|---|---|
# | OEF | nothing but ELEM | at most BCAST |
# | ELEM, BCAST | nothing above INJ, or a REDUCE at the end | at most OEF |
# | INJ | (whatever) | at most INJ, and so is all between |
# | REDUCE, OPAQUE | never merged into what follows | |
#
# OEF has the first turn, so that a convolution gets the relu behind it before anybody else does. The kind of a group is
# the largest in it, so it may grow as nodes join.
#
# The article has three rules: OEF with ELEM or BCAST, BCAST with ELEM, and everything else not. **Predict:** what does
# each of the two say to a chain of three relus? To a relu before a sum? To a convolution with a broadcasting add?

# %%
from tvmlab.course.naive_groups import naive_groups

pairs = {
    "relu, relu, relu": ([0, 0, 0], [[-1], [0], [1]]),
    "relu, sum": ([0, 3], [[-1], [0]]),
    "transpose, reshape": ([2, 2], [[-1], [0]]),
    "conv2d, broadcasting add": ([4, 1], [[-1], [0]]),
}
for name, (kinds, inputs) in pairs.items():
    graph = Graph.from_kinds(kinds, inputs, [len(kinds) - 1])
    print(f"{name:26} article {naive_groups(graph)!s:24} TVM {fusion.partition(graph).groups}")

# %% [markdown]
# The article refuses what fuses best, and allows what TVM does not. The last pair is no convolution with its bias:
# there the result is as large as the convolution's, so the addition is ELEM (section 3), and fuses, as in Relay.
#
# `fusion.partition` is tvmlab's own fuser. It is tested against FuseOps on random graphs, and in notebook 08 you write
# one yourself. Every decision has a reason that you can ask for:

# %%
diamond = Graph.from_kinds([4, 0, 2, 0], [[-1], [0], [0], [1, 2]], [3], labels=["conv", "relu", "flip", "add"])
partition = fusion.partition(diamond)
partition.why("conv", "relu")

# %%
partition.why("flip", "add")

# %% [markdown]
# The diamond in full: the graph with its groups, and the tree in which each node hangs above its post-dominator. Under
# the picture are all decisions.

# %%
partition

# %% [markdown]
# `conv` is not merged, although `relu` alone would be fine: its post-dominator is `add`, and on the way there is a
# transpose. What if there was none?

# %%
partition.what_if(kinds={"flip": "elem"}).groups

# %% [markdown]
# ### Exercise 07c ★★: six graphs, foretold
#
# Six graphs have one node each whose kind is open, marked with a question mark. predict(name, kind) returns the groups
# that FuseOps makes of that graph, as lists of nodes, if the open node has that kind. You are asked for all kinds.
#
# Three of them are drawn below, with ELEM for the question mark. One wrong edge is enough for a verdict, and it is
# drawn.

# %%
Graph.from_kinds([4, 0, 0, 0], [[-1], [0], [0], [1, 2]], [3], labels=["0 OEF", "1 ELEM", "2 ?", "3 ELEM"])

# %%
Graph.from_kinds([4, 4, 0], [[-1], [-1], [0, 1]], [2], labels=["0 OEF", "1 OEF", "2 ?"])

# %%
Graph.from_kinds([0, 0, 0], [[-1], [0], [1]], [1, 2], labels=["0 ELEM", "1 ?", "2 ELEM"])

# %%
# %%tvm_exercise 07c
from tvmlab.fusion import Kind


def predict(name, kind):
    """The groups of one of the six graphs, whose open node has this kind: a list of lists of nodes."""
    if name == "after":  # 0: OEF, then 1?
        return [[0, 1]] if kind == Kind.ELEM else [[0], [1]]
    if name == "before":  # 0?, then 1: REDUCE
        return ...
    if name == "diamond":  # 0: OEF is read by 1: ELEM and by 2?; 3: ELEM reads 1 and 2
        return ...
    if name == "between":  # 0: INJ, then 1?, then 2: ELEM
        return ...
    if name == "two products":  # 0: OEF and 1: OEF are read by 2?
        return ...
    # "two outputs": 0: ELEM, then 1?, then 2: ELEM; 1 and 2 are outputs
    return ...


# %% [markdown]
# ## 6. Seven ways to get nothing, without a word
# <!-- articles: A84 A92 B43 -->
#
# "Fusion is ineffective: check the tag", says a table in the first article; "extend the rules or decompose the
# operators", says the second. Most of the time it is something else, and TVM does not say a word. Here is a module
# that fuses, and seven in which something is missing.

# %%
import contextlib

passes = relax.transform


def small(block=True, emitted=False):
    """exp, then tanh, as a module that nobody has touched."""
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow() if block else contextlib.nullcontext():
            first = (builder.emit_output if emitted else builder.emit)(relax.op.exp(x))
            last = (builder.emit_output if block else builder.emit)(relax.op.tanh(first))
        builder.emit_func_output(last)
    return builder.get()


def annotated(module):
    """Kernels, with their kinds."""
    return passes.AnnotateTIROpPattern()(passes.LegalizeOps()(module))


def opaque(module):
    """The same, but somebody has written an 8 on each kernel."""
    functions = module.functions.items()
    return tvm.IRModule(
        {v: f.with_attr("op_pattern", 8) if isinstance(f, tvm.tirx.PrimFunc) else f for v, f in functions}
    )


def calls(module):
    """How many kernels main calls."""
    bindings = [binding for block in module["main"].body.blocks for binding in block.bindings]
    return sum(isinstance(binding.value, relax.Call) for binding in bindings)


cases = {
    "all is well": annotated(small()),
    "not legalized": small(),
    "no kinds": passes.LegalizeOps()(small()),
    "no dataflow": annotated(small(block=False)),
    "emitted": annotated(small(emitted=True)),
    "opaque": opaque(annotated(small())),
}
for name, module in cases.items():
    print(f"{name:14} {calls(passes.FuseOps()(module))} kernels")

with tvm.transform.PassContext(config={"relax.FuseOps.max_depth": 1}):
    print(f"{'max_depth':14} {calls(passes.FuseOps()(annotated(small())))} kernels")

# %% [markdown]
# **Predict:** which line of the code above is to blame in each case? Then ask. `tl.fuse` takes a module as it stands,
# and gives the reason that FuseOps does not:

# %%
import textwrap

found = {name: tl.fuse(module) for name, module in cases.items()}
found["max_depth"] = tl.fuse(annotated(small()), max_depth=1)
for name, partition in found.items():
    nodes = [node for group in partition.groups for node in group.nodes]
    print(textwrap.fill(partition.why(*nodes), 100, initial_indent=f"{name}: ", subsequent_indent="    "))

# %% [markdown]
# The seventh is a pattern that matches nothing. `FuseOpsByPattern` (articles call it `register_fusion_pattern`, which
# TVM never had) puts together what looks like a pattern of yours, before legalization; and if nothing does, it says
# nothing:


# %%
# %%tvm_graph dense
def dense(x: "float32[4, 8]", w: "float32[8, 6]", b: "float32[6]"):
    return relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w), b))


# %%
product = is_op("relax.matmul")(wildcard(), wildcard())
hoped = is_op("relax.nn.relu")(is_op("relax.multiply")(product, wildcard()))
print(calls(passes.FuseOpsByPattern([("lab.dense", hoped)])(dense.module)), "calls are left")
tl.why_no_match(dense, ("lab.dense", hoped))

# %% [markdown]
# ### Exercise 07d ★★: seven ways to get no fusion
#
# Each module below is left unfused by FuseOps, or by FuseOpsByPattern, without a word. mend(case, module) returns the
# fused module: main has a single call, and computes what it did. The modules are those of the notebook, with other
# operators.
#
# What your function gives is compiled, run and compared.

# %%
# %%tvm_exercise 07d
import tvm
from tvm.relax.dpl import is_op, wildcard

passes = relax.transform


def mend(case, module):
    """The module with a single call in main."""
    if case == "not legalized":  # its calls are still Relax operators
        return passes.FuseOps()(passes.AnnotateTIROpPattern()(passes.LegalizeOps()(module)))
    if case == "no kinds":  # legalized, and that is all
        return ...
    if case == "no dataflow":  # annotated; its bindings are in no dataflow block
        return ...
    if case == "emitted":  # annotated; every value leaves the block, though only the last is returned
        return ...
    if case == "opaque":  # somebody wrote op_pattern 8 on each kernel
        return ...
    if case == "max_depth":  # annotated; somebody around you set relax.FuseOps.max_depth to 1
        return ...
    # "pattern": relu of (x @ w + b), not legalized; this pattern matches nothing
    product = is_op("relax.multiply")(wildcard(), wildcard())
    pattern = is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), product))
    return passes.FuseOpsByPattern([("lab.dense", pattern)])(module)


# %% [markdown]
# ## 7. Fuse, or do not: on purpose
# <!-- articles: A49 A92 B04 -->
#
# Sometimes you know better. A pattern can ask for a group that the rules would not make, such as one that an
# accelerator has an instruction for. It becomes a function with a name, and that name is what a back end looks for:

# %%
meant = is_op("relax.nn.relu")(is_op("relax.add")(product, wildcard()))
by_pattern = passes.FuseOpsByPattern([("lab.dense", meant)])(dense.module)
[f.attrs["Composite"] for f in by_pattern.functions.values() if f.attrs and "Composite" in f.attrs]

# %% [markdown]
# The other way round, an operator's cell can force a kind. **Predict:** how many kernels are left of `relu(alone(x))`?


# %%
# %%tvm_op lab.alone
"""Twice x, and nobody may fuse it."""

pattern = 8


def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name="alone")


# %%
# %%tvm_graph with_alone
def with_alone(x: "float32[64, 64]"):
    return relax.op.nn.relu(tl.ops.lab.alone(x))


# %%
found = tl.fuse(with_alone)
found.why(*[group.nodes[0] for group in found.groups])

# %% [markdown]
# Why would anybody stop a fusion? Because what is fused is computed again wherever it is needed. A row that is
# broadcast into a matrix, for instance, is then computed once for each row of it.
#
# ### Exercise 07e ★★: a fusion stopped on purpose
#
# module calls two kernels that FuseOps would make one: it is legalized and annotated. Stop it in three ways that have
# nothing in common. ways(module) returns three pairs: a module that still computes the same with two kernels, and the
# options of the PassContext in which FuseOps will run on it, {} if none.

# %%
# %%tvm_exercise 07e
import tvm
from tvm import tirx


def ways(module):
    """Three pairs of a module and options of FuseOps; in none of them anything is fused."""
    bare = {"relax.FuseOps.max_depth": 256}
    first = (module, bare)
    second = ...
    third = ...
    return [first, second, third]


# %% [markdown]
# ### Exercise 07f ★★★: exactly 3, then exactly 4
#
# Write one operator whose kernel is of kind 3 (kCommReduce) for root=False, and of kind 4 (kOutEWiseFusable) for
# root=True. It gives for each row of a matrix the sum of its squares; with root=True the square root of that. Do not
# set pattern: TVM has to read the kind off your loops. (So far you read kinds off loops. This is the other direction.)

# %%
# %%tvm_exercise 07f
"""The norm of each row, squared or not."""


class Attrs:
    root: bool = False


def compute(x, root):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    return ...


# %% [markdown]
# ## 8. What is it worth?
# <!-- articles: A95 B05 B06 B07 B42 -->
#
# The article gives three speed-ups, without shapes and without a machine: Conv, BatchNormalization and ReLU 1.8 to 2.5
# times; MatMul, Add and Gelu 3 to 4 times (it calls that "FusedAttention", but there is no attention in it); Slice,
# Transpose and Reshape 5 to 8 times. Here they are on this machine: the same schedules on both sides, one thread, in
# one interleaved run. The first is there twice, with an ordinary convolution and with a thin one. BatchNormalization
# is a scale and a shift.
#
# **Predict:** which row gains most, and which least? Think of how much is computed for each byte.


# %%
def conv_norm_relu(x, w, scale, shift):
    return relax.op.nn.relu(relax.op.add(relax.op.multiply(relax.op.nn.conv2d(x, w), scale), shift))


def matmul_add_gelu(x, w, b):
    return relax.op.nn.gelu(relax.op.add(relax.op.matmul(x, w), b))


def slice_transpose_reshape(x):
    part = relax.op.strided_slice(x, [2], [0], [64])
    return relax.op.reshape(relax.op.permute_dims(part, [1, 0, 2]), (12, 32768))


def sized(function, *shapes):
    """The model of a function on these shapes."""
    names = function.__code__.co_varnames
    function.__annotations__ = {name: f"float32{list(shape)}" for name, shape in zip(names, shapes, strict=False)}
    return tl.graph(function)


channels = [(1, 64, 1, 1), (1, 64, 1, 1)]
headlines = {
    "Conv-BN-ReLU, 3x3, 64 to 64": ("1.8 to 2.5", conv_norm_relu, (1, 64, 58, 58), (64, 64, 3, 3), *channels),
    "Conv-BN-ReLU, 1x1, 4 to 64": ("1.8 to 2.5", conv_norm_relu, (1, 4, 224, 224), (64, 4, 1, 1), *channels),
    "MatMul-Add-Gelu": ("3 to 4", matmul_add_gelu, (128, 768), (768, 1024), (1024,)),
    "Slice-Transpose-Reshape": ("5 to 8", slice_transpose_reshape, (512, 12, 192)),
}

# %%
import time

from tvmlab import runtime


def medians(calls, rounds=15):
    """Seconds of each call, in turn and in random order: the median of each."""
    spent = {name: [] for name in calls}
    order = np.random.default_rng(0)
    for name in [*calls, *(name for _ in range(rounds) for name in order.permutation(list(calls)))]:
        start = time.perf_counter()
        calls[name]()
        spent[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}


def gain(model):
    """How many times as fast it is if it is fused."""
    arrays = [np.random.default_rng(1).uniform(0.5, 1, each.shape).astype("float32") for each in model.inputs]
    unfused, fused = (tl.trace(model, engine=engine).executable for engine in ("none", "python"))
    took = medians({"unfused": lambda: unfused.run(*arrays), "fused": lambda: fused.run(*arrays)})
    return took["unfused"] / took["fused"]


with runtime.threads(1):
    for name, (claimed, function, *shapes) in headlines.items():
        model = sized(function, *shapes)
        kernels = tl.fuse(model)
        before, after = kernels.kernels_before, kernels.kernels_after
        print(f"{name:28} {before} to {after} kernels: {gain(model):5.2f} times as fast; the article: {claimed}")

# %% [markdown]
# The figures are those of the machine that ran this cell, and with other work beside it they are rough. But look at
# the first two rows: the same three operators, and two answers. For each number that it writes, the first convolution
# multiplies 576 times, and the thin one 4 times. The less is computed for each byte, the more a pass saved is worth. A
# speed-up without a shape says nothing.
#
# The bound is arithmetic and no secret: bytes moved unfused over bytes moved fused, as in section 1, and less wherever
# computing takes the time. "Fused, and no faster" is then an answer and not a riddle: either memory was not what it
# waited for, or the kernel was fused and never inlined.

# %% [markdown]
# ## 9. What to keep in mind
# <!-- articles: A90 A91 B20 B43 -->
#
# 1. A kind is read off the loops of a kernel, for the shapes that it has. Neither a name nor a tag decides it.
# 2. A node is merged into its post-dominator, with all on the ways between, if the kinds allow it.
# 3. If something does not fuse, ask: legalized? annotated? in a dataflow block? really not an output? which kind? how
#    large? And then `.why`.
# 4. Fusion saves memory traffic only together with inlining.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: A84 B20 B24 -->
#
# **1.** An operator has `tag="broadcast"` and does not fuse with the relu behind it. What do you look at, and what
# not?
#
# <details><summary>Answer</summary>
#
# Not at the tag. Whether it is legalized and annotated, whether both are in a dataflow block and the value between
# them is no output, and which kind was read off its loops.
#
# </details>
#
# **2.** Why is `mean` of a higher kind than `sum`, and can yet do more?
#
# <details><summary>Answer</summary>
#
# It divides after it sums, in the same kernel, so TVM knows how to work on its output: kind 4, which elementwise
# readers may join. A plain reduction, kind 3, never starts a merge.
#
# </details>
#
# **3.** A convolution is read by a relu and by a transpose, and both results are added. Which groups?
#
# <details><summary>Answer</summary>
#
# The convolution stays alone: its post-dominator is the addition, and on the way is an injective node, where only
# elementwise ones are allowed. Relu, transpose and addition become one kernel.
#
# </details>
#
# **4.** Why may nothing be fused in front of a convolution?
#
# <details><summary>Answer</summary>
#
# It reads each element of its input many times; what is fused in front of it would be computed again each time. So its
# kind is above what an ELEM, BCAST or INJ node allows on the way.
#
# </details>
#
# **5.** FuseOps made one kernel of eight, and it runs at the same speed. Name two reasons.
#
# <details><summary>Answer</summary>
#
# The eight loop nests stand one after the other in the kernel, with arrays between: nobody inlined. Or one of the
# eight computes for so long that traffic does not count.
#
# </details>
