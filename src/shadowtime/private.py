"""Files of one user in shared folders: no symbolic link is followed, no name can be guessed.

A user who may write to a folder can put a symbolic link, a FIFO or a device where a program is
about to write. So every file is opened without following a link in its last part and must be a
plain file; temporary names are random and created with O_EXCL; files are readable by their owner
only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

OWNER_ONLY = 0o600
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that is full, or as full as the user may make it."""


def open_plain(path: Path, flags: int, mode: int = OWNER_ONLY) -> int:
    """A descriptor of a plain file; OSError for a link, a FIFO, a device or a folder.

    Never blocks: a FIFO without a reader or a writer is rejected at once.

    Examples
    --------
    >>> open_plain(Path("/dev/null"), os.O_RDONLY)
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] not a plain file: '/dev/null'
    """
    made = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if not stat.S_ISREG(os.fstat(made).st_mode):
        os.close(made)
        raise OSError(22, "not a plain file", str(path))
    return made


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error while the file is written names it: that of a full disk names none, or a temporary
    one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def replace_whole(
    path: Path,
    raw: bytes,
    *,
    mode: int = OWNER_ONLY,
    keep: Path | None = None,
    owner: tuple[int, int] | None = None,
    flush: bool = True,
) -> None:
    """Write a temporary file, flush, rename: a crash leaves the old file or the new one, never
    half.

    With ``keep`` the old file is kept under that name. The folder is flushed too: without that
    a power failure may undo the rename. ``flush=False`` is for what a reboot may lose.
    ``owner`` is a user and a group, for processes that may change a file's owner.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, last = Path(folder) / "state", Path(folder) / "last"
    ...     replace_whole(file, b"1", keep=last)
    ...     replace_whole(file, b"2", keep=last)
    ...     file.read_bytes(), last.read_bytes(), len(os.listdir(folder))
    (b'2', b'1', 2)
    """
    import tempfile  # loads much that a command without a state file does not need

    with _naming(path):
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with _naming(path), os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            if flush:
                os.fsync(file.fileno())
        if keep is not None:
            _keep(path, keep)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    if flush:
        flush_folder(path.parent)


@contextlib.contextmanager
def result_file(path: Path) -> Iterator[Path]:
    """A new file to write a result to; it replaces ``path`` at the end of the block.

    Rules
    -----
    The temporary name is random and created with O_EXCL, so that no existing file is written; an
    interrupted run leaves the old file. Results may be read by others: the mode is that of the old
    file, else that of the umask. A link created by the user (or root) is followed, another user's
    is rejected. A terminal or a pipe is written directly, and so is a plain file in a folder where
    no file can be created.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "out.csv"
    ...     with result_file(file) as beside:
    ...         _ = beside.write_text("1")
    ...     file.read_text(), os.listdir(folder)
    ('1', ['out.csv'])
    """
    if os.path.islink(path):
        if os.lstat(path).st_uid not in (os.geteuid(), 0):
            raise PermissionError(13, "a symbolic link that another user made", str(path))
        if not _is_device(path):
            path = Path(os.path.realpath(path))
    there = os.path.exists(path)
    if there and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    plain = os.path.isfile(path) and not _is_device(path)
    if there and not (plain and os.access(path.parent, os.W_OK | os.X_OK)):
        yield path
        return
    # Names are cut because 255 bytes is the most; the suffix stays, as writers go by it.
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}{path.suffix[:20]}")
    mode = stat.S_IMODE(os.stat(path).st_mode) if there else None
    with _naming(path):
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
    try:
        try:
            yield beside
        except OSError as error:
            if error.errno not in FULL:  # an error of what is being written, such as an input
                raise
            raise OSError(error.errno, error.strerror, str(path)) from None
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _is_device(path: Path) -> bool:
    """Also /dev/stdout, whatever it leads to."""
    return os.path.abspath(path).startswith(("/dev/", "/proc/"))


def write_result(path: Path, raw: bytes | str) -> None:
    """Write a result in one go (text as UTF-8). See :func:`result_file`."""
    with result_file(path) as beside:
        beside.write_bytes(raw.encode() if isinstance(raw, str) else raw)


def _keep(path: Path, keep: Path) -> None:
    """A second name for the file that is about to be replaced."""
    name = path.with_name(f".{keep.name}.{os.urandom(8).hex()}")
    try:
        os.link(path, name, follow_symlinks=False)  # fails where the name is taken, as O_EXCL does
    except FileNotFoundError:
        return  # there is no old file yet
    except OSError:  # a file system without links: for an instant only the old name is gone
        os.replace(path, keep)
        return
    os.replace(name, keep)


def flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_whole(path: Path, raw: bytes, *, mode: int = OWNER_ONLY) -> None:
    """Append all of it or nothing: a partial write on a full disk is undone.

    A file that does not end with a line break was cut off by a crash: the break is written first,
    so that only the broken line is lost.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "lines"
    ...     _ = file.write_bytes(b"half")
    ...     append_whole(file, b"whole\\n")
    ...     file.read_bytes()
    b'half\\nwhole\\n'
    """
    handle = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode)
    try:
        size = os.fstat(handle).st_size
        # A line that a crash cut short must not take this one with it.
        if size and os.pread(handle, 1, size - 1) != b"\n":
            raw = b"\n" + raw
        try:
            with _naming(path):
                left = memoryview(raw)
                while left:
                    left = left[os.write(handle, left) :]
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, size)  # all or nothing
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock in a file; BlockingIOError if another process has it and ``wait`` is False.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(Path(folder) / "lock"):
    ...         oct((Path(folder) / "lock").stat().st_mode & 0o777)
    '0o600'
    """
    # The file is never removed: with another one of its name, two processes would each have a lock.
    handle = open_plain(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def user_cache(kind: str, *, made: bool = True) -> Path:
    """The folder of what is kept between processes: compiled code, small runs, unfinished commands.

    It is created, and rejected if others can write to it, unless it is not to be ``made`` yet.
    """
    base = os.environ.get("SHADOWTIME_CACHE")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = os.path.join(home, "shadowtime")
    if made:
        refuse_foreign(Path(base) / kind)
    return Path(base) / kind


def state_path(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The default folder of a state file: systemd's StateDirectory, else the user's own folder.

    Examples
    --------
    >>> str(state_path("slurm-batch", {"STATE_DIRECTORY": "/var/lib/shadowtime"}))
    '/var/lib/shadowtime/slurm-batch.json'
    >>> str(state_path("slurm-batch", {"HOME": "/home/ann"}))
    '/home/ann/.local/state/shadowtime/slurm-batch.json'
    """
    folder = environment.get("STATE_DIRECTORY", "").split(":")[0]
    if not folder:
        home = environment.get("HOME", "/")
        state = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
        folder = os.path.join(state, "shadowtime")
    return Path(folder) / f"{name.replace('/', '-')}.json"


def refuse_foreign(folder: Path) -> None:
    """Make the folder for compiled code, or refuse one that others can write to.

    What is in it is loaded and run: anyone who can write to it can run code as its user. If the
    folder cannot be created, Numba works without a cache.
    """
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        about = os.stat(folder)
    except OSError:
        return
    if about.st_uid not in (os.geteuid(), 0) or about.st_mode & 0o002:
        from shadowtime.errors import UsageError

        raise UsageError(
            f"{folder} belongs to another user or can be written by all: compiled code that lies "
            "there would be run. Name a folder of your own in SHADOWTIME_CACHE"
        )
