/**
 * Measures balances and join pages with one server process per database, over HTTP. First, the time from 100 concurrent
 * entries of a balance until both virtual phones show the last value, and the number of pushes. Second, the response of
 * a join page with an identity to an address that has a pass, and to a new address, in alternating pairs. A guesser must
 * not learn from its duration who is a member. The visit after each response shows whether the jobs of a new address
 * delay it. Run: npx tsx bench/loyalty.ts, after npm run build. PASSES_BENCH_PAIRS is the number of pairs (default 200).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { deviceFor, devicePlatforms, phoneOf, watch } from '../src/cli/device/phones.ts'
import type { DefinitionInput } from '../src/core/contract/schemas/definition.ts'
import { Mailbox } from '../test/support/mailbox.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { finish, median, rounds, spread } from './support/rounds.ts'
import { type BenchServer, startServer } from './support/server.ts'

const ENTRIES = 100
const PAIRS = Number(process.env.PASSES_BENCH_PAIRS ?? 200)
const MEMBERS = 50
/** The time between probes in which most of the jobs of a submission run, in milliseconds. */
const PAUSE_MS = 40
const LIMITS = { seconds: 5, pushes: 2, ratio: 1.1 }

const mailbox = new Mailbox()
const port = await mailbox.start()
const flags = ['--smtp-url', `smtp://127.0.0.1:${port}`, '--join-rate', '0', '--join-page-rate', '0']
await onEachDatabase(async (kind, create) => {
  const server = await startServer(await create('loyalty'), flags)
  await timeEntries(kind, server)
  await compareAddresses(kind, server)
  await server.stop()
})
await mailbox.stop()
process.exit()

async function timeEntries(kind: string, server: BenchServer): Promise<void> {
  const { passes, projects, balances } = server.client
  const { id: projectId } = await projects.create({ body: { name: 'Shop' } })
  const templateId = await publish(server, projectId, {
    design: {
      organizationName: 'Shop',
      description: 'Card',
      fields: { primary: [{ key: 'points', label: 'Points', value: '{{balance.points}} points' }] },
    },
    balances: { points: { label: 'Points', kind: 'integer' } },
  })
  const pushed = async () => {
    const from = new Date(Date.now() - 3_600_000).toISOString()
    const { items } = await projects.figures({ params: { id: projectId }, query: { from, by: 'hour' } })
    return items.reduce((sum, item) => sum + item.pushed, 0)
  }
  const seconds: number[] = []
  const pushes: number[] = []
  for (const round of rounds()) {
    const { id } = await passes.create({ body: { templateId, externalPassId: `card-${round}`, label: 'Ada' } })
    await finish('passes', async () => ((await passes.get({ params: { id } })).status === 'ISSUED' ? 0 : 1))
    const { hostedLinks } = await passes.get({ params: { id } })
    const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
    const files = devicePlatforms.map((platform) => deviceFor(folder, platform))
    const stop = new AbortController()
    const watches: Promise<void>[] = []
    for (const file of files) {
      await phoneOf(file).install(hostedLinks[file.read().platform]!)
      watches.push(watch(phoneOf(file), { signal: stop.signal, onEvent: () => undefined }))
    }
    await finish('phones', async () => ((await passes.wallets({ params: { id } })).google ? 0 : 1))
    const before = await pushed()
    const startedAt = performance.now()
    const entry = (n: number) => ({ params: { id, name: 'points' }, body: { delta: 1, externalRef: `entry-${n}` } })
    await Promise.all(Array.from({ length: ENTRIES }, (_, n) => balances.createEntry(entry(n))))
    const isShown = (file: (typeof files)[number]) => JSON.stringify(file.read()).includes(`"${ENTRIES} points"`)
    await finish('phones with an old value', async () => files.filter((file) => !isShown(file)).length, 20)
    seconds.push((performance.now() - startedAt) / 1000)
    pushes.push((await pushed()) - before)
    stop.abort()
    await Promise.allSettled(watches)
    rmSync(folder, { recursive: true })
  }
  console.log(
    `${kind}: ${ENTRIES} entries are on both phones after ${spread(seconds, 2)} s, with ${spread(pushes)} pushes`,
  )
  figure(`seconds until both phones have the last of ${ENTRIES} entries, ${kind}`, Math.max(...seconds), {
    atMost: LIMITS.seconds,
  })
  figure(`pushes of ${ENTRIES} entries, ${kind}`, Math.max(...pushes), { atMost: LIMITS.pushes })
}

async function compareAddresses(kind: string, server: BenchServer): Promise<void> {
  const templateId = await publish(server, null, {
    variables: [{ name: 'email', label: 'Email', format: 'email' }],
    design: { organizationName: 'Shop', description: 'Card' },
  })
  const page = await server.client.joinPages.set({
    params: { id: templateId },
    body: {
      slug: 'members',
      title: 'Become a member',
      fields: [{ variable: 'email' }],
      labelFrom: ['{{email}}'],
      consent: { text: 'I agree.', version: '1', required: false },
      identity: 'email',
    },
  })
  const url = page.url
  const members = Array.from({ length: MEMBERS }, (_, n) => `member-${n}@shop.example`)
  for (const member of members) await probe(url, member)
  const query = { templateId: [templateId], status: ['ISSUED' as const], limit: 1 }
  await finish('members', async () => MEMBERS - (await server.client.passes.list({ query })).total)
  const found: Record<'known' | 'fresh', { response: number; visit: number }>[] = []
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const known = () => probe(url, members[pair % MEMBERS]!)
    const fresh = () => probe(url, `guess-${pair}@shop.example`)
    if (pair % 2 === 0) found.push({ known: await known(), fresh: await fresh() })
    else {
      const first = await fresh()
      found.push({ known: await known(), fresh: first })
    }
  }
  for (const [what, part] of [
    ['response to', 'response'],
    ['visit after', 'visit'],
  ] as const) {
    const [known, fresh] = [found.map((one) => one.known[part]), found.map((one) => one.fresh[part])]
    const ratio = median(found.map((one) => one.known[part] / one.fresh[part]))
    console.log(
      `${kind}: ${what} a known address ${spread(known, 1)} ms, a new address ${spread(fresh, 1)} ms; ${ratio.toFixed(3)} times`,
    )
    figure(
      `${what} a known and a new address of a join page, the longer to the shorter, ${kind}`,
      Math.max(ratio, 1 / ratio),
      {
        atMost: LIMITS.ratio,
      },
    )
  }
}

/** Sends an address, and visits the page again. Returns the duration of both, in milliseconds. */
async function probe(url: string, email: string): Promise<{ response: number; visit: number }> {
  const shown = await (await request(url)).body.text()
  const token = /name="-token" value="([\w-]{48})"/.exec(shown)![1]!
  const [response, status] = await timed(url, new URLSearchParams({ '-token': token, email }).toString())
  if (status !== 303) throw new Error(`The page responded with ${status}`)
  const [visit] = await timed(url)
  await sleep(PAUSE_MS)
  return { response, visit }
}

async function timed(url: string, body?: string): Promise<[milliseconds: number, status: number]> {
  const startedAt = performance.now()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await request(url, body === undefined ? {} : { method: 'POST', headers, body })
  await answer.body.dump()
  return [performance.now() - startedAt, answer.statusCode]
}

async function publish(
  { client }: BenchServer,
  projectId: string | null,
  definition: DefinitionInput,
): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Card', passType: 'generic', projectId } })
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}
