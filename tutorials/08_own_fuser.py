# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 Build your own fuser, over ONNX
#
# An article promises "TVM-style operator fusion in pure Python": read an ONNX file, build a dominator tree, ask a
# table of kinds, merge groups. The idea is good, and its code does not run. You take it apart, mend it piece by piece,
# and at the end you have a fuser of about a hundred lines that makes the same groups as TVM's FuseOps, on random
# graphs and on nine real networks.
#
# You should know the pattern kinds (notebook 07). The pieces are: a parser, the tree of post-dominators, kinds, a rule
# for two nodes, a check of all paths, and union-find in phases.

# %%
# %load_ext tvmlab

# %%
import time

import numpy as np
from onnx import parser

import tvmlab as tl
from tvmlab import fusion
from tvmlab.course.naive_fuser import REPAIRS, NaiveFuser
from tvmlab.fusion import Graph, Kind

# %% [markdown]
# ## 1. The article's code, as it was published
# <!-- articles: B01 B08 B12 -->
#
# `tvmlab.course.naive_fuser` is a class of our own with the faults that the article's code has; it is short, so read
# it. Its faults hide one another, so the first four can be repaired one by one, to see what is behind each.
#
# **Predict:** Conv, BatchNormalization and ReLU in a row. What should come out? And what does?

# %%
WEIGHTS = "<float[4] p = {1, 1, 1, 1}, int64 axis = {1}>"


def model_of(body, *outputs):
    """A model of a few ONNX nodes over an image x and weights w; nodes are called after their outputs."""
    types = ", ".join(f"float[1,4,8,8] {name}" for name in outputs)
    head = '<ir_version: 8, opset_import: ["": 17, "my.ops": 1]> g (float[1,4,8,8] x, float[4,4,1,1] w)'
    made = parser.parse_model(f"{head} => ({types}) {WEIGHTS} {{ {body} }}")
    for node in made.graph.node:
        node.name = node.output[0]
    return made


headline = model_of("conv = Conv(x, w) bn = BatchNormalization(conv, p, p, p, p) relu = Relu(bn)", "relu")
for repaired in range(len(REPAIRS) + 1):
    done = ", ".join(REPAIRS[:repaired]) or "nothing"
    try:
        print(f"{done} repaired:\n    {NaiveFuser(headline, REPAIRS[:repaired]).partition()}")
    except (IndexError, KeyError) as error:
        print(f"{done} repaired:\n    {type(error).__name__}: {error}")

# %% [markdown]
# - Nothing repaired: nobody calls the method that puts the nodes in an order, so the last of them is not there.
# - The order repaired: nodes without producers get no entry in the tree, and are then looked up in it.
# - The entries repaired: it runs. Its tree is upside down, as section 3 shows, and by luck the groups are nearly
#   right.
# - The direction repaired: now that the tree is right, nothing fuses, since `can_fuse` is asked with its two arguments
#   exchanged. Two faults had cancelled out.
# - All four repaired: `conv` and `bn` are in *two* groups. Merging re-points one name and forgets the others.
#
# What should come out is one group. The rest of this notebook is the way there.

# %% [markdown]
# ## 2. A parser that survives
# <!-- articles: B09 B10 -->
#
# ONNX keeps no edges. A node lists names of values that it reads and writes, and you connect the two. The article
# compares every output of every node with every input of every other, and keys all of it by `node.name`.
#
# **Predict:** ONNX allows a node's name to be empty. What becomes of a graph of three nodes without names?

# %%
nameless = model_of("a = Relu(x) b = Exp(a) relu = Relu(b)", "relu")
for node in nameless.graph.node:
    node.name = ""
NaiveFuser(nameless, REPAIRS).readers

# %% [markdown]
# One node is left, which reads itself. Two more things that a parser has to survive:

# %%
absent = model_of("pool = MaxPool<kernel_shape=[1,1]>(x) clip = Clip(pool, , pool) relu = Relu(clip)", "relu")
absent.graph.node[0].output.append("")  # an output that nobody wants
print("absent operands:", NaiveFuser(absent, REPAIRS).readers["pool"], "- the empty name is no value")

split = model_of("a, b = Split<axis=1>(x) relu = Concat<axis=1>(b, a)", "relu")
print("two outputs:    ", NaiveFuser(split, REPAIRS).readers["a"], "- which was read first?")

# %% [markdown]
# And it is slow: every look-up goes through all nodes. **Predict:** twice as many nodes, how many times the seconds?


