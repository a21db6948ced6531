"""BIR JSON: text, JSON and back; documents that are not; the documented forms."""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from bir_json import check
from hypothesis import given, settings, strategies as st
from levels import after, parse, print_module
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xdsl_neuron.dialects.bir import Bir
from xdsl_neuron.dialects.dma import Dma
from xdsl_neuron.json import from_json, parse_document, to_json
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
from xdsl_neuron.tools.opt import main
from xdsl_neuron.verification import verify

TEST = Path(__file__).parent.parent
DIALECT = sorted((TEST / "dialects" / "bir").glob("*.mlir"))
FILES = {path.stem: path for path in DIALECT if "invalid" not in path.stem}
PROGRAMS = {path.stem: path for path in (TEST / "programs").glob("*.mlir")}

# Operations no program needs.
OTHERS = """
builtin.module @m attributes {neuron.target = #neuron.target<trn2>, a.b = "c\\22"} {
  bir.func @first attributes {x = 1 : i64} {
    %0 = bir.location @"a b" ExternalInput : <4xf32, hbm> attributes {y}
    %z = bir.location @z Const splat -inf : <4xf32, hbm>
    %w = bir.location @w Const bytes "AAECAw==" : <4xu8, hbm>
    bir.loop spmd %i = 0 to 4 attributes {z = "q"} {
      bir.loop parallel %i_1 = -3 to 9 step 3 {
        %t = bir.location @t : <128x3x2xbf16, psum>
        bir.memset %t[%i * 32, %i_1 mod 2][1 x 32, 2 x 3] {value = 0.1}
        %u = bir.location @u : <128x8xf32, sbuf>
        bir.iota @I0 %u {value = (%i * 3 + l1) floordiv 2 - 4}
        bir.memset @I1 %u[0, 0][1 x 128, 1 x 8] where 3 - l1 - %i >= 0 {value = 7}
        bir.memset @I2 %u[0, 0][1 x 128, 1 x 8] as f32 {value = nan, engine = Pool}
        bir.tensor_scalar_ptr @I3 add %u <- %u {imm0 = 2, op1 = bypass, imm1 = 1}
        bir.activation @I4 Exp %u <- %u {bias_imm = 0.5, after = [ordered "I1"]}
        bir.memset @I5 %t {value = 1.0} attributes {kept = [1, 2]}
      }
    }
  }
  bir.func @second {
    %a = bir.location @a ExternalInput : <64x128xbf16, hbm>
    %b = bir.location @b ExternalOutput : <64x128xbf16, hbm>
    %t = bir.location @t : <64x128xbf16, sbuf>
    bir.load @I0 %t <- %a
    dma.block @I1 {
      dma.copy bf16 bf16 %b[0][256 x 64, 2 x 128] <- %t[0, 0][1 x 64, 2 x 128]
    }
    dma.block @never {
    }
    bir.dma_trigger @I1 [@I1, @I1] {engine = SP, after = [flow "I0", anti "I0"]}
    bir.return first = %b, b = %b
  }
}
"""


@cache
def lowered(name: str, rolled: bool) -> tuple[str, str]:
    """A program at the `bir` and at the `dma` level."""
    bir = after(PROGRAMS[name].read_text(), PenguinToBir())
    return bir, after(bir, BirToDma(max_instructions=1 if rolled else 20000))


@pytest.mark.parametrize("name", FILES)
def test_dialect_round_trip(name: str) -> None:
    check(FILES[name].read_text())


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_round_trip(name: str, rolled: bool) -> None:
    for text in lowered(name, rolled):
        check(text)


def test_rest_round_trip() -> None:
    check(OTHERS)


def test_every_operation_is_tried() -> None:
    texts = [OTHERS, *(path.read_text() for path in FILES.values())]
    for name in PROGRAMS:
        texts += lowered(name, True)
    found = {op.name for text in texts for op in parse(text).walk()}
    assert {op.name for op in (*Bir.operations, *Dma.operations)} <= found


