export interface Random {
  /** A whole number from 0 up to and without the limit. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  /** An item by weight; the weights need not add up to anything. */
  weighted<T>(items: readonly (readonly [item: T, weight: number])[]): T
  chance(probability: number): boolean
}

/** Random choices that are the same on every run and every machine (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    pick: (items) => items[below(items.length)]!,
    weighted: (items) => {
      let rest = next() * items.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [item, weight] of items) {
        rest -= weight
        if (rest < 0) return item
      }
      return items.at(-1)![0]
    },
    chance: (probability) => next() < probability,
  }
}
