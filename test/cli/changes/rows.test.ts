import { expect, test } from 'vitest'
import { compileUpdateRow, planUpdateColumns } from '../../../src/cli/changes/update-action.ts'
import { voidAction } from '../../../src/cli/changes/void-action.ts'
import type { Client } from '../../../src/client/client.ts'

const defaults = { externalIdColumn: 'externalPassId', labelColumn: undefined, changesAll: false }

function compile(header: string[], options: Partial<Parameters<typeof compileUpdateRow>[1]> = {}) {
  const changesAll = options.templateVersion !== undefined
  return compileUpdateRow(planUpdateColumns(header, { ...defaults, changesAll }), {
    unsetMarker: '\\N',
    templateVersion: undefined,
    ...options,
  })
}

test('an empty cell keeps a value, the marker removes it, and the error column is ignored', () => {
  const check = compile(['externalPassId', 'label', 'seat', 'hall', 'door', 'error'])
  expect(check(['T-1', '', '12A', '', '\\N', 'was wrong'])).toEqual({
    item: { externalPassId: 'T-1', body: { variables: { seat: '12A', door: null } } },
  })
  expect(check(['T-1', 'Ada', '', '', '', ''])).toEqual({ item: { externalPassId: 'T-1', body: { label: 'Ada' } } })
})

test('with another unset marker, the default marker is a value', () => {
  const check = compile(['externalPassId', 'seat', 'door'], { unsetMarker: '(none)' })
  expect(check(['T-1', '\\N', '(none)'])).toEqual({
    item: { externalPassId: 'T-1', body: { variables: { seat: '\\N', door: null } } },
  })
})

test('with a version, every row is upgraded and the file needs only IDs', () => {
  const check = compile(['externalPassId'], { templateVersion: 'latest' })
  expect(check(['T-1'])).toEqual({ item: { externalPassId: 'T-1', body: { templateVersion: 'latest' } } })
  expect(() => planUpdateColumns(['externalPassId', 'error'], defaults)).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({
        issues: [{ path: [], message: 'No column contains changes, and --template-version is not set' }],
      }),
    }),
  )
})

test('rejects a row that no template accepts, with every reason', () => {
  const check = compile(['externalPassId', 'label', 'seat'])
  expect(check(['', 'x'.repeat(256), '1'])).toEqual({
    errors: ['externalPassId: Must not be empty', 'label: Must have at most 255 characters'],
  })
  expect(check(['T-1', '\\N', ''])).toEqual({ errors: ['label: A label cannot be removed'] })
  expect(compile(['externalPassId', 'label', 'groupKey'])(['T-1', '', 'x'.repeat(256)])).toEqual({
    errors: ['groupKey: Must have at most 255 characters'],
  })
})

test('an empty column flag turns the usual column off', () => {
  const columns = planUpdateColumns(['externalPassId', 'label', 'seat'], { ...defaults, labelColumn: '' })
  expect(columns).toMatchObject({ label: -1, variables: [{ name: 'label' }, { name: 'seat' }] })
})

test('rejects headers that lack a column, repeat one, or use a system name', () => {
  const plan = () => planUpdateColumns(['id', 'seat.row', 'x', 'x'], { ...defaults, labelColumn: 'name' })
  expect(plan).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({
        issues: [
          'Column externalPassId not found for the external ID; --external-id-column selects another one',
          'Column name not found for the label; --label-column selects another one',
          'The column seat.row has a dot in its name: rename it, because such names are reserved',
          'Duplicate column x',
        ].map((message) => ({ path: [], message })),
      }),
    }),
  )
})

test('the reason of a row to void overrides the general one, and other cells are ignored', async () => {
  const options = { externalIdColumn: 'ticket', reasonColumn: undefined, reason: 'refunded', dryRun: true }
  const action = voidAction({ ...options, concurrency: 1 })
  const { check } = await action.plan({} as Client, ['ticket', 'name', 'reason'])
  const rows = [
    ['T-1', 'Ada', 'moved'],
    ['T-2', 'Grace', ''],
    ['T-3', 'Joan', 'x'.repeat(256)],
  ]
  async function* source() {
    for (const [index, cells] of rows.entries()) yield { cells, line: index + 2, bytes: 0, problem: undefined }
  }
  const checked: unknown[] = []
  for await (const row of check(source())) checked.push('item' in row ? row.item : row.error)
  expect(checked).toEqual([
    { externalPassId: 'T-1', reason: 'moved' },
    { externalPassId: 'T-2', reason: 'refunded' },
    'reason: Must have at most 255 characters',
  ])
})