def test_operands() -> None:
    text = """
    builtin.module {
      bir.func @f {
        %a = bir.location @a ExternalInput : <8x4xf32, hbm>
        %n = bir.location @n : <1x1xi32, sbuf>
        %q = bir.location @q blocks 6 : <8x2x3x4xf32, psum>
        %v = bir.location @v blocks 2 at [(0, 0), (64, 96)] : <8x2x4xf32, sbuf>
        %w = bir.location @w at [(64, 2060)] : <8x4xf32, psum>
        %t = bir.location @t : <8x4xf32, sbuf>
        %r = bir.tensor_load @R %n
        bir.load @L %t[2, 1][1 x 4, 3 x 1] <- %a[%r * 4 + 8][4 x 4, 1 x 1]
        bir.loop sequential %k = 0 to 2 {
          bir.memset @M %t[%k * 2, 0][1 x 2, 1 x 4] as u16 {value = 1}
        }
      }
    }
    """
    document: Any = to_json(parse(text))
    (function,) = document["functions"]
    read, load, loop, *_ = function["blocks"][0]["instructions"]
    register = {"kind": "register_access", "dtype": "int32", "regref": "r"}
    assert read["outs"] == [register]
    assert load["outs"] == [
        {
            "kind": "physical_ap",
            "dtype": "float32",
            "memref": "t",
            "memsetref": "t_set",
            "ap": [[4, 4], [3, 1]],
            "offset": 2 * 4 + 1,
            "access_shape": [4, 1],
        }
    ]
    assert load["ins"][0]["dynamic_ap_info"] == {
        "actual_ap": [[4, 4], [1, 1]],
        "c": 8,
        "aff_expr": [
            {
                "coef": 4,
                "offset_expr": {"kind": "IntRuntimeValueKind", "regref": "r"},
            }
        ],
    }
    assert loop["LoopAxis"] == {"name": "k", "lb": 0, "ub": 2, "stride": 1}
    (memset,) = loop["blocks"][0]["instructions"]
    assert memset["loopnest"] == ["k"]
    assert memset["constant"] == 1
    (dst,) = memset["outs"]
    assert (dst["kind"], dst["dtype"]) == ("symbolic_ap", "uint16")
    assert dst["ap"] == [[8, 2], [1, 4]]
    axis = {"kind": "AffIVKind", "axis": "k"}
    assert dst["addrs"] == [
        {"kind": "AffExprKind", "terms": [{"idx": axis, "coeff": 2}], "c": 0},
        {"kind": "AffExprKind", "terms": [], "c": 0},
    ]


def test_descriptor_units_are_elements() -> None:
    document: Any = to_json(parse(OTHERS))
    queue = document["queues"][0]
    block, never = queue["blocks"][0]["instructions"]
    assert (block["opcode"], block["dma_trigger"]) == ("DMABlock", "I1")
    assert "dma_trigger" not in never
    (copy,) = block["blocks"][0]["instructions"]
    assert copy["opcode"] == "DMADescriptorCopy"
    assert copy["outs"][0]["ap"] == [[128, 64], [1, 128]]
    assert copy["ins"][0]["ap"] == [[128, 64], [1, 128]]


