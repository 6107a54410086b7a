"""`python -m drumline` is `drumline`."""

from drumline.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
