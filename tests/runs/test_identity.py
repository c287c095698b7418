"""What made a run, and where it may be written: in place of itself, of nothing else."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from samples import spec_of

from ctxsim.errors import CtxsimError, InputError
from ctxsim.policies import Policy, open_policy
from ctxsim.results.run_info import __version__
from ctxsim.runs.identity import (
    REFERENCE,
    is_reference,
    others_code,
    own_code,
    question,
    refuse_another,
    refuse_other_code,
)
from ctxsim.runs.task import Setting


def test_a_run_takes_the_place_of_the_same_question_alone(tmp_path: Path) -> None:
    refuse_another(tmp_path, "a")
    (tmp_path / "run.json").write_text('{"question": "a", "title": "Logs", "policies": ["keep-all"]}')
    refuse_another(tmp_path, "a")
    with pytest.raises(InputError, match=r"holds another run \(Logs; 1 policy\); give another --out"):
        refuse_another(tmp_path, "b")
    (tmp_path / "run.json").write_text("cut off")
    with pytest.raises(InputError, match="holds another run; give"):
        refuse_another(tmp_path, "a")
    assert not is_reference(tmp_path)
    (tmp_path / REFERENCE).touch()
    assert is_reference(tmp_path)
    with pytest.raises(InputError, match="is a documented reference"):
        refuse_another(tmp_path, "a")


def test_own_code_is_the_version_and_a_hash_of_every_file() -> None:
    import ctxsim

    folder = Path(ctxsim.__file__).parent
    files = [file for suffix in ("py", "toml", "json", "csv") for file in folder.rglob(f"*.{suffix}")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    assert own_code() == f"ctxsim {__version__} ({digest.hexdigest()[:16]})"
    refuse_other_code(own_code())
    with pytest.raises(CtxsimError, match="numbers of two versions would mix"):
        refuse_other_code("ctxsim 0 (0)")


def of_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A policy class of a file."""
    path.write_text("from ctxsim.policies import Policy\nclass Mine(Policy): pass\n")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, path.stem, module)
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    return vars(module)["Mine"]


def test_files_of_others_policies_are_hashed_once_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (spec_of(of_file(tmp_path / f"{name}_policy.py", monkeypatch)) for name in ("b", "a"))
    text = (tmp_path / "a_policy.py").read_bytes() + b"\0"
    assert others_code([open_policy("mask")]) == ""
    assert others_code([first]) == hashlib.sha256(text).hexdigest()
    assert others_code([first, second, first, open_policy("mask")]) == hashlib.sha256(text * 2).hexdigest()
    (tmp_path / "b_policy.py").unlink()
    assert others_code([first, second]) == hashlib.sha256(text).hexdigest()
    nowhere = type("Nowhere", (Policy,), {"__module__": "nowhere"})
    assert others_code([spec_of(nowhere)]) == ""


def test_a_question_is_the_version_policies_options_and_sources() -> None:
    setting = Setting("a", "a", ("mask",))
    opened = msgspec.structs.replace(setting, policies=("keep-all", "mask:keep=10,batch=1"))
    digest = hashlib.sha256(msgspec.json.encode((__version__, opened)) + b"x\0n\xff\0")
    assert question(setting, ["x", "n\udcff"]) == digest.hexdigest()
    asked = [setting, opened, msgspec.structs.replace(setting, text=False)]
    assert [question(one, []) == question(setting, []) for one in asked] == [True, True, False]
    assert question(setting, ["a"]) != question(setting, ["b"])
