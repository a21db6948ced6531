"""Random numbers and their states (nki.md 1.1)."""

from typing import Any

from xdsl_neuron.isa import Engine
from xdsl_neuron.nki.arguments import as_name, as_operand, as_view
from xdsl_neuron.nki.enums import as_engine, engine
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError

_ENGINES = (Engine.DVE, Engine.POOL)


def _on(value: Any, api_name: str, default: Engine) -> Engine:
    """An engine with a generator."""
    found = as_engine(value)
    if found is Engine.UNASSIGNED:
        return default
    if found not in _ENGINES:
        raise NKIValueError(
            f"{api_name} engine must be vector or gpsimd, got {value}; the others have "
            "no random generator"
        )
    return found


@instruction
def rng(dst: Any, engine: Any = engine.vector, name: str | None = None) -> None:
    """Fills `dst` with random bits, cut to its integer type."""
    session().rng(as_view(dst, "dst"), _on(engine, "rng", Engine.DVE), as_name(name))


@instruction
def rand2(dst: Any, min: Any, max: Any, name: str | None = None) -> None:
    """Fills `dst` with uniform fp32 numbers in [min, max) (trn3)."""
    session().rand2(
        as_view(dst, "dst"),
        as_operand(min, "min"),
        as_operand(max, "max"),
        as_name(name),
    )


@instruction
def rand_set_state(
    src_seeds: Any, engine: Any = engine.gpsimd, name: str | None = None
) -> None:
    """Loads an engine's state: 6 words of each partition (gpsimd) or 24 (vector)."""
    session().rand_set_state(
        as_view(src_seeds, "src_seeds"),
        _on(engine, "rand_set_state", Engine.POOL),
        as_name(name),
    )


@instruction
def rand_get_state(
    dst: Any, engine: Any = engine.gpsimd, name: str | None = None
) -> None:
    """Stores an engine's state."""
    session().rand_get_state(
        as_view(dst, "dst"),
        _on(engine, "rand_get_state", Engine.POOL),
        as_name(name),
    )


@instruction
def set_rng_seed(src_seeds: Any, name: str | None = None) -> None:
    """Seeds the vector engine's state with one 32-bit integer."""
    session().set_rng_seed(as_view(src_seeds, "src_seeds"), Engine.DVE, as_name(name))


@instruction
def dropout(dst: Any, data: Any, prob: Any, name: str | None = None) -> None:
    """`dst = data`, but 0 with probability `prob`; both are of one type."""
    source, target = as_view(data, "data"), as_view(dst, "dst")
    if source.element_type is not target.element_type:
        raise NKIValueError(
            f"dropout: `dst` must have the type of `data`, {source!r}, got {target!r}; "
            "cast with nisa.tensor_copy"
        )
    session().dropout(
        source,
        as_operand(prob, "prob"),
        dst=target,
        name=as_name(name),
    )
