import { ApiError, type Client, paginate } from '../../../src/client/client.ts'
import type { BalanceEntry } from '../../../src/core/contract/balances.ts'
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

const IN_FLIGHT = 32
const PASSES = 5
const START = 20
const MAX = 40
/** More requests than kills can interrupt in a row. */
const MAX_TRIES = 20

/** Keeps entries and scans of a few passes in flight. A client that lost a response repeats its request. */
async function killAmongEntries(arena: Arena): Promise<void> {
  const first = await arena.start({ database: await arena.emptyDatabase() })
  const templateId = await publishCard(first.client)
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

async function publishCard(client: Client): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Card', passType: 'generic' } })
  const points = { label: 'Points', kind: 'integer' as const, start: START, max: MAX }
  const field = { key: 'points', label: 'Points', value: '{{balance.points}}', as: 'number' as const }
  const definition = {
    design: { organizationName: 'Acme', description: 'Card', fields: { primary: [field] } },
    balances: { points },
    balanceRules: [{ balance: 'points', delta: -3 }],
    redemption: { maxUses: 100_000 },
  }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}
