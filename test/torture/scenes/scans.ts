import { type Client, paginate } from '../../../src/client/client.ts'
import type { ScanItem, ScanResponse } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { publishTemplate } from '../../e2e/support/passes.ts'
import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { issuedPass, issuedPasses } from '../issued.ts'
import { type KilledServer, killAmongScans } from '../killed-server.ts'

export const scans: Scene = {
  name: 'scans',
  promise: 7,
  promised: 'Exactly one of 200 concurrent scans of a single-use pass is accepted (on PostgreSQL, over two servers)',
  run: raceScans,
}

const SCANS = 200

async function raceScans(arena: Arena): Promise<void> {
  const servers = await startFleet(arena, arena.dialect === 'postgres' ? 2 : 1)
  const { client } = servers[0]!
  for (let round = 0; round < arena.size(2, 10) && !(round > 0 && arena.isOver()); round += 1) {
    const passId = await issuedPass(arena, client, { maxUses: 1 })
    const body = { passId, scannedAt: new Date().toISOString() }
    const answers = await Promise.all(
      Array.from({ length: SCANS }, (_, n) => servers[n % servers.length]!.client.scans.create({ body })),
    )
    arena.did('scans', SCANS)
    const accepted = answers.filter(({ result }) => result === 'accepted').length
    arena.check(accepted === 1, `${accepted} of ${SCANS} scans of pass ${passId} were accepted`)
    const other = answers.find(({ result, reasonCode }) => result !== 'accepted' && reasonCode !== 'quota_exhausted')
    arena.check(!other, `a scan was denied with ${other?.reasonCode}`)
    const ledger = await client.scans.list({ query: { passId: [passId], limit: 1 } })
    const letIn = await client.scans.list({ query: { passId: [passId], result: ['accepted'], limit: 1 } })
    const isKept = ledger.total === SCANS && letIn.total === 1
    arena.check(isKept, `the ledger of pass ${passId} has ${ledger.total} scans, ${letIn.total} accepted`)
  }
}

export const killedSets: Scene = {
  name: 'scan-sets',
  promise: 1,
  promised: 'After SIGKILL while sets of scans are written, the ledger has each returned decision exactly once',
  run: killAmongSets,
}

const IN_FLIGHT = 64
const PASSES = 12
const MAX_USES = 40

interface AskedScan {
  externalRef: string
  passId: string
  /**
   * The fields of each response to compare: the scan's ID in the ledger, the decision, and the number of previous
   * admissions.
   */
  answers: Pick<ScanResponse, 'scan' | 'result' | 'priorScanCount'>[]
}

/**
 * Keeps 64 scans of a few passes in flight. A client that lost a response repeats its request with the same
 * externalRef, immediately or at the end.
 */
async function killAmongSets(arena: Arena): Promise<void> {
  const first = await arena.start({ database: await arena.emptyDatabase() })
  const templateId = await publishTemplate(first.client, { maxUses: MAX_USES })
  const passIds = await issuedPasses(arena, first.client, templateId, PASSES)
  const asked: AskedScan[] = []

  async function ask({ externalRef, passId, answers }: AskedScan, server: KilledServer): Promise<boolean> {
    const answer = await server.scan({ externalRef, passId })
    if (answer) answers.push(answer)
    return answer !== undefined
  }

  async function lane(server: KilledServer): Promise<void> {
    while (!server.isOver) {
      const scan = { externalRef: `ref-${asked.length}`, passId: arena.random.pick(passIds), answers: [] }
      asked.push(scan)
      let isAnswered = await ask(scan, server)
      while (!isAnswered && !server.isOver && arena.random.next() < 0.5) isAnswered = await ask(scan, server)
    }
  }

  const server = await killAmongScans(arena, first, { lanes: IN_FLIGHT, kills: arena.size(5, 100) }, lane)
  for (const scan of asked) await ask(scan, server)
  await compareScans(arena, server.client, asked)
}

async function compareScans(arena: Arena, client: Client, asked: AskedScan[]): Promise<void> {
  const ledger = new Map<string, ScanItem>()
  for await (const item of paginate((call) => client.scans.list(call), {})) ledger.set(item.id, item)
  arena.check(ledger.size === asked.length, `${asked.length} scans were requested, and the ledger has ${ledger.size}`)
  const letIn = new Map<string, Set<number>>()
  for (const { externalRef, passId, answers } of asked) {
    const [first] = answers
    const item = ledger.get(first?.scan.id ?? '')
    const isKept = item?.passId === passId && (item.result === 'accepted') === (first?.result === 'accepted')
    arena.check(isKept, `${externalRef} got ${first?.result}, and the ledger has ${item?.result}`)
    const other = answers.find(({ scan, result }) => scan.id !== first?.scan.id || result !== first.result)
    arena.check(!other, `${externalRef} got ${first?.result} and then ${other?.result}`)
    if (first?.result !== 'accepted') continue
    const places = letIn.get(passId) ?? new Set()
    letIn.set(passId, places)
    arena.check(
      !places.has(first.priorScanCount),
      `two scans of pass ${passId} were accepted with priorScanCount ${first.priorScanCount}`,
    )
    places.add(first.priorScanCount)
  }
  for (const [passId, places] of letIn) {
    arena.check(places.size <= MAX_USES, `pass ${passId} was accepted ${places.size} times`)
    const isWhole = [...places].every((place) => place < places.size)
    arena.check(isWhole, `a use of pass ${passId} was counted, but no response reported it`)
  }
  arena.did('scans', asked.length)
}
