/**
 * GET /v1/passes/{id} of a server in a process of its own, against a bare h3 route that reads the same row with knex and
 * sends it as it is. Both are asked by this process, in rounds that take turns. Run: npx tsx bench/read.ts (after npm run
 * build). Exits 1 where a target is missed.
 */
import { execa } from 'execa'
import { Agent, request } from 'undici'
import { onEachDatabase } from './support/databases.ts'
import { best, timeAll } from './support/rounds.ts'
import { startServer } from './support/server.ts'

const PASSES = 500
const REQUESTS = 2_000
const IN_FLIGHT = 16
const ROUNDS = 20
const TARGET = 0.6

const results: Awaited<ReturnType<typeof compare>>[] = []
await onEachDatabase(async (kind, create) => {
  results.push(await compare(kind, await create('read')))
})
console.table(results)
console.log(`Target: at least ${TARGET} of the bare route on both.`)
process.exitCode = results.every((result) => result.met) ? 0 : 1

async function compare(name: string, databaseUrl: string) {
  const server = await startServer(databaseUrl, ['--role', 'api'])
  const ids = await makePasses(server.client)
  const bare = await startBare(databaseUrl)
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
    const [serverRate, bareRate] = [await rateOf(server.url), await rateOf(bare.url)]
    // The first round warms both up.
    if (round === 0) continue
    rates.server.push(serverRate)
    rates.bare.push(bareRate)
  }
  await Promise.all([dispatcher.close(), bare.stop(), server.stop()])
  const ratio = best(rates.server) / best(rates.bare)
  return {
    database: name,
    'the server, reads/s': Math.round(best(rates.server)),
    'bare h3 and knex, reads/s': Math.round(best(rates.bare)),
    ratio: Number(ratio.toFixed(2)),
    met: ratio >= TARGET,
  }
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
      ...{ externalPassId: `pass-${start + n}`, label: `Guest ${start + n}`, templateId },
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
