"""The generated reference pages: `python -m xdsl_neuron.reference docs`."""
