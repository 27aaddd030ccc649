"""The command ``tvmlab``: parse the options, call one function of `tvmlab.api`, print its record."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvmlab import __version__
from tvmlab.errors import BackendError, TvmlabError

__all__ = ["main"]

INTERRUPTED = 130

_REMOTE = "A tracker, or a device for it, of TVM's RPC.  It has no authentication: whoever reaches it can run code."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Default: the arguments of this process.

    Returns
    -------
    int
        0; 1 if an error was told or the record says that something is wrong; 130 after Ctrl-C.  Wrong usage ends
        the process with 2, as argparse does.
    """
    _print_anything()
    options = vars(parser().parse_args(argv))
    run: Callable[..., Any] = options.pop("run")
    as_json = options.pop("json", False)
    try:
        for file in options.pop("ops", None) or []:
            _define_in(file)
        record = run(**options)
        if isinstance(record, int):
            return record
        print(
            json.dumps(record.to_dict(), indent=1) if as_json else record._repr_mimebundle_()["text/plain"], flush=True
        )
    except TvmlabError as error:
        return _complain(error)
    except ImportError as error:
        return _complain(BackendError(str(error), where=sys.executable, mend="tvmlab doctor looks for the cause"))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has left, as `head` does; Python flushes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0 if getattr(record, "ok", True) else 1


