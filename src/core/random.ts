import { randomFillSync } from 'node:crypto'

/** A system call gives as many bytes for hundreds of ids and codes as for one. */
const pool = Buffer.alloc(8_192)
let used = pool.length

/**
 * Random bytes for ids, codes and secrets, from the generator of `node:crypto`, which is asked for many at once. What was
 * given out is wiped here, so that nobody else comes by it.
 * @param size at most 8,192
 */
export function takeRandom(size: number): Buffer {
  if (used + size > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const taken = Buffer.from(pool.subarray(used, used + size))
  pool.fill(0, used, used + size)
  used += size
  return taken
}
