"""The parts of the screens. They draw what they are given and say what the person did; they decide nothing."""
