"""The picture of the doctor's report."""

from __future__ import annotations

from tvmlab.records import DoctorReport, Finding
from tvmlab.show import palette


def test_every_finding_with_its_mend(draw):
    mend = "pip install 'apache-tvm-ffi<0.1.15'"
    page, plain = draw(DoctorReport((Finding("tvm", "ok", "0.27"), Finding("ffi", "problem", "kills", mend))))
    assert page.text.startswith("tvmlab doctor: 1 problem: ffi")
    assert f"mend: {mend}" in page.text
    assert plain.endswith(f"mend ffi: {mend}")
    colours = [s["background"] for s in page.styles if "background" in s]
    assert colours == [palette.GOOD, palette.BAD]


def test_all_is_well(draw):
    page, plain = draw(DoctorReport((Finding("tvm", "ok", "0.27"),)))
    assert page.text.startswith("tvmlab doctor: all is well")
    assert "mend" not in plain
