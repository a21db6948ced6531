"""Views under the names the functional generation gives their parameters."""

from typing import Any

from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_integer, as_shape, as_view
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.views import View


@api
def broadcast_to(src: Any, shape: Any) -> View:
    """A tile repeated to `shape`; a repeated partition is a copy."""
    return session().broadcast(as_view(src, "src"), as_shape(shape))


@api
def expand_dims(data: Any, axis: int) -> View:
    """A dimension of extent 1."""
    return as_view(data, "data").with_unit_dim(as_integer(axis, "axis"))