# %%
def seconds(work):
    """How long it takes once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


for count in (100, 200, 400):
    body = " ".join(f"v{at + 1} = Relu(v{at})" for at in range(count))
    long = model_of(f"v0 = Relu(x) {body}", f"v{count}")
    theirs = seconds(lambda m=long: NaiveFuser(m, REPAIRS).partition())
    ours = seconds(lambda m=long: fusion.partition(fusion.read_onnx(m).graph))
    print(f"{count:4} nodes: article {theirs:7.3f} s, tvmlab {ours:7.3f} s")

# %% [markdown]
# A dictionary from the name of a value to its maker needs one pass. It also keeps the number of the output, and edges
# that are there twice.
#
# ### Exercise 08a ★: a parser that survives
#
# edges(model) returns who reads what in an ONNX model: one tuple (producer, output, consumer, input) for each use of a
# value by a node. Nodes are counted as they stand in model.graph.node, outputs and inputs as they stand in node.output
# and node.input. Inputs and initializers of the graph are no nodes. Names of nodes may be empty or the same; an empty
# name of a value means that it is absent.


# %%
# %%tvm_exercise 08a
def edges(model):
    """For each use of a value (producer, output, consumer, input), all numbers."""
    makers = {}
    for number, node in enumerate(model.graph.node):
        for place, value in enumerate(node.output):
            makers[value] = ...
    return [
        (*makers[value], number, place)
        for number, node in enumerate(model.graph.node)
        for place, value in enumerate(node.input)
    ]


# %% [markdown]
# What else is in a real file: constants as nodes, which are leaves and no nodes of the graph; subgraphs in `If` and
# `Loop`, which read values of the graph around them; nodes in an order in which they could not run. tvmlab's own
# reader has all that:

# %%
reading = fusion.read_onnx(split)
for edge in reading.graph.edges():
    print(edge)

# %% [markdown]
# ## 3. Dominators? Post-dominators
# <!-- articles: B11 B12 B13 B14 -->
#
# "The dominator tree is the core structure", says the article, and: "its root is the output; the dominator of a node
# is the lowest common ancestor of its *predecessors*." Let us look at that tree for a diamond.
#
# **Predict:** `conv` is read by `r1` and by `r2`, and both are added. Into which node would you fuse `r1`?

# %%
diamond = model_of("conv = Conv(x, w) r1 = Relu(conv) r2 = Exp(conv) add = Add(r1, r2)", "add")
print("by the article:", NaiveFuser(diamond, REPAIRS[:2]).dominators)

# %% [markdown]
# `r1` and `r2` hang under `conv`, and `add`, where all of it meets, hangs under nothing. This tree is neither that of
# dominators nor that of post-dominators. What is fused has to end somewhere: of a group only the *last* value is
# written. So the question of a node is: which is the first node that everything made from my value flows through? That
# is its **post-dominator**, and it is found among the *readers*:
#
# - Go from the last node to the first. The readers of a node then have their place in the tree already.
# - One reader: that is it. Several: where the ways from them, up the tree, first meet.
# - A value that is an output of the graph flows outside. Then the only thing behind it is the end.
#
# Three states, then: a node, the end, and "not looked at yet". The article has `None` for all of them.

# %%
graph = fusion.read_onnx(diamond).graph
partition = fusion.partition(graph)
for node in reversed(range(len(graph))):
    readers = [graph.label(reader) for reader in graph.readers(node)]
    parent = partition.tree.of(node)
    name = "the end" if parent is None else graph.label(parent)
    print(f"{graph.label(node):5} is read by {readers!s:14} and its post-dominator is {name}")

# %% [markdown]
# The tree stands beside the graph, and each decision below. (With a running kernel `partition.graph.explore()` goes
# through them step by step.)

# %%
partition

# %% [markdown]
# ### Exercise 08b ★★: the tree of post-dominators
#
# The post-dominator of a node is the first node that everything made from its value flows through. Write
# post_dominators(graph): a list with it for each node, and None where there is none but the end of the graph.
# graph.readers(n) lists who reads node n, and graph.external[n] is 1 if its value is an output. Nodes are numbers in
# topological order.
#
# The oracle is the definition itself: leave a node out, and see whether the end can still be reached.


# %%
# %%tvm_exercise 08b
def post_dominators(graph):
    """For each node its post-dominator, or None."""
    ...


# %% [markdown]
# ## 4. Kinds, of uses and not of names
# <!-- articles: B15 B16 B17 B18 B19 B20 B29 -->
#
# The article's table is `{"Add": broadcast, "BatchNormalization": broadcast, "Conv": out-fusable, …}`. Reshape,
# Transpose and all reductions are missing, and so are domains. What it does with an unknown operator is right: opaque.
#
# **Predict:** what does it make of an operator `Relu` of the domain `my.ops`, of which nobody knows what it does?

# %%
foreign = model_of("conv = Conv(x, w) relu = my.ops.Relu(conv)", "relu")
print("article:", NaiveFuser(foreign, REPAIRS).partition())
own = fusion.read_onnx(foreign).graph
print("tvmlab: ", [[own.label(node) for node in group] for group in fusion.partition(own).groups])
fusion.partition(own).why("conv", "relu")

# %% [markdown]
# A kind needs the domain, the attributes and the shapes: notebook 07 showed why. In TVM it is read off the loops; over
# ONNX there are no loops yet, so you write down what TVM would say. It is checked by asking TVM.
#
# ### Exercise 08c ★★: kinds by more than names
#
# kind(domain, op, attributes, inputs, output) gives the kind of one ONNX node: its domain, its operator, its
# attributes as a dictionary, the shapes of its operands and that of its first output. The operators are Relu Sigmoid
# Exp, Add Mul Sub, Reshape Flatten Concat Transpose, ReduceSum ReduceMax ReduceMean, Softmax Conv MaxPool MatMul,
# BatchNormalization, Gather CumSum. Where TVM makes several kernels of a node, the last one counts, since that is the
# one that others may join. An operator of another domain than '' is unknown, whatever its name.

# %%
# %%tvm_exercise 08c
from tvmlab.fusion import Kind

KINDS = {
    "Relu": Kind.ELEM,
    "Conv": Kind.OEF,
}


def kind(domain, op, attributes, inputs, output):
    """Kind of one node; inputs: [(1, 4, 8, 8), (4,)], output: (1, 4, 8, 8)."""
    if op in ("Add", "Mul", "Sub"):
        return ...
    return KINDS.get(op, Kind.OPAQUE)


# %% [markdown]
# ## 5. Two nodes
# <!-- articles: B21 B22 B23 B24 -->
#
# `can_fuse` of the article knows three pairs. **Predict:** how many of the 36 pairs does TVM fuse, if the second reads
# the first and nobody else does?

# %%
KINDS = [kind for kind in Kind if kind is not Kind.TUPLE]
print("          " + "".join(f"{kind.name:>8}" for kind in KINDS))
for first in KINDS:
    pairs = [Graph.from_kinds([first, second], [[-1], [0]], [1]) for second in KINDS]
    row = [fusion.partition(pair).together(0, 1) for pair in pairs]
    print(f"{first.name:10}" + "".join(f"{'fuse' if fused else '·':>8}" for fused in row))

# %% [markdown]
# Read it by rows. ELEM and BCAST go in front of nearly everything, a reduction too. OEF lets only ELEM follow. Nothing
# goes in front of OEF. And what the article refuses is the upper left corner, which is most of any network.
#
# One thing is not in the table. Once a convolution has joined a relu, the *group* of that relu is OEF, though the relu
# itself is not. So a rule has to be told both.
#
# ### Exercise 08d ★★: the truth table of can_fuse
#
# Node a has a single reader, b. can_fuse(a, b, group) says whether FuseOps puts the two into one kernel: a is the kind
# of the first node, b that of its reader, and group the kind of the reader's group, which is OEF if a convolution or
# the like has joined it before, and else the same as b. Return True or False.

# %%
# %%tvm_exercise 08d
from tvmlab.fusion import Kind


def can_fuse(a, b, group):
    """Whether a node of kind a joins its only reader, of kind b, in a group of kind `group`."""
    if a == Kind.OEF:
        return b == Kind.ELEM and group <= Kind.BCAST
    return ...


# %% [markdown]
# ## 6. All that lies between
# <!-- articles: B27 -->
#
# "Check the patterns on the dominator path", says the text; the code looks at the two ends and merges them.
#
# **Predict:** a convolution is read by a cumulative sum, which nobody can fuse, and both are added. Which groups does
# the article make? In which order could they run?

# %%
hole = model_of("conv = Conv(x, w) sum = CumSum(conv, axis) add = Add(conv, sum)", "add")
print("article:", NaiveFuser(hole, REPAIRS).partition())
right = fusion.partition(fusion.read_onnx(hole).graph)
print("tvmlab: ", [[right.graph.label(node) for node in group] for group in right.groups])
right.why("conv", "add")

# %% [markdown]
# `add` and `conv` are one kernel, which needs `sum`, which needs that kernel. There is no order. Two things guard
# against it. *Check*: every node on **every** way between the two has to fit. *Commit*: all of these join the group.
# Then a group never has a hole.
#
# ### Exercise 08e ★★★: a group that waits for itself
#
# The article's can_fuse looks at a node and its post-dominator, and at nothing between the two. Design the graph that
# this breaks: counterexample(length) returns kinds, inputs and outputs of a graph, as for fusion.Graph.from_kinds, of
# which the naive fuser makes a group that a value leaves, flows through exactly `length` nodes outside of it, and
# enters again. Then the group waits for itself, and no order of kernels works. The kinds may be all but TUPLE.
#
# Your graph is run through the naive fuser, and drawn if nothing breaks.

# %%
# %%tvm_exercise 08e
from tvmlab.fusion import Kind


def counterexample(length):
    """Kinds, inputs and outputs of a graph; [-1] is a parameter of the model."""
    kinds = [Kind.OEF]
    inputs = [[-1]]
    ...
    return kinds, inputs, [len(kinds) - 1]


# %% [markdown]
# ## 7. Groups, and the order of the decisions
# <!-- articles: B25 B26 B28 -->
#
# A group is a set of nodes that grows. The article keeps lists, and puts one list into the place of another: whoever
# pointed to the old one keeps it. **Union-find** keeps for each node only a pointer to the one that it was merged
# into; who follows the pointers finds the group. With the group goes a record: its kind. It changes only if something
# that is OEF joins.
#
# The order matters too. FuseOps goes through all nodes not once, as the article does, but in phases: first OEF, ELEM
# and BCAST, then INJ. (A third phase is for tuples, which Relax does not have.) **Predict:** a transpose reads x, and
# it and a convolution are added. Then the sum is transposed. Which of the two gets the addition?

# %%
names = ["flip", "conv", "add", "back"]
chances = Graph.from_kinds([2, 4, 0, 2], [[-1], [-1], [0, 1], [2]], [3], labels=names)
both = fusion.partition(chances)
[[both.graph.label(node) for node in group] for group in both.groups]

# %%
both.why("flip", "add")

# %% [markdown]
# The convolution came in phase 0, so the group of the addition was OEF when it was the transpose's turn. The other way
# round, without phase 0:

# %%
both.what_if(without=["phase0"]).groups

# %% [markdown]
# ### Exercise 08f ★★★: a fuser equal to TVM's
#
# Write the fuser. fuse(graph) returns the groups, each a list of nodes; every node is in one. Nodes are numbers in
# topological order, from 0 to len(graph) - 1. graph.kind(n) is a node's kind, and kinds compare as TVM's: Kind.ELEM <
# BCAST < INJ < REDUCE < OEF < OPAQUE. graph.readers(n) lists who reads a node's value, and graph.external[n] is 1 if
# it is an output of the graph. There are no tuples, and no group comes near TVM's limit of 256. Your groups are
# compared with those of relax.transform.FuseOps.
#
# All pieces together: on chains and diamonds, on random graphs, and on the nine networks that come with the onnx
# package.

# %%
# %%tvm_exercise 08f
from tvmlab.fusion import Kind


def fuse(graph):
    """The groups of a graph: a list of lists of nodes."""
    ...


# %% [markdown]
# How does the article's code do? Its four crashes are repaired; the rest is as it was. The same judge, the same
# graphs:

# %%
answer = """
from tvmlab.course.naive_groups import naive_groups

