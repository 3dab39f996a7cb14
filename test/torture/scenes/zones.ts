import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionError, paginate } from '../../../src/client/client.ts'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { publishTemplate } from '../../e2e/support/passes.ts'
import type { Arena, Scene } from '../arena.ts'

export const killedZones: Scene = {
  name: 'zones',
  promise: 1,
  promised: 'After SIGKILL among entries and exits, the number inside is that of the movements in the ledger',
  run: killAmongMovements,
}

const IN_FLIGHT = 32
const PASSES = 20

/** Keeps entries and exits of a few passes in flight. A client that lost a response repeats its request. */
async function killAmongMovements(arena: Arena): Promise<void> {
  let server = await arena.start({ database: await arena.emptyDatabase() })
  const { database, token } = server
  const port = new URL(server.url).port
  const { id: projectId } = await server.client.projects.create({ body: { name: 'Fair' } })
  const templateId = await publishTemplate(server.client, { maxUses: 100_000 })
  await server.client.templates.update({ params: { id: templateId }, body: { projectId } })
  const passes = Array.from({ length: PASSES }, (_, n) => ({ externalPassId: `zone-${n}`, label: 'Ada', templateId }))
  const { results } = await server.client.passes.createBatch({ body: { passes } })
  const passIds = results.map(({ pass }) => pass!.id)
  await arena.waitUntil('all passes are issued', 30, async () => {
    const query = { templateId: [templateId], status: ['ISSUED' as const], limit: 1 }
    return (await server.client.passes.list({ query })).total === PASSES
  })
  const { id: zoneId } = await server.client.zones.create({ body: { projectId, name: 'Hall', capacity: 15 } })
  let [refs, answered, isUp, isOver] = [0, 0, true, false]

  async function lane(): Promise<void> {
    while (!isOver) {
      refs += 1
      const direction = arena.random.pick(['in', 'out'] as const)
      const body = { externalRef: `ref-${refs}`, passId: arena.random.pick(passIds), zoneId, direction }
      for (let isAnswered = false; !isAnswered; ) {
        while (!isUp) await sleep(10)
        isAnswered = await server.client.scans.create({ body }).then(
          () => true,
          (error: unknown) => {
            if (!(error instanceof ConnectionError)) arena.check(false, `${body.externalRef}: ${error}`)
            arena.did('responses lost')
            return !(error instanceof ConnectionError)
          },
        )
      }
      answered += 1
    }
  }

  const lanes = Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  for (let kill = 0; kill < arena.size(3, 60) && !arena.isOver(); kill += 1) {
    const enough = answered + arena.random.between(1, 4 * IN_FLIGHT)
    const patience = performance.now() + 3_000
    while (answered < enough && performance.now() < patience) await sleep(1)
    isUp = false
    await server.kill()
    arena.did('kills')
    server = await arena.start({ database, token, port })
    isUp = true
  }
  isOver = true
  await lanes

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
