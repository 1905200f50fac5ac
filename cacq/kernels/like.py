"""LIKE as a bit-parallel automaton over UTF-8 bytes: one pass over the text, never a step back.

A pattern of m bytes other than `%` has states 0 to m, "this many are matched"; a set of states is a row of words.
`accept` holds for each byte the states that it may lead into, `stay` those that a `%` lets any byte remain in, `hold`
those behind a `_`, in which the continuation bytes of its character remain. Time is text x (pattern / 64 + 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Bools, Ints, Octets, Words
from cacq.kernels.compiled import ONE, ZERO, kernel

TOP = np.uint64(63)
PERCENT, UNDERSCORE = 37, 95


@kernel
def continues(byte: Any) -> Any:
    """Whether a byte goes on with a character that an earlier one began."""
    return 0x80 <= byte < 0xC0


@kernel
def is_escape(patterns: Octets, at: int, stop: int, escape: Octets) -> Any:
    """Whether the escape character stands at this place."""
    if len(escape) == 0 or at + len(escape) > stop:
        return False
    k = 0
    while k < len(escape) and patterns[at + k] == escape[k]:
        k += 1
    return k == len(escape)


@kernel
def build(patterns: Octets, start: int, stop: int, escape: Octets, accept: Words, stay: Words, hold: Words) -> int:
    """Fill the tables for one pattern; returns its number of states less one."""
    words = (stop - start) // 64 + 1
    for word in range(words):
        stay[word] = hold[word] = ZERO
        for byte in range(256):
            accept[word, byte] = ZERO
    matched, at, wild = 0, start, False
    while at < stop:
        escaped = is_escape(patterns, at, stop, escape)
        if escaped and at + len(escape) < stop:
            at += len(escape)
        byte = patterns[at]
        at += 1
        if byte == PERCENT and not escaped:
            stay[matched >> 6] |= ONE << np.uint64(matched & 63)
            continue
        matched += 1
        word, bit = matched >> 6, ONE << np.uint64(matched & 63)
        if byte == UNDERSCORE and not escaped:
            hold[word] |= bit
            wild = True
        else:
            accept[word, byte] |= bit
    if wild:
        for word in range(words):
            for byte in range(256):
                if not continues(byte):
                    accept[word, byte] |= hold[word]
    return matched


@kernel
def matches_short(texts: Octets, start: int, stop: int, accept: Words, stay: Words, hold: Words, last: int) -> Any:
    """`matches` for a pattern whose states fit into one word, which then stays in a register."""
    final = ONE << np.uint64(last)
    remain, remain_inside = stay[0], stay[0] | hold[0]
    state = ONE
    for k in range(start, stop):
        byte = texts[k]
        state = ((state << ONE) & accept[0, byte]) | (state & (remain_inside if continues(byte) else remain))
        if state == ZERO:
            return False
        if state & final & remain != ZERO:
            return True
    return state & final != ZERO


@kernel
def matches(
    texts: Octets, start: int, stop: int, accept: Words, stay: Words, hold: Words, state: Words, last: int
) -> Any:
    """Whether the automaton is in state `last` after the whole text."""
    words = (last >> 6) + 1
    final = ONE << np.uint64(last & 63)
    state[:words] = ZERO
    state[0] = ONE
    for k in range(start, stop):
        byte = texts[k]
        inside = continues(byte)
        carry, alive = ZERO, ZERO
        for word in range(words):
            before = state[word]
            remain = stay[word] | hold[word] if inside else stay[word]
            after = (((before << ONE) | carry) & accept[word, byte]) | (before & remain)
            carry = before >> TOP
            alive |= after
            state[word] = after
        if alive == ZERO:
            return False
        if state[words - 1] & final & stay[words - 1] != ZERO:
            return True
    return state[words - 1] & final != ZERO


@kernel
def like(offsets: Ints, texts: Octets, pattern_offsets: Ints, patterns: Octets, escape: Octets, out: Bools) -> None:
    """Whether each whole text matches its pattern. A side that holds one string stands for every row.

    `escape` holds the bytes of the escape character, none where there is none; at the end of a pattern it stands for
    itself.
    """
    text_step = 0 if len(offsets) == 2 else 1
    pattern_step = 0 if len(pattern_offsets) == 2 else 1
    longest = 0
    for p in range(len(pattern_offsets) - 1):
        longest = max(longest, pattern_offsets[p + 1] - pattern_offsets[p])
    words = longest // 64 + 1
    accept = np.zeros((words, 256), np.uint64)
    stay, hold, state = np.zeros(words, np.uint64), np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    last = 0
    for i in range(len(out)):
        if i == 0 or pattern_step == 1:
            p = i * pattern_step
            last = build(patterns, pattern_offsets[p], pattern_offsets[p + 1], escape, accept, stay, hold)
        t = i * text_step
        if last > offsets[t + 1] - offsets[t]:
            out[i] = False
        elif last < 64:
            out[i] = matches_short(texts, offsets[t], offsets[t + 1], accept, stay, hold, last)
        else:
            out[i] = matches(texts, offsets[t], offsets[t + 1], accept, stay, hold, state, last)
