"""``python -m uqbench``."""

from uqbench.cli import main

if __name__ == "__main__":
    main()
