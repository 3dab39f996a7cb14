import type { KeyObject } from 'node:crypto'
import { idBound } from '../../ids.ts'
import { commitmentOf, type EntryValues, entryDigest, type Head, hex, isSameDigest, isSignedBy } from './chain.ts'

export type SignedHead = Head & { signature: Uint8Array }

export interface ChainedEntry {
  sequence: number
  id: string
  isAdopted: boolean
  salt: Uint8Array | null
  commitment: Uint8Array | null
  digest: Uint8Array
  /** The values of the entry that never change. `null` if the row of the entry was deleted. */
  fixed: EntryValues | null
  /** The values of the entry that an erasure can remove. Empty if there are none. */
  personal: EntryValues
}

export interface ChainFault {
  kind: 'altered' | 'removed' | 'inserted' | 'missing' | 'rewritten' | 'cut' | 'unsigned'
  /** The sequence number of the first affected entry. `toSequence` is that of the last affected entry. */
  sequence?: number
  toSequence?: number
  id?: string
  message: string
}

export interface ChainReport {
  entries: number
  /** The number of entries that existed before the chain. */
  adopted: number
  erased: number
  /** The number of all faults. `faults` has only the first MAX_DESCRIBED faults. */
  faultCount: number
  faults: ChainFault[]
}

export interface VerificationOptions {
  head: SignedHead
  /** Earlier signed heads of the chain, from the database or kept elsewhere. */
  earlier?: SignedHead[]
  publicKey: KeyObject
}

/** The values that an erasure writes into an entry, by name. It sets all other erasable values to null. */
export const ERASED: EntryValues = { message: 'Erased.' }

export const MAX_DESCRIBED = 100

/**
 * Verifies the entries of a chain against each other and against the signed heads. Checks each entry with the stored
 * digest of the previous entry, so that one changed entry does not make all later entries invalid.
 */
export class Verification {
  readonly report: ChainReport = { entries: 0, adopted: 0, erased: 0, faultCount: 0, faults: [] }
  private readonly options: VerificationOptions
  /** The signed heads that are not compared yet, by descending sequence number. */
  private readonly heads: SignedHead[]
  private sequence: number
  private digest: Uint8Array
  /** The last sequence number that a signed head confirms. */
  private vouched: number

  constructor(options: VerificationOptions) {
    this.options = options
    const { head, earlier = [] } = options
    this.sequence = head.baseSequence
    this.digest = head.baseDigest
    this.vouched = head.baseSequence
    if (!this.isSigned(head)) {
      this.fault({ kind: 'unsigned', message: 'The end of the chain is not signed by the workspace key.' })
    }
    for (const one of earlier) {
      if (this.isSigned(one)) continue
      const at = new Date(one.signedAt).toISOString()
      this.fault({
        kind: 'unsigned',
        sequence: one.sequence,
        message: `The head of ${at} is not signed by the workspace key.`,
      })
    }
    const sound = [...earlier.filter((one) => this.isSigned(one)), head]
    for (const one of sound) {
      if (one.sequence <= head.sequence) continue
      this.fault({
        kind: 'cut',
        sequence: head.sequence + 1,
        toSequence: one.sequence,
        message:
          `A head signed at ${new Date(one.signedAt).toISOString()} has entries up to ${one.sequence}, but the ` +
          `chain ends at ${head.sequence}.`,
      })
    }
    this.heads = sound.toSorted((a, b) => b.sequence - a.sequence)
  }

  /** Checks the next entry. Call it for the entries in the order of their sequence numbers. */
  add(entry: ChainedEntry): void {
    const { sequence, digest } = entry
    this.report.entries += 1
    if (entry.isAdopted) this.report.adopted += 1
    const isNext = sequence === this.sequence + 1
    if (!isNext) this.addGap(sequence)
    const faultsBefore = this.report.faultCount
    this.check(entry, isNext)
    this.sequence = sequence
    this.digest = digest
    this.passHeads(this.report.faultCount > faultsBefore)
  }