def fuse(graph):
    return naive_groups(graph)
"""
tl.course.judge(tl.course.find("08f"), answer)

# %% [markdown]
# It fails on the very first chain: two elementwise nodes. How often is it right at all? And on the networks, how many
# kernels would it leave?

# %%
from tvmlab.course.grouping import random_graphs
from tvmlab.course.naive_groups import naive_groups
from tvmlab.course.networks import network_graphs
from tvmlab.pipeline.abstract import groups_by_tvm


def same(graph):
    """Whether the article's groups are those of FuseOps."""
    return sorted(map(sorted, naive_groups(graph))) == sorted(groups_by_tvm(graph))


random = np.random.default_rng(8)
agree = [same(graph) for graph in random_graphs(random, 100, 12)]
print(f"right on {sum(agree)} of {len(agree)} random graphs, the first time wrong at graph {agree.index(False)}")

for graph in network_graphs(random):
    name, tvm_groups = graph.label(0).split(":")[0], groups_by_tvm(graph)
    ours, theirs = fusion.partition(graph).groups, naive_groups(graph)
    counts = f"FuseOps {len(tvm_groups):3}, tvmlab {len(ours):3}, article {len(theirs):3}"
    print(f"{name:13} {len(graph):3} kernels before; {counts}")

# %% [markdown]
# ## 8. To see it
# <!-- articles: B30 B31 B38 -->
#
# `visualize_groups` of the article prints lists. A drawing needs no library: JupyterLab understands Mermaid, a small
# language for graphs.
#
# ### Exercise 08g ★: the groups, drawn
#
# The article's visualize_groups prints lists. Draw them: mermaid(graph, groups) returns a flowchart in Mermaid's
# language, which JupyterLab shows as a picture. Its first line is flowchart TD. Each group is a box: a line 'subgraph
# g0', a line for each node, 'end'. Node 3 is called n3. After the boxes comes a line 'n0 --> n3' for each node and
# each of its readers, one even if it reads the value twice.


