"""Writes the reference pages: `python -m xdsl_neuron.reference docs`."""

from xdsl_neuron.reference.pages import main

main()
