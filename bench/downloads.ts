/**
 * Measures downloads of Apple packages over HTTP, from a separate server on both databases: passes that were never
 * opened, one pass repeatedly, and a pass that the client already has. The reference is the number of signatures by one
 * core and by all cores, because a signature is the minimum cost of a new package. Rounds alternate. Run: npx tsx
 * bench/downloads.ts (after npm run build).
 */
import { availableParallelism } from 'node:os'
import { Agent, request } from 'undici'
import { noise } from './pkpass-packages.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { signaturesASecond } from './support/openssl.ts'
import { finish, median, ROUNDS, rounds, spread, timeAll } from './support/rounds.ts'
import { type BenchServer, startServer } from './support/server.ts'

const DOWNLOADS = Number(process.env.PASSES_BENCH_DOWNLOADS ?? 1_000)
const IN_FLIGHT = 32
const cores = availableParallelism()

/** The maximum CPU time of each kind of download, in multiples of the time of one signature on one core. */
const targets = { newPass: 2.5, samePass: 1.5, known: 1.2 }

type Kind = 'new' | 'same' | 'known'

await onEachDatabase(async (kind, create) => {
  const server = await startServer(await create('downloads'))
  const paths = await makePasses(server, DOWNLOADS * (ROUNDS + 1))
  const dispatcher = new Agent({ connections: IN_FLIGHT })
  const first = await get(dispatcher, server, paths[0]!)
  const etag = String(first.headers.etag)

  const rates = { new: [], same: [], known: [], one: [], all: [] } as Record<Kind | 'one' | 'all', number[]>
  const cpu = { new: [], same: [], known: [] } as Record<Kind, number[]>
  for (const round of rounds(ROUNDS + 1)) {
    const fresh = paths.slice(round * DOWNLOADS, (round + 1) * DOWNLOADS)
    const again = fresh.map(() => paths[0]!)
    const measured = {
      new: await measure(fresh, {}),
      same: await measure(again, {}),
      known: await measure(again, { 'if-none-match': etag }),
    }
    const signatures = { one: await signaturesASecond(), all: await signaturesASecond({ processes: cores }) }
    // Discard the first round, which warms up.
    if (round === 0) continue
    for (const name of ['new', 'same', 'known'] as const) {
      rates[name].push(measured[name].rate)
      cpu[name].push(measured[name].cpu)
    }
    rates.one.push(signatures.one)
    rates.all.push(signatures.all)
  }
  await dispatcher.close()
  await server.stop()

  const size = `${Math.round(first.bytes / 1024)} KB`
  console.log(
    `${kind}: packages of ${size}, ${DOWNLOADS} a round, ${IN_FLIGHT} in flight, median of ${rates.new.length} rounds`,
  )
  const lines = { new: 'new passes', same: 'the same pass', known: 'the same, already cached by the client (304)' }
  for (const name of ['new', 'same', 'known'] as const) {
    console.log(`  ${lines[name]}: ${spread(rates[name])} a second, ${spread(cpu[name], 2)} ms of CPU each`)
  }
  console.log(`  openssl: ${spread(rates.one)} signatures a second on one core, ${spread(rates.all)} on ${cores}`)
  const signatureMs = 1000 / median(rates.one)
  const ofSignature = (name: Kind) => median(cpu[name]) / signatureMs
  figure(
    `CPU of a new package over HTTP to one signature, ${kind}`,
    ofSignature('new'),
    { atMost: targets.newPass },
    'x',
  )
  figure(
    `CPU of the same package again to one signature, ${kind}`,
    ofSignature('same'),
    { atMost: targets.samePass },
    'x',
  )
  figure(`CPU of a 304 to one signature, ${kind}`, ofSignature('known'), { atMost: targets.known }, 'x')

  async function measure(some: string[], headers: Record<string, string>) {
    const before = server.cpuMilliseconds()
    const seconds = await timeAll(
      some.map((path) => () => get(dispatcher, server, path, headers)),
      IN_FLIGHT,
    )
    return { rate: some.length / seconds, cpu: (server.cpuMilliseconds() - before) / some.length }
  }
})

async function get(dispatcher: Agent, { url }: BenchServer, path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${url}${path}`, { dispatcher, headers })
  const bytes = (await answer.body.arrayBuffer()).byteLength
  const expected = headers['if-none-match'] ? 304 : 200
  if (answer.statusCode !== expected) throw new Error(`${path} returned ${answer.statusCode}`)
  return { headers: answer.headers, bytes }
}

/** Issues passes with a logo. Returns the paths of their links for Apple Wallet. */
async function makePasses({ client }: BenchServer, count: number): Promise<string[]> {
  const { id: logo } = await client.images.create({ body: await noise(160, 50), contentType: 'image/png' })
  const { id: templateId } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket' } })
  const field = (key: string) => ({ key, label: key, value: `{{${key}}}` })
  const definition = {
    variables: ['seat', 'gate', 'tier'].map((name) => ({ name, label: name })),
    design: {
      organizationName: 'Acme',
      description: 'Ticket',
      images: { logo },
      fields: { primary: [field('seat')], secondary: [field('gate'), field('tier')] },
      barcode: { format: 'qr' as const },
    },
  }
  const version = await client.templates.createVersion({ params: { id: templateId }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  const paths: string[] = []
  for (let start = 0; start < count; start += 100) {
    const passes = Array.from({ length: 100 }, (_, n) => ({
      externalPassId: `pass-${start + n}`,
      label: `Guest ${start + n}`,
      templateId,
      variables: { seat: `A${n}`, gate: 'North', tier: 'Gold' },
    }))
    const { results } = await client.passes.createBatch({ body: { passes } })
    paths.push(...results.map(({ pass }) => new URL(pass!.hostedLinks.apple!).pathname))
  }
  const query = { status: ['QUEUED' as const, 'ISSUING' as const], limit: 1 }
  await finish('passes to issue', async () => (await client.passes.list({ query })).total)
  return paths
}
