import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { issuedPass } from '../issued.ts'

export const scans: Scene = {
  name: 'scans',
  promise: 7,
  promised: '200 scans of a single-use pass at one instant (PostgreSQL: over two servers): exactly one is accepted',
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
    arena.check(!other, `a scan was turned away as ${other?.reasonCode}`)
    const ledger = await client.scans.list({ query: { passId: [passId], limit: 1 } })
    const letIn = await client.scans.list({ query: { passId: [passId], result: ['accepted'], limit: 1 } })
    const isKept = ledger.total === SCANS && letIn.total === 1
    arena.check(isKept, `the ledger of pass ${passId} holds ${ledger.total} scans, ${letIn.total} accepted`)
  }
}
