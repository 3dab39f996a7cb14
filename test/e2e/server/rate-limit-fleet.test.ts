import { beforeAll, expect, test } from 'vitest'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { type Fleet, hostFleet } from '../support/fleet.ts'
import { inspect } from '../support/passes.ts'
import { run } from '../support/program.ts'
import type { HostedServer } from '../support/server.ts'

const PER_SECOND = 20
const BURST = 20
const env = { PASSES_RATE_LIMIT: String(PER_SECOND), PASSES_RATE_BURST: String(BURST) }

const cleanUp = cleanUpAfterAll()
let fleet: Fleet<HostedServer>

beforeAll(async () => {
  fleet = await hostFleet({ roles: ['api'], args: ['--drain-seconds', '0'], env, cleanUp })
})

test('two servers together hold a token to its limit within 20 %, balanced or not', async () => {
  const { apis, database } = fleet
  const { rows } = inspect(database)
  await eventually(async () => {
    // Each server has sent heartbeats that the other one has seen.
    const beats = (await rows('instances')).map(({ heartbeat }) => Number(heartbeat))
    expect(beats.length === 2 && Math.min(...beats)).toBeGreaterThanOrEqual(2)
  })
  const urls = apis.map(({ url }) => url)
  const [first, second] = urls as [string, string]
  const loads = [
    { name: 'balanced', lanes: [first, second, first, second, first, second, first, second] },
    { name: 'all to one', lanes: Array(8).fill(first) },
    { name: 'lopsided', lanes: [...Array(7).fill(first), second] },
  ]
  async function check({ name, lanes }: (typeof loads)[number]): Promise<void> {
    let isKept = false
    let seen = ''
    // On a busy machine, servers hear of each other late. The test then measures over a longer time.
    for (let seconds = 4; seconds <= 16 && !isKept; seconds *= 2) {
      const token = await newToken(database, `${name} for ${seconds} s`)
      const done = await flood(lanes, token, seconds)
      const limit = BURST + PER_SECOND * done.seconds
      seen = `${done.sent} sent, ${done.passed} let through, where the limit is ${limit}`
      isKept = done.sent > limit * 1.3 && Math.abs(done.passed / limit - 1) < 0.2
    }
    expect(isKept, `${name}: ${seen}`).toBe(true)
  }
  // The loads run at the same time, because each token has its own limit, and rejected clients mostly wait.
  await Promise.all(loads.map(check))
})

test('the last server of a fleet stores nothing about its requests', async () => {
  const { apis, token, database } = fleet
  await apis[1]!.server().stop()
  const { rows } = inspect(database)
  await eventually(async () => expect(await rows('instances')).toHaveLength(1))
  await flood([apis[0]!.url], token, 2)
  const [before] = await rows('instances')
  await flood([apis[0]!.url], token, 2)
  expect(await rows('instances')).toEqual([before])
  await apis[0]!.server().stop()
  expect(await rows('instances')).toEqual([])
})

/** A rejected request is delayed by half a second. This number of clients per queue still exceeds the limit. */
const CLIENTS = 2

/** Sends requests on each queue without a pause. Returns the number of accepted requests. */
async function flood(lanes: string[], token: string, seconds: number) {
  const started = performance.now()
  const elapsed = () => (performance.now() - started) / 1000
  let passed = 0
  let sent = 0
  async function ask(url: string): Promise<void> {
    while (elapsed() < seconds) {
      const { status } = await fetch(`${url}/v1/tokens/current`, { headers: { authorization: `Bearer ${token}` } })
      expect([200, 429]).toContain(status)
      sent += 1
      if (status === 200) passed += 1
    }
  }
  await Promise.all(lanes.flatMap((url) => Array.from({ length: CLIENTS }, () => ask(url))))
  return { passed, sent, seconds: elapsed() }
}

/** Creates a token whose rate limit is not used yet. */
async function newToken(database: string, name: string): Promise<string> {
  const made = await run(['token', 'create', '--name', name, '--database', database, '--json'])
  return (JSON.parse(String(made.stdout)) as { token: string }).token
}
