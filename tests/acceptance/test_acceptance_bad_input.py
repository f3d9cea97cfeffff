"""Bad files: exit 2, one clear message, little time and memory."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from given import ENVIRONMENT, sextant

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(12)
)
MALFORMED: dict[str, tuple[bytes, int | None]] = {  # content, line that the message must name (None: no line fits)
    "unknown_key.yaml": (b"mixer:\n  readout: {kind: relu}\n  normalisation: {kind: sum}\n", 3),
    "unknown_top.yaml": (b"mixer: {}\nblokcs: []\n", 2),
    "unknown_nested.yaml": (b"mixer:\n  io:\n    short_conv:\n      widht: 4\n", 4),
    "type_text.yaml": (b"mixer:\n  heads:\n    num_heads: four\n", 3),
    "type_list.yaml": (b"mixer:\n  heads: [4]\n", 2),
    "type_bool.yaml": (b"mixer:\n  heads: {num_heads: yes_please}\n", 2),
    "type_null.yaml": (b"mixer:\n  heads: {num_heads: null}\n", 2),
    "nan.yaml": (b"mixer:\n  scaling: {base: .nan}\n", 2),
    "nan.json": (b'{"mixer": {"scaling":\n {"base": NaN}}}', 2),
    "infinity.json": (b'{"mixer":\n {"scaling": {"base": Infinity}}}', 2),
    "negative_dim.yaml": (b"model:\n  model_dim: -256\nmixer: {}\n", 2),
    "negative_repeat.yaml": (b"blocks:\n- mixer: {}\n  repeat: -1\n", 3),
    "zero_heads.yaml": (b"mixer:\n  heads: {num_heads: 0}\n", 2),
    "huge_int.yaml": (b"mixer:\n  heads: {state_dim: 99999999999999999999}\n", 2),
    "division.yaml": (b"mixer:\n  heads: {num_heads: 6, kv_groups: 4}\n", 2),
    "big.yaml": (b"mixer: {}\n" + b"# padding\n" * 1_048_576, None),
    "big.json": (b'{"mixer": {}, "name": "' + b"x" * 10_000_000 + b'"}', None),
    "bomb.yaml": (BOMB.encode(), None),
    "deep.yaml": (b"mixer: " + b"[" * 100_000 + b"\n", None),
    "deep.json": (b'{"mixer":' * 100_000, None),
    "cyclic.yaml": (b"mixer: &x\n  readout: *x\n", 2),
    "cyclic_use.yaml": (b"mixer: {use: cyclic_use}\n", 1),
    "tag.yaml": (b"mixer: !!python/object/apply:os.system ['touch pwned']\n", 1),
    "tag_binary.yaml": (b"name: !!binary aGVsbG8=\nmixer: {}\n", 1),
    "custom_tag.yaml": (b"mixer: !gated {}\n", 1),
    "binary.yaml": (bytes(range(256)) * 20, None),
    "png.json": (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, None),
    "utf16.yaml": ("mixer: {}\n".encode("utf-16"), None),
    "latin1.yaml": ("name: \xe9t\xe9\nmixer: {}\n".encode("latin-1"), 1),
    "empty.yaml": (b"", None),
    "only_comment.yaml": (b"# nothing\n", None),
    "scalar.yaml": (b"hello\n", 1),
    "twice.yaml": (b"mixer: {}\nmixer: {}\n", 2),
    "unclosed.yaml": (b"mixer: {readout: {kind: relu\nname: x\n", None),
    "trailing.json": (b'{"mixer": {}}\n{"mixer": {}}\n', 2),
    "truncated.json": (b'{"mixer": {"readout": ', None),
    "empty_blocks.yaml": (b"blocks: []\n", 1),
    "version.yaml": (b"sextant: 2\nmixer: {}\n", 1),
    "layers.yaml": (b"blocks:\n- repeat: 600\n- repeat: 600\n", None),
    "string_mixer.yaml": (b"mixer: gla\n", 1),
    "parallel_one.yaml": (b"blocks:\n- mixer: {parallel: [{}]}\n", 2),
    "range.yaml": (b"mixer:\n  decay: {granularity: scalar, range: [0.9, 0.1]}\n", 2),
    "surrogate.json": (b'{"name": "\\ud800", "mixer": {}}', 1),
}
MEASURED = """
import atexit, pathlib, sys
measured = sys.argv.pop()
atexit.register(lambda: pathlib.Path(measured).write_text(pathlib.Path("/proc/self/status").read_text()))
from search.cli import main
main()
"""


def measured_lint(path: Path) -> tuple[int, float, float, str, str]:
    """Exit code, processor seconds, peak MiB, output and errors of `sextant lint PATH`."""
    status = path.parent / "status"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(
        [sys.executable, "-c", MEASURED, "lint", str(path), str(status)],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=30,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(next(one for one in status.read_text().splitlines() if one.startswith("VmHWM")).split()[1]) / 1024
    return found.returncode, seconds, peak, found.stdout.decode(), found.stderr.decode()


@pytest.mark.parametrize("name", MALFORMED)
def test_bad_input_exits_2_with_one_clear_message(name: str, tmp_path: Path) -> None:
    content, line = MALFORMED[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, seconds, peak, out, err = measured_lint(path)
    assert code == 2, (out, err)
    assert out == ""
    assert err.strip().count("\n") == 0, err
    assert str(path) in err
    if line is not None:
        assert f"{path}:{line}:" in err, err
    assert len(err) < 1000
    assert seconds < 1.0
    assert peak < 300
    assert not (Path.cwd() / "pwned").exists()


@pytest.mark.parametrize("what", ["missing.yaml", "folder"])
def test_what_is_no_file_exits_2(what: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    found = sextant("lint", str(tmp_path / what), timeout=10)
    assert found.returncode == 2
    assert what in found.stderr
    assert found.stderr.strip().count("\n") == 0
