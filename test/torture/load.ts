import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type Client, ConnectionError } from '../../src/client/client.ts'
import { publishTemplate } from '../e2e/support/passes.ts'
import type { ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'
import { type Journal, type Keyed, newRecord, type PassRecord } from './journal.ts'

/** The servers and the resources that the load uses. */
export interface Target {
  templateId: string
  projectId: string
  /** The address of the database that all servers share. */
  database: string
  /**
   * The servers from which each request picks one at random. They change while the load runs. The load waits while there is
   * none.
   */
  servers: Pick<ServerProcess, 'client'>[]
  journal: Journal
}

export interface Load {
  /** Stops the load and waits for requests in flight. */
  stop(): Promise<void>
  /** Returns the number of requests that were rejected or interrupted without a response. */
  lost(): number
}

let loads = 0

/** Creates a project with a template for the passes of a scene. */
export async function prepareTarget(
  server: Pick<ServerProcess, 'client' | 'database'>,
  journal: Journal,
): Promise<Target> {
  const { id: projectId } = await server.client.projects.create({ body: { name: 'Torture' } })
  const templateId = await publishTemplate(server.client, undefined, projectId)
  return { templateId, projectId, database: server.database, servers: [server], journal }
}

/**
 * Starts writes of all kinds in several lanes, each of which makes one write at a time. A lane is the only writer of
 * its passes, so that it knows their values.
 */
export function startLoad(arena: Arena, target: Target, { lanes, pauseMs }: { lanes: number; pauseMs: number }): Load {
  loads += 1
  let lost = 0
  let isStopped = false
  const { journal } = target

  async function ask<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T | 'doubtful' | 'refused'> {
    try {
      const answer = await work(client)
      journal.acknowledged += 1
      return answer
    } catch (error) {
      if (error instanceof ConnectionError) {
        lost += 1
        journal.doubtful += 1
        return 'doubtful'
      }
      if (!(error instanceof ApiError)) throw error
      // If the database becomes unreachable during a commit, the result is unknown.
      if (error.status === 503 && error.retryAfterSeconds !== undefined) {
        journal.unavailable += 1
        return 'doubtful'
      }
      if (error.status !== 409) journal.unexpected.push(`${error.request.method} ${error.request.path}: ${error}`)
      return 'refused'
    }
  }

  async function run(lane: number): Promise<void> {
    const own: PassRecord[] = []
    for (let n = 0; !isStopped; n += 1) {
      while (target.servers.length === 0 && !isStopped) await sleep(10)
      if (isStopped) return
      const { client } = arena.random.pick(target.servers)
      const outcome = await step({
        arena,
        target,
        own,
        name: `${loads}-${lane}-${n}`,
        n,
        ask: (work) => ask(client, work),
      })
      await sleep(outcome === 'doubtful' ? 25 : pauseMs)
    }
  }

  const running = Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)))
  return {
    lost: () => lost,
    async stop() {
      isStopped = true
      await running
    },
  }
}

interface Step {
  arena: Pick<Arena, 'random'>
  target: Target
  own: PassRecord[]
  name: string
  n: number
  ask<T>(work: (client: Client) => Promise<T>): Promise<T | 'doubtful' | 'refused'>
}

type Outcome = 'doubtful' | 'done'

/** Makes one random write. */
async function step(step: Step): Promise<Outcome> {
  const { random } = step.arena
  const pass = step.own.length > 0 ? random.pick(step.own.slice(-30)) : undefined
  const chance = random.next()
  if (!pass || chance < 0.2) return create(step, 1)
  // More passes than one transaction creates.
  if (chance < 0.23) return create(step, 40)
  if (chance < 0.231) return broadcast(step)
  if (pass.voided !== 'no') return create(step, 1)
  if (chance < 0.6) return update(step, pass)
  if (chance < 0.65) return voidPass(step, pass)
  if (chance < 0.87) return scan(step, pass)
  return notify(step, pass)
}

