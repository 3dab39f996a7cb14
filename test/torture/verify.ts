import { type Client, paginate } from '../../src/client/client.ts'
import type { Pass } from '../../src/core/contract/passes.ts'
import type { ScanItem } from '../../src/core/contract/schemas/scan-shapes.ts'
import { openDatabase } from '../../src/storage/db/database.ts'
import { createStore } from '../../src/storage/store.ts'
import type { Arena } from './arena.ts'
import type { Journal, PassRecord } from './journal.ts'
import type { Target } from './load.ts'
import type { TallyReceiver } from './receiver.ts'

/**
 * Compares all acknowledged writes with the current state of the API, and with the events that the webhook received.
 */
export async function verify(arena: Arena, target: Target, client: Client, receiver?: TallyReceiver): Promise<void> {
  const { journal } = target
  for (const answer of journal.unexpected) arena.check(false, `unexpected: ${answer}`)
  const passes = new Map<string, Pass>()
  for await (const pass of paginate((call) => client.passes.list(call), { templateId: [target.templateId] })) {
    arena.check(!passes.has(pass.externalPassId), `${pass.externalPassId} exists twice`)
    passes.set(pass.externalPassId, pass)
  }
  for (const externalPassId of passes.keys()) {
    arena.check(journal.passes.has(externalPassId), `${externalPassId} exists and was never requested`)
  }
  for (const record of journal.passes.values()) checkPass(arena, record, passes.get(record.externalPassId))
  checkBatches(arena, journal, passes)
  const ledger: ScanItem[] = []
  for await (const item of paginate((call) => client.scans.list(call), {})) ledger.push(item)
  checkScans(arena, journal, ledger)
  await checkMessages(arena, target, client)
  await checkCounts(arena, target)
  if (receiver) {
    checkEvents(arena, journal, { passes: [...passes.values()], ledger, receiver })
    for (const status of ['PENDING', 'FAILED'] as const) {
      const { total } = await client.deliveries.list({ query: { status: [status], limit: 1 } })
      arena.check(total === 0, `${total} deliveries are ${status}`)
    }
  }
  arena.did('writes acknowledged', journal.acknowledged)
  arena.did('responses lost', journal.doubtful)
  arena.did('passes', passes.size)
  arena.did('scans', ledger.length)
}

function checkPass(arena: Arena, record: PassRecord, pass: Pass | undefined): void {
  const { externalPassId, id, updates, doubtful, values, voided } = record
  if (!pass) {
    arena.check(id === undefined, `${externalPassId} was acknowledged as ${id} and does not exist`)
    return
  }
  const what = `${externalPassId} (${pass.id})`
  arena.check(id === undefined || pass.id === id, `${externalPassId} was acknowledged as ${id} and is ${pass.id}`)
  const changes = pass.revision - 1
  const isCounted = changes >= updates && changes <= updates + doubtful
  arena.check(
    isCounted,
    `${what} is at revision ${pass.revision} after ${updates} updates and ${doubtful} with an unknown result`,
  )
  const n = pass.variables.n as number | undefined
  arena.check(values.has(n), `${what} has ${n}, and should have one of ${[...values].join(', ')}`)
  const isVoid = pass.status === 'VOID'
  arena.check(isVoid ? voided !== 'no' : voided !== 'yes', `${what} is ${pass.status}, voided: ${voided}`)
  arena.check(isVoid || pass.status === 'ISSUED', `${what} is ${pass.status} after all jobs were run`)
}

/**
 * Checks that each batch exists completely or not at all. On SQLite, the first parts of at most 25 passes can exist.
 */
function checkBatches(arena: Arena, journal: Journal, passes: Map<string, Pass>): void {
  const batches = new Map<string, boolean[]>()
  for (const { batch, externalPassId } of journal.passes.values()) {
    batches.set(batch, [...(batches.get(batch) ?? []), passes.has(externalPassId)])
  }
  for (const [batch, found] of batches) {
    const there = found.filter(Boolean).length
    const parts = arena.dialect === 'sqlite' ? Math.ceil(found.length / 25) : 1
    const isSound = found.slice(0, there).every(Boolean) && there % (found.length / parts) === 0
    arena.check(isSound, `batch ${batch} has ${there} of ${found.length} passes`)
  }
}

/**
 * Checks the ledger. All requests that lost their response have been repeated by now, so the ledger is known exactly.
 */
