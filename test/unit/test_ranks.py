"""Several ranks in one process: collectives, sends and receives, deadlocks."""

import numpy as np
import pytest
from levels import after, parse
from numpy.typing import NDArray

from xdsl_neuron.machine import MachineError, Ranks, simulate_ranks
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

PROGRAM = """
builtin.module attributes {{neuron.target = #neuron.target<trn2>}} {{
penguin.func @f(a = %a: !neuron.tensor<4x8xf32, hbm>) {{
  %src = penguin.alloc : <{source}xf32, {space}>
  %dst = penguin.alloc : <{target}xf32, {space}>
  %c = penguin.alloc : <{target}xf32, hbm>
  penguin.dma_copy %src <- %a[0][{take}]
  {body}
  penguin.dma_copy %c <- %dst
  penguin.return c = %c
}}
}}
"""


def program(
    body: str, source: str = "4x8", target: str = "4x8", space: str = "hbm"
) -> str:
    rows, columns = source.split("x")
    take = f"8 x {rows}, 1 x {columns}"
    return PROGRAM.format(
        body=body, source=source, target=target, space=space, take=take
    )


def inputs(count: int) -> list[NDArray[np.float32]]:
    whole = np.arange(count * 32, dtype=np.float32)
    return list(whole.reshape(count, 4, 8))


