"""The table: what TVM says, what it means, how to mend it.

Texts are those of apache-tvm 0.27, and of tvmlab where it speaks before TVM does.  The keys E01 to E35 are the errors
that people meet when they add operators by hand; those above are others that were met since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tvmlab import tvm_api
from tvmlab.diagnosis import old_names
from tvmlab.errors import nearest

__all__ = ["TABLE", "Explanation", "Rule", "explain", "explain_text"]


@dataclass(frozen=True)
class Rule:
    """One known error.

    Parameters
    ----------
    key : str
        ``E08``; several rows may have one key.
    stage : str
        At what it fails, for a person: ``compute``, ``build`` …
    text : str
        A regular expression that the message holds.
    meaning : str
        The cause in one sentence; ``{0}`` is the first group of `text`.
    mend : str
        One line: what to do.
    code : str
        What to write instead.
    words : callable, optional
        The words of which the first group was probably meant to be one.
    python : bool
        Python says the same of code that has nothing to do with TVM: TVM must be in the traceback.
    """

    key: str
    stage: str
    text: str
    meaning: str
    mend: str
    code: str = ""
    words: Callable[[], Iterable[str]] | None = None
    python: bool = False


@dataclass(frozen=True)
class Explanation:
    """A known error: the rule's key, what the message means, and what to write instead."""

    key: str
    meaning: str
    mend: str
    stage: str = ""
    code: str = ""
    meant: str = ""


