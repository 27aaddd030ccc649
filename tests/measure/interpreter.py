"""A TIR interpreter in plain Python: runs every iteration, and writes down each element touched and each operation."""

from __future__ import annotations

from collections import Counter, defaultdict

OPERATIONS = {"Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Max", "Min"}
FUNCTIONS = {"exp", "tanh", "erf", "log", "pow", "sigmoid"}
INTEGER = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Max": max,
    "Min": min,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


class Interpreter:
    """Data stand for nothing: only indices and conditions are computed."""

    def __init__(self, function, sizes=None):
        self.reads, self.writes = defaultdict(set), defaultdict(set)
        self.done = Counter()
        self.sizes = sizes or {}
        self.statement(function.body, {})

    def statement(self, node, bound):
        kind = type(node).__name__
        if kind == "For":
            first, extent = self.number(node.min, bound), self.number(node.extent, bound)
            for value in range(first, first + extent):
                self.statement(node.body, {**bound, node.loop_var: value})
        elif kind == "SBlockRealize":
            if self.number(node.predicate, bound):
                axes = zip(node.block.iter_vars, node.iter_values, strict=True)
                inner = {**bound, **{axis.var: self.number(value, bound) for axis, value in axes}}
                self.statement(node.block.body, inner)
        elif kind == "BufferStore":
            self.writes[node.buffer].add(tuple(self.number(i, bound) for i in node.indices))
            self.value(node.value, bound)
        elif kind == "SeqStmt":
            for each in node.seq:
                self.statement(each, bound)
        else:
            raise AssertionError(kind)

    def number(self, node, bound):
        kind = type(node).__name__
        if kind == "IntImm":
            return int(node.value)
        if node in bound:
            return bound[node]
        if kind == "Var":
            return self.sizes[node.name]
        if kind == "Cast":
            return self.number(node.value, bound)
        return INTEGER[kind](self.number(node.a, bound), self.number(node.b, bound))

    def value(self, node, bound):
        kind = type(node).__name__
        if kind == "TensorLoad":
            self.reads[node.source].add(tuple(self.number(i, bound) for i in node.indices))
        elif kind == "Call":
            name = node.op.name.rsplit(".", 1)[-1]
            if name == "if_then_else":
                condition, yes, no = node.args
                self.value(yes if self.number(condition, bound) else no, bound)
                return
            self.done["functions"] += name in FUNCTIONS
            self.done["flops"] += name in {"sqrt", "rsqrt"}
            for each in node.args:
                self.value(each, bound)
        elif hasattr(node, "a") and hasattr(node, "b"):
            self.done["flops"] += kind in OPERATIONS
            self.value(node.a, bound)
            self.value(node.b, bound)
        elif kind == "Cast":
            self.value(node.value, bound)
        else:
            assert kind in {"FloatImm", "IntImm", "Var"}, kind
