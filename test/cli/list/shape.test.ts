import { afterEach, expect, test, vi } from 'vitest'
import { localTime } from '../../../src/cli/command/output.ts'
import { csvOf } from '../../../src/cli/list/csv.ts'
import { type ListShape, sorter, tableFormat } from '../../../src/cli/list/shape.ts'
import { onePage, showList } from '../../../src/cli/list/show-list.ts'
import { newId } from '../../../src/core/ids.ts'

interface Row {
  id: string
  name: string | null
  uses: number
  madeAt: string
}

const shape: ListShape<Row> = {
  columns: [{ name: 'id', kind: 'id' }, { name: 'name', none: 'nobody' }, ['uses', 'madeAt']],
  table: ['id', 'name', 'madeAt'],
}

const row = (change: Partial<Row>): Row => {
  return { id: newId(new Date()), name: 'Ada', uses: 1, madeAt: '2027-05-31T19:30:00.000Z', ...change }
}

afterEach(() => vi.unstubAllEnvs())

test('times are shown in the local zone with offset, and unchanged in CSV', () => {
  for (const [zone, text] of [
    ['UTC', '2027-05-31 19:30Z'],
    ['Europe/Lisbon', '2027-05-31 20:30+01:00'],
    ['Asia/Kolkata', '2027-06-01 01:00+05:30'],
    ['America/St_Johns', '2027-05-31 17:00-02:30'],
  ]) {
    vi.stubEnv('TZ', zone)
    expect(localTime('2027-05-31T19:30:00.000Z')).toBe(text)
    expect(tableFormat(shape, { width: 80 })([row({})])).toContain(text)
    expect(csvOf(shape, { header: false, rawCells: false })([row({})])).toContain('2027-05-31T19:30:00.000Z')
  }
})

test('shortens an ID to its shortest unique start on a terminal, and prints it complete elsewhere', () => {
  const [moment, later] = [new Date('2027-05-31T10:00:00Z'), new Date('2027-05-31T10:00:01Z')]
  const idsOf = (rows: Row[], width?: number) => {
    const lines = tableFormat(shape, { names: ['id'], width })(rows)
      .trimEnd()
      .split('\n')
      .slice(1)
    return lines.map((line, index) => [line.length, rows[index]!.id.startsWith(line)])
  }
  const [a, b, c] = [moment, moment, later].map((at) => row({ id: newId(at) })) as [Row, Row, Row]
  expect(idsOf([a, c], 80)).toEqual([
    [13, true],
    [13, true],
  ])
  expect(idsOf([a, b, c], 80).map(([length]) => length)).toEqual([23, 23, 23])
  expect(idsOf([a])).toEqual([[36, true]])
})

test('sorts rows by any column: numbers by value, missing values last', () => {
  const rows = [row({ name: 'T-10', uses: 10 }), row({ name: null, uses: 9 }), row({ name: 'T-9', uses: 100 })]
  const sorted = (by: string) => sorter(shape, by)(rows).map(({ name, uses }) => [name, uses])
  expect(sorted('uses').map(([, uses]) => uses)).toEqual([9, 10, 100])
  expect(sorted('name').map(([name]) => name)).toEqual(['T-9', 'T-10', null])
  expect(sorted('name:desc').map(([name]) => name)).toEqual(['T-10', 'T-9', null])
  expect(() => sorted('age')).toThrow(expect.objectContaining({ hint: 'the columns are id, name, uses, madeAt.' }))
  expect(() => sorted('name:down')).toThrow('--sort name:down')
})

test('a list ends with the number of hidden rows or, if empty, with advice, never with a cursor', async () => {
  const says = async (items: Row[], { total = items.length, query = {} } = {}) => {
    const notes: string[] = []
    const pages = (async function* () {
      const page = (await onePage(items).next()).value!
      yield { ...page, total, hasMore: total > items.length, nextCursor: total > items.length ? 'SECRET' : null }
    })()
    await showList({
      pages,
      shape,
      flags: { csv: false, jsonl: false, 'raw-cells': false },
      json: true,
      width: undefined,
      noun: ['row', 'rows'],
      empty: 'Next: make one',
      query,
      note: (message) => notes.push(message),
    })
    return notes
  }
  expect(await says([])).toEqual(['There is no row yet. Next: make one'])
  expect(await says([], { query: { name: ['x'], other: undefined } })).toEqual([
    expect.stringContaining('No row matches'),
  ])
  expect(await says([row({})])).toEqual(['1 row'])
  expect(await says([row({})], { total: 3 })).toEqual(['1 of 3 shown. To show more, add --all, or --limit up to 100.'])
})
