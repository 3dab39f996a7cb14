import { randomFillSync } from 'node:crypto'

/** One system call returns enough bytes for hundreds of IDs and codes. */
const pool = Buffer.alloc(8_192)
let used = pool.length

/**
 * Returns random bytes for IDs, codes, and secrets from `node:crypto`, read in large blocks. The returned bytes are
 * wiped from the block, so that they cannot be read again.
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