def run(text: str, count: int) -> list[NDArray[np.float32]]:
    """The output of every rank, the same at all levels."""
    bir = after(text, PenguinToBir())
    arrays = [[x] for x in inputs(count)]
    found = [
        [outputs[0] for outputs in simulate_ranks(parse(level), arrays)]
        for level in (text, bir, after(bir, BirToDma()))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    return found[0]


@pytest.mark.parametrize("space", ["hbm", "sbuf"])
@pytest.mark.parametrize("op", ["add", "max", "min"])
def test_all_reduce(op: str, space: str) -> None:
    body = f"penguin.collective_compute AllReduce %dst <- %src {{op = {op}}}"
    a = np.stack(inputs(3))
    expected = {"add": a.sum(0), "max": a.max(0), "min": a.min(0)}[op]
    for c in run(program(body, space=space), 3):
        np.testing.assert_array_equal(c, expected)


def test_groups() -> None:
    body = (
        "penguin.collective_compute AllReduce %dst <- %src "
        "{op = add, replica_groups = [[0, 2], [3, 1]]}"
    )
    a = inputs(4)
    first, second, third, fourth = run(program(body), 4)
    np.testing.assert_array_equal(first, a[0] + a[2])
    np.testing.assert_array_equal(third, first)
    np.testing.assert_array_equal(second, a[1] + a[3])
    np.testing.assert_array_equal(fourth, second)


@pytest.mark.parametrize(
    ("space", "dimension", "target", "axis"),
    [
        ("hbm", "Free", "8x8", 0),
        ("sbuf", "Free", "4x16", 1),
        ("sbuf", "Partition", "8x8", 0),
    ],
)
def test_all_gather(space: str, dimension: str, target: str, axis: int) -> None:
    body = (
        "penguin.collective_compute AllGather %dst <- %src "
        f"{{replica_groups = [[0, 1]], cc_dim = {dimension}}}"
    )
    for c in run(program(body, target=target, space=space), 2):
        np.testing.assert_array_equal(c, np.concatenate(inputs(2), axis))


@pytest.mark.parametrize(
    ("dimension", "target", "axis"), [("Free", "4x4", 1), ("Partition", "2x8", 0)]
)
def test_reduce_scatter(dimension: str, target: str, axis: int) -> None:
    body = (
        "penguin.collective_compute ReduceScatter %dst <- %src "
        f"{{op = add, replica_groups = [[0, 1]], cc_dim = {dimension}}}"
    )
    a = inputs(2)
    parts = np.split(a[0] + a[1], 2, axis)
    found = run(program(body, "4x8", target, "sbuf"), 2)
    for c, part in zip(found, parts, strict=True):
        np.testing.assert_array_equal(c, part)


def test_all_to_all() -> None:
    body = "penguin.collective_compute AllToAll %dst <- %src"
    a = [x.reshape(-1) for x in inputs(2)]
    first, second = run(program(body), 2)
    np.testing.assert_array_equal(first.reshape(-1), [*a[0][:16], *a[1][:16]])
    np.testing.assert_array_equal(second.reshape(-1), [*a[0][16:], *a[1][16:]])


@pytest.mark.parametrize(("kind", "count"), [("AllGather", 2), ("ReduceScatter", 4)])
def test_all_ranks_are_a_group_where_none_is_given(kind: str, count: int) -> None:
    """The ratio is that of all ranks, which is known when they run."""
    small, large = f"{4 // count}x8", "4x8"
    source, target = (small, large) if kind == "AllGather" else (large, small)
    op = "" if kind == "AllGather" else " {op = add}"
    body = f"penguin.collective_compute {kind} %dst <- %src{op}"
    text = program(body, source, target)
    a = np.stack(inputs(count))
    gathered = a[:, : 4 // count].reshape(4, 8)
    for rank, c in enumerate(run(text, count)):
        part = slice(rank * (4 // count), (rank + 1) * (4 // count))
        expected = gathered if kind == "AllGather" else a.sum(0)[part]
        np.testing.assert_array_equal(c, expected)
    arrays = [[x] for x in inputs(count + 1)]
    with pytest.raises(
        MachineError, match=f"Illegal src/dst ratio for {kind}.*{count + 1} ranks"
    ):
        simulate_ranks(parse(text), arrays)


def test_permute() -> None:
    body = (
        "penguin.collective_compute Permute %dst <- %src "
        "{src_target_pairs = [[0, 1], [1, 2], [2, 0]]}"
    )
    a = inputs(3)
    for c, expected in zip(run(program(body), 3), (a[2], a[0], a[1]), strict=True):
        np.testing.assert_array_equal(c, expected)


def test_send_and_receive_by_rank() -> None:
    """Both ranks run one program; the rank's number picks what a rank adds."""
    body = """
      %t = penguin.alloc : <4x8xf32, sbuf>
      %r = penguin.get_global_rank_id {world_size = 2}
      penguin.dma_copy %t <- %src
      penguin.tensor_scalar_ptr add %t[0, %r][1 x 4, 1 x 4] <- %t[0, %r][1 x 4, 1 x 4] {imm0 = 100.0}
      penguin.dma_copy %src <- %t
      penguin.collective_compute AllReduce %dst <- %src {op = max}
    """  # noqa: E501
    a = inputs(2)
    a[0][:, 0:4] += 100
    a[1][:, 1:5] += 100
    for c in run(program(body), 2):
        np.testing.assert_array_equal(c, np.maximum(*a))


EXCHANGE = """
builtin.module {
bir.func @f {
  %a = bir.location @a ExternalInput : <4x8xf32, hbm>
  %c = bir.location @c ExternalOutput : <4x8xf32, hbm>
  %x = bir.location @x : <4x8xf32, hbm>
  %y = bir.location @y : <4x8xf32, hbm>
  bir.dma_copy @I0 %x <- %a
  BODY
  bir.dma_copy @I1 %c <- %y
  bir.return c = %c
}
}
"""


def test_a_step_meets_in_every_iteration() -> None:
    body = """
      penguin.for sequential %i = 0 to 3 {
        penguin.collective_compute AllReduce %src <- %src {op = add}
      }
      penguin.dma_copy %dst <- %src
    """
    a = inputs(2)
    for c in run(program(body), 2):
        np.testing.assert_array_equal(c, (a[0] + a[1]) * 4)


def test_a_program_runs_again() -> None:
    body = "penguin.collective_compute AllReduce %dst <- %src {op = add}"
    ranks = Ranks(parse(program(body)), 2)
    for _ in range(3):
        first, second = ranks.run([[x] for x in inputs(2)])
        np.testing.assert_array_equal(first[0], sum(inputs(2)))
        np.testing.assert_array_equal(second[0], first[0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "bir.collective_compute @I2 AllReduce %y <- %x "
            "{op = add, replica_groups = [[0, 3]]}",
            "rank 0 of 2 is in none of the replica groups",
        ),
        ("bir.collective_recv @I2 %y {peer_id = 0}", "rank 0 of 2 has no peer 0"),
        ("bir.collective_send @I2 %x {peer_id = 2}", "rank 0 of 2 has no peer 2"),
        (
            "%r = bir.get_global_rank_id @I2 {world_size = 4}",
            "world_size 4, but the machine runs as 2",
        ),
        (
            "bir.collective_compute @I2 Permute %y <- %x {src_target_pairs = [[0, 2]]}",
            "a rank of the pairs is none of",
        ),
        (
            "bir.collective_compute @I2 SendRecvCCE %y <- %x "
            "{op = add, send_to_rank = [1], recv_from_rank = [1]}",
            "SendRecvCCE is not executed by the machine",
        ),
        (
            "bir.collective_compute @I2 PermuteReduceImplicit %y <- %x {op = add}",
            "PermuteReduceImplicit is not executed by the machine",
        ),
    ],
)
def test_it_is_refused(body: str, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        Ranks(parse(EXCHANGE.replace("BODY", body)), 2)


def test_wrong_number_of_lists() -> None:
    ranks = Ranks(parse(EXCHANGE.replace("BODY", "bir.dma_copy @I2 %y <- %x")), 2)
    with pytest.raises(MachineError, match="2 ranks take as many lists of arrays"):
        ranks.run([[x] for x in inputs(3)])


PEERS = """
builtin.module {
bir.func @zero {
  %a = bir.location @a ExternalInput : <4x8xf32, hbm>
  %x = bir.location @x : <4x8xf32, hbm>
  %c = bir.location @c ExternalOutput : <4x8xf32, hbm>
  bir.dma_copy @I0 %x <- %a
  ZERO
  bir.dma_copy @I1 %c <- %x
  bir.return c = %c
}
bir.func @one {
  %a = bir.location @a ExternalInput : <4x8xf32, hbm>
  %x = bir.location @x : <4x8xf32, hbm>
  %c = bir.location @c ExternalOutput : <4x8xf32, hbm>
  bir.dma_copy @I0 %x <- %a
  ONE
  bir.dma_copy @I1 %c <- %x
  bir.return c = %c
}
}
"""


def run_peers(zero: str, one: str) -> list[NDArray[np.float32]]:
    module = parse(PEERS.replace("ZERO", zero).replace("ONE", one))
    arrays = [[x] for x in inputs(2)]
    found = simulate_ranks(module, arrays, entry=["zero", "one"])
    return [outputs[0] for outputs in found]


def test_send_and_receive() -> None:
    send = "bir.collective_send @I2 %x[0][8 x 2, 1 x 8] {peer_id = PEER}"
    receive = "bir.collective_recv @I3 %x[16][8 x 2, 1 x 8] {peer_id = PEER}"
    zero = f"{send}\n{receive}".replace("PEER", "1")
    one = f"{receive}\n{send}".replace("PEER", "0")
    first, second = run_peers(zero, one)
    a = inputs(2)
    np.testing.assert_array_equal(first, np.concatenate([a[0][:2], a[1][:2]]))
    np.testing.assert_array_equal(second, np.concatenate([a[1][:2], a[0][:2]]))


def test_an_exchange() -> None:
    exchange = (
        "bir.collective_compute @I2 SendRecv %x <- %x "
        "{{send_to_rank = [{0}], recv_from_rank = [{0}]}}"
    )
    first, second = run_peers(exchange.format(1), exchange.format(0))
    np.testing.assert_array_equal([second, first], inputs(2))


REDUCE = "bir.collective_compute @I2 AllReduce %x <- %x {op = add}"


@pytest.mark.parametrize(
    ("zero", "one"),
    [
        ("bir.collective_recv @I2 %x {peer_id = 1}", "bir.no_op @I2"),
        (REDUCE, "bir.collective_recv @I2 %x {peer_id = 0}"),
        (REDUCE, "bir.no_op @I2"),
    ],
)
def test_a_deadlock_is_an_error(zero: str, one: str) -> None:
    with pytest.raises(MachineError, match="waits for ranks that do not come"):
        run_peers(zero, one)


def test_the_error_of_the_rank_that_failed_is_told() -> None:
    bad = """
      %t = bir.location @t : <1x1xi32, sbuf>
      bir.memset @M %t {value = 90}
      %r = bir.tensor_load @L %t
      bir.dma_copy @D %x[%r][1 x 1] <- %x[0][1 x 1]
    """
    with pytest.raises(MachineError, match="Out-of-bound access"):
        run_peers(REDUCE, bad)


def test_an_entry_for_each_rank() -> None:
    module = parse(PEERS.replace("ZERO", "").replace("ONE", ""))
    with pytest.raises(MachineError, match="2 ranks have 1 entry functions"):
        Ranks(module, 2, entry=["zero"])
