"""`ctxsim compare` as a check in CI."""

from __future__ import annotations

from pathlib import Path

from command_line import Done, ctxsim

from ctxsim.results import Run


def test_compare_exits_for_ci(undisturbed: Path, pair: tuple[Run, Run]) -> None:
    def run(*arguments: str) -> Done:
        return ctxsim("compare", *arguments, cwd=undisturbed)

    other = str(pair[1].folder)
    assert run(str(undisturbed), str(undisturbed), "--fail-if", "tokens_sum > 0%").returncode == 0
    failed = run(str(undisturbed), other, "--fail-if", "tokens_sum > +1%")
    assert failed.returncode == 1 and "keep-all (bound): tokens_sum +" in failed.stderr and "FAILS" in failed.stdout
    assert run(str(undisturbed), other, "--fail-if", "tokens_sum > +1000%").returncode == 0
    nonsense = run(str(undisturbed), other, "--fail-if", "nonsense")
    assert nonsense.returncode == 1 and nonsense.stderr.count("\n") == 1
