import type { ScanResponse } from '../../src/core/contract/scan-shapes.ts'

/** Something that was asked for under a key that makes asking again harmless. */
export interface Keyed<Answer> {
  key: string
  /** What the server acknowledged; undefined while nobody knows whether it was done. */
  answer?: Answer
  /** The server said no: it must not be there. */
  isRefused?: true
}

/** A pass as its only writer knows it. */
export interface PassRecord {
  externalPassId: string
  /** Passes that were asked for together, in order. */
  batch: string
  /** Undefined until its creation was acknowledged. */
  id?: string
  /** Updates that were acknowledged. */
  updates: number
  /** Updates of which nobody knows whether they were done. */
  doubtful: number
  /** What its variable n may hold: what was acknowledged last, and what was doubtful since. */
  values: Set<number | undefined>
  voided: 'no' | 'maybe' | 'yes'
  scans: Keyed<Pick<ScanResponse, 'result'> & { id: string }>[]
  notifications: Keyed<{ id: string }>[]
}

/** Every write that the driver asked for, and what it was told. */
export interface Journal {
  passes: Map<string, PassRecord>
  broadcasts: Keyed<{ id: string }>[]
  /** Answers that nobody should get, in words. */
  unexpected: string[]
  acknowledged: number
  doubtful: number
  /** 503 with Retry-After. */
  unavailable: number
}

export function openJournal(): Journal {
  return {
    passes: new Map(),
    broadcasts: [],
    unexpected: [],
    acknowledged: 0,
    doubtful: 0,
    unavailable: 0,
  }
}

export function newRecord(externalPassId: string, batch: string): PassRecord {
  return {
    externalPassId,
    batch,
    updates: 0,
    doubtful: 0,
    values: new Set([undefined]),
    voided: 'no',
    scans: [],
    notifications: [],
  }
}
