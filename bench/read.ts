/**
 * GET /v1/passes/{id} of a server in a process of its own, against a bare h3 route that reads the same row with knex and
 * sends it as it is. Both are asked by this process, in rounds that take turns. Run: npx tsx bench/read.ts (after npm run
 * build). Exits 1 where a target is missed.
 */
import { execa } from 'execa'
import { Agent, request } from 'undici'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { best, timeAll } from './support/rounds.ts'
import { startServer } from './support/server.ts'

const PASSES = 500
const REQUESTS = 2_000
const IN_FLIGHT = 16
const ROUNDS = 20
const TARGET = 0.6

await onEachDatabase(async (kind, create) => compare(kind, await create('read')))

async function compare(kind: string, databaseUrl: string): Promise<void> {
  const server = await startServer(databaseUrl, ['--role', 'api'])
  const ids = await makePasses(server.client)
  const bareServer = await startBare(databaseUrl)
  const dispatcher = new Agent({ connections: IN_FLIGHT })
  const headers = { authorization: `Bearer ${server.token}` }

  const rateOf = async (url: string) => {
    const reads = Array.from({ length: REQUESTS }, (_, n) => async () => {
      const id = ids[(n * 7) % ids.length]!
      const { statusCode, body } = await request(`${url}/v1/passes/${id}`, { dispatcher, headers })
      const text = await body.text()
      if (statusCode !== 200 || !text.includes(id)) throw new Error(`GET of ${id} answered ${statusCode}: ${text}`)
    })
    return REQUESTS / (await timeAll(reads, IN_FLIGHT))
  }

  const rates = { server: [] as number[], bare: [] as number[] }
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [serverRate, bareRate] = [await rateOf(server.url), await rateOf(bareServer.url)]
    // The first round warms both up.
    if (round === 0) continue
    rates.server.push(serverRate)
    rates.bare.push(bareRate)
  }
  await Promise.all([dispatcher.close(), bareServer.stop(), server.stop()])
  const [ours, bare] = [best(rates.server), best(rates.bare)]
  console.log(`${kind}: the server ${ours.toFixed(0)} reads/s, bare h3 and knex ${bare.toFixed(0)} reads/s`)
  figure(`GET of one pass to a bare h3 route with one knex read, ${kind}`, ours / bare, { atLeast: TARGET })
}

async function makePasses(client: Awaited<ReturnType<typeof startServer>>['client']): Promise<string[]> {
  const { id: templateId } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket' } })
  const version = await client.templates.createVersion({
    params: { id: templateId },
    body: { definition: { design: { organizationName: 'Acme', description: 'Ticket' }, expiresAt: '2099-01-01' } },
  })
  await client.templateVersions.publish({ params: { id: version.id } })
  const ids: string[] = []
  for (let start = 0; start < PASSES; start += 100) {
    const passes = Array.from({ length: 100 }, (_, n) => ({
      externalPassId: `pass-${start + n}`,
      label: `Guest ${start + n}`,
      templateId,
      variables: { seat: `A${n}`, gate: 'North', tier: 'Gold', email: `guest${n}@example.com` },
    }))
    const { results } = await client.passes.createBatch({ body: { passes } })
    ids.push(...results.map(({ pass }) => pass!.id))
  }
  return ids
}

async function startBare(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const file = new URL('support/bare-server.ts', import.meta.url).pathname
  const child = execa('node', ['--import', 'tsx', file, databaseUrl], {
    stderr: 'inherit',
    buffer: false,
    reject: false,
  })
  let text = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  return {
    url: JSON.parse(text).url,
    async stop() {
      child.kill('SIGTERM')
      await child
    },
  }
}
