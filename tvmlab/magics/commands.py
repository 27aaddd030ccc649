"""The magics themselves.

Each parses its options, calls one function of `tvmlab.api`, and returns that function's record.  An option that is not
given is not passed on: the defaults are those of `tvmlab.api`.
"""

from __future__ import annotations

import argparse
import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import argument, kwds, magic_arguments
from traitlets import Bool, Float, Int, observe

from tvmlab.errors import TvmlabError
from tvmlab.magics import backend, cell
from tvmlab.magics.errors import TvmlabUsageError
from tvmlab.magics.options import codes, identifier, node_and_kind, parse
from tvmlab.magics.shelf import Shelf

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tvmlab.errors import Location

__all__ = ["CELL_HINTS", "Tvmlab"]

CELL_HINTS = {
    "tvm_op": "write the operator below it, at least: def compute(x): return te.compute(x.shape, lambda *i: x(*i))",
    "tvm_exercise": "write your answer below it; %tvm_hint NAME gives a hint",
    "tvm_graph": 'write the graph below it: def NAME(x: "float32[n, 64]"): return relax.op.nn.relu(x)',
}

MODEL = argument("model", metavar="MODEL", help="A variable, a name given by %%tvm_load or %%%%tvm_graph, or a file.")
EXERCISE = argument("exercise", metavar="NAME", help="An exercise of the course, such as 04a.")
SEED = argument("--seed", type=int, metavar="N", help="Seed of the random numbers.")
CLEANUP = argument(
    "--cleanup", choices=("tvmlab", "tvm", "none"), help="Which clean-up of the model runs before the stages."
)
ENGINE = argument("--engine", choices=("python", "tvm", "none"), help="Who decides what is fused.")
REMOTE = argument("--remote", metavar="tracker://HOST:PORT/KEY", help="A device that TVM's RPC tracker lends.")
OVERWRITE = argument("--overwrite", action="store_true", help="Put it in the place of what is there.")
STAGES = ("import", "legalize", "annotate", "fuse", "inline", "schedule", "build")
DEFAULT_SIDES = ("unfused", "fused", "scheduled", "onnxruntime")
SIDES = (
    *("none", "fuse", "fuse+inline", "full", "tuned", "onnxruntime", "onnxruntime-off"),
    *("unfused", "fused", "scheduled", "onnxruntime-all"),
)
DISPLAY = (
    argument("-q", "--quiet", action="store_true", help="Show nothing."),
    argument("-v", "--var", type=identifier, metavar="VAR", help="Keep the result in the variable VAR."),
    argument("-i", "--interactive", action="store_true", help="Show the explorer instead of the static picture."),
)


def command(*arguments: argument, on_cell: bool = False) -> Callable[..., Any]:
    """Make a magic of a method that takes the options by keyword, and the cell's body first if it is `on_cell`."""

    def decorate(work: Callable[..., Any]) -> Any:
        name = work.__name__

        @functools.wraps(work)
        def run(self: Tvmlab, line: str, body: str | None = None) -> Any:
            __tracebackhide__ = True

            def where(culprit: str) -> Location | None:
                return cell.locate(self.shell, name, culprit, traceback.walk_stack(None))

            if on_cell and body is None:
                raise TvmlabUsageError(
                    f"%{name} works on a cell, not on a line",
                    where(""),
                    f"write %%{name} NAME as the first line of a cell, and under it what it makes; %%{name}? explains",
                )
            parser = self.parser(name)
            options = {**self.configured(parser), **parse(parser, line, where)}
            quiet, variable = options.pop("quiet", self.quiet), options.pop("var", None)
            interactive = options.pop("interactive", False)
            culprit = options.get("model", options.get("name", ""))
            try:
                if "model" in options:
                    options["model"] = self.models.find(culprit)
                record = work(self, *([body] if on_cell else []), **options)
                shown = explored(name, record) if interactive and not quiet else record
            except TvmlabError as error:
                if not error.where and (place := where(culprit)):
                    error.location, error.where = place, str(place)
                raise
            if variable:
                self.shell.push({variable: record})
            return None if quiet else shown

        magic = output_can_be_silenced(no_var_expand(run))
        magic = kwds(argument_default=argparse.SUPPRESS)(magic)  # an option that is not given is absent
        for each in reversed((*arguments, *DISPLAY)):
            magic = each(magic)
        magic = magic_arguments(f"%{name}" if on_cell else name)(magic)
        magic.parser.allow_abbrev = False  # a shortened option is an unknown one
        return (line_cell_magic if on_cell else line_magic)(magic)

    return decorate