# %%
# %%tvm_exercise 08g
def mermaid(graph, groups):
    """A flowchart of the graph, in which each group is a box."""
    lines = ["flowchart TD"]
    for number, group in enumerate(groups):
        lines.append(f"subgraph g{number}")
        nodes = ...
        lines += nodes
        lines.append("end")
    for node in range(len(graph)):
        arrows = ...
        lines += arrows
    return "\n".join(lines)


# %% [markdown]
# If yours passes, look at a drawing of your own: put this into a cell.
#
#     from IPython.display import Markdown
#     Markdown("```mermaid\n" + mermaid(chances, fusion.partition(chances).groups) + "\n```")
#
# JupyterLab draws it. What it does not do is to keep the boxes apart, show kinds, or fold away what repeats. For a
# whole network that is needed:

# %%
# %tvm_load light_squeezenet.onnx --weights random --name squeezenet -q

# %%
# %tvm_fuse squeezenet -v groups

# %% [markdown]
# The level matters. These nodes are TVM's kernels; the article's reader sees ONNX's own nodes. On a convolution with a
# bias the two differ, since TVM makes more than one kernel of it:

# %%
on_onnx = tl.fuse(squeezenet, level="onnx")
print(f"ONNX's nodes:  {on_onnx.kernels_before} to {on_onnx.kernels_after}")
print(f"TVM's kernels: {groups.kernels_before} to {groups.kernels_after}")
tl.compare(squeezenet)

