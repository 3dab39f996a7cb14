import { ApiError, type Client, paginate } from '../../../src/client/client.ts'
import type { BalanceEntry } from '../../../src/core/contract/balances.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import type { Arena, Scene } from '../arena.ts'
import { issuedPasses } from '../issued.ts'
import { type KilledServer, killAmongScans } from '../killed-server.ts'

export const killedBalances: Scene = {
  name: 'balances',
  promise: 1,
  promised:
    'After SIGKILL among entries and scans, each balance is its start plus its entries, and each key has one entry',
  run: killAmongEntries,
}

export const killedSpending: Scene = {
  name: 'spending',
  promise: 1,
  promised: 'Two servers that are killed spend a balance exactly once: 500 of 1,000 entries of -1 succeed',
  run: spendAmongKills,
}

const IN_FLIGHT = 32
const PASSES = 5
const START = 20
const MAX = 40
/** More requests than kills can interrupt in a row. */
const MAX_TRIES = 20

/** Keeps entries and scans of a few passes in flight. A client that lost a response repeats its request. */
async function killAmongEntries(arena: Arena): Promise<void> {
  const first = await arena.start({ database: await arena.emptyDatabase() })
  const rules = { balanceRules: [{ balance: 'points', delta: -3 }], redemption: { maxUses: 100_000 } }
  const templateId = await publishCard(first.client, { ...cardWith({ start: START, max: MAX }), ...rules })
  const passIds = await issuedPasses(arena, first.client, templateId, PASSES)
  const added = new Map<string, string[]>(passIds.map((id) => [id, []]))
  let [refs, scanned] = [0, 0]

  async function lane(server: KilledServer): Promise<void> {
    while (!server.isOver) {
      refs += 1
      const externalRef = `ref-${refs}`
      const id = arena.random.pick(passIds)
      const delta = arena.random.between(1, 9) * arena.random.pick([1, -1])
      const isScan = arena.random.between(0, 3) === 0
      const request = isScan
        ? () => server.scan({ externalRef, passId: id })
        : () => add(server, id, delta, externalRef)
      let answer = await request()
      for (let tries = 1; answer === undefined && tries < MAX_TRIES; tries += 1) answer = await request()
      arena.check(answer !== undefined, `${externalRef} got no response to ${MAX_TRIES} requests`)
      if (answer === 'added') added.get(id)!.push(externalRef)
      else if (isScan) scanned += 1
    }
  }

  const { client } = await killAmongScans(arena, first, { lanes: IN_FLIGHT, kills: arena.size(3, 60) }, lane)
  for (const [id, known] of added) {
    const entries = await entriesOf(client, id)
    const kept = new Set(entries.flatMap(({ externalRef }) => externalRef ?? []))
    const lost = known.filter((externalRef) => !kept.has(externalRef))
    arena.check(lost.length === 0, `pass ${id} lost the entries ${lost.join(', ')}`)
    const ofClients = entries.filter(({ externalRef }) => externalRef !== null)
    arena.check(kept.size === ofClients.length, `pass ${id} has several entries of a key`)
    const isKept = entries.length > 0 && known.length === ofClients.length
    arena.check(isKept, `pass ${id} has ${ofClients.length} entries, and ${known.length} were added`)
    const { items } = await client.balances.list({ params: { id } })
    const sum = entries.reduce((total, { delta }) => total + delta, START)
    arena.check(items[0]?.value === sum, `pass ${id} has ${items[0]?.value}, and its entries make ${sum}`)
    const outside = entries.find(({ value }) => value < 0 || value > MAX)
    arena.check(outside === undefined, `the entry ${outside?.id} left the value ${outside?.value}`)
  }
  const { total } = await client.scans.list({ query: { limit: 1 } })
  arena.check(total === scanned, `${scanned} scans were recorded, and the ledger has ${total}`)
}

const FUNDS = 500
const SPENDERS = 1_000

/**
 * Sends entries of -1 of one pass to two servers, and kills both servers repeatedly. There are twice as many entries as
 * the balance covers. A client that lost a response repeats its request at the same server.
 */
async function spendAmongKills(arena: Arena): Promise<void> {
  const database = await arena.emptyDatabase()
  const first = await arena.start({ database })
  const second = await arena.start({ database, token: first.token })
  const definition = cardWith({ start: FUNDS })
  const [id = ''] = await issuedPasses(arena, first.client, await publishCard(first.client, definition), 1)
  const waiting = Array.from({ length: SPENDERS }, (_, n) => `spend-${n}`)
  const added: string[] = []

  async function lane(server: KilledServer): Promise<void> {
    for (let externalRef = waiting.pop(); externalRef !== undefined; externalRef = waiting.pop()) {
      let answer = await add(server, id, -1, externalRef)
      while (answer === undefined) answer = await add(server, id, -1, externalRef)
      arena.did(`entries ${answer}`)
      if (answer === 'added') added.push(externalRef)
    }
  }

  // A workspace can have 256 requests in flight.
  const options = { lanes: 100, kills: arena.size(2, 10) }
  const [{ client }] = await Promise.all([
    killAmongScans(arena, first, options, lane),
    killAmongScans(arena, second, options, lane),
  ])
  const entries = await entriesOf(client, id)
  const { items } = await client.balances.list({ params: { id } })
  arena.check(items[0]?.value === 0, `the balance is ${items[0]?.value}, not 0`)
  arena.check(entries.length === FUNDS, `${entries.length} entries were stored, not ${FUNDS}`)
  const kept = entries.map(({ externalRef }) => externalRef!)
  arena.check(new Set(kept).size === FUNDS, 'an externalRef has several entries')
  arena.check(new Set([...kept, ...added]).size === FUNDS, 'the responses and the entries differ')
  arena.check(added.length === FUNDS, `${added.length} requests succeeded, not ${FUNDS}`)
}

/** Resolves to undefined if the response was lost. */
function add(server: KilledServer, id: string, delta: number, externalRef: string) {
  return server.send(`entry ${externalRef}`, async ({ balances }) => {
    try {
      await balances.createEntry({ params: { id, name: 'points' }, body: { delta, externalRef } })
      return 'added' as const
    } catch (error) {
      if (error instanceof ApiError && error.code === 'CONFLICT') return 'refused' as const
      throw error
    }
  })
}

async function entriesOf({ balances }: Client, id: string): Promise<BalanceEntry[]> {
  const entries: BalanceEntry[] = []
  const list = (query: object) => balances.listEntries({ params: { id, name: 'points' }, query })
  for await (const entry of paginate((call) => list(call?.query ?? {}), {})) entries.push(entry)
  return entries
}

function cardWith(bounds: { start: number; max?: number }): DefinitionInput {
  const field = { key: 'points', label: 'Points', value: '{{balance.points}}', as: 'number' as const }
  return {
    design: { organizationName: 'Acme', description: 'Card', fields: { primary: [field] } },
    balances: { points: { label: 'Points', kind: 'integer', ...bounds } },
  }
}

async function publishCard(client: Client, definition: DefinitionInput): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Card', passType: 'generic' } })
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}