FOREIGN = {
    "version": 1,
    "arch": "cayman",
    "functions": [
        {
            "name": "main",
            "allocations": [
                {
                    "name": f"{name}_set",
                    "kind": kind,
                    "dtype": "float32",
                    "tensor_shape": [8, 4],
                    "memorylocations": [{"name": name, "type": type}],
                }
                for name, kind, type in (
                    ("a", "ExternalInput", "DRAM"),
                    ("b", "ExternalOutput", 8),
                    ("t", "Internal", "SB"),
                )
            ],
            "blocks": [
                {
                    "name": "b0",
                    "instructions": [
                        {
                            "name": "loop",
                            "opcode": "Loop",
                            "LoopAxis": {"name": "i", "lb": 0, "ub": 4, "stride": 1},
                            "blocks": [
                                {
                                    "name": "b1",
                                    "instructions": [
                                        {
                                            "name": "L",
                                            "opcode": "Load",
                                            "engine": "SP",
                                            "dependencies": ["S"],
                                            "ins": [
                                                {
                                                    "kind": "symbolic_ap",
                                                    "dtype": "float32",
                                                    "memsetref": "a_set",
                                                    "ap": [[4, 2], [1, 4]],
                                                    "addrs": [
                                                        {
                                                            "terms": [
                                                                {
                                                                    "AxisLabel": "i",
                                                                    "coef": 8,
                                                                }
                                                            ],
                                                            "c": 0,
                                                        }
                                                    ],
                                                }
                                            ],
                                            "outs": [
                                                {
                                                    "kind": "physical_ap",
                                                    "dtype": "float32",
                                                    "memref": "t",
                                                    "ap": [[4, 2], [1, 4]],
                                                    "offset": 8,
                                                }
                                            ],
                                        }
                                    ],
                                }
                            ],
                        },
                        {
                            "name": "S",
                            "opcode": "Memset",
                            "engine": "DVE",
                            "mode": "Const",
                            "constant": 0x3F800000,
                            "outs": [
                                {
                                    "kind": "physical_ap",
                                    "dtype": "float32",
                                    "memref": "t",
                                    "ap": [[4, 8], [1, 4]],
                                    "offset": 0,
                                }
                            ],
                        },
                    ],
                }
            ],
        }
    ],
}
"""What another tool may have written: version 1, defaults left out, no extension."""

FOREIGN_TEXT = """\
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @main {
    %a = bir.location @a ExternalInput : <8x4xf32, hbm>
    %b = bir.location @b ExternalOutput : <8x4xf32, hbm>
    %t = bir.location @t : <8x4xf32, sbuf>
    bir.loop sequential %i = 0 to 4 {
      bir.load @L %t[2, 0][1 x 2, 1 x 4] <- %a[%i * 8][4 x 2, 1 x 4] \
{engine = SP, after = [flow "S"]}
    }
    bir.memset @S %t {value = 1.0, engine = DVE}
    bir.return b = %b
  }
}"""


def test_foreign_document() -> None:
    module = from_json(parse_document(json.dumps(FOREIGN), "foreign.json"))
    verify(module)
    assert print_module(module) == FOREIGN_TEXT


FIRST = "functions[0].blocks[0].instructions"
LOAD = f"{FIRST}[0].blocks[0].instructions[0]"


