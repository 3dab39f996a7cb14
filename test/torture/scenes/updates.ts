import { ApiError, type Client } from '../../../src/client/client.ts'
import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { issuedPass } from '../issued.ts'

export const updates: Scene = {
  name: 'updates',
  promise: 8,
  promised: 'Two concurrent updates with one If-Match get 200 and 412, and create one revision',
  run: raceUpdates,
}

async function raceUpdates(arena: Arena): Promise<void> {
  const clients = (await startFleet(arena, 2)).map(({ client }) => client)
  const [client] = clients as [Client]
  const id = await issuedPass(arena, client)
  const races = arena.size(50, 300)
  for (let revision = 1; revision <= races && !(revision > 1 && arena.isOver()); revision += 1) {
    const answers = await Promise.all(
      clients.map(async (one, n) => {
        const call = {
          params: { id },
          headers: { 'if-match': `"${revision}"` },
          body: { label: `${n} at ${revision}` },
        }
        try {
          return { status: 200, label: (await one.passes.update(call)).label }
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          return { status: error.status, label: undefined }
        }
      }),
    )
    arena.did('races')
    const statuses = answers.map(({ status }) => status).sort()
    arena.check(statuses.join() === '200,412', `two updates at revision ${revision} got ${statuses.join()}`)
    const pass = await arena.random.pick(clients).passes.get({ params: { id } })
    const winner = answers.find(({ status }) => status === 200)?.label
    const isOne = pass.revision === revision + 1 && pass.label === winner
    arena.check(
      isOne,
      `after the race at revision ${revision}, the pass has "${pass.label}" at ${pass.revision}; "${winner}" won`,
    )
    if (!isOne) return
  }
}