# %% [markdown]
# ## 9. Is it right?
# <!-- articles: B32 B39 -->
#
# "Verify after fusing", says the article, and leaves it at that. Two checks. That groups are the same as TVM's says
# nothing about values; so each fused kernel is compared with the unfused ones, on the very inputs that it gets in the
# network:

# %%
small = tl.load(
    model_of("conv = Conv(x, w) bn = BatchNormalization(conv, p, p, p, p) r = Relu(bn) add = Add(r, x)", "add")
)
tl.verify(small, groups=True)

# %% [markdown]
# And the whole is compared with onnxruntime, which shares no code with it:

# %%
# %tvm_verify small

# %% [markdown]
# ## 10. What to keep in mind
# <!-- articles: B11 B25 B27 B28 -->
#
# 1. Key by value, never by the name of a node; what is absent is no value.
# 2. Fuse into the post-dominator, and take along all that lies between: then no group waits for itself.
# 3. A rule asks about the node's own group, about all nodes on the way, and about the group at the end.
# 4. An oracle that shares no code with you is worth more than any number of examples of your own.

# %%
# %tvm_progress

# %% [markdown]
# ## Self-test
# <!-- articles: B13 B14 B24 B28 -->
#
# **1.** Why the lowest common ancestor of the readers, and not that of the producers?
#
# <details><summary>Answer</summary>
#
# A group writes one value, its last. So the question is where everything made from a value comes together again, which
# is behind the node and not before it.
#
# </details>
#
# **2.** A value is read by one relu, and it is an output of the graph. What is its post-dominator?
#
# <details><summary>Answer</summary>
#
# None but the end: the value has to be written anyway, so it is never inside of a group.
#
# </details>
#
# **3.** The article merges a node and its post-dominator if the table allows these two. Name two graphs that this
# breaks.
#
# <details><summary>Answer</summary>
#
# One with an opaque node between the two: the group waits for itself. One with a fusable node between that stays
# outside: the same. And two convolutions that are added: two anchors come into one group.
#
# </details>
#
# **4.** Why does `{reshape, relu}` have kind ELEM, but `{conv, relu}` kind OEF?
#
# <details><summary>Answer</summary>
#
# A group has the kind of its last node, unless something that is OEF joins, which raises it. So the first may still go
# in front of a reduction, and the second lets only elementwise nodes follow.
#
# </details>
#
# **5.** Your fuser agrees with FuseOps on 2,000 random graphs. What may still be wrong?
#
# <details><summary>Answer</summary>
#
# Kinds that the graphs do not have, sizes beyond the limit of 256, and what comes before and after: a parser that
# drops an edge, a kernel that computes something else. Groups are no values.
#
# </details>