def explored(name: str, record: Any) -> Any:
    """The explorer of a magic's record."""
    if not hasattr(record, "explore"):
        raise TvmlabUsageError(f"%{name}: what it shows has no explorer", None, "leave -i out")
    return record.explore()


@magics_class
class Tvmlab(Magics):
    """The magics of tvmlab and their defaults, for ``%config Tvmlab``."""

    quiet = Bool(False, help="Show nothing: the -q of every magic.").tag(config=True)
    safe = Bool(False, help="Run what is not proved safe in a child process, whose death is an error.").tag(config=True)
    safe_seconds = Float(10.0, min=0.01, help="How long one call may take in safe mode.").tag(config=True)
    safe_gigabytes = Float(4.0, min=0.01, help="How much memory one call may take in safe mode.").tag(config=True)
    seed = Int(None, allow_none=True, help="The --seed of every magic that has one.").tag(config=True)

    shell: InteractiveShell
    matcher: Any
    """The completer's matcher for these magics."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.models = Shelf(shell.user_ns)

    @observe("safe", "safe_seconds", "safe_gigabytes")
    def set_safety(self, _change: object = None) -> None:
        """Tell the runtime what ``%config`` says of safe mode."""
        from tvmlab.runtime import POLICY  # imports NumPy, which loading the extension does not

        POLICY.safe, POLICY.seconds, POLICY.gigabytes = self.safe, self.safe_seconds, self.safe_gigabytes

    @property
    def names(self) -> list[str]:
        """Names of all magics, without their ``%``."""
        return sorted({*self.magics["line"], *self.magics["cell"]})

    def spelling(self, name: str) -> str:
        """A magic as it is typed: with one ``%``, or with two if it works on a cell."""
        return f"%%{name}" if name in self.magics["cell"] else f"%{name}"

    def parser(self, name: str) -> argparse.ArgumentParser:
        """The parser of a magic's line."""
        parser: argparse.ArgumentParser = getattr(type(self), name).parser
        return parser

    def configured(self, parser: argparse.ArgumentParser) -> dict[str, Any]:
        """Options of a magic that ``%config Tvmlab`` sets."""
        values = {action.dest: getattr(self, action.dest, None) for action in parser._actions if action.dest == "seed"}
        return {name: value for name, value in values.items() if value is not None}

    @command(argument("name", metavar="NAME", help="Name of the operator: namespace.name."), on_cell=True)
    def tvm_op(self, body: str, name: str) -> Any:
        """Define an operator, and make it live.

        Example::

            %%tvm_op lab.leaky_clamp
            class Attrs:
                lower: float = -1.0

            def compute(x, lower):
                return te.compute(x.shape, lambda *i: tirx.max(const_like(lower, x), x(*i)))

        What the cell may hold; only compute must be there::

            a docstring          what the operator is
            class Attrs          its attributes: types, defaults, and validate(self)
            compute              from te tensors, then the attributes by name, to te tensors
            type_rule            from tensor types to the output's; derived from compute if absent
            reference            what it should be, in NumPy
            lower_for_<target>   another compute for one target, such as lower_for_cuda
            pattern              the pattern kind, if not the one that TVM infers
            schedule, gradient   how its kernel is scheduled; how it is differentiated
            examples             inputs for the checks

        It is then called as tl.ops.lab.leaky_clamp(x, lower=-0.5), on NumPy arrays and in Relax graphs.
        """
        return backend.api().define(name, body, **self._cell(body))

    @command(
        argument("op", metavar="OP", help="A live operator: namespace.name; or FILE::NAME."),
        argument("--quick", action="store_true", help="Only what takes milliseconds."),
        argument("--only", type=codes, metavar="CODES", help="Only these checks: C05,C10."),
        argument("--raise", dest="raise_exception", action="store_true", help="Raise an error if a check fails."),
        SEED,
    )
    def tvm_check(self, op: str, **options: Any) -> Any:
        """Check an operator: types, values, dtypes, sizes, fusion, gradient, targets.

        Every check has a code, C01 to C20; a failure comes with the line at fault, a mend, and a cell that shows it.
        """
        return backend.api().check(op, **options)

    @command(argument("name", type=identifier, metavar="NAME", help="The variable for the model."), on_cell=True)
    def tvm_graph(self, body: str, name: str) -> Any:
        """Make a model of a Python function over operators.

        Example::

            %%tvm_graph block
            def block(x: "float32[n, 64]", w: "float32[64, 64]"):
                return relax.op.nn.relu(relax.op.matmul(x, w))

        The model is bound to the variable NAME.
        """
        model = backend.api().graph_from_source(name, body, **self._cell(body))
        self.models.keep(model, name, asked=True)
        return model

    @command(
        argument(
            "source",
            type=Path,
            metavar="FILE",
            help="An ONNX file, or a network of the onnx package, such as light_resnet50.onnx.",
        ),
        argument("--name", type=identifier, help="The variable for the model, else the name of the file."),
        argument("--weights", choices=("random",), help="Put weights into a model that comes without."),
        argument("--trust", action="store_true", help="Run the code of a compiled model, which %%tvm_save wrote."),
        SEED,
    )
    def tvm_load(self, source: Path, **options: Any) -> Any:
        """Read a model from a file, or a compiled one from its folder, and bind it to a variable."""
        model = backend.api().load(source.expanduser(), **options)
        self.models.keep(model, model.name, asked="name" in options)
        return model

    @command(
        MODEL,
        argument("path", type=Path, metavar="FOLDER", help="The folder to write."),
        OVERWRITE,
    )
    def tvm_save(self, model: Any, path: Path, **options: Any) -> Any:
        """Compile a model for this machine, and write it into a folder: %tvm_load FOLDER --trust reads it."""
        return backend.api().save(model, path.expanduser(), **options)

    @command(
        argument("op", metavar="OP", help="A live operator: namespace.name; or FILE::NAME."),
        argument("path", type=Path, metavar="FILE.py", help="The module to write; its test is test_FILE.py beside it."),
        OVERWRITE,
    )
    def tvm_export(self, op: str, path: Path, **options: Any) -> Any:
        """Write a module that makes an operator live when it is imported, and a test of it."""
        return backend.api().export(op, path.expanduser(), **options)

    @command(
        MODEL,
        ENGINE,
        argument("--level", choices=("relax", "onnx"), help="The graph that is fused."),
        CLEANUP,
        argument(
            "--kind",
            dest="kinds",
            type=node_and_kind,
            action="append",
            metavar="NODE=KIND",
            help="Another kind of a node, such as relu1=opaque.",
        ),
        argument("--max-depth", type=int, metavar="N", help="Another limit of the group size than 256."),
        argument("--without", action="append", metavar="PHASE", help="Leave out a phase: phase0, phase1, phase2."),
        argument(
            "--template",
            dest="templates",
            action="append",
            metavar="NAME",
            help="A shipped template that is matched first, such as conv_bn_relu.",
        ),
        argument(
            "--levels",
            action="store_true",
            help="Show instead why the model's own nodes are grouped otherwise than TVM's kernels.",
        ),
    )
    def tvm_fuse(self, model: Any, **options: Any) -> Any:
        """Fuse a model: which operators share a kernel, before and after."""
        if options.pop("levels", False):
            if set(options) - {"cleanup"}:
                raise TvmlabUsageError("%tvm_fuse: --levels goes with --cleanup alone", None, "leave the others out")
            return backend.api().compare_levels(model, **options)
        if "kinds" in options:
            options["kinds"] = dict(options["kinds"])
        return backend.api().fuse(model, **options)

    @command(
        MODEL,
        # None, since argparse takes the mark of an absent argument for a choice
        argument(
            "before", nargs="?", choices=STAGES, default=None, metavar="FROM", help=f"One of {', '.join(STAGES)}."
        ),
        argument("after", nargs="?", choices=STAGES, default=None, metavar="TO", help="A stage after it."),
        ENGINE,
        CLEANUP,
    )
    def tvm_diff(self, model: Any, **options: Any) -> Any:
        """Show what changed in a model between two stages on its way to machine code."""
        if "before" in options and "after" not in options:
            raise TvmlabUsageError("%tvm_diff: FROM without TO", None, "give both stages, or neither")
        return backend.api().diff(model, **options)

    @command(
        MODEL,
        argument(
            "--stage",
            choices=STAGES[1:],
            metavar="STAGE",
            help=f"The stage whose outputs are compared, of {', '.join(STAGES[1:])}.",
        ),
        SEED,
        argument("--tolerance", type=float, metavar="X", help="Largest difference, over the largest value."),
        argument(
            "--bisect", action="store_true", help="Name the first stage and kernel whose values are wrong instead."
        ),
        argument("--groups", action="store_true", help="Compare each fused kernel with the unfused ones instead."),
    )
    def tvm_verify(self, model: Any, **options: Any) -> Any:
        """Compare a model's outputs with those of onnxruntime, on random inputs."""
        return backend.api().verify(model, **options)

    @command(
        MODEL,
        argument(
            "--sides",
            nargs="+",
            choices=SIDES,
            metavar="SIDE",
            help=f"What is timed, of {', '.join(SIDES)}; {', '.join(DEFAULT_SIDES)} if not given.",
        ),
        argument("--repeats", type=int, metavar="N", help="Rounds; every side runs once in each."),
        argument("--threads", type=int, metavar="N", help="Threads of every side."),
        argument(
            "--budget", type=float, metavar="SECONDS", help="How long the rounds may take, if --repeats is not given."
        ),
        argument(
            "--kernels",
            action="store_true",
            help="Each kernel of the full build too: time, bytes, operations, and what bounds it.",
        ),
        REMOTE,
        SEED,
    )
    def tvm_time(self, model: Any, **options: Any) -> Any:
        """Time a model unfused, fused, scheduled and in onnxruntime, interleaved in one run."""
        return backend.api().bench(model, **options)

    @command(
        MODEL,
        argument("--trials", type=int, metavar="N", help="Candidates to measure, dealt to the kernels by their time."),
        argument("--database", type=Path, metavar="FILE", help="The file that keeps what is found."),
        argument("--threads", type=int, metavar="N", help="Threads to measure on."),
        REMOTE,
        SEED,
    )
    def tvm_tune(self, model: Any, **options: Any) -> Any:
        """Search for schedules that are faster than the rules', and keep them; it takes minutes."""
        return backend.api().tune(model, **options)

    @command(
        MODEL,
        argument(
            "file", nargs="?", type=Path, default=None, metavar="FILE", help="The HTML file; else the model's name."
        ),
        argument("--no-timing", dest="timing", action="store_false", help="Leave the times out, which take longest."),
        argument("--sides", nargs="+", choices=SIDES, metavar="SIDE", help="What is timed: see %%tvm_time."),
        argument("--budget", type=float, metavar="SECONDS", help="How long the rounds of the timing may take."),
        argument("--threads", type=int, metavar="N", help="Threads of every side."),
        SEED,
    )
    def tvm_report(self, model: Any, **options: Any) -> Any:
        """Write one HTML file with all about a model: stages, fusion and its reasons, values, times."""
        return backend.api().report(model, **options)

    @command(
        # None, since argparse takes the mark of an absent argument for what was given
        argument(
            "model", nargs="?", default=None, metavar="MODEL", help="A model; without it the last error is explained."
        ),
        argument("a", nargs="?", default=None, metavar="A", help="A node of the model."),
        argument("b", nargs="?", default=None, metavar="B", help="Another."),
    )
    def tvm_why(self, **options: Any) -> Any:
        """Say why the last error happened; with a model and two nodes, why they do or do not share a kernel."""
        if "model" in options and "b" not in options:
            raise TvmlabUsageError("%tvm_why: two nodes are needed beside the model", None, "write %tvm_why MODEL A B")
        return backend.api(needs_tvm="model" in options).why(**options)

    @command(EXERCISE, on_cell=True)
    def tvm_exercise(self, body: str, exercise: str) -> Any:
        """Check an answer to an exercise of the course, at once.

        Example::

            %%tvm_exercise 04a
            def compute(x):
                return te.compute(x.shape, lambda *i: x(*i))

        A verdict comes below the cell: which properties the answer has, and where it first goes wrong. What the cell
        defines can be used afterwards, an operator as tl.ops.NAME, a function by its name.
        """
        verdict = backend.api().attempt(exercise, body, **self._cell(body))
        if isinstance(answer := getattr(verdict, "answer", None), FunctionType):
            self.shell.push({answer.__name__: answer})
        return verdict

    @command(EXERCISE)
    def tvm_hint(self, exercise: str) -> Any:
        """Give the next of three hints to an exercise; the last is an outline."""
        return backend.api(needs_tvm=False).hint(exercise)

    @command()
    def tvm_progress(self) -> Any:
        """Show which exercises of the course are solved; kept in a small file beside the notebook."""
        return backend.api(needs_tvm=False).progress()

    @command()
    def tvm_doctor(self) -> Any:
        """Look at the installation: versions, targets, threads, and how to mend what is wrong."""
        return backend.api(needs_tvm=False).doctor()

    def _cell(self, body: str) -> dict[str, Any]:
        """Where a cell's body comes from, for the functions that run it."""
        return {
            "shell_namespace": self.shell.user_ns,
            "label": cell.label(self.shell),
            "first_line": cell.first_line(self.shell, body),
            "cache": functools.partial(cell.remember, self.shell),
        }
