import { expect, test } from 'vitest'
import { getPass } from '../../../src/cli/arguments/pass-argument.ts'
import type { Client } from '../../../src/client/client.ts'
import { errorOf } from '../../support/error-of.ts'

/** Eleven passes of one millisecond, two of the second around it, and one that is a year older. */
const ids = [
  ...Array.from({ length: 11 }, (_, n) => `01a21bb7-6f10-7c3e-9d55-0c1f5a3b2e${(16 + n).toString(16)}`),
  '01a21bb7-6f20-7000-8000-000000000001',
  '01a21bb7-7000-7000-8000-000000000002',
  '019a0000-0000-7000-8000-000000000003',
]
const passes = ids.map((id, n) => ({ id, externalPassId: `T-${n}`, label: `Guest ${n}` }))
const millisecondOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

/** Lists the passes as a server does, with the parameters that a search for an ID sends. */
const client = {
  passes: {
    async list({
      query,
    }: {
      query: { externalPassId?: string; createdFrom?: string; createdTo?: string; limit: number }
    }) {
      const found = passes.filter(({ id, externalPassId }) =>
        query.createdFrom === undefined
          ? externalPassId === query.externalPassId
          : millisecondOf(id) >= Date.parse(query.createdFrom) && millisecondOf(id) <= Date.parse(query.createdTo!),
      )
      return { items: found.slice(0, query.limit), total: found.length, nextCursor: null }
    },
  },
} as unknown as Client
const find = (id: string) => getPass(client, { id, external: false })

test.each(['019a', '019A0', '01a21bb77', '01a21bb7-70', '01a21bb7-6f2', '01a21bb7-6f20-7'])(
  'finds a pass by the unique start %s of its ID',
  async (start) => {
    expect((await find(start)).id.replaceAll('-', '')).toMatch(new RegExp(`^${start.replaceAll('-', '')}`, 'i'))
  },
)

test.each([
  ['01a2', 13],
  ['01a21bb7-6', 12],
  ['01a21bb7-6f1', 11],
  ['01a21bb7-6f10-7c3e-9d55-0c1f5a3b2', 11],
])('lists up to ten passes whose ID starts with %s', async (start, total) => {
  const { message } = (await errorOf(find(start))) as Error
  expect(message).toContain(`${start} can mean any of ${total} passes:`)
  expect(message.match(/^01a21bb7-\S+ {2}T-/gm)).toHaveLength(10)
  expect(message).toContain(`and ${total - 10} more`)
})

test.each(['01a', '01a21bb8', 'T-99'])('finds no pass for %s', async (text) => {
  expect(await errorOf(find(text))).toMatchObject({ code: 'PASS_NOT_FOUND' })
})
