"""How marks look: a student's by exercise, and a class as a map of the properties that failed."""

from __future__ import annotations

from collections.abc import Iterator

from tvmlab.records import Bundle, ClassMarks, ExerciseMark, NotebookCheck, StudentMarks, picture
from tvmlab.show import palette, scene_svg
from tvmlab.show.html import Html, card, escape, image, join, mono, muted, notes, scroll, sentence, table
from tvmlab.show.text import plain_table

_ROW, _LEFT, _RIGHT, _TOP = 22, 420, 60, 34
_WIDEST = 900  # pixels for the students
_STATES = {"holds": palette.GOOD, "fails": palette.BAD, "untried": "#C8C8C8"}


@picture(StudentMarks)
def student(record: StudentMarks) -> Bundle:
    """Points by exercise, and what is wrong first."""
    rows = [(mono(m.exercise), m.title, f"{m.points} of {m.of}", m.trouble or m.finding) for m in record.exercises]
    page = card(record.headline, table(("exercise", "", "points", "finding"), rows, "nlrl"), notes(record.findings))
    plain = [(m.exercise, m.title, f"{m.points}/{m.of}", (m.trouble or m.finding)[:90]) for m in record.exercises]
    text = plain_table(("", "", "points", "finding"), plain, "llrl")
    return {"text/plain": "\n".join([record.headline, text, *record.findings]), "text/html": str(page)}


@picture(NotebookCheck)
def notebook_check(record: NotebookCheck) -> Bundle:
    """What was mended, and what the student has to do."""
    done = "Mended:" if record.backup else "To be mended:"
    parts = [
        muted(title) + notes(lines) for title, lines in ((done, record.mended), ("For you:", record.left)) if lines
    ]
    accent = palette.GOOD if record.ok else palette.NOTE
    lines = [f"{done.lower()} {each}" for each in record.mended] + [f"for you: {each}" for each in record.left]
    page = card(record.headline, *map(Html, parts), accent=accent)
    return {"text/plain": "\n".join([record.headline, *lines]), "text/html": str(page)}


@picture(ClassMarks)
def class_marks(record: ClassMarks) -> Bundle:
    """The map, what is to be looked at, and the students with their points."""
    troubles = _troubles(record)
    rows = [(each.student, f"{each.points} of {each.of}", _first_finding(each)) for each in _by_points(record)]
    parts: list[object] = [_map(record)] if record.students and record.students[0].exercises else []
    parts += [notes(troubles), scroll(table(("student", "points", "first finding"), rows, "nrl"), height="60em")]
    accent = palette.GOOD if record.ok else palette.BAD
    page = card(record.headline, *parts, accent=accent)
    plain = [(name, f"{held}/{count}") for name, held, count in _shares(record)]
    text = plain_table(("property", "holds for"), plain, "lr")
    return {"text/plain": "\n".join([record.headline, text, *troubles]), "text/html": str(page)}


def _first_finding(marks: StudentMarks) -> str:
    found = [*marks.findings, *(f"{mark.exercise}: {mark.finding}" for mark in marks.exercises if mark.finding)]
    return found[0] if found else ""


def _troubles(record: ClassMarks) -> list[str]:
    return sorted({mark.trouble for each in record.students for mark in each.exercises if mark.trouble})


def _by_points(record: ClassMarks) -> list[StudentMarks]:
    return sorted(record.students, key=lambda each: (-each.points, each.student))


def _shares(record: ClassMarks) -> Iterator[tuple[str, int, int]]:
    """For each property, for how many students it holds."""
    for at, name in _properties(record):
        states = [_state(each, at) for each in record.students]
        yield name, states.count("holds"), len(states)


def _properties(record: ClassMarks) -> Iterator[tuple[tuple[int, int], str]]:
    exercises: tuple[ExerciseMark, ...] = max((each.exercises for each in record.students), key=len, default=())
    for i, mark in enumerate(exercises):
        for j, result in enumerate(mark.results):
            hidden = " (hidden)" if j >= mark.of - mark.hidden else ""
            yield (i, j), f"{mark.exercise} {result.name}{hidden}"


def _state(marks: StudentMarks, at: tuple[int, int]) -> str:
    i, j = at
    if i < len(marks.exercises) and j < len(marks.exercises[i].results):
        return marks.exercises[i].results[j].state
    return "untried"


def _map(record: ClassMarks) -> Html:
    """A row for each property, a column for each student, the best first; what does not hold is coloured."""
    students, properties = _by_points(record), list(_properties(record))
    wide = min(18.0, _WIDEST / len(students))
    width = _LEFT + wide * len(students) + _RIGHT
    height = _TOP + _ROW * len(properties) + 30
    parts = [f'<text class="q" x="{_LEFT}" y="{_TOP - 12}">students, the best first</text>']
    parts.append(f'<text class="q" x="{_LEFT + wide * len(students) + 8:.1f}" y="{_TOP - 12}">holds</text>')
    for row, (at, name) in enumerate(properties):
        y = _TOP + row * _ROW
        states = [_state(each, at) for each in students]
        short = name if len(name) <= 62 else f"{name[:61]}…"
        parts.append(f'<text text-anchor="end" x="{_LEFT - 8}" y="{y + 15}">{escape(short)}</text>')
        parts += _runs(states, y, wide)
        share = f"{states.count('holds') / len(states):.0%}"
        parts.append(f'<text x="{_LEFT + wide * len(students) + 8:.1f}" y="{y + 15}">{share}</text>')
    parts.append(_legend(height - 14))
    style = f"text{{font:11px {scene_svg.FONT};fill:#1f1f1f}}.q{{fill:#595959}}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
    data = f'{head}height="{height}"><style>{style}</style>{"".join(parts)}</svg>'.encode()
    told = "; ".join(f"{name}: {held} of {count}" for name, held, count in _shares(record))
    said = muted("how many students have each property, and who has not")
    return join([image(data, f"For how many students each property holds. {told}.", round(width)), sentence(said)])


def _runs(states: list[str], y: int, wide: float) -> Iterator[str]:
    """Equal states beside each other as one box, so that five hundred students are a small picture."""
    start = 0
    gap = 1 if wide > 6 else 0
    while start < len(states):
        end = start + 1
        while wide <= 6 and end < len(states) and states[end] == states[start]:
            end += 1
        x, size = _LEFT + start * wide, (end - start) * wide - gap
        mark = _STATES[states[start]]
        yield f'<rect x="{x:.1f}" y="{y + 2}" width="{size:.1f}" height="{_ROW - 4}" fill="{mark}"/>'
        if states[start] == "fails" and wide > 12:
            yield f'<text text-anchor="middle" x="{x + size / 2:.1f}" y="{y + 15}" font-weight="700">✗</text>'
        start = end


def _legend(y: int) -> str:
    words = (("holds", "holds"), ("fails", "fails"), ("untried", "not tried"))
    boxes = (
        f'<rect x="{_LEFT + 90 * at}" y="{y - 9}" width="12" height="12" fill="{_STATES[state]}"/>'
        f'<text x="{_LEFT + 90 * at + 18}" y="{y + 1}">{word}</text>'
        for at, (state, word) in enumerate(words)
    )
    return "".join(boxes)
