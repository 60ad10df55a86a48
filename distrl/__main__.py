"""`python -m distrl` is the `distrl` command."""

from distrl.cli.main import main

if __name__ == "__main__":
    main()
