import { paginate } from '../../../src/client/client.ts'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { issuedPass } from '../issued.ts'

export const offline: Scene = {
  name: 'offline',
  promise: 9,
  promised:
    'An offline batch that is uploaded five times in any order stores each scan once, as decided, with conflicts marked',
  run: uploadAgainAndAgain,
}

const UPLOADS = 5

/**
 * Uploads the scans of two doors repeatedly. Both doors admit the holder of a single-use pass while they are offline,
 * and another scan is denied.
 */
async function uploadAgainAndAgain(arena: Arena): Promise<void> {
  const servers = await startFleet(arena, 2)
  const { client } = servers[0]!
  for (let round = 0; round < arena.size(3, 10) && !(round > 0 && arena.isOver()); round += 1) {
    const passes = await Promise.all(Array.from({ length: 8 }, () => issuedPass(arena, client, { maxUses: 1 })))
    // Use a time after the creation of the passes, because a device cannot have scanned them before.
    const at = Date.now()
    const scans = passes.flatMap((passId, n) => [
      { ...base(round, `first-${n}`, at + n), passId, result: 'accepted' as const, reason: 'valid' as const },
      { ...base(round, `second-${n}`, at + 60_000 + n), passId, result: 'accepted' as const, reason: 'valid' as const },
      { ...base(round, `third-${n}`, at + 90_000 + n), passId, result: 'denied' as const, reason: 'expired' as const },
    ])
    // The first upload determines the ledger. All later uploads are sent concurrently, to both servers.
    await upload(arena, servers, scans)
    const before = await ledgerOf(client, passes)
    await Promise.all(Array.from({ length: UPLOADS - 1 }, () => upload(arena, servers, arena.random.shuffle(scans))))
    const after = await ledgerOf(client, passes)
    arena.check(JSON.stringify(before) === JSON.stringify(after), 'a repeated upload changed the ledger')
    arena.check(
      after.length === scans.length,
      `${scans.length} scans were uploaded, and the ledger has ${after.length}`,
    )
    checkDecisions(arena, after)
  }
}

function base(round: number, name: string, at: number) {
  return { externalRef: `${round}-${name}`, scannedAt: new Date(at).toISOString(), deviceId: 'door' }
}

type Scans = Parameters<ServerProcess['client']['scanner']['report']>[0]['body']['scans']

/** Uploads scans in parts of any size, like a device with an unstable connection. */
async function upload(arena: Arena, servers: ServerProcess[], scans: Scans): Promise<void> {
  for (let rest = scans; rest.length > 0; ) {
    const count = arena.random.between(1, rest.length)
    const { client } = arena.random.pick(servers)
    const { results } = await client.scanner.report({ body: { scans: rest.slice(0, count) } })
    arena.check(results.length === count, `${count} scans were uploaded, and ${results.length} got a result`)
    rest = rest.slice(count)
  }
  arena.did('uploads')
  arena.did('scans uploaded', scans.length)
}

async function ledgerOf(client: ServerProcess['client'], passId: string[]): Promise<ScanItem[]> {
  const items: ScanItem[] = []
  for await (const item of paginate((call) => client.scans.list(call), { passId })) items.push(item)
  return items
}

/**
 * Checks that the decisions of the devices are kept. If two devices admitted the holder, the later scan is the
 * conflict, regardless of the order of uploads.
 */
function checkDecisions(arena: Arena, ledger: ScanItem[]): void {
  const denied = ledger.filter(({ result }) => result === 'denied')
  const accepted = ledger.filter(({ result }) => result === 'accepted')
  const conflicts = accepted.filter(({ metadata }) => metadata.conflict !== undefined)
  const isKept = denied.length * 2 === accepted.length && conflicts.length * 2 === accepted.length
  arena.check(isKept, `${accepted.length} accepted, ${conflicts.length} of them conflicts, ${denied.length} denied`)
  const online = ledger.find(({ verified }) => verified !== 'offline')
  arena.check(!online, `scan ${online?.id} is ${online?.verified}`)
  arena.did('conflicts', conflicts.length)
}
