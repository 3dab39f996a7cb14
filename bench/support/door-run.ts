import { groupBy } from '../../src/core/group-by.ts'
import type { Verdict } from '../../src/door/engine/engine.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { type BenchPhone, type TimedVerdict, timedScan } from './doors.ts'
import { codeOf, insertCodes } from './many-passes.ts'
import { insertProject } from './project.ts'

/** One ticket of so many is shown at two gates. */
const TWICE = 10
/** Before it passes are void. */
const FIRST_TICKET = 26

/** A project with passes of which each has its code. Returns its id. */
export async function insertTickets(database: Database, workspaceId: string, tickets: number): Promise<string> {
  const projectId = await insertProject(database, workspaceId, tickets)
  await insertCodes(database.writer, workspaceId, tickets)
  return projectId
}

/**
 * Shows tickets at phones in turn, each tenth at two of them at the same instant; their network is cut for the middle half.
 * @param phones two at least
 * @param pace resolves when it is time for the n-th scan; it is given those of before
 */
export async function showTickets(
  phones: readonly BenchPhone[],
  {
    scans,
    tickets,
    pace,
  }: { scans: number; tickets: number; pace: (n: number, before: readonly Promise<unknown>[]) => Promise<unknown> },
): Promise<TimedVerdict[]> {
  const timed: Promise<TimedVerdict>[] = []
  for (let ticket = FIRST_TICKET; timed.length < scans; ticket += 1) {
    const n = timed.length
    await pace(n, timed)
    for (const phone of phones) phone.cut(n >= scans / 4 && n < (3 * scans) / 4)
    const code = codeOf(1 + ((ticket - 1) % tickets))
    timed.push(timedScan(phones[n % phones.length]!, code))
    // Never the same phone, which would take it for one reading.
    const other = phones[(n + Math.floor(phones.length / 2)) % phones.length]!
    if (ticket % TWICE === 0) timed.push(timedScan(other, code))
  }
  return Promise.all(timed)
}

/** What is wrong with the ledger after that; every count must be 0. */
export interface LedgerFaults {
  /** Scans that nobody was told anything of. */
  unevaluated: number
  /** Verdicts that the ledger does not have. */
  lost: number
  /** Tickets that the server let in twice. */
  twiceOnline: number
  /** Tickets of whose admissions not all but one are conflicts in the ledger. */
  untold: number
  /** No fault: tickets that were let in twice while a network was cut. */
  twice: number
}

/** Compares what was said at the doors with what the ledger has. */
export async function findFaults(
  { reader }: Database,
  workspaceId: string,
  shown: readonly Verdict[],
): Promise<LedgerFaults> {
  const rows: LedgerRow[] = await reader('scans')
    .where({ workspace_id: workspaceId })
    .select('external_ref', 'pass_id', 'result', 'verified', 'conflict')
  const byRef = new Map(rows.map((row) => [row.external_ref, row]))
  const evaluated = shown.filter(({ failure }) => failure === null)
  const lost = evaluated.filter(({ externalRef, result }) => {
    // The server refused, unheard, what was then let in: both stand there.
    const row = byRef.get(`${externalRef}+acted`) ?? byRef.get(externalRef)
    return !row || (row.result === 'accepted') !== (result === 'accepted')
  })
  const accepted = groupBy(
    rows.filter(({ result }) => result === 'accepted'),
    ({ pass_id }) => pass_id,
  )
  const twice = [...accepted.values()].filter((admissions) => admissions.length > 1)
  const atOnce = twice.filter((admissions) => admissions.filter(({ verified }) => verified === 'online').length > 1)
  // Of the admissions of a ticket one is the first, and no conflict.
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
