"""`python -m shadowtime` is the command `shadowtime`."""

from shadowtime.cli import main

if __name__ == "__main__":
    main()