async function create({ target, own, name, ask, arena }: Step, count: number): Promise<Outcome> {
  const records = Array.from({ length: count }, (_, n) => newRecord(`${name}-${n}`, name))
  for (const record of records) target.journal.passes.set(record.externalPassId, record)
  const { templateId } = target
  const passes = records.map(({ externalPassId }) => ({ externalPassId, label: `Guest ${externalPassId}`, templateId }))
  const send = () =>
    ask(async ({ passes: api }) => {
      if (count === 1) return [await api.create({ body: passes[0]! })]
      return (await api.createBatch({ body: { passes } })).results.map(({ pass }) => pass!)
    })
  let made = await send()
  // Send half of the requests that lost their response again, as a client would. The others show whether they took
  // effect.
  for (let tries = 0; made === 'doubtful' && tries < 3 && arena.random.next() < 0.5; tries += 1) made = await send()
  if (typeof made === 'string') return 'doubtful'
  for (const [n, { id }] of made.entries()) records[n]!.id = id
  own.push(...records)
  return 'done'
}

async function update({ n, ask }: Step, pass: PassRecord): Promise<Outcome> {
  const outcome = await ask(({ passes }) => passes.update({ params: { id: pass.id! }, body: { variables: { n } } }))
  if (outcome === 'doubtful') {
    pass.doubtful += 1
    pass.values.add(n)
    return outcome
  }
  if (outcome !== 'refused') {
    pass.updates += 1
    pass.values = new Set([n])
  }
  return 'done'
}

async function voidPass({ ask }: Step, pass: PassRecord): Promise<Outcome> {
  const outcome = await ask(({ passes }) => passes.void({ params: { id: pass.id! }, body: { reason: 'torture' } }))
  if (outcome !== 'refused') pass.voided = outcome === 'doubtful' ? 'maybe' : 'yes'
  return outcome === 'doubtful' ? outcome : 'done'
}

async function scan({ name, ask }: Step, pass: PassRecord): Promise<Outcome> {
  const scan: PassRecord['scans'][number] = { key: `scan-${name}` }
  pass.scans.push(scan)
  return keep(scan, await ask((client) => sendScan(client, pass, scan.key)))
}

async function notify({ name, ask }: Step, pass: PassRecord): Promise<Outcome> {
  const notification: PassRecord['notifications'][number] = { key: `notification-${name}` }
  pass.notifications.push(notification)
  return keep(notification, await ask((client) => sendNotification(client, pass, notification.key)))
}

async function broadcast({ target, name, ask }: Step): Promise<Outcome> {
  const broadcast: Journal['broadcasts'][number] = { key: `broadcast-${name}` }
  target.journal.broadcasts.push(broadcast)
  return keep(broadcast, await ask((client) => sendBroadcast(client, target.projectId, broadcast.key)))
}

function keep<T>(keyed: Keyed<T>, outcome: T | 'doubtful' | 'refused'): Outcome {
  if (outcome === 'doubtful') return 'doubtful'
  if (outcome === 'refused') keyed.isRefused = true
  else keyed.answer = outcome
  return 'done'
}

async function sendScan({ scans }: Client, pass: PassRecord, externalRef: string) {
  const { scan, result } = await scans.create({ body: { passId: pass.id!, externalRef } })
  return { id: scan.id, result }
}

function sendNotification({ notifications }: Client, pass: PassRecord, idempotencyKey: string) {
  const body = { body: 'Doors open at 7', platforms: ['apple' as const], idempotencyKey }
  return notifications.create({ params: { id: pass.id! }, body })
}

async function sendBroadcast({ broadcasts }: Client, projectId: string, idempotencyKey: string) {
  const body = { body: 'Doors open at 8', platforms: ['apple' as const], idempotencyKey }
  const { id } = (await broadcasts.create({ params: { id: projectId }, body })) as { id: string }
  return { id }
}

/** Repeats every request that lost its response, with the same key. */
export async function clearDoubts({ journal, projectId }: Target, client: Client): Promise<void> {
  const clear = async <T>(keyed: Keyed<T>, send: () => Promise<T>) => {
    if (keyed.answer || keyed.isRefused) return
    try {
      keyed.answer = await send()
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error
      keyed.isRefused = true
    }
  }
  for (const pass of journal.passes.values()) {
    for (const scan of pass.scans) await clear(scan, () => sendScan(client, pass, scan.key))
    for (const one of pass.notifications) await clear(one, () => sendNotification(client, pass, one.key))
  }
  for (const one of journal.broadcasts) await clear(one, () => sendBroadcast(client, projectId, one.key))
}