def parser() -> argparse.ArgumentParser:
    """The options of every command."""
    top = argparse.ArgumentParser(
        prog="tvmlab",
        description="A notebook laboratory for deep-learning compilers on Apache TVM.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"tvmlab {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., Any], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(run=run)
        return made

    doctor = command("doctor", _doctor, "What is installed, whether it works together, and what to type if not.")
    _add_json(doctor)

    demo = command("demo", _demo, "An own operator in ResNet-50: fused, verified, timed; a notebook and a report.")
    demo.add_argument(
        "--dir", dest="directory", type=Path, default=Path("demo"), help="where the notebook and the report go (demo)"
    )
    demo.add_argument("--json", dest="json_file", type=Path, metavar="FILE", help="write the figures to FILE too")
    demo.add_argument("--open", action="store_true", dest="open_report", help="open the report in a browser")

    lab = command("lab", _lab, "JupyterLab on your own copy of the tutorials; what is in the folder is kept.")
    lab.add_argument(
        "directory", nargs="?", type=Path, default=Path("tvmlab-notebooks"), help="your folder (tvmlab-notebooks)"
    )
    lab.add_argument("--no-browser", dest="browser", action="store_false", help="only print the address")
    lab.add_argument("--port", type=int, help="the port (8888, or the next one that is free)")

    fuse = command("fuse", _fuse, "Which operators of a model share a kernel, and why.")
    _add_model(fuse)
    fuse.add_argument("--engine", choices=("python", "tvm", "none"), help="who decides what is fused (python)")
    fuse.add_argument(
        "--level",
        choices=("onnx", "relax"),
        help="the graph that is fused: the model's own nodes, or TVM's kernels (onnx; with engine tvm relax)",
    )
    asked = fuse.add_mutually_exclusive_group()
    asked.add_argument("--why", nargs=2, metavar=("A", "B"), help="why two nodes do or do not share a kernel")
    asked.add_argument(
        "--compare", action="store_true", help="both engines on TVM's kernels: do they agree?  Exit code 1 if not"
    )
    asked.add_argument("--levels", action="store_true", help="why the two levels are grouped differently")
    fuse.add_argument("--max-depth", type=int, metavar="N", help="another limit of the group size than 256")
    fuse.add_argument(
        "--without", action="append", default=[], metavar="PHASE", help="leave out a phase: phase0, phase1, phase2"
    )
    check = command("check", _check, "Check an operator: types, values, dtypes, sizes, targets; exit code 1 if not ok.")
    check.add_argument(
        "op", metavar="FILE::OP", help="a Python file, notebook or operator cell, and the operator in it"
    )
    check.add_argument("--quick", action="store_true", help="only what takes milliseconds")
    check.add_argument("--only", metavar="CODES", help="only these checks: C05,C10")
    check.add_argument("--seed", type=int, default=0, help="seed of the random inputs (0)")
    _add_json(check)
    skeleton = command(
        "skeleton", _skeleton, "Python to begin with, for --ops: an operator for each one of a model that nobody knows."
    )
    skeleton.add_argument("model", metavar="MODEL", type=Path, help="an ONNX file")
    verify = command(
        "verify", _verify, "Is the compiled model right?  Against unoptimised onnxruntime; exit code 1 if not."
    )
    _add_model(verify)
    verify.add_argument("--bisect", action="store_true", help="name the first stage and kernel whose values are wrong")
    verify.add_argument("--groups", action="store_true", help="each fused kernel against the unfused ones")
    save = command("save", _save, "Compile a model for this machine, and write it into a folder.")
    _add_model(save)
    save.add_argument("path", metavar="FOLDER", type=Path, help="the folder to write")
    export = command("export", _export, "Write a module that makes an operator live when imported, and a test of it.")
    export.add_argument(
        "op", metavar="FILE::OP", help="a Python file, notebook or operator cell, and the operator in it"
    )
    export.add_argument("path", metavar="MODULE.py", type=Path, help="the module to write; test_MODULE.py is its test")
    for writing in (save, export):
        writing.add_argument("--overwrite", action="store_true", help="put it in the place of what is there")
    _add_json(export)
    bench = command(
        "bench", _bench, "Time a model unfused, fused, scheduled and in onnxruntime, interleaved in one run."
    )
    _add_model(bench)
    bench.add_argument("--threads", type=int, metavar="N", help="threads of every side")
    bench.add_argument(
        "--kernels", action="store_true", help="each kernel too: time, bytes, operations, and what bounds it"
    )
    _add_remote(bench)

    report = command("report", _report, "One HTML file with all about a model: stages, fusion, values, times.")
    _add_model(report)
    report.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the HTML file (the model's name)")
    report.add_argument("--no-timing", dest="timing", action="store_false", help="leave the times out")
    report.add_argument("--threads", type=int, metavar="N", help="threads of every side")
    report.add_argument("--open", action="store_true", dest="open_report", help="open it in a browser")

    tune = command("tune", _tune, "Search for schedules that are faster than the rules', and keep them.")
    _add_model(tune)
    tune.add_argument("--trials", type=int, metavar="N", help="candidates to measure, dealt by the kernels' time (64)")
    tune.add_argument(
        "--database", type=Path, metavar="FILE", help="what keeps them (tvmlab/tuned.jsonl in the cache folder)"
    )
    tune.add_argument("--threads", type=int, metavar="N", help="threads to measure on")
    _add_remote(tune)

    remote = commands.add_parser("remote", help=_REMOTE, description=_REMOTE, allow_abbrev=False)
    roles = remote.add_subparsers(title="roles", required=True, metavar="ROLE")
    track = roles.add_parser("track", help="lend devices to those who ask", allow_abbrev=False)
    serve = roles.add_parser("serve", help="be a device that a tracker lends", allow_abbrev=False)
    for role, run, port in ((track, _track, 9190), (serve, _serve, 9090)):
        role.set_defaults(run=run)
        role.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1: only this machine)")
        role.add_argument("--port", type=int, default=port, help=f"the port, or the next one that is free ({port})")
    serve.add_argument("--key", default="cpu", help="what the device is asked for by (cpu)")
    serve.add_argument("--tracker", default="127.0.0.1:9190", metavar="HOST:PORT", help="who lends it (127.0.0.1:9190)")

    why = command("why", _why, "What an error of TVM's means: its text as an argument, or from standard input.")
    why.add_argument("text", nargs="?", metavar="TEXT", help="what the error said; read from standard input if absent")
    _add_json(why)

    _add_course(commands)

    advise = command("advise", _advise, "Compose or add: do TVM's own operators do the same, and as fast?")
    advise.add_argument(
        "op", metavar="FILE::OP", help="an operator in a Python file, which is run: my_ops.py::lab.clamp"
    )
    advise.add_argument("--threads", type=int, metavar="N", help="threads of every side")
    _add_json(advise)
    return top


def _add_course(commands: Any) -> None:
    text = "For teachers and students: release an assignment, check a notebook before it is handed in, grade a class."
    tasks = commands.add_parser("course", help=text, description=text, allow_abbrev=False)
    tasks = tasks.add_subparsers(title="tasks", required=True, metavar="TASK")

    def task(name: str, run: Callable[..., Any], text: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = tasks.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(run=run)
        return made

    release = task("release", _release, "Notebooks for students, and for nbgrader and otter-grader, from the lessons.")
    release.add_argument("folder", metavar="DIR", type=Path, help="where they go")
    release.add_argument(
        "--teacher",
        type=Path,
        metavar="DIR",
        required=True,
        help="solutions and hidden properties: ex04a.py and others",
    )
    release.add_argument("--lessons", metavar="NAMES", help="only these: 04_construction_crew,08_build_your_own_fuser")

    checked = task(
        "check-notebook", _check_notebook, "Find and mend what keeps a notebook from being graded; keeps a backup."
    )
    checked.add_argument("notebook", metavar="FILE", type=Path, help="the notebook to be handed in")
    checked.add_argument("--dry-run", action="store_true", help="only say what would be mended")
    _add_json(checked)

    grade = task("grade", _grade, "Judge what a class handed in, each answer in a sandbox (Linux).")
    grade.add_argument(
        "submissions", metavar="SUBMISSIONS", type=Path, help="with STUDENT.ipynb or STUDENT/…/NOTEBOOK.ipynb"
    )
    grade.add_argument(
        "--teacher", type=Path, metavar="DIR", required=True, help="hidden properties: ex04a.py and others"
    )
    grade.add_argument(
        "--secret-file", type=Path, metavar="FILE", required=True, help="what inputs are drawn from; mode 0600"
    )
    grade.add_argument("--out", type=Path, metavar="DIR", default=Path("grades"), help="for the results (grades)")
    grade.add_argument("--exercises", metavar="IDS", help="only these: 04a,04b")
    grade.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler: tls://… or tcp://127.0.0.1:8786")
    grade.add_argument("--jobs", type=int, metavar="N", help="judges side by side (one for each processor)")
    grade.add_argument("--seconds", type=float, metavar="S", default=20.0, help="for an answer to one exercise (20)")
    grade.add_argument(
        "--no-sandbox", dest="sandbox", action="store_false", help="run answers that you trust with your own rights"
    )
    _add_json(grade)


def _release(folder: Path, teacher: Path, lessons: str | None) -> Any:
    from tvmlab import api

    return api.release(folder, teacher=teacher, lessons=_names(lessons))


def _check_notebook(notebook: Path, dry_run: bool) -> Any:
    from tvmlab import api

    return api.check_notebook(notebook, mend=not dry_run)


def _grade(exercises: str | None, **options: Any) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.grade(exercises=_names(exercises), **options)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", type=Path, help="an ONNX file")
    command.add_argument(
        "--ops",
        action="append",
        type=Path,
        metavar="FILE.py",
        help="run FILE.py first, which defines operators and registers them for the model's nodes",
    )
    command.add_argument("--weights", choices=("random",), help="replace constant weights by random ones")
    command.add_argument("--seed", type=int, default=0, help="seed of the random weights and inputs (0)")
    _add_json(command)


def _add_remote(command: argparse.ArgumentParser) -> None:
    command.add_argument("--remote", metavar="tracker://HOST:PORT/KEY", help="measure on a device that a tracker lends")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the record as JSON")


def _doctor() -> Any:
    from tvmlab import api

    return api.doctor()


def _demo(directory: Path, json_file: Path | None, open_report: bool) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    record = api.demo(directory, json_file=json_file, progress=_progress)
    if open_report:
        webbrowser.open(record.report.resolve().as_uri())
    return record


def _lab(directory: Path, browser: bool, port: int | None) -> Any:
    from tvmlab import api

    return api.lab(directory, browser=browser, port=port, progress=_progress)


def _fuse(
    model: Path,
    weights: str | None,
    seed: int,
    engine: str | None,
    level: str | None,
    why: list[str] | None,
    compare: bool,
    levels: bool,
    max_depth: int | None,
    without: list[str],
) -> Any:
    from tvmlab import api

    if compare:
        return api.compare(_load(model, weights, seed))
    if levels:
        return api.compare_levels(_load(model, weights, seed))
    level = level or ("relax" if engine == "tvm" else "onnx")
    given = {"engine": engine, "max_depth": max_depth, "without": without}
    options: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, [])}
    subject = model if level == "onnx" else _load(model, weights, seed)
    record = api.fuse(subject, level=level, **options)
    if why is None:
        return record
    print(record.why(*why))
    return 0


