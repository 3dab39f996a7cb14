/**
 * Measures GET /v1/passes/{id} of a separate server, against a bare h3 route that reads the same row with one prepared
 * statement of the driver and sends it unchanged. This process sends the requests, in alternating rounds. Compares the
 * medians, and prints the CPU time of both processes per request. Run: npx tsx bench/read.ts (after npm run build).
 * Exits with 1 if a target is missed.
 */
import { execa } from 'execa'
import { Agent, request } from 'undici'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { median, ROUNDS, rounds, spread, timeAll } from './support/rounds.ts'
import { cpuMillisecondsOf, firstJson, startServer } from './support/server.ts'

const PASSES = 500
const REQUESTS = 2_000
const IN_FLIGHT = 16
const TARGET = 0.7

await onEachDatabase(async (kind, create) => compare(kind, await create('read')))

async function compare(kind: string, databaseUrl: string): Promise<void> {
  const server = await startServer(databaseUrl, ['--role', 'api'])
  const ids = await makePasses(server.client)
  const bareServer = await startBare(databaseUrl)
  const dispatcher = new Agent({ connections: IN_FLIGHT })
  const headers = { authorization: `Bearer ${server.token}` }

  interface Side {
    url: string
    cpuMilliseconds(): number
    rates: number[]
    /** The CPU time per request, in microseconds. */
    cpu: number[]
  }
  const ask = async ({ url, cpuMilliseconds, rates, cpu }: Side) => {
    const reads = Array.from({ length: REQUESTS }, (_, n) => async () => {
      const id = ids[(n * 7) % ids.length]!
      const { statusCode, body } = await request(`${url}/v1/passes/${id}`, { dispatcher, headers })
      const text = await body.text()
      if (statusCode !== 200 || !text.includes(id)) throw new Error(`GET of ${id} returned ${statusCode}: ${text}`)
    })
    const before = cpuMilliseconds()
    rates.push(REQUESTS / (await timeAll(reads, IN_FLIGHT)))
    cpu.push(((cpuMilliseconds() - before) * 1_000) / REQUESTS)
  }

  const sides = [server, bareServer].map((side): Side => ({ ...side, rates: [], cpu: [] }))
  for (const round of rounds(ROUNDS + 1)) {
    for (const side of sides) await ask(side)
    // Discard the first round, which warms up both sides.
    if (round === 0) for (const { rates, cpu } of sides) [rates, cpu].map((some) => some.splice(0))
  }
  await Promise.all([dispatcher.close(), bareServer.stop(), server.stop()])
  const [ours, bare] = sides as [Side, Side]
  for (const [name, { rates, cpu }] of [
    ['the server', ours],
    ['bare h3', bare],
  ] as const) {
    console.log(`  ${kind}, ${name}: ${spread(rates)} reads/s, ${spread(cpu)} µs of CPU a read`)
  }
  console.log(`  ${kind}, CPU of bare h3 to that of the server: ${(median(bare.cpu) / median(ours.cpu)).toFixed(2)}`)
  const what = `GET of one pass to a bare h3 route with one prepared statement, ${kind}`
  figure(what, median(ours.rates) / median(bare.rates), { atLeast: TARGET })
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

async function startBare(databaseUrl: string) {
  const file = new URL('support/bare-server.ts', import.meta.url).pathname
  const child = execa('node', ['--import', 'tsx', file, databaseUrl], {
    stderr: 'inherit',
    buffer: false,
    reject: false,
  })
  const { url } = await firstJson<{ url: string }>(child.stdout)
  return {
    url,
    cpuMilliseconds: () => cpuMillisecondsOf(child.pid!),
    async stop() {
      child.kill('SIGTERM')
      await child
    },
  }
}
