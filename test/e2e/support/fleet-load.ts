import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import type { Broadcast } from '../../../src/core/contract/messages/broadcasts.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'

/** The writes that servers acknowledged. */
export interface Acknowledged {
  /** IDs of passes by external ID. */
  created: Map<string, string>
  /** The last acknowledged value of each pass, and the first unacknowledged value after it. */
  updated: Map<string, { value: string; unsure: string | undefined }>
  /** The number of scan responses for a pass, and of admissions among them. */
  scanned: Map<string, { answers: number; accepted: number }>
  /** Errors while no server was being killed. */
  refused: unknown[]
}

export interface Guests {
  projectId: string
  templateId: string
  /** Issued passes that admit once. */
  passIds: string[]
}

const BATCH = 50
/**
 * The pause of each lane, in milliseconds. It is not shorter, because the passes that are created while servers start, which
 * takes seconds, must also be issued, sent, and checked.
 */
const PAUSE_MS = times(50, 15)

/** Creates a project with a single-use ticket, and the given number of issued passes. */
export async function inviteGuests(client: Client, count: number): Promise<Guests> {
  const project = await client.projects.create({ body: { name: 'Friday' } })
  const { id: templateId } = await client.templates.create({
    body: { name: 'Ticket', passType: 'eventTicket', projectId: project.id },
  })
  const definition = { design: { organizationName: 'Acme', description: 'Ticket' }, redemption: { maxUses: 1 } }
  const version = await client.templates.createVersion({ params: { id: templateId }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  const passIds: string[] = []
  for (let from = 0; from < count; from += BATCH) {
    const passes = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) =>
      guest(`guest-${from + n}`, templateId),
    )
    const { results } = await client.passes.createBatch({ body: { passes } })
    passIds.push(...results.map(({ pass }) => pass!.id))
  }
  const query = { status: ['ISSUED' as const], projectId: project.id }
  await eventually(async () => expect((await client.passes.list({ query })).total).toBe(count))
  return { projectId: project.id, templateId, passIds }
}

export interface Load {
  acknowledged: Acknowledged
  broadcast: Broadcast
  stop(): Promise<Acknowledged>
}

/** Creates, updates, and scans passes on all servers, and sends one broadcast, until told to stop. */
export async function startLoad(clients: Client[], { projectId, templateId, passIds }: Guests): Promise<Load> {
  const acknowledged: Acknowledged = { created: new Map(), updated: new Map(), scanned: new Map(), refused: [] }
  let isOver = false
  let turn = 0

  /** Sends a request to the next server in turn. Resolves to undefined if the server died during the request. */
  async function ask<T>(request: (client: Client) => Promise<T>): Promise<T | undefined> {
    turn += 1
    try {
      return await request(clients[turn % clients.length]!)
    } catch (error) {
      if ((error as Error).name !== 'ConnectionError') acknowledged.refused.push(error)
      return undefined
    }
  }

  async function create(n: number): Promise<void> {
    const externalPassId = `during-${n}`
    const pass = await ask((client) => client.passes.create({ body: guest(externalPassId, templateId) }))
    if (pass) acknowledged.created.set(externalPassId, pass.id)
  }

  /** Updates a pass. Only one lane updates each pass, so the last acknowledged value must be stored. */
  async function update(n: number, passId: string): Promise<void> {
    const written = acknowledged.updated.get(passId)
    const value = String(n)
    const body = { variables: { seat: value } }
    if (await ask((client) => client.passes.update({ params: { id: passId }, body }))) {
      acknowledged.updated.set(passId, { value, unsure: undefined })
    } else if (written) acknowledged.updated.set(passId, { ...written, unsure: value })
  }

  async function scan(n: number): Promise<void> {
    const passId = passIds[n % passIds.length]!
    // Send two scans at the same time, to different servers.
    const answers = await Promise.all([0, 1].map(() => ask((client) => client.scans.create({ body: { passId } }))))
    for (const answer of answers) {
      if (!answer) continue
      const { answers: before, accepted } = acknowledged.scanned.get(passId) ?? { answers: 0, accepted: 0 }
      const isIn = answer.result === 'accepted' ? 1 : 0
      acknowledged.scanned.set(passId, { answers: before + 1, accepted: accepted + isIn })
    }
  }

  async function lane(step: (n: number) => Promise<void>): Promise<void> {
    for (let n = 1; !isOver; n += 1) {
      await step(n)
      await sleep(PAUSE_MS)
    }
  }

  const params = { id: projectId }
  const message = { params, body: { body: 'Doors open at 7' } }
  const broadcast = (await clients[0]!.broadcasts.create(message)) as Broadcast
  const lanes = [create, scan, ...passIds.slice(0, 2).map((passId) => (n: number) => update(n, passId))].map(lane)
  return {
    acknowledged,
    broadcast,
    async stop() {
      isOver = true
      await Promise.all(lanes)
      return acknowledged
    },
  }
}

function guest(externalPassId: string, templateId: string) {
  return { externalPassId, label: externalPassId, templateId }
}
