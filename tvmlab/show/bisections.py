"""How a bisection looks, and a comparison of fused kernels with unfused ones: where values go wrong, and how far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tvmlab.records import Bisection, Bundle, GroupComparison, KernelCheck, OutputError, StageCheck, picture, worst_of
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, notes, scroll, sentence, table, tag
from tvmlab.show.text import count, duration, plain_table, power
from tvmlab.show.verifications import tolerance_in_words

_STAGES = ("stage", "", "kernels run", "at worst, ULP", "in", "took", "what was compared")
_STAGES_ALIGN = "nnrrnrl"
_KERNELS = ("kernel", "nodes", "max abs error", "ULP of the largest", "allowed", "where", "expected", "got")
_KERNELS_ALIGN = "nlrrrnrr"
_FEW = 12


@picture(Bisection)
def bisection(record: Bisection) -> Bundle:
    """One row a stage; the first wrong kernel in words; every kernel behind a fold."""
    check = record.kernel
    word = "right" if check is None else f"WRONG: {record.stage}"
    colour = palette.GOOD if check is None else palette.BAD
    title = join(
        [f"{record.model} ", chip(word, colour), muted(f" against {record.oracle}, {duration(record.seconds)}")]
    )
    rows = [*map(_stage_row, record.stages), *((name, "not looked at", "", "", "", "", "") for name in record.left)]
    page = card(
        title,
        tag("div", record.headline.partition(": ")[2], style="margin:4px 0"),
        _first_fault(record, check),
        table(_STAGES, ((mono(name), _verdict(word), *rest) for name, word, *rest in rows), _STAGES_ALIGN),
        *map(sentence, _tolerances(check for stage in record.stages for check in stage.kernels)),
        details("every kernel of every stage", *map(_stage_fold, filter(_ran, record.stages))),
        notes(record.notes),
        accent=colour,
    )
    lines = [record.headline, *_fault_in_words(record, check), plain_table(_STAGES, rows, _STAGES_ALIGN)]
    lines += [*_tolerances(check for stage in record.stages for check in stage.kernels), *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


@picture(GroupComparison)
def groups(record: GroupComparison) -> Bundle:
    """One row a kernel; large models behind a fold, with the furthest and the wrong ones before it."""
    colour = palette.GOOD if record.ok else palette.BAD
    word = "right" if record.ok else "WRONG"
    against = muted(f" fused against unfused kernels, {duration(record.seconds)}")
    title = join([f"{record.model} after {record.stage} ", chip(word, colour), against])
    shown = record.groups if len(record.groups) <= _FEW else _telling(record.groups)
    whole = (
        _fold(f"all {count(len(record.groups), 'kernel')}, in order", record.groups)
        if len(shown) < len(record.groups)
        else Html()
    )
    few = "" if len(shown) == len(record.groups) else "the wrong kernels, and those that are furthest from the unfused"
    page = card(
        title,
        muted(few),
        _kernel_table(shown),
        whole,
        *map(sentence, _tolerances(record.groups)),
        notes(record.notes),
        accent=colour,
    )
    lines = [record.headline, plain_table(_KERNELS, map(_kernel_row, shown), _KERNELS_ALIGN)]
    if len(shown) < len(record.groups):
        lines.append(f"… {len(record.groups) - len(shown)} more kernels, which are nearer")
    return {"text/plain": "\n".join([*lines, *_tolerances(record.groups), *record.notes]), "text/html": str(page)}


def _ran(stage: StageCheck) -> bool:
    return any(check.outputs for check in stage.kernels)


def _stage_fold(stage: StageCheck) -> Html:
    return _fold(f"kernels of {stage.name}", stage.kernels)


def _verdict(word: str) -> Html:
    colours = {"right": palette.GOOD, "WRONG": palette.BAD}
    return chip(word, colours[word]) if word in colours else muted(word)


def _stage_row(stage: StageCheck) -> tuple[str, ...]:
    run = [check for check in stage.kernels if check.outputs]
    same = f" of {len(stage.kernels):,}" if len(run) < len(stage.kernels) else ""
    worst = worst_of(stage.kernels)
    far = "" if worst is None or worst.worst is None else _ulp(worst.worst)
    word = "right" if stage.ok else "WRONG"
    return (
        stage.name,
        word if run or stage.kernels else "–",
        f"{len(run):,}{same}",
        far,
        "" if worst is None else worst.kernel,
        duration(stage.seconds),
        stage.note,
    )


def _first_fault(record: Bisection, check: KernelCheck | None) -> Html:
    if check is None:
        return Html()
    return join([_kernel_table([check]), *map(sentence, _fault_in_words(record, check))])


def _fault_in_words(record: Bisection, check: KernelCheck | None) -> list[str]:
    if check is None:
        return []
    words = [f"It computes {', '.join(check.nodes)}."] if check.nodes else []
    if check.note:
        words.append(f"{check.note[0].upper()}{check.note[1:]}.")
    wrong = sum(not other.ok for stage in record.stages for other in stage.kernels)
    if wrong > 1:
        words.append(f"{count(wrong, 'kernel')} of this stage are wrong; every one was given right inputs.")
    return words


def _telling(checks: Sequence[KernelCheck]) -> list[KernelCheck]:
    """The wrong ones, and the furthest, in order."""
    measured = [check for check in checks if check.worst is not None]
    ordered = sorted(measured, key=lambda c: (c.ok, -_distance(c)))
    chosen = {id(check) for check in ordered[:_FEW]}
    return [check for check in checks if id(check) in chosen]


def _distance(check: KernelCheck) -> float:
    error = check.worst
    if error is None or not error.tolerance:
        return 0.0
    return error.relative / error.tolerance


def _fold(what: str, checks: Sequence[KernelCheck]) -> Html:
    return details(what, scroll(_kernel_table(checks)))


def _kernel_table(checks: Iterable[KernelCheck]) -> Html:
    rows = ((_name(check), *_kernel_row(check)[1:]) for check in checks)
    return table(_KERNELS, rows, _KERNELS_ALIGN)


def _name(check: KernelCheck) -> Html:
    return join([*([] if check.ok else [chip("WRONG", palette.BAD), " "]), mono(check.kernel)])


def _kernel_row(check: KernelCheck) -> tuple[str, ...]:
    nodes = " · ".join(check.nodes)
    error = check.worst
    if error is None:
        return (check.kernel, nodes, check.note, "", "", "", "", "")
    index = f"{error.name if len(check.outputs) > 1 else ''}[{', '.join(map(str, error.index))}]"
    return (
        check.kernel,
        nodes,
        power(error.max_abs),
        _ulp(error),
        power(error.tolerance or 0.0),
        index,
        f"{error.expected:.7g}",
        f"{error.got:.7g}",
    )


def _ulp(error: OutputError) -> str:
    if error.non_finite:
        return f"{error.non_finite:,} × NaN or infinity"
    if math.isnan(error.ulp_of_peak):
        return "–"
    return f"{error.ulp_of_peak:.3g}" if error.ulp_of_peak < 1e4 else power(error.ulp_of_peak)


def _tolerances(checks: Iterable[KernelCheck]) -> list[str]:
    return tolerance_in_words([error for check in checks for error in check.outputs], 0.0)
