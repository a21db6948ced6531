"""What passes and the machine both ask of a function."""
