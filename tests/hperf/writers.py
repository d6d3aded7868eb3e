"""Four writers at once in a process of their own: URL, number of the first, records of each."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from shadowtime.hperf import Record, open_store


def write(url: str, writer: int, count: int) -> int:
    store = open_store(url)
    new = 0
    for i in range(count):
        record = Record(tag=f"tag{i % 3}", bandwidth=float(writer), key=f"{writer}/{i}")
        new += store.add([record]).new
    return new


if __name__ == "__main__":
    url, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda w: write(url, w, count), range(first, first + 4)))
    sys.exit(0 if made == [count] * 4 else f"{made} of {count} each were new")
