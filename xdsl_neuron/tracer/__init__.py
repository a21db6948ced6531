"""The forward builder: from calls of a kernel language to the `penguin` dialect."""
