"""Comparing products of large whole numbers exactly.

Shares of different capacities have a common denominator, and comparing ratios of them multiplies
up to three numbers of 62 bits. Floating point decides where it safely can; where two products
agree to 14 digits, they are multiplied out in 192 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.jit import kernel

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
NEARLY_ONE = 1.0 - 1e-14


@kernel
def high_word(a: Any, b: Any) -> Any:
    """Upper 64 bits of the product of two unsigned 64-bit numbers."""
    a_low, a_high = a & LOW, a >> HALF
    b_low, b_high = b & LOW, b >> HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)


@kernel
def low_word(a: Any, b: Any) -> Any:
    """Lower 64 bits of the same; in halves, because nothing here may leave its type."""
    a_low, a_high = a & LOW, a >> HALF
    b_low, b_high = b & LOW, b >> HALF
    low = a_low * b_low
    middle = ((a_low * b_high) & LOW) + ((a_high * b_low) & LOW) + (low >> HALF)
    return ((middle & LOW) << HALF) | (low & LOW)


@kernel
def words_of_product(a: int, b: int, c: int) -> tuple[Any, Any, Any]:
    """The product of three numbers below 2^62 as three 64-bit words, highest first."""
    x, y, z = np.uint64(a), np.uint64(b), np.uint64(c)
    high, low = high_word(x, y), low_word(x, y)
    lowest = low_word(low, z)
    one, other = low_word(high, z), high_word(low, z)
    below = (one & LOW) + (other & LOW)
    above = (one >> HALF) + (other >> HALF) + (below >> HALF)
    middle = ((above & LOW) << HALF) | (below & LOW)
    highest = high_word(high, z) + (above >> HALF)
    return highest, middle, lowest


@kernel
def compare_products(a: int, b: int, c: int, d: int, e: int, f: int) -> int:
    """Sign of a*b*c - d*e*f for numbers in [0, 2^62)."""
    left = float(a) * float(b) * float(c)
    right = float(d) * float(e) * float(f)
    if left < right * NEARLY_ONE:
        return -1
    if right < left * NEARLY_ONE:
        return 1
    l1, l2, l3 = words_of_product(a, b, c)
    r1, r2, r3 = words_of_product(d, e, f)
    if l1 != r1:
        return -1 if l1 < r1 else 1
    if l2 != r2:
        return -1 if l2 < r2 else 1
    if l3 != r3:
        return -1 if l3 < r3 else 1
    return 0