def place(document: Any, path: str) -> tuple[Any, str | int]:
    """The container and the key of a path."""
    keys: list[str | int] = []
    for part in path.split("."):
        name, *numbers = part.replace("]", "").split("[")
        keys += [name, *(int(number) for number in numbers)]
    for key in keys[:-1]:
        document = document[key]
    return document, keys[-1]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "version",
            3,
            "version: Check the version of bir json file - should be 1 (old) or 2",
        ),
        ("version", True, "version: expected an integer, got true"),
        ("arch", "vax", "arch: "),
        (f"{LOAD}.dependencies", "S", "'dependencies' must be a JSON array"),
        (f"{LOAD}.dependencies", ["X"], f"{LOAD}.dependencies[0]: Unknown dependency"),
        (f"{LOAD}.dependencies", [["S", "Best"]], "expected one of Ordered, Anti"),
        (
            f"{LOAD}.loop_carried_dependencies",
            3,
            "'loop_carried_dependencies' must be a JSON array",
        ),
        (
            f"{LOAD}.loop_carried_dependencies",
            ["X"],
            "Unknown loop-carried dependency",
        ),
        (f"{LOAD}.queue", "q", f"{LOAD}.queue: Queue does not exist!"),
        (f"{LOAD}.engine", "GPU", f"{LOAD}.engine: expected one of Unassigned"),
        (f"{LOAD}.opcode", "Lod", f"{LOAD}.opcode: Unknown opcode 'Lod'"),
        (f"{LOAD}.wait", 1, f"{LOAD}: unknown key 'wait' of Load"),
        (f"{LOAD}.duplicate", True, f"{LOAD}.duplicate: has no counterpart here"),
        (f"{LOAD}.ins", [], f"{LOAD}: Load has no operand 'src'"),
        (
            f"{LOAD}.ins[0].kind",
            "logical_ap",
            f"{LOAD}.ins[0].kind: Unsupported argument kind 'logical_ap'",
        ),
        (f"{LOAD}.ins[0].dtype", "f32", f"{LOAD}.ins[0].dtype: Unknown dtype 'f32'"),
        (f"{LOAD}.ins[0].ap[0]", [4], f"{LOAD}.ins[0].ap[0]: expected [step, num]"),
        (f"{LOAD}.ins[0].ap[0]", [4, 0], "expected [step, num] with num > 0"),
        (f"{LOAD}.ins[0].ap[0][0]", 2**63, f"{LOAD}.ins[0].ap[0][0]: 9223372036854775"),
        (f"{LOAD}.ins[0].memsetref", "a", "memory location 'a' does not exist"),
        (
            f"{LOAD}.ins[0].addrs[0].terms[0].AxisLabel",
            "j",
            f"{LOAD}.ins[0].addrs[0].terms[0].AxisLabel: axis 'j' does not exist",
        ),
        (
            f"{LOAD}.outs[0].ap[0][0]",
            3,
            f"{LOAD}.outs[0].ap: partition step 3 is not a multiple of the 4 elements",
        ),
        (f"{FIRST}[1].mode", "Random", "'Random' is not supported, expected 'Const'"),
        (f"{FIRST}[1].name", "L", f"{FIRST}[1]: instruction 'L' is given twice"),
        (f"{FIRST}[1].xdsl_neuron", {"x": 1}, "'bir.memset' has no such field"),
        (
            "functions[0].allocations[1].tensor_shape",
            [8, 0],
            "functions[0].allocations[1].tensor_shape: tensor has shape (8, 0)",
        ),
        ("functions[0].allocations[1].alias", 1, "'alias' must be a JSON array"),
        (
            "functions[0].allocations[2].memorylocations[0].type",
            64,
            "expected 8 (DRAM), 16 (SB) or 32 (PSUM), got 64",
        ),
        (f"{FIRST}[1].opcode", "DMATrigger", "DMATrigger must have queue and block"),
    ],
)
def test_malformed(path: str, value: Any, message: str) -> None:
    document = deepcopy(FOREIGN)
    container, key = place(document, path)
    container[key] = value
    with pytest.raises(DiagnosticException) as caught:
        from_json(parse_document(json.dumps(document), "foreign.json"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("foreign.json:1:")


def test_an_attribute_of_another_class() -> None:
    """A field may be spelled as an attribute, of the class that the field has."""
    text = """
    builtin.module {
      bir.func @f {
        %t = bir.location @t : <1x1xi32, sbuf>
        bir.device_print @P %t {prefix = "t"}
      }
    }
    """
    document: Any = json.loads(json.dumps(to_json(parse(text))))
    document["functions"][0]["blocks"][0]["instructions"][0]["prefix"] = {
        "attribute": "1"
    }
    with pytest.raises(DiagnosticException, match="expected an attribute 'string', go"):
        from_json(document)


def test_trigger_names_its_blocks() -> None:
    document: Any = json.loads(json.dumps(to_json(parse(OTHERS))))
    trigger = document["functions"][1]["blocks"][0]["instructions"][1]
    trigger["dma_blocks"] = ["I9"]
    with pytest.raises(DiagnosticException, match="Block does not exist!"):
        from_json(document)


def test_an_initial_value_is_loaded_by_a_command() -> None:
    text = """
    builtin.module {
      bir.func @f {
        %t = bir.location @t : <128x8xf32, sbuf>
        %i = bir.location @i : <128x1xf32, sbuf>
        bir.tensor_scalar_cache_cumulative @I0 mult add %t <- %t, initial = %i {
          imm0 = 2.0, command = LoadAccumulate}
      }
    }
    """
    document: Any = json.loads(json.dumps(to_json(parse(text))))
    instruction = document["functions"][0]["blocks"][0]["instructions"][0]
    assert instruction.pop("acc") == "LoadAccumulate"
    with pytest.raises(VerifyException, match="given with command LoadAccumulate"):
        from_json(document).verify()


def test_extension_agrees_with_the_documented_keys() -> None:
    text = """
    builtin.module {
      bir.func @f {
        %t = bir.location @t : <8x4xbf16, sbuf>
        bir.memset @M %t {value = 0.1}
      }
    }
    """
    document: Any = json.loads(json.dumps(to_json(parse(text))))
    memset = document["functions"][0]["blocks"][0]["instructions"][0]
    assert memset["constant"] == 0x3DCD
    assert memset["xdsl_neuron"] == {"value": 0.1}
    memset["constant"] = 0
    with pytest.raises(DiagnosticException, match="differs from what the operation"):
        from_json(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: error: not JSON: Expecting value"),
        ('{"version": NaN}', "1:13: error: not JSON: NaN is not a number"),
        ('{"a": 1,\n "b": {"c": 1, "c": 2}}', "2:7: error: key 'c' is given twice"),
        ("[" * 100000, "1:501: error: nested more than 500 deep"),
        ('{"version": 1e999}', "expected an integer, got Infinity"),
        ('{"version": ' + "9" * 5000 + "}", "got a number of 5000 digits"),
        ('{"version": 2, "functions": {}}', "functions: expected an array, got an"),
        ("3", "1:1: error: expected an object, got 3"),
        (
            '{"version": 2, "functions": [{"name": "\\ud800"}]}',
            "functions[0].name: a string has characters that cannot be printed",
        ),
    ],
)
def test_not_a_document(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main([str(path)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert "Traceback" not in output.err


def test_driver_reads_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "roundtrip.json"
    source = str(FILES["roundtrip"])
    assert main([source, "-t", "bir-json", "-o", str(path)]) == 0
    assert main([source]) == 0
    text = capsys.readouterr().out
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == text


def test_penguin_has_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(PROGRAMS["matmul"]), "-t", "bir-json"]) == 1
    assert "has no form in BIR JSON" in capsys.readouterr().err


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
    elif isinstance(value, list):
        items = enumerate(cast(list[Any], value))
    for key, item in items:
        yield from _paths(item, (*path, key))


VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 7, 10**9, 2**63, 2**70, 1.5, 1e308, "", "x", "t", "I0"),
    *([], [1], [[1, 2]], [[0, 1]], {}, {"kind": "physical_ap"}, {"attribute": "1"}),
    *("Loop", "DMACopy", "bypass", "nan", "float32", "symbolic_ap", "imm_value"),
)


