/**
 * Measures the p99 of scans while the same workspace issues thousands of passes from batches, or sends a broadcast with
 * or without a filter, against scans without other load. Samples alternate, and the figures are ratios of medians.
 * Server and clients are separate processes. Run: npx tsx bench/scan-under-load.ts, after npm run build
 */

import type { Broadcast } from '../src/core/contract/messages/broadcasts.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { percentile, startLoadClient } from './support/load.ts'
import { codeOf, insertCodes, templateId } from './support/many-passes.ts'
import { insertProject } from './support/project.ts'
import { finish, median, rounds, spread } from './support/rounds.ts'
import { startServer } from './support/server.ts'

/**
 * The number of passes in the project of the broadcast. It is so high that the broadcast lasts longer than the scans of
 * a sample.
 */
const PASSES = Number(process.env.PASSES_BENCH_ROWS ?? 10_000)
const SCANS = 500
const IN_FLIGHT = 4
const BATCHES = 50
const MOST_TIMES = 2
/** Matches half of the passes, and reads two tables for each pass. */
const MOST_PASSES = { installed: 'false', variable: Array.from({ length: 5 }, (_, n) => `tier:${n}`) }

await onEachDatabase(async (kind, create) => compare(kind, await create('load')))
process.exit()

async function compare(kind: string, url: string): Promise<void> {
  let projectId = ''
  const server = await startServer(url, [], async (database, workspaceId) => {
    projectId = await insertProject(database, workspaceId, PASSES)
    await insertCodes(database.writer, workspaceId, PASSES)
  })
  const { client } = server
  const [door, office] = [startLoadClient(server), startLoadClient(server)]
  let [scanned, issued] = [0, 0]

  /** Runs the scans of a sample. Returns their p99, in milliseconds. */
  async function scan(): Promise<number> {
    const bodies = Array.from({ length: SCANS }, () => {
      scanned += 1
      return JSON.stringify({ qrPayload: codeOf(1 + (scanned % PASSES)), scanContextKey: `bench ${scanned}` })
    })
    const { times } = await door.send({ path: '/v1/scans', bodies, inFlight: IN_FLIGHT, expected: '"scan":' })
    return percentile(times, 0.99)
  }

  async function scanDuringIssuing(): Promise<number> {
    const bodies = Array.from({ length: BATCHES }, () => {
      const passes = Array.from({ length: 100 }, () => {
        issued += 1
        return { externalPassId: `new-${issued}`, label: `Guest ${issued}`, templateId: templateId(0) }
      })
      return JSON.stringify({ passes })
    })
    const issuing = office.send({ path: '/v1/passes/batch', bodies, inFlight: 2, expected: '"results":' })
    const p99 = await scan()
    await issuing
    const query = { status: ['QUEUED' as const, 'ISSUING' as const], limit: 1 }
    await finish('passes to issue', async () => (await client.passes.list({ query })).total)
    return p99
  }

  async function scanDuringBroadcast(filter?: typeof MOST_PASSES): Promise<number> {
    const body = { body: 'Doors open at 7', ...(filter && { filter }) }
    const broadcast = (await client.broadcasts.create({ params: { id: projectId }, body })) as Broadcast
    const p99 = await scan()
    const params = { id: projectId, broadcastId: broadcast.id }
    const left = async () => {
      const { passCount } = await client.broadcasts.get({ params })
      const { pending, fannedOut } = await client.broadcasts.stats({ params })
      // Assume the expected number of passes until the fan-out has ended, because the server counts the passes during
      // the fan-out.
      return (passCount ?? PASSES) - fannedOut + pending
    }
    if ((await left()) === 0) console.log(`${kind}: the broadcast ended before the scans`)
    await finish('notifications to send', left)
    return p99
  }

  const found = { quiet: [] as number[], issuing: [] as number[], broadcast: [] as number[], filtered: [] as number[] }
  await scan()
  for (const _ of rounds()) {
    found.quiet.push(await scan())
    found.issuing.push(await scanDuringIssuing())
    found.broadcast.push(await scanDuringBroadcast())
    found.filtered.push(await scanDuringBroadcast(MOST_PASSES))
  }
  for (const one of [door, office]) one.stop()
  await server.stop()
  const { quiet, issuing, broadcast, filtered } = found
  console.log(
    `${kind}, ${quiet.length} rounds: p99 of a scan ${spread(quiet)} ms when quiet, ${spread(issuing)} ms during issuing, ${spread(broadcast)} ms during a broadcast, ${spread(filtered)} ms during one with a filter`,
  )
  const times = (values: number[]) => median(values) / median(quiet)
  figure(`p99 of a scan during issuing to quiet, ${kind}`, times(issuing), { atMost: MOST_TIMES })
  figure(`p99 of a scan during a broadcast to quiet, ${kind}`, times(broadcast), { atMost: MOST_TIMES })
  figure(`p99 of a scan during a broadcast with a filter to quiet, ${kind}`, times(filtered), { atMost: MOST_TIMES })
}
