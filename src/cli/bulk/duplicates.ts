import { hash } from 'node:crypto'

const START_SLOTS = 1 << 12
/** Of each slot: two halves of the id's hash, the hash of the content, and the line (0 in a free slot). */
const WORDS = 4

/**
 * The external ids seen so far, as 64 bits of their hash in one typed array: a million take 32 MB. Two ids that share
 * those bits (one chance in 37 million in a file of a million rows) would be taken for one.
 */
export class DuplicateIds {
  #slots = new Uint32Array(START_SLOTS * WORDS)
  #size = 0

  /** The first row of the same id, where there was one before: its line, and whether it had the same content. */
  add(id: string, content: string, line: number): { line: number; isSame: boolean } | undefined {
    const idHash = hash('sha1', id)
    const high = wordAt(idHash, 0)
    const low = wordAt(idHash, 1)
    const contentHash = wordAt(hash('sha1', content), 0)
    const at = this.#find(high, low)
    const earlier = this.#slots[at + 3]!
    if (earlier !== 0) return { line: earlier, isSame: this.#slots[at + 2] === contentHash }
    this.#slots.set([high, low, contentHash, line], at)
    this.#size += 1
    if (this.#size * WORDS * 2 > this.#slots.length) this.#grow()
    return undefined
  }

  /** Where the id stands, or the free slot where it would. */
  #find(high: number, low: number): number {
    const slots = this.#slots
    const mask = slots.length / WORDS - 1
    let slot = low & mask
    for (;;) {
      const at = slot * WORDS
      if (slots[at + 3] === 0 || (slots[at] === high && slots[at + 1] === low)) return at
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Uint32Array(old.length * 2)
    for (let at = 0; at < old.length; at += WORDS) {
      if (old[at + 3] !== 0) this.#slots.set(old.subarray(at, at + WORDS), this.#find(old[at]!, old[at + 1]!))
    }
  }
}

function wordAt(hex: string, index: number): number {
  return Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16)
}
