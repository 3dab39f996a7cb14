import type { KeyObject } from 'node:crypto'
import { idBound } from '../../ids.ts'
import { commitmentOf, type EntryValues, entryDigest, type Head, hex, isSameDigest, isSignedBy } from './chain.ts'

/** A head with its signature. */
export type SignedHead = Head & { signature: Uint8Array }

/** An entry of a chain with what it is about. */
export interface ChainedEntry {
  sequence: number
  id: string
  isAdopted: boolean
  salt: Uint8Array | null
  commitment: Uint8Array | null
  digest: Uint8Array
  /** Null where the entry itself is gone. */
  fixed: EntryValues | null
  /** What an erasure may take out; without a member where nothing may. */
  personal: EntryValues
}

/** What is wrong with a chain, and where. */
export interface ChainFault {
  kind: 'altered' | 'removed' | 'inserted' | 'missing' | 'rewritten' | 'cut' | 'unsigned'
  /** The first entry that it is about, and the last one. */
  sequence?: number
  toSequence?: number
  id?: string
  message: string
}

/** What was found. */
export interface ChainReport {
  /** Entries that were looked at. */
  entries: number
  /** Of them so many were there before the chain was. */
  adopted: number
  /** Of so many what an erasure takes out is gone. */
  erased: number
  /** How many faults there are; only the first are described. */
  faultCount: number
  faults: ChainFault[]
}

/** What a chain is held against. */
export interface VerificationOptions {
  /** Where the chain ends. */
  head: SignedHead
  /** Where it ended before, as signed then or as somebody kept it. */
  earlier?: SignedHead[]
  publicKey: KeyObject
  /** What stands where something was erased. */
  erased: EntryValues
}

/** Faults of a chain that are described; all are counted. */
export const MAX_DESCRIBED = 100

/**
 * Holds the entries of a chain, which are given in their order, against each other and against the heads that were signed. Each is
 * held against the digest that stands at the one before, so that a change shows where it was made.
 */
export class Verification {
  readonly report: ChainReport = { entries: 0, adopted: 0, erased: 0, faultCount: 0, faults: [] }
  private readonly options: VerificationOptions
  /** Signed heads that are still to come, the first to come last. */
  private readonly heads: SignedHead[]
  private sequence: number
  private digest: Uint8Array
  /** Up to here a signature vouches for the chain. */
  private vouched: number

  constructor(options: VerificationOptions) {
    this.options = options
    const { head, earlier = [] } = options
    this.sequence = head.baseSequence
    this.digest = head.baseDigest
    this.vouched = head.baseSequence
    if (!this.isSigned(head)) {
      this.fault({ kind: 'unsigned', message: 'Where the chain ends is not what the key of the workspace signed.' })
    }
    for (const one of earlier) {
      if (this.isSigned(one)) continue
      const at = new Date(one.signedAt).toISOString()
      this.fault({
        kind: 'unsigned',
        sequence: one.sequence,
        message: `What is said to be the head of ${at} is not what the key of the workspace signed.`,
      })
    }
    const sound = [...earlier.filter((one) => this.isSigned(one)), head]
    for (const one of sound) {
      if (one.sequence <= head.sequence) continue
      this.fault({
        kind: 'cut',
        sequence: head.sequence + 1,
        toSequence: one.sequence,
        message: `A head that was signed at ${new Date(one.signedAt).toISOString()} has entries up to ${one.sequence}; the chain ends at ${head.sequence}.`,
      })
    }
    this.heads = sound.toSorted((a, b) => b.sequence - a.sequence)
  }

  /** Looks at the next entry, in the order of their numbers. */
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

  /** After the last entry. */
  end(): ChainReport {
    const { head } = this.options
    if (this.sequence < head.sequence) {
      this.fault({
        kind: 'missing',
        sequence: this.sequence + 1,
        toSequence: head.sequence,
        message: `The chain was signed up to ${head.sequence}, and ends at ${this.sequence}.`,
      })
    }
    return this.report
  }

  /** Notes what was found elsewhere. */
  fault(fault: ChainFault): void {
    this.report.faultCount += 1
    if (this.report.faults.length < MAX_DESCRIBED) this.report.faults.push(fault)
  }

  private check(entry: ChainedEntry, isNext: boolean): void {
    const { sequence, id, fixed, isAdopted } = entry
    if (!fixed) {
      if (id >= idBound(this.options.head.retainedFrom)) {
        this.fault({ kind: 'removed', sequence, id, message: 'The entry is gone.' })
      }
      return
    }
    const commitment = this.commitmentOf(entry)
    if (commitment === undefined) {
      this.fault({ kind: 'altered', sequence, id, message: 'It says that it was erased, and still holds something.' })
      return
    }
    // What stood before it is missing, so that nothing says what its digest must be.
    if (!isNext) return
    const expected = entryDigest(this.digest, { values: fixed, commitment, isAdopted })
    if (isSameDigest(expected, entry.digest)) return
    this.fault({
      kind: 'altered',
      sequence,
      id,
      message: 'Its values are not those of its digest, or it does not belong behind the entry before.',
    })
  }

  /** Undefined where what was erased is not. */
  private commitmentOf({ salt, commitment, personal }: ChainedEntry): Uint8Array | null | undefined {
    const names = Object.keys(personal)
    if (names.length === 0) return salt || commitment ? undefined : null
    if (salt) return commitment ? undefined : commitmentOf(salt, personal)
    if (!commitment) return undefined
    this.report.erased += 1
    const { erased } = this.options
    return names.every((name) => personal[name] === (erased[name] ?? null)) ? commitment : undefined
  }

  private addGap(sequence: number): void {
    const from = this.sequence + 1
    if (sequence <= this.sequence) {
      this.fault({ kind: 'inserted', sequence, message: `${sequence} stands there twice.` })
      return
    }
    const toSequence = sequence - 1
    const count = toSequence - from + 1
    this.fault({
      kind: 'missing',
      sequence: from,
      toSequence,
      message: count === 1 ? 'It is missing from the chain.' : `${count} entries are missing from the chain.`,
    })
  }

  /** A head that was signed must be what the chain is at its place; where an entry before explains why not, that is enough. */
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
        message: `The digest at ${this.sequence} is ${hex(this.digest).slice(0, 16)}…, and ${hex(head.digest).slice(0, 16)}… was signed at ${new Date(head.signedAt).toISOString()}.`,
      })
    }
  }

  private isSigned(head: SignedHead): boolean {
    return isSignedBy(head, head.signature, this.options.publicKey)
  }
}