def _check(op: str, quick: bool, only: str | None, seed: int) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.check(op, quick=quick, only=None if only is None else only.split(","), seed=seed)


def _verify(model: Path, weights: str | None, seed: int, bisect: bool, groups: bool) -> Any:
    from tvmlab import api

    given = {name: True for name, asked in {"bisect": bisect, "groups": groups}.items() if asked}
    return api.verify(_load(model, weights, seed), seed=seed, **given)


def _save(model: Path, weights: str | None, seed: int, path: Path, overwrite: bool) -> Any:
    from tvmlab import api

    return api.save(_load(model, weights, seed), path, overwrite=overwrite)


def _export(op: str, path: Path, overwrite: bool) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.export(op, path, overwrite=overwrite)


def _tune(model: Path, weights: str | None, seed: int, **options: Any) -> Any:
    from tvmlab import api

    given = {name: value for name, value in options.items() if value is not None}
    return api.tune(_load(model, weights, seed), seed=seed, **given)


def _track(host: str, port: int) -> int:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.track(host, port, say=_progress)


def _serve(host: str, port: int, key: str, tracker: str) -> int:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.serve(host, port, key=key, tracker=tracker, say=_progress)


def _bench(model: Path, weights: str | None, seed: int, threads: int | None, kernels: bool, remote: str | None) -> Any:
    from tvmlab import api

    given: dict[str, Any] = {} if threads is None else {"threads": threads}
    if remote is not None:
        given["remote"] = remote
    if kernels:
        given["kernels"] = True
    return api.bench(_load(model, weights, seed), seed=seed, **given)


def _report(
    model: Path,
    weights: str | None,
    seed: int,
    file: Path | None,
    timing: bool,
    threads: int | None,
    open_report: bool,
) -> Any:
    from tvmlab import api

    record = api.report(_load(model, weights, seed), file, timing=timing, threads=threads, seed=seed)
    if open_report:
        webbrowser.open(Path(record.file).resolve().as_uri())
    return record


def _why(text: str | None) -> Any:
    from tvmlab import api

    return api.diagnose(sys.stdin.read() if text is None else text)


def _advise(op: str, threads: int | None) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.advise(op, threads=threads)


def _define_in(file: Path) -> None:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    api.define_in(file)


def _skeleton(model: Path) -> int:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    print(api.skeleton(model), end="")
    return 0


def _load(model: Path, weights: str | None, seed: int) -> Any:
    from tvmlab import api, doctoring

    doctoring.require_tvm()
    return api.load(model, weights=weights, seed=seed)


def _progress(text: str) -> None:
    print(text, flush=True)


def _complain(error: TvmlabError) -> int:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return 1


def _print_anything() -> None:
    """On a terminal with a narrow encoding, replace what it cannot show instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
