"""Every exercise: its solution passes, its starter does not, and each wrong answer fails with the right words."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tvmlab import course, fusion
from tvmlab.course.grouping import groups_as_tvm, random_graphs
from tvmlab.course.judging import judge_apart
from tvmlab.course.naive_groups import naive_groups
from tvmlab.course.trees import by_brute_force

TEACHER = Path(__file__).resolve().parents[2] / "teacher"
EXERCISES = [exercise.id for exercise in course.all_exercises()]
WRONG = [(i, at) for i in EXERCISES for at in range(len(runpy.run_path(str(TEACHER / f"ex{i}.py"))["WRONG"]))]


@pytest.mark.parametrize("identity", EXERCISES)
def test_the_solution_has_every_property_public_and_hidden(identity, teacher, capfd):
    found = teacher(identity)
    verdict = course.judge(course.find(identity), found.SOLUTION, hidden=found.HIDDEN, secret=b"a secret")
    assert verdict.ok, verdict.headline
    assert len(verdict.results) == len(course.find(identity).properties) + len(found.HIDDEN)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("identity", EXERCISES)
def test_the_solution_has_them_from_another_process_too(identity, teacher, apart):
    """A check that asks more of an answer than plain values has to ask by `tvmlab.sandbox.beside`."""
    found = teacher(identity)
    with apart.new() as answer:
        verdict = judge_apart(
            course.find(identity), found.SOLUTION, answer, hidden=found.HIDDEN, secret=b"another secret"
        )
    assert verdict.ok, verdict.headline


@pytest.mark.parametrize("identity", EXERCISES)
def test_the_starter_is_not_written_yet_or_to_be_repaired(identity):
    starter = course.find(identity).starter
    verdict = course.judge(course.find(identity), starter)
    assert not verdict.ok
    if "..." in starter:
        assert verdict.unwritten
        assert {result.state for result in verdict.results} == {"untried"}
    else:
        assert verdict.mismatch is not None


@pytest.mark.parametrize(("identity", "at"), WRONG, ids=[f"{i}-{at}" for i, at in WRONG])
def test_a_wrong_answer_fails_with_the_right_words(identity, at, teacher, capfd):
    cell, said = teacher(identity).WRONG[at]
    verdict = course.judge(course.find(identity), cell)
    assert not verdict.ok
    failed = [result.name for result in verdict.results if result.state == "fails"]
    assert said in f"{verdict.mismatch.what}; {failed[0]}"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("identity", EXERCISES)
def test_an_exercise_is_whole(identity, teacher):
    exercise = course.find(identity)
    assert exercise.grade in (1, 2, 3)
    assert exercise.lesson.startswith(identity[:2])
    assert len(exercise.hints) == 3
    assert len({each.name for each in exercise.properties}) == len(exercise.properties)
    assert len(teacher(identity).WRONG) >= 3
    solution = teacher(identity).SOLUTION
    lines = [line.strip() for line in solution.splitlines() if len(line.strip()) > 12]
    assert not any(line in hint for line in lines for hint in exercise.hints)


def test_the_fuser_of_08f_groups_2000_random_graphs_as_tvm_does(teacher):
    many = groups_as_tvm(lambda random: random_graphs(random, 2000, 24), "many")
    verdict = course.judge(course.find("08f"), teacher("08f").SOLUTION, hidden=[many], secret=b"another secret")
    assert verdict.results[-1].state == "holds", verdict.headline
    assert "the nine networks of the onnx package are grouped as by FuseOps" in {each.name for each in verdict.results}


def test_the_naive_fuser_differs_from_tvm_on_the_first_few_random_graphs():
    random = course.judging.generator(b"", "naive")
    graphs = list(random_graphs(random, 200, 8))[:10]
    different = [sorted(map(sorted, naive_groups(g))) != sorted(fusion.partition(g).groups) for g in graphs]
    assert sum(different) > 5


def test_parents_by_brute_force_are_those_of_the_fuser():
    for graph in random_graphs(course.judging.generator(b"", "parents"), 200, 16):
        parents = fusion.postdom.post_dominators(graph).parent
        assert by_brute_force(graph) == [None if p == len(graph) else p for p in parents]