@cache
def _documents() -> tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...]:
    texts = [OTHERS, *(path.read_text() for path in FILES.values())]
    texts += lowered("dynamic_loops", True)
    found: list[tuple[str, tuple[tuple[Any, ...], ...]]] = []
    for text in texts:
        document = to_json(parse(text))
        found.append((json.dumps(document), tuple(_paths(document))[1:]))
    return tuple(found)


def _mutate(data: st.DataObject) -> str:
    text, paths = data.draw(st.sampled_from(_documents()))
    document: Any = json.loads(text)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, key = data.draw(st.sampled_from(paths))
        container = document
        try:
            for parent in parents:
                container = container[parent]
            old = container[key]
        except (LookupError, TypeError):
            continue
        if not isinstance(container, dict | list):
            continue
        action = data.draw(st.sampled_from(["delete", "replace", "copy", "number"]))
        if action == "delete":
            del container[key]
        elif action == "copy" and isinstance(container, list):
            cast(list[Any], container).insert(key, deepcopy(old))
        elif action == "number" and isinstance(old, int):
            container[key] = old + data.draw(st.integers(-200, 200))
        else:
            container[key] = deepcopy(data.draw(st.sampled_from(VALUES)))
    return json.dumps(document)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_documents(data: st.DataObject) -> None:
    """A damaged document is refused, or is a module that goes both ways."""
    try:
        module = from_json(parse_document(_mutate(data), "mutated.json"))
        verify(module)
        check(print_module(module))
    except DiagnosticException:
        return


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_mutated_text(data: st.DataObject) -> None:
    text = json.dumps(FOREIGN, indent=1)
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 20))
    piece = data.draw(st.sampled_from(["", "{", "]", '"', "\\", "\0", "é", "1", "NaN"]))
    try:
        verify(from_json(parse_document(text[:start] + piece + text[end:], "x.json")))
    except DiagnosticException:
        return
