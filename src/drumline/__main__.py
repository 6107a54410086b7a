"""`python -m drumline` is `drumline`.

The rule: Ctrl-C never shows a traceback, not while modules are imported and not when the work is over.
"""

import signal

INTERRUPTED = 130


def start() -> int:
    """Run the command line of this process; return its exit code."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else the caller wants it ignored
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from drumline.garbage import uncollected

    with uncollected(freeze=True):  # what a module defines stays as long as the process
        from drumline.cli.main import main

    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return main()
    except KeyboardInterrupt:  # before or after the command itself, which says what it means
        return INTERRUPTED
    finally:
        if heard:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    raise SystemExit(start())