  /** Returns the report. Adds a fault if the entries end before the signed head. Call it after the last entry. */
  end(): ChainReport {
    const { head } = this.options
    if (this.sequence < head.sequence) {
      this.fault({
        kind: 'missing',
        sequence: this.sequence + 1,
        toSequence: head.sequence,
        message: `The chain was signed up to ${head.sequence}, but ends at ${this.sequence}.`,
      })
    }
    return this.report
  }

  /** Adds a fault to the report. Public, because callers can also find faults. */
  fault(fault: ChainFault): void {
    this.report.faultCount += 1
    if (this.report.faults.length < MAX_DESCRIBED) this.report.faults.push(fault)
  }

  private check(entry: ChainedEntry, isNext: boolean): void {
    const { sequence, id, fixed, isAdopted } = entry
    if (!fixed) {
      if (id >= idBound(this.options.head.retainedFrom)) {
        this.fault({ kind: 'removed', sequence, id, message: 'The entry is missing.' })
      }
      return
    }
    const commitment = this.commitmentOf(entry)
    if (commitment === undefined) {
      this.fault({ kind: 'altered', sequence, id, message: 'The entry is marked as erased, but still has values.' })
      return
    }
    // If the previous entry is missing, its digest is unknown, and this entry cannot be checked.
    if (!isNext) return
    const expected = entryDigest(this.digest, { values: fixed, commitment, isAdopted })
    if (isSameDigest(expected, entry.digest)) return
    this.fault({
      kind: 'altered',
      sequence,
      id,
      message: 'The values of the entry do not match its digest, or it does not follow the previous entry.',
    })
  }

  /**
   * Returns the commitment to the erasable values, or `null` if the entry has no such values. Returns `undefined` if
   * the entry is inconsistent, for example erased but still with values.
   */
  private commitmentOf({ salt, commitment, personal }: ChainedEntry): Uint8Array | null | undefined {
    const names = Object.keys(personal)
    if (names.length === 0) return salt || commitment ? undefined : null
    if (salt) return commitment ? undefined : commitmentOf(salt, personal)
    if (!commitment) return undefined
    this.report.erased += 1
    return names.every((name) => personal[name] === (ERASED[name] ?? null)) ? commitment : undefined
  }

  private addGap(sequence: number): void {
    const from = this.sequence + 1
    if (sequence <= this.sequence) {
      this.fault({ kind: 'inserted', sequence, message: `Duplicate entry ${sequence}.` })
      return
    }
    const toSequence = sequence - 1
    const count = toSequence - from + 1
    this.fault({
      kind: 'missing',
      sequence: from,
      toSequence,
      message: count === 1 ? 'The entry is missing from the chain.' : `${count} entries are missing from the chain.`,
    })
  }

  /**
   * Compares the digest of the entry with the signed heads at this position. Does not report a mismatch if a fault of
   * the entry already explains it.
   */
  private passHeads(isExplained: boolean): void {
    for (let head = this.heads.at(-1); head && head.sequence <= this.sequence; head = this.heads.at(-1)) {
      this.heads.pop()
      const isHere = head.sequence === this.sequence
      if (!isHere) continue
      if (isSameDigest(head.digest, this.digest)) {
        this.vouched = this.sequence
        continue
      }
      if (isExplained) continue
      this.fault({
        kind: 'rewritten',
        sequence: this.vouched + 1,
        toSequence: this.sequence,
        message:
          `The digest at ${this.sequence} is ${hex(this.digest).slice(0, 16)}…, but ` +
          `${hex(head.digest).slice(0, 16)}… was signed at ${new Date(head.signedAt).toISOString()}.`,
      })
    }
  }

  private isSigned(head: SignedHead): boolean {
    return isSignedBy(head, head.signature, this.options.publicKey)
  }
}
