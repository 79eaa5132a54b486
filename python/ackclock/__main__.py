"""`python -m ackclock`, the same as `ackclock`."""

from ackclock.cli.main import main

if __name__ == "__main__":
    main()
