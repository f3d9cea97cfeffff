"""Malformed specs: one clear message that names the file, the line and the remedy, within a second and 300 MB."""

import errno
import os
import sys
from pathlib import Path

import pytest

from designspace.errors import SpecError
from designspace.specfile import load

MAX_SECONDS = 1.0  # processor time, start of the process included
MAX_BYTES = 300 * 2**20

BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)

# name of the file -> (content, line of the message, what it says)
MALFORMED: dict[str, tuple[str | bytes, int | None, str]] = {
    "unknown_key.yaml": ("mixer:\n  readot: {kind: relu}\n", 2, "unknown key `readot`; did you mean `readout`?"),
    "unknown_top_key.yaml": ("mixer: {}\nmodle: {}\n", 2, "unknown key `modle`; did you mean `model`?"),
    "unknown_key_of_kind.yaml": (
        "mixer:\n  readout:\n    kind: exponential\n    power: 2\n",
        4,
        "unknown key `power`; remove it. Keys here: kind, softcap.",
    ),
    "unknown_kind.yaml": ("mixer:\n  readout: {kind: exponentail}\n", 2, "did you mean `exponential`?"),
    "missing_kind.yaml": ("mixer:\n  readout: {softcap: 30}\n", 2, "`readout` needs the key `kind`"),
    "unknown_value.yaml": ("mixer: {}\ntarget:\n  dtype: bfloat61\n", 3, "did you mean `bfloat16`?"),
    "text_for_a_number.yaml": (
        "mixer: {}\ntarget:\n  seq_len: long\n",
        3,
        "must be an integer, got `long`; change it.",
    ),
    "quoted_number.yaml": ("mixer: {}\ntarget: {seq_len: '2048'}\n", 2, 'must be an integer, got `"2048"`; change it.'),
    "true_for_a_number.yaml": ("blocks:\n- repeat: true\n", 2, "`repeat` must be an integer, got `true`; change it."),
    "number_for_a_record.yaml": ("mixer:\n  decay: 3\n", 2, "`decay` must be a mapping of keys, got `3`; change it."),
    "list_for_a_stack.yaml": ("blocks: {repeat: 2}\n", 1, "`blocks` must be a list, got `{repeat}`; change it."),
    "fraction_for_a_size.yaml": ("mixer:\n  heads: {num_heads: 2.5}\n", 2, "must be an integer, got `2.5`"),
    "nan.yaml": ("mixer:\n  features: {gain: .nan}\n", 2, "`.nan` is not a finite number; give a finite one."),
    "nan.json": ('{"mixer":\n {"features": {"gain": NaN}}}', 2, "`NaN` is not a finite number; give a finite one."),
    "overflow.yaml": ("mixer:\n  features: {gain: 1e400}\n", 2, "`1e400` is not a finite number; give a finite one."),
    "large_number.yaml": (
        "mixer:\n  features:\n    gain: 1e200\n",
        3,
        "`gain` must be a number from 1e-30 to 1e+30, got `1e+200`; change it.",
    ),
    "large_base.yaml": (
        "mixer:\n  scaling: {base: 1e31}\n",
        2,
        "must be a number from 1e-30 to 1e+30 or 'n^-1/2' or 'n^-1', got `1e+31`",
    ),
    "large_coefficient.yaml": (
        "mixer:\n  readout: {kind: polynomial, coefficients: [0, -1e31]}\n",
        2,
        "`coefficients[1]` must be a number from -1e+30 to 1e+30, got `-1e+31`",
    ),
    "large_offset.yaml": ("mixer:\n  readout: {kind: sigmoid, offset: 1e31}\n", 2, "from -1e+30 to 1e+30"),
    "large_slope.yaml": (
        "mixer:\n  readout: {kind: exponential}\n  shear: {source: constant, slopes: 1e31}\n",
        3,
        "from -1e+30 to 1e+30",
    ),
    "large_softcap.yaml": ("mixer:\n  readout: {kind: relu, softcap: 1e31}\n", 2, "from 1e-30 to 1e+30"),
    "negative_size.yaml": (
        "mixer:\n  heads:\n    state_dim: -64\n",
        3,
        "must be greater than or equal to 1, got `-64`",
    ),
    "head_division.yaml": (
        "mixer:\n  heads: {num_heads: 4, kv_groups: 3}\n",
        2,
        "`kv_groups` must divide `num_heads` 4",
    ),
    "empty_range.yaml": ("mixer:\n  decay: {granularity: scalar, range: [1, 0]}\n", 2, "must be [lo, hi]"),
    "too_many_layers.yaml": ("blocks:\n- repeat: 1024\n- repeat: 1\n", 1, "1025 layers after repeat, more than 1024"),
    "too_many_branches.yaml": (
        "blocks:\n" + "- mixer: {parallel: [{}, {}, {}, {}, {}, {}, {}, {}]}\n" * 129,
        1,
        "1032 mixers with all branches, more than 1024",
    ),
    "huge_repeat.yaml": ("blocks:\n- repeat: 1000000000\n", 2, "must be less than or equal to 1024"),
    "no_blocks.yaml": ("name: nothing\n", 1, "`blocks` is missing; add it."),
    "unknown_use.yaml": ("mixer:\n  use: gated_deltanot\n", 2, "did you mean `gated_deltanet`?"),
    "use_of_a_file.yaml": ("mixer:\n  use: ./use_of_a_file.yaml\n", 2, "is not in the catalogue"),
    "cyclic_use.yaml": ("mixer: &m\n  use: *m\n", 2, "alias `*m` lies inside its own anchor, a cycle"),
    "nested_use.yaml": ("mixer:\n  use: {use: deltanet}\n", 2, "`use` must be the name of a catalogue entry"),
    "twice.yaml": ("mixer: {}\nname: a\nname: b\n", 3, "key `name` stands twice, on lines 2 and 3; remove one."),
    "python_tag.yaml": ("mixer: {}\nname: !!python/object/apply:os.system [ls]\n", 2, "is not allowed"),
    "timestamp_tag.yaml": ("mixer: {}\nname: !!timestamp 2001-01-01\n", 2, "tag `!!timestamp` is not allowed"),
    "set_tag.yaml": ("mixer: !!set {a}\n", 1, "tag `!!set` is not allowed"),
    "merge_key.yaml": ("mixer: &m {}\nmodel:\n  <<: *m\n", 3, "merge keys `<<` are not supported"),
    "alias_bomb.yaml": (BOMB, 5, "more than 100000 values (aliases written out); make the spec smaller."),
    "deep.yaml": ("mixer:\n" + "".join(" " * n + "a:\n" for n in range(1, 200)), 65, "deeper than 64 levels"),
    "deep.json": ('{"a":' * 50_000, 1, "nesting is deeper than 64 levels; flatten the spec."),
    "deep_flow.yaml": ("mixer: " + "[" * 500_000, 1, "flatten the spec."),
    "wide.yaml": ("mixer: [" + "1," * 500_000 + "1]", 1, "more than 100000 values"),
    "large.yaml": ("# comment\n" * 1_000_000, None, "larger than 1048576 bytes; a spec is a few kilobytes."),
    "binary.yaml": (b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)), 1, "the file is binary; give a YAML or JSON file"),
    "latin1.yaml": ("mixer: {}\nname: café\n".encode("latin-1"), 2, "is not UTF-8 text; give a YAML or JSON file"),
    "empty.yaml": ("", 1, "the file is empty; a spec needs `blocks` or `mixer`."),
    "list.yaml": ("- mixer: {}\n", 1, "the file must hold a mapping of keys"),
    "tab.yaml": ("mixer:\n\treadout: {}\n", 2, "indent with spaces, not tabs"),
    "open_bracket.yaml": ("mixer: {readout: {kind: relu}\nname: x\n", 2, "check the indentation, the brackets"),
    "two_documents.yaml": ("mixer: {}\n---\nmixer: {}\n", 3, "a second document starts here; give one spec per file."),
    "comma.json": ('{"mixer": {},}', 1, "a comma stands before `}`; remove it."),
    "not_json.json": ("mixer: {}", 1, "not valid JSON: a JSON value must stand here, got `mixer`"),
    "reason.yaml": ("mixer: {}\nlint:\n  ignore: [{rule: CD101}]\n", 3, "`reason` is missing; add it."),
    "empty_reason.yaml": (
        "mixer: {}\nlint:\n  ignore: [{rule: CD101, reason: ''}]\n",
        3,
        '`reason` must be text of at least 1 character, got `""`; change it.',
    ),
    "space.yaml": (
        "mixer: {}\ntasks: [parity]\n",
        2,
        "`tasks` makes this a space file; search it with `sextant search",
    ),
    "choice.yaml": ("blocks:\n- mixer:\n    choice: [{use: linear}, {use: gla}]\n", 3, "`choice` makes this a space"),
    "choice_of_use.yaml": ("mixer:\n  use: {choice: [linear, gla]}\n", 2, "`choice` makes this a space file"),
    "grammar.yaml": ("mixer: {grammar: full}\n", 1, "`grammar` makes this a space file"),
    "range.yaml": ("mixer:\n  features:\n    gain: {range: [1, 2], log: true}\n", 3, "`range` makes this a space file"),
    "on_as_true.yaml": (
        "mixer:\n  io:\n    short_conv: {true: [q, k], width: 4}\n",
        3,
        'unknown key `true`; tools of YAML 1.1 write `on` so: write the key as `"on"`.',
    ),
    "config.json": ('{\n "model_type": "lama"\n}', 2, "nearest: llama"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_message_names_the_file_the_line_and_the_remedy(name: str, tmp_path: Path) -> None:
    content, line, says = MALFORMED[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SpecError) as caught:
        load(path)
    where = f"{path}:{line}: " if line else f"{path}: "
    assert str(caught.value).startswith(where)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.yaml", "no such file; did you mean `{folder}/missng.yaml`?"),
        ("folder", "it is a directory; name a spec file in it."),
        ("name\0.yaml", "cannot be read"),
        ("a" * 300 + ".yaml", "cannot be read"),
    ],
)
def test_what_is_not_a_file_is_said_so(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "missng.yaml").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(SpecError) as caught:
        load(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: ".replace("\0", "\\x00"))
    assert says.format(folder=tmp_path) in str(caught.value)


def test_an_unreadable_file_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.yaml"
    path.touch()

    def refused(*_: object) -> None:  # root may read every file, so the mode would not do
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(SpecError, match="Permission denied"):
        load(path)


@pytest.mark.parametrize(
    "name", ["unknown_key.yaml", "alias_bomb.yaml", "deep.json", "wide.yaml", "large.yaml", "binary.yaml"]
)
def test_command_exits_2_with_one_line_in_a_second_and_300_mb(name: str, tmp_path: Path) -> None:
    content, _, says = MALFORMED[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, seconds, size, message = lint(path, tmp_path)
    assert code == 2
    assert message.count("\n") == 1
    assert says in message
    assert seconds < MAX_SECONDS
    assert size < MAX_BYTES


RUN = """
import atexit, pathlib, sys
measured = sys.argv.pop()
atexit.register(lambda: pathlib.Path(measured).write_text(pathlib.Path("/proc/self/status").read_text()))
from search.cli import main
main()
"""


def lint(path: Path, folder: Path) -> tuple[int, float, int, str]:
    """Exit code, processor seconds, peak bytes and error text of `sextant lint PATH`.

    The peak is what the process itself reads at its end: that of `wait4` counts the parent before the exec.
    """
    stderr, measured = folder / "stderr", folder / "status"
    command = [sys.executable, "-c", RUN, "lint", str(path), str(measured)]
    with stderr.open("wb") as stream:
        actions = [(os.POSIX_SPAWN_DUP2, stream.fileno(), 2)]
        child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    peak = next(line for line in measured.read_text().splitlines() if line.startswith("VmHWM"))
    kibibytes = int(peak.split()[1])
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, kibibytes * 1024, stderr.read_text()
