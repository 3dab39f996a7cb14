import { groupBy } from '../../src/core/group-by.ts'
import type { Decision } from '../../src/door/engine/engine.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { type BenchPhone, type TimedDecision, timedScan } from './doors.ts'
import { codeOf, insertCodes } from './many-passes.ts'
import { insertProject } from './project.ts'

/** One in this number of tickets is shown at two gates. */
const TWICE = 10
/** The number of the first ticket. Passes with lower numbers are void. */
const FIRST_TICKET = 26

/** Creates a project with passes that each have their own code. Returns its ID. */
export async function insertTickets(database: Database, workspaceId: string, tickets: number): Promise<string> {
  const projectId = await insertProject(database, workspaceId, tickets)
  await insertCodes(database.writer, workspaceId, tickets)
  return projectId
}

/**
 * Shows tickets at the phones in turn. Every tenth ticket is shown at two phones at the same time. The network of the
 * phones is cut for the middle half.
 * @param phones at least two
 * @param pace resolves when it is time for the n-th scan. It receives the previous scans.
 */
export async function showTickets(
  phones: readonly BenchPhone[],
  {
    scans,
    tickets,
    pace,
  }: { scans: number; tickets: number; pace: (n: number, before: readonly Promise<unknown>[]) => Promise<unknown> },
): Promise<TimedDecision[]> {
  const timed: Promise<TimedDecision>[] = []
  for (let ticket = FIRST_TICKET; timed.length < scans; ticket += 1) {
    const n = timed.length
    await pace(n, timed)
    for (const phone of phones) phone.cut(n >= scans / 4 && n < (3 * scans) / 4)
    const code = codeOf(1 + ((ticket - 1) % tickets))
    timed.push(timedScan(phones[n % phones.length]!, code))
    // Use another phone, because the same one would treat both scans as one reading.
    const other = phones[(n + Math.floor(phones.length / 2)) % phones.length]!
    if (ticket % TWICE === 0) timed.push(timedScan(other, code))
  }
  return Promise.all(timed)
}

/** Faults in the ledger after a run. Every count must be 0, except `twice`. */
export interface LedgerFaults {
  /** The number of scans without a decision. */
  unevaluated: number
  /** The number of decisions that are missing in the ledger. */
  lost: number
  /** The number of tickets that the server admitted twice. */
  twiceOnline: number
  /**
   * The number of tickets with several admissions whose conflicts in the ledger are wrong: the number of admissions
   * without a conflict is not exactly one.
   */
  untold: number
  /** The number of tickets admitted twice while a network was cut, which is not a fault. */
  twice: number
}

/** Compares the decisions at the doors with the ledger. */
export async function findFaults(
  { reader }: Database,
  workspaceId: string,
  shown: readonly Decision[],
): Promise<LedgerFaults> {
  const rows: LedgerRow[] = await reader('scans')
    .where({ workspace_id: workspaceId })
    .select('external_ref', 'pass_id', 'result', 'verified', 'conflict')
  const byRef = new Map(rows.map((row) => [row.external_ref, row]))
  const evaluated = shown.filter(({ failure }) => failure === null)
  const lost = evaluated.filter(({ externalRef, result }) => {
    // Prefer the entry with the suffix: if the server denied a scan that the door had already admitted, the ledger has
    // both entries.
    const row = byRef.get(`${externalRef}+acted`) ?? byRef.get(externalRef)
    return !row || (row.result === 'accepted') !== (result === 'accepted')
  })
  const accepted = groupBy(
    rows.filter(({ result }) => result === 'accepted'),
    ({ pass_id }) => pass_id,
  )
  const twice = [...accepted.values()].filter((admissions) => admissions.length > 1)
  const atOnce = twice.filter((admissions) => admissions.filter(({ verified }) => verified === 'online').length > 1)
  // Exactly one admission of a ticket must be without a conflict.
  const untold = [...accepted.values()].filter(
    (admissions) => admissions.filter(({ conflict }) => conflict === null).length !== 1,
  )
  return {
    unevaluated: shown.length - evaluated.length,
    lost: lost.length,
    twiceOnline: atOnce.length,
    untold: untold.length,
    twice: twice.length,
  }
}

interface LedgerRow {
  external_ref: string
  pass_id: string
  result: string
  verified: string
  conflict: string | null
}
