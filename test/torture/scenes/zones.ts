import { paginate } from '../../../src/client/client.ts'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { publishTemplate } from '../../e2e/support/passes.ts'
import type { Arena, Scene } from '../arena.ts'
import { issuedPasses } from '../issued.ts'
import { type KilledServer, killAmongScans } from '../killed-server.ts'

export const killedZones: Scene = {
  name: 'zones',
  promise: 1,
  promised: 'After SIGKILL among entries and exits, the number inside is that of the movements in the ledger',
  run: killAmongMovements,
}

const IN_FLIGHT = 32
const PASSES = 20
/** More requests than kills can interrupt in a row. */
const MAX_TRIES = 20

/** Keeps entries and exits of a few passes in flight. A client that lost a response repeats its request. */
async function killAmongMovements(arena: Arena): Promise<void> {
  const first = await arena.start({ database: await arena.emptyDatabase() })
  const { id: projectId } = await first.client.projects.create({ body: { name: 'Fair' } })
  const templateId = await publishTemplate(first.client, { maxUses: 100_000 })
  await first.client.templates.update({ params: { id: templateId }, body: { projectId } })
  const passIds = await issuedPasses(arena, first.client, templateId, PASSES)
  const { id: zoneId } = await first.client.zones.create({ body: { projectId, name: 'Hall', capacity: 15 } })
  let refs = 0

  async function lane(server: KilledServer): Promise<void> {
    while (!server.isOver) {
      refs += 1
      const direction = arena.random.pick(['in', 'out'] as const)
      const body = { externalRef: `ref-${refs}`, passId: arena.random.pick(passIds), zoneId, direction }
      let answer = await server.scan(body)
      for (let tries = 1; !answer && tries < MAX_TRIES; tries += 1) answer = await server.scan(body)
      arena.check(answer !== undefined, `${body.externalRef} got no response to ${MAX_TRIES} requests`)
    }
  }

  const server = await killAmongScans(arena, first, { lanes: IN_FLIGHT, kills: arena.size(3, 60) }, lane)
  const movements = new Map<string, ScanItem[]>()
  let scanned = 0
  for await (const item of paginate((call) => server.client.scans.list(call), {})) {
    scanned += 1
    if (item.result === 'accepted') movements.set(item.passId!, [item, ...(movements.get(item.passId!) ?? [])])
  }
  arena.check(scanned === refs, `${refs} scans were requested, and the ledger has ${scanned}`)
  let inside = 0
  for (const [passId, items] of movements) {
    const sides = items.map(({ direction }) => direction)
    const isAlternating = sides.every((side, n) => side === (n % 2 === 0 ? 'in' : 'out'))
    arena.check(isAlternating, `the movements of pass ${passId} are ${sides.join(', ')}`)
    if (sides.at(-1) === 'in') inside += 1
  }
  const zone = await server.client.zones.get({ params: { id: zoneId } })
  arena.check(zone.inside === inside, `${inside} passes are inside by the ledger, and the zone has ${zone.inside}`)
}
