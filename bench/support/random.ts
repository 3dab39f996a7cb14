/** A pseudorandom generator that repeats its numbers for the same seed. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** Returns an integer between the bounds, inclusive. */
  between(first: number, last: number): number
  pick<T>(from: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
}

/** Creates a mulberry32 generator, seeded with an FNV-1a hash. */
export function createRandom(seed: string): Random {
  let state = 2_166_136_261
  for (const byte of Buffer.from(seed)) state = Math.imul(state ^ byte, 16_777_619)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (first: number, last: number) => first + Math.floor(next() * (last - first + 1))
  return {
    next,
    between,
    pick: (from) => from[between(0, from.length - 1)]!,
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
  }
}
