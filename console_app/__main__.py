"""`python -m console_app` is the `fanout` command."""

from console_app.cli import main

if __name__ == "__main__":
    main()