function checkScans(arena: Arena, journal: Journal, ledger: ScanItem[]): void {
  const items = new Map(ledger.map((item) => [item.id, item]))
  const accepted = new Map<string, number>()
  for (const { passId, result } of ledger) {
    if (result === 'accepted') accepted.set(passId!, (accepted.get(passId!) ?? 0) + 1)
  }
  let count = 0
  for (const { scans, id } of journal.passes.values()) {
    for (const { key, answer, isRefused } of scans) {
      if (isRefused) continue
      count += 1
      const isThere = items.get(answer?.id ?? '')?.result === (answer?.result === 'accepted' ? 'accepted' : 'denied')
      arena.check(isThere, `scan ${key} was acknowledged as ${answer?.result}, and the ledger differs`)
    }
    arena.check((accepted.get(id ?? '') ?? 0) <= 1, `pass ${id} was accepted ${accepted.get(id ?? '')} times`)
  }
  arena.check(ledger.length === count, `${count} scans were requested, and the ledger has ${ledger.length}`)
}

async function checkMessages(arena: Arena, { journal, projectId }: Target, client: Client): Promise<void> {
  const broadcasts = new Set<string>()
  for (const { answer } of journal.broadcasts) {
    const named = { params: { id: projectId, broadcastId: answer!.id } }
    const [{ status, passCount }, stats] = [await client.broadcasts.get(named), await client.broadcasts.stats(named)]
    const isDone = status === 'DISPATCHED' && passCount === stats.fannedOut && stats.pending === 0
    arena.check(isDone, `broadcast ${answer!.id} is ${status}: ${JSON.stringify(stats)}`)
    broadcasts.add(answer!.id)
  }
  const { total } = await client.broadcasts.list({ params: { id: projectId }, query: { limit: 1 } })
  arena.check(total === broadcasts.size, `${broadcasts.size} broadcasts were requested, and there are ${total}`)
  for (const { id, notifications } of journal.passes.values()) {
    if (notifications.length === 0) continue
    const list = await client.notifications.list({ params: { id: id! }, query: { limit: 100 } })
    const single = list.items.filter(({ broadcastId }) => broadcastId === undefined)
    const expected = notifications.flatMap(({ answer }) => answer?.id ?? [])
    const isSame =
      single
        .map((one) => one.id)
        .sort()
        .join() === expected.sort().join()
    arena.check(isSame, `pass ${id} has ${single.length} notifications, and ${expected.length} were acknowledged`)
    const open = list.items.find(({ status }) => status === 'PENDING' || status === 'FAILED')
    arena.check(!open, `notification ${open?.id} is ${open?.status} after all jobs were run`)
  }
  arena.did(
    'notifications',
    [...journal.passes.values()].reduce((sum, pass) => sum + pass.notifications.length, 0),
  )
}

/** Compares totals and figures, which are sums of counters, with the rows that they count. */
async function checkCounts(arena: Arena, { database: url }: Target): Promise<void> {
  const database = openDatabase(url)
  for (const { counter, part, counted, expected } of await createStore(database).counts.listDifferences())
    arena.check(false, `${counter} (${part}) has the count ${counted} instead of ${expected}`)
  await database.close()
}

/** Checks that each change has one event, which was delivered at least once and always with the same bytes. */
function checkEvents(
  arena: Arena,
  journal: Journal,
  { passes, ledger, receiver }: { passes: Pass[]; ledger: ScanItem[]; receiver: TallyReceiver },
): void {
  const told = new Map<string, number>()
  for (const { type, subject, isSame } of receiver.deliveries.values()) {
    told.set(`${type} ${subject}`, (told.get(`${type} ${subject}`) ?? 0) + 1)
    arena.check(isSame, `a delivery of ${type} for ${subject} arrived with different bytes`)
  }
  const expect = (type: string, subject: string, least: number, most = least) => {
    const count = told.get(`${type} ${subject}`) ?? 0
    arena.check(count >= least && count <= most, `${type} for ${subject} was sent ${count} times instead of ${least}`)
  }
  for (const { id, externalPassId, revision, status } of passes) {
    const wasVoided = journal.passes.get(externalPassId)?.voided !== 'no'
    // A pass that was voided while it was queued has no `pass.issued`.
    expect('pass.issued', id, wasVoided ? 0 : 1, 1)
    expect('pass.updated', id, revision - 1)
    expect('pass.voided', id, status === 'VOID' ? 1 : 0)
  }
  for (const { id } of ledger) expect('pass.scanned', id, 1)
  arena.did('webhook deliveries', receiver.deliveries.size)
  arena.did('deliveries sent more than once', receiver.repeats())
}