TABLE: tuple[Rule, ...] = (
    Rule(
        "E01",
        "look-up of an operator",
        r"Operator (\S+) is not registered",
        "TVM has no operator {0}: a slip in its name, or the cell that defines it has not run",
        "run the cell that defines it, or write the name as TVM does: relax.nn.relu",
        'Op.get("{meant}")',
        words=tvm_api.operator_names,
    ),
    Rule(
        "E02",
        "registration",
        r"Operator (\S+) is registered before",
        "the operator {0} is registered already, and TVM can neither forget nor replace it: the cell was run twice",
        "define operators with %%tvm_op or tl.op, which can be run again",
        '@tl.op("lab.my_op")\nclass MyOp:\n    def compute(x): …',
    ),
    Rule(
        "E03",
        "type rule",
        r"Cannot find the FInferType attribute registered to op: (\S+)",
        "the operator {0} has no type rule; FInferStructInfo, as older texts call it, is accepted and never read",
        "set FInferType, or define the operator with %%tvm_op, which derives the rule from compute",
        'Op.get("{0}").set_attr("FInferType", lambda call, builder: call.args[0].ty)',
    ),
    Rule(
        "E04",
        "purity",
        r"Cannot find the registered purity or call effect of this op: (\S+)",
        "nothing says whether the operator {0} has side effects",
        "set FPurity to True for an operator that only computes; %%tvm_op does",
        'Op.get("{0}").set_attr("FPurity", True)',
    ),
    Rule(
        "E05",
        "purity",
        r"annotated as pure but contains an impure call(?:: (\S+)\()?",
        "a pure function calls an operator with side effects: {0}",
        "set FPurity to True if the operator only computes, else mark the function impure",
        "@R.function(pure=False)\ndef main(x: …): …",
    ),
    Rule(
        "E06",
        "build",
        r"CodeGenVM cannot (?:emit this Relax operator directly|handle this intrinsic)"
        r"(?:.*?Offending call:?\s*(?:R\.)?([\w.]+))?",
        "the operator {0} has no kernel: it has no FLegalize, LegalizeOps did not run, or a shape is unknown",
        "give it a compute with %%tvm_op, run LegalizeOps before the build, and give every input its shape",
        "module = relax.transform.LegalizeOps()(module)\ntl.trace(tl.load(module))",
    ),
    Rule(
        "E07",
        "legalize",
        r"No legalization func for (\S+) is found",
        "the operator {0} has no FLegalize, so that it stays without a kernel and the build will refuse it",
        "give it a compute with %%tvm_op, or compose it of operators that have one",
        "%%tvm_op lab.my_op\ndef compute(x): return te.compute(x.shape, lambda *i: x(*i))",
    ),
    Rule(
        "E08",
        "compute",
        r"only support te\.tensor or tuple/list/Array of te\.tensor"
        r"|(?:compute|lower_for_\w+) returns (?:a function|nothing|\w+)[^\n]*, not a te tensor",
        "compute returned something that is not a te tensor",
        "return the te.compute(…) itself",
        'def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i), name="my_op")',
    ),
    Rule(
        "E10",
        "compute",
        r"Need to provide (\d+) index in tensor but (\d+) (?:was|were) provided",
        "the tensor has {0} axes, but is read with {1} indices",
        "read it with one index an axis: x(*i), or x[i, j]",
        "te.compute(x.shape, lambda *i: x(*i))",
    ),
    Rule(
        "E10b",
        "compute",
        r"fcompute do not match dimension",
        "the lambda takes another number of indices than the shape has axes",
        "give the lambda one index an axis, or write lambda *i: …",
        "te.compute(x.shape, lambda *i: x(*i))",
    ),
    Rule(
        "E10c",
        "compute",
        r"Reductions are only allowed at the top level of compute",
        "a reduction (te.sum, te.max) is inside a larger expression",
        "give the reduction a te.compute of its own, and use its result in the next one",
        "total = te.compute((n,), lambda i: te.sum(x[i, k], axis=k))\nte.compute((n,), lambda i: total[i] + x[i, 0])",
    ),
    Rule(
        "E11",
        "compute",
        r"Cannot use and / or / not operator to Expr",
        "a Python if, and, or, not, max or min was applied to a TVM expression",
        "write tirx.if_then_else(…), tirx.all(…), tirx.any(…), tirx.max(a, b) or tirx.min(a, b)",
        "tirx.max(const_like(0, x), x(*i))\ntirx.if_then_else(x(*i) > const_like(0, x), x(*i), const_like(0, x))",
    ),
    Rule(
        "E12",
        "compute",
        r"loop of ufunc does not support argument 0 of type",
        "a NumPy function was applied to a TVM expression",
        "use te.exp, te.sqrt … inside te.compute; NumPy belongs into reference",
        "te.compute(x.shape, lambda *i: te.exp(x(*i)))",
    ),
    Rule(
        "E13",
        "compute",
        r"Expected .*Expr.* but got .?te\.Tensor",
        "a whole tensor was used where one element is needed",
        "read an element: te.exp(x(*i)) instead of te.exp(x)",
        "te.compute(x.shape, lambda *i: te.exp(x(*i)))",
    ),
    Rule(
        "E14",
        "compute",
        r"shape is only available on a Var with BufferType",
        "a Relax variable was given where a te tensor is needed",
        "call tl.ops.<namespace>.<name>(…) or bb.call_te on Relax expressions",
        "bb.emit_te(topi.nn.relu, x)",
    ),
    Rule(
        "E15",
        "call of an operator",
        r"Expected .?Array<ir\.Expr>.? but got .*(?:ffi\.Tensor|ndarray)",
        "a NumPy array was given where a Relax expression is needed",
        "wrap the array in relax.const, or make it an input of the function; tl.ops takes arrays as they are",
        "relax.const(array)",
    ),
    Rule(
        "E16",
        "type rule",
        r"Cannot convert from type .(None|ffi\.Array|ffi\.List). to .ir\.Type"
        r"|type rule returns (?:nothing \(a return is missing\)|\w+), not a TensorType",
        "the type rule returned no type: its return is missing, or it returned a tuple of numbers",
        "return TensorType(shape, dtype), or a tuple of them",
        "def type_rule(x):\n    return TensorType(x.shape, x.dtype)",
    ),
    Rule(
        "E17",
        "callback of TVM",
        r"takes (\d+) positional arguments? but (\d+) were given",
        "TVM gives {1} arguments to a function that takes {0}",
        "FInferType is called with (call, builder), FLegalize with (builder, call)",
        "def infer_type(call, builder): …\ndef legalize(builder, call): …",
        python=True,
    ),
    Rule(
        "E09",
        "call of an operator",
        r"missing \d+ required positional arguments?: (.+)",
        "a function is called without {0}",
        "give it that argument, or remove the parameter",
        "bb.emit_te(compute, x, 0.5)  # one argument for each parameter, in order",
        python=True,
    ),
    Rule(
        "E09",
        "definition",
        r"attribute '(\w+)' is not a parameter of compute",
        "compute does not take the attribute {0}, which the cell declares",
        "add the parameter {0} to compute, or remove the attribute",
        "def compute(x, {0}): …",
    ),
    Rule(
        "E18",
        "attributes",
        r"Cannot find type .([\w.@]+)",
        "TVM knows no class of attributes {0}: the cell that defines it has not run, or its key has a slip",
        "define the class first, then name it; %%tvm_op makes it from class Attrs",
        '@py_class("{0}")\nclass Attrs(tvm.ir.attrs.Attrs): …',
    ),
    Rule(
        "E19",
        "attributes",
        r"Type key '(\S+)' is already registered",
        "the class of attributes {0} exists already, and TVM cannot replace it: the cell was run twice",
        "declare attributes in %%tvm_op, which can be run again, or take another key each time",
        "class Attrs:\n    slope: float = 0.01",
    ),
    Rule(
        "E20",
        "attributes",
        r"(?:__ffi_init__\(\) missing required argument|needs the attribute):? '(\w+)'",
        "the attribute {0} has no default and no value was given",
        "give the attribute where the operator is called, or a default where it is declared",
        "tl.ops.lab.my_op(x, {0}=…)",
    ),
    Rule(
        "E20",
        "attributes",
        r"(?:field|attribute) '(\w+)':\s+expected ([\w.]+), got ([\w.]+)",
        "the attribute {0} is a {1}, and was given a {2}",
        "give a {1}, or declare another type",
        "tl.ops.lab.my_op(x, {0}={1}(…))",
    ),
    Rule(
        "E20",
        "attributes",
        r"Cannot convert (.+?) to TypeSchema|has the type (\w+), which TVM cannot store",
        "an attribute has a type that TVM cannot store: {0}{1}",
        "use float, int, bool, str, tuple[int, ...], list[…], dict[str, …] or Optional[…]",
        "class Attrs:\n    axes: tuple[int, ...] = (0, 1)",
    ),
    Rule(
        "E20",
        "attributes",
        r"__ffi_init__\(\) got (?:an )?unexpected keyword argument:? '(\w+)'"
        r"|has no attribute '(\w+)'\n\s+at .*\n\s+mend: there are",
        "the operator has no attribute {0}{1}",
        "give only attributes that class Attrs declares",
        "class Attrs:\n    {0}{1}: float = 1.0",
    ),
    Rule(
        "E21",
        "callback of TVM",
        r"'NoneType' object has no attribute '(\w+)'",
        "a rule reads {0} of nothing: the call was made without its attributes",
        "give relax.Call the attributes, or call tl.ops.<namespace>.<name>(…), which does",
        "relax.Call(op, [x], attrs)",
        python=True,
    ),
    Rule(
        "E22",
        "registration",
        r"Attribute (\S+) of (\S+) is already registered with same plevel",
        "{0} of {1} is set already: the cell was run twice",
        "reset it first; %%tvm_op can be run again",
        'op = Op.get("{1}")\nop.reset_attr("{0}")\nop.set_attr("{0}", …)',
    ),
    Rule(
        "E23",
        "registration",
        r"Global Function .(\S+?). is already registered",
        "a global function {0} exists already",
        "say that it is to be replaced",
        'tvm.register_global_func("{0}", function, override=True)',
    ),
    Rule(
        "E23",
        "look-up of a function",
        r"Cannot find global function (\S+)",
        "TVM has no global function {0}",
        "register it first, under exactly this name",
        'tvm.get_global_func("{meant}")',
        words=tvm_api.global_function_names,
    ),
    Rule(
        "E23",
        "start of the virtual machine",
        r"Cannot find ffi::Function (\S+) in either",
        "the module calls a function {0} that is neither compiled into it nor registered",
        "register it before the virtual machine is made, under exactly this name",
        'tvm.register_global_func("{0}", function, override=True)',
        words=tvm_api.global_function_names,
    ),
    Rule(
        "E24",
        "building a graph",
        r"no block is being built",
        "something was emitted outside of a function",
        "emit inside bb.function, and inside bb.dataflow what is to be fused",
        'with bb.function("main", [x]):\n    with bb.dataflow():\n'
        "        y = bb.emit_output(bb.emit(relax.op.exp(x)))\n"
        "    bb.emit_func_output(y)",
    ),
    Rule(
        "E24",
        "building a graph",
        r"EmitOutput has to be called inside dataflow block",
        "emit_output was called outside of a dataflow block",
        "call it inside bb.dataflow(); outside, emit is enough",
        "with bb.dataflow():\n    y = bb.emit_output(bb.emit(relax.op.exp(x)))",
    ),
    Rule(
        "E24",
        "building a graph",
        r"DataflowVar (\S+) is used outside DataflowBlock",
        "{0} lives inside of its dataflow block only, and is used after it",
        "hand it out of the block with emit_output",
        "with bb.dataflow():\n    {0} = bb.emit_output({0})",
    ),
    Rule(
        "E25",
        "building a graph",
        r"must be constructed with either an explicit type.*or a normalized body",
        "relax.Function was given nested calls, which have no type yet",
        "build it with a BlockBuilder, or with tl.graph, which give every call a type",
        'def main(x: "float32[n, 64]"):\n    return relax.op.nn.relu(relax.op.exp(x))\ntl.graph(main)',
    ),
    Rule(
        "E26",
        "type rule",
        r"Binary operators must have the same datatype.*?uses datatype T\.(\w+) on the LHS"
        r".*?datatype T\.(\w+) on the RHS",
        "the operands have different dtypes: left {0}, right {1}",
        "cast one of them: .astype in te, relax.op.astype in Relax; wrap numbers with const_like(value, x)",
        'relax.op.astype(x, "{1}")',
    ),
    Rule(
        "E26",
        "type rule",
        r"Cannot match type|Binary operators must have the same datatype",
        "the operands have different dtypes",
        "wrap constants with const_like(value, x), or cast with .astype(x.dtype)",
        "x(*i) * const_like(0.5, x)",
    ),
    Rule(
        "E26",
        "type rule",
        r"first input shape at dim (\d+) is (?:T\.\w+\()?(\w+)\)? and the second input shape at dim (\d+) is"
        r" (?:T\.\w+\()?(\w+)\)?, which ar\w* not broadcastable",
        "the shapes do not broadcast: axis {0} of the first is {1}, axis {2} of the second is {3}",
        "give sizes that are equal or 1, counted from the last axis; relax.op.reshape makes room for one",
        "relax.op.expand_dims(x, axis=0)",
    ),
    Rule(
        "E26",
        "type rule",
        r"reduction length of the operands to be equal\.\s+However, the LHS \S+ has shape R\.shape\((.+?)\),"
        r" while the RHS \S+ has shape R\.shape\((.+?)\)",
        "the inner sizes of the matrix product differ: left {0}, right {1}",
        "the last axis of the left must be the last but one of the right",
        "relax.op.matmul(x, relax.op.permute_dims(w))  # if w has its axes the other way round",
    ),
    Rule(
        "E27",
        "run",
        r"argument '(\w+)': expected (\S+\[.*?\]|\S+), got (\S+\[.*?\]|\S+)",
        "the input {0} must be {1}, and is {2}",
        "give an array of the shape and dtype that the function declares",
        'tl.run(model, array.astype("float32"))',
    ),
    Rule(
        "E27",
        "run",
        r"param=(\w+), annotation=(.+?)\)\s+(?:match_cast error|expect Tensor)",
        "the input {0} is not what its annotation says: {1}",
        "give an array of that shape and dtype",
        'vm["main"](tvm.runtime.tensor(array.astype("float32")))',
    ),
    Rule(
        "E27",
        "run",
        r"match_cast error|expect Tensor with dtype",
        "an input does not have the shape or dtype that the function declares",
        "give an array of that shape and dtype",
        'vm["main"](tvm.runtime.tensor(array.astype("float32")))',
    ),
    Rule(
        "E28",
        "gradient",
        r"FPrimalGradient has not been registered for (\S+)|(\S+) has no gradient(?=\s)",
        "the operator {0}{1} does not say how it is differentiated",
        "add def gradient(dy, x) to its cell; it returns one expression a tensor",
        "def gradient(dy, x):\n    return relax.op.multiply(dy, x)",
    ),
    Rule(
        "E28",
        "gradient",
        r"differentiation target must be a float scalar",
        "only a single number can be differentiated, and the function returns a tensor",
        "add a sum at its end",
        "relax.op.sum(y)",
    ),
    Rule(
        "E28",
        "gradient",
        r"partials number != inputs number",
        "the gradient does not return one expression for each input",
        "return a list as long as the call's arguments; relax.op.grad.no_grad is for those without one",
        "return [dx, relax.op.zeros_like(w)]",
    ),
    Rule(
        "E29",
        "build",
        r"Cannot find intrinsic declaration, possible type mismatch: llvm\.(\w+)"
        r"|: (\w+) is applied to \w+; it exists for floating-point numbers only",
        "{0}{1} exists for floating-point numbers only",
        "cast the argument first: x(*i).astype('float32')",
        "te.{0}{1}(x(*i).astype('float32'))",
    ),
    Rule(
        "E30",
        "code generation",
        r"Codegen is not found: relax\.ext\.(\S+)",
        "the pattern is named after a code generator {0}, which this TVM has not",
        "leave annotate_codegen out: TVM then compiles the group itself",
        "relax.transform.FuseOpsByPattern(patterns, annotate_codegen=False)",
    ),
    Rule(
        "E31",
        "options of a pass",
        r"Invalid config option '(?:relay\.)?(\S+?)'",
        "TVM has no pass option {0}; those of Relay are named relax.… now",
        "write it as TVM does",
        'tvm.transform.PassContext(config={{"{meant}": …}})',
        words=tvm_api.pass_options,
    ),
    Rule(
        "E32",
        "import from ONNX",
        r"not supported for frontend ONNX: (.*)|importer does not know (\w+)",
        "TVM's importer has no converter for {0}{1}",
        "define the operator with %%tvm_op and put it in the node's place, or export the model without it",
        "%%tvm_op lab.my_op\ndef compute(x): return te.compute(x.shape, lambda *i: x(*i))",
    ),
    *(
        Rule("E33", "an old name", text, f"{name} is a name of an older TVM: {became}", f"write {code}", code)
        for text, name, became, code in old_names.rows()
    ),
    Rule(
        "E34",
        "run",
        r"'(Array|String)' object has no attribute '(?:numpy|shape|asnumpy)'",
        "a function with several outputs gives a tuple of them, not one tensor",
        "take one of them first",
        'y, z = vm["main"](x)\ny.numpy()',
    ),
    Rule(
        "E34",
        "legalize",
        r"lower_for_\w+ returns (\w+), not an expression or te tensors",
        "a lowering returned a {0}, which is no expression",
        "return te.compute(…), or a Relax expression",
        "return relax.op.multiply(x, y)",
    ),
    Rule(
        "E35",
        "run",
        r"ended its process: SIGFPE",
        "the kernel divided an integer by zero, or the smallest integer by -1",
        "keep the divisor from zero before dividing",
        "tirx.if_then_else(y(*i) == 0, const_like(0, x), x(*i) // y(*i))",
    ),
    Rule(
        "E35",
        "run",
        r"ended its process: SIG(SEGV|BUS)",
        "the kernel read or wrote memory that is not its own, or filled the stack",
        "keep every index inside: clamp what depends on data; nest no more than 1000 expressions",
        "x[tirx.max(0, tirx.min(index[i], n - 1))]",
    ),
    Rule(
        "E35",
        "run",
        r"ended its process: SIGILL",
        "the kernel has instructions that this processor lacks",
        "compile for this processor",
        "tl.trace(model)  # its target is this processor",
    ),
    Rule(
        "E35",
        "run",
        r"ended its process after (\S+) s",
        "the kernel did not come to its end in {0} seconds",
        "look for a loop without an end, or allow more time",
        "%config Tvmlab.safe_seconds = 60",
    ),
    Rule(
        "E35",
        "run",
        r"ended its process: (\S+)",
        "the kernel ended its process by {0}",
        "try smaller inputs; tl.check looks for reads outside of the inputs",
        'tl.check("lab.my_op")',
    ),
    Rule(
        "E35",
        "the notebook's kernel",
        r"[Kk]ernel (?:Restarting|.{0,80}?appears to have died|died|.{0,40}? has died)",
        "a cell ended Python itself, with all that it held: a kernel read outside of its inputs or divided by zero, or "
        "the versions of TVM do not go together",
        "ask %tvm_doctor about the versions; then run the cells again in safe mode, where such a death is an error",
        "%tvm_doctor\n%config Tvmlab.safe = True",
    ),
    Rule(
        "E52",
        "building a graph",
        r"the expression is nested more than (\d+) levels deep",
        "an expression is too deep for TVM: it is nested more than {0} levels",
        "emit each call: y = bb.emit(…); in te, give a part a te.compute of its own, or use te.reduce_axis",
        "for _ in range(n):\n    y = bb.emit(relax.op.exp(y))",
    ),
    Rule(
        "E53",
        "legalize",
        r"FLegalize of (\S+) returns (a call of \S+ itself|\w+, not an expression)",
        "FLegalize of {0} returns {1}",
        "return a call_tir, such as bb.call_te gives, or a call of other operators",
        "def legalize(bb, call):\n    return bb.call_te(compute, *call.args)",
    ),
    Rule(
        "E54",
        "registration",
        r"no operator has an attribute (\S+); a reset of it would end the process",
        "no operator carries the attribute {0}, and to read it after a reset would end the process",
        "look for a slip in its name: FInferType, FLegalize, FPurity, FPrimalGradient …",
        'Op.get("relax.lab.my_op").reset_attr("FLegalize")',
    ),
    Rule(
        "E51",
        "the installation",
        r"apache-tvm-ffi (\S+?), .*it kills Python",
        "apache-tvm-ffi {0} ends Python as soon as TVM writes a program as JSON, in save_json, pickle and deepcopy",
        "install the release before it, and restart the kernel; %tvm_doctor names the command",
        'pip install "apache-tvm-ffi>=0.1.14.post0,<0.1.15"',
    ),
    Rule(
        "E36",
        "compute",
        r"maximum recursion depth exceeded",
        "a function calls itself without end",
        "give the recursion an end; a loop over an axis is te.reduce_axis",
        "k = te.reduce_axis((0, n))",
        python=True,
    ),
    Rule(
        "E37",
        "definition",
        r"name '(\w+)' is not defined",
        "NameError: {0!r} is not defined",
        "define {0!r} in this cell, or in a cell before it",
        python=True,
    ),
    Rule(
        "E38",
        "compute",
        r"(?:First argument to tvm\.tirx\.const must be|const_like\((\w+), …\): \w+ is a tensor)",
        "a tensor is given where a number is needed: {0}",
        "declare an attribute in the cell, such as class Attrs: {0}: float = 1.0",
        "class Attrs:\n    {0}: float = 1.0",
    ),
    Rule(
        "E39",
        "compute",
        r"Literal value (\S+) exceeds (?:minimum|maximum) of (\w+)",
        "{0} is too large for {1}",
        "use a number that {1} can hold, such as 65504 in float16, or choose it by x.dtype",
    ),
    Rule(
        "E40",
        "type rule",
        r"not supported between instances of 'slice' and 'int'",
        "the shape of a TensorType cannot be sliced",
        "make it a list first: list(x.shape)[1:]",
        "list(x.shape)[1:]",
    ),
    Rule(
        "E41",
        "call of an operator",
        r"relax\.(\S+) is called without its attributes",
        "relax.{0} is called without its attributes, which would end the process",
        "write relax.op.{0}(…) instead of relax.Call(Op.get(…), …)",
        "relax.op.{0}(x)",
    ),
    Rule(
        "E42",
        "build",
        r"Memory verification failed|Did you forget to bind",
        "a kernel for a GPU has loops that are bound to no threads",
        "schedule it: the default GPU schedule binds them, under its target",
        "with target:\n    module = tvm.s_tir.transform.DefaultGPUSchedule()(module)",
    ),
    Rule(
        "E43",
        "legalize",
        r"emit_te now only supports Tensor that has ShapeExpr shape",
        "te was given a tensor whose shape is not known",
        "give the input a shape, with symbols if need be, or name it with match_cast",
        'bb.match_cast(x, relax.TensorType((n, 64), "float32"))',
    ),
    Rule(
        "E44",
        "fuse",
        r"Inconsistent buffers",
        "a kernel and its caller describe one value in two ways, as te.extern and passes in an unusual order do",
        "write pattern = 'opaque' into an operator with te.extern; run passes in the order in which tl.trace does",
        "pattern = 'opaque'  # in the cell of the operator: nothing is fused with it",
    ),
    Rule(
        "E45",
        "compute",
        r"Divide by zero",
        "a constant is divided by zero",
        "divide by something else",
        python=True,
    ),
    Rule(
        "E46",
        "target",
        r"Cannot parse target string \"(.+?)\"",
        "a target is a dictionary now, not a command line",
        "write the options as a dictionary",
        'tvm.target.Target({{"kind": "llvm", "mcpu": "znver4"}})',
    ),
    Rule(
        "E47",
        "run",
        r"Invoking function (\w+) expects (\d+) arguments \((.*?)\), but (\d+) arguments",
        "{0} takes {1} inputs ({2}), and was given {3}",
        "give one array for each",
        'vm["{0}"]({2})',
    ),
    Rule(
        "E49",
        "compute",
        r"'(?:Tensor|TensorSlice)' object is not iterable|argument of type '(?:Tensor|TensorSlice)' is not iterable",
        "a te tensor was looped over, or given to Python's sum, max, min, list or in; it is a formula without data",
        "combine its elements over a reduction axis with te.sum or te.max; its sizes are in x.shape",
        "k = te.reduce_axis((0, x.shape[0]))\nte.compute((), lambda: te.sum(x[k], axis=k))",
        python=True,
    ),
    Rule(
        "E50",
        "compute",
        r"(a te tensor|compute|reduce_axis|sum|max|min|all|any) is given None",
        "{0} is given None, as an index, an axis, a size or a condition",
        "look where it comes from: a key that a dict lacks, or a function without a return",
    ),
    Rule(
        "E48",
        "run",
        r"bad_alloc|not enough memory to run",
        "more memory was asked for than there is",
        "give it smaller shapes",
        python=True,
    ),
)


def explain(error: BaseException) -> Explanation | None:
    """Look an error up in the table; None if no rule knows it."""
    return explain_text(str(error))


def explain_text(text: str, *, by_tvm: bool = True) -> Explanation | None:
    """Look a message up in the table; None if no rule knows it.

    Parameters
    ----------
    by_tvm : bool
        Whether TVM had a part in it; else rules do not count that Python's own errors match too.
    """
    for rule in TABLE:
        found = re.search(rule.text, text, re.DOTALL) if by_tvm or not rule.python else None
        if found:
            return _filled(rule, [group or "" for group in found.groups()])
    return None


def _filled(rule: Rule, groups: list[str]) -> Explanation:
    meant = nearest(groups[0], rule.words()) if rule.words else ""
    if not groups:
        return Explanation(rule.key, rule.meaning, rule.mend, rule.stage, rule.code)
    meant = nearest(groups[0], rule.words()) if rule.words else ""
    mend = f"did you mean {meant}?" if meant else rule.mend.format(*groups)
    code = rule.code.format(*groups, meant=meant or "…")
    return Explanation(rule.key, rule.meaning.format(*groups).strip().rstrip(":"), mend, rule.stage, code, meant)
