import type { ScanResponse } from '../../src/core/contract/schemas/scan-shapes.ts'

/** A request with a key that makes it safe to repeat. */
export interface Keyed<Answer> {
  key: string
  /** The acknowledged response. `undefined` while the result is unknown. */
  answer?: Answer
  /** The server rejected the request, so the resource must not exist. */
  isRefused?: true
}

/** A pass as its only writer knows it. */
export interface PassRecord {
  externalPassId: string
  /** Passes with the same value were requested together, in order. */
  batch: string
  /** Undefined until the creation is acknowledged. */
  id?: string
  /** The number of acknowledged updates. */
  updates: number
  /** The number of updates whose result is unknown. */
  doubtful: number
  /**
   * The possible values of variable `n`: the last acknowledged one, and those of later updates whose result is unknown.
   */
  values: Set<number | undefined>
  voided: 'no' | 'maybe' | 'yes'
  scans: Keyed<Pick<ScanResponse, 'result'> & { id: string }>[]
  notifications: Keyed<{ id: string }>[]
}

/** Every write that the driver requested, with its response. */
export interface Journal {
  passes: Map<string, PassRecord>
  broadcasts: Keyed<{ id: string }>[]
  /** Descriptions of responses that no request should get. */
  unexpected: string[]
  acknowledged: number
  doubtful: number
  /** The number of 503 responses with Retry-After. */
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
