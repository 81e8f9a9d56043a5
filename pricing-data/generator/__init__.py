"""The parts of the program that builds the bundled tables."""
