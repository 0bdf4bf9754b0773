"""`python -m chatkv` is the same as `chatkv`."""

from chatkv.cli import main

if __name__ == "__main__":
    main()
