"""Running a scheduler's commands: bounded in time, never through a shell."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shadowtime.live.port import PortError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class NotInstalled(PortError):
    """This machine does not have the command."""


class TimedOut(PortError):
    """A command took too long; ``err`` is what it had printed on standard error until then."""

    def __init__(self, message: str, err: str = "") -> None:
        super().__init__(message)
        self.err = err


class Runner(Protocol):
    """Runs a command; tests hand in their own."""

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        """The command's result; PortError if it cannot be run or takes too long."""


class Commands:
    """Runs commands of this machine.

    Examples
    --------
    >>> Commands(timeout=5)(["cat"], text="hello").out
    'hello'
    >>> Commands(timeout=0.05)(["sleep", "9"])
    Traceback (most recent call last):
    ...
    shadowtime.live.runner.TimedOut: sleep did not answer within 0.05 seconds
    """

    concurrent = True
    """Whether several commands may run at the same time."""

    def __init__(self, *, timeout: float = 20.0, env: Mapping[str, str] | None = None) -> None:
        self.timeout = timeout
        self.env = dict(env) if env is not None else None

    def within(self, seconds: float) -> Commands:
        """The same with less time for each, if that is less."""
        return Commands(timeout=min(self.timeout, seconds), env=self.env)

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        try:
            done = subprocess.run(
                list(argv),
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout,
                env=self.env,
                check=False,
            )
        except FileNotFoundError:
            raise NotInstalled(f"the command {argv[0]} is not installed here") from None
        except PermissionError:
            raise PortError(f"the command {argv[0]} may not be run here") from None
        except subprocess.TimeoutExpired as error:
            err = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
            why = f"{argv[0]} did not answer within {self.timeout:g} seconds"
            raise TimedOut(why, err) from None
        except (OSError, ValueError) as error:  # no memory, no program, a NUL in a job's name
            raise PortError(f"{argv[0]} could not be run: {error}") from None
        return Done(done.returncode, done.stdout, done.stderr)


def checked(run: Runner, argv: Sequence[str]) -> str:
    """What a command prints; PortError with its first error message if it fails.

    Examples
    --------
    >>> checked(Commands(timeout=5), ["false"])
    Traceback (most recent call last):
    ...
    shadowtime.errors.PortError: false: no reason given
    """
    done = run(argv)
    if done.code != 0:
        lines = (done.err.strip() or done.out.strip() or "no reason given").splitlines()
        raise PortError(f"{argv[0]}: {lines[0][:200]}")
    return done.out


def side_by_side(run: Runner, *commands: Sequence[str]) -> list[str]:
    """What several commands print, at the same time if the runner is ``concurrent``.

    Examples
    --------
    >>> side_by_side(Commands(timeout=5), ["echo", "a"], ["echo", "b"])
    ['a\\n', 'b\\n']
    """
    first, *others = commands
    if not getattr(run, "concurrent", False):
        return [checked(run, argv) for argv in commands]
    later = [_started(run, argv) for argv in others]
    return [checked(run, first), *(one.result() for one in later)]


def _started(run: Runner, argv: Sequence[str]) -> Future[str]:
    """A command in a thread that is abandoned if the loop is told to end meanwhile."""
    found: Future[str] = Future()

    def work() -> None:
        try:
            found.set_result(checked(run, argv))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return found
