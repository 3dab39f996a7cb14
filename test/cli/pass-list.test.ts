import { Parser } from '@oclif/core'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { jsonLines } from '../../src/cli/arguments/list-flags.ts'
import { textWidth } from '../../src/cli/command/output.ts'
import { csvOf } from '../../src/cli/list/csv.ts'
import { tableFormat } from '../../src/cli/list/shape.ts'
import { passesShape, passFilterFlags, passQuery } from '../../src/cli/pass-list.ts'
import type { Pass } from '../../src/core/contract/passes.ts'
import { createdWindow, PassListQuery } from '../../src/core/contract/schemas/pass-list-query.ts'

const id = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'

const given: [flags: string[], query: Record<string, unknown>][] = [
  [['--status', 'ISSUED', '--status', 'VOID'], { status: ['ISSUED', 'VOID'] }],
  [['--external-pass-id', 'T-1', '--external-pass-id', 'T-2'], { externalPassId: ['T-1', 'T-2'] }],
  [['--search', 'ada'], { search: ['ada'] }],
  [['--project', id, '--project', 'none'], { projectId: [id, 'null'] }],
  [['--template', id], { templateId: [id] }],
  [['--group', 'order-1'], { groupKey: ['order-1'] }],
  [['--join-slug', 'coffee-card'], { joinSlug: ['coffee-card'] }],
  [['--join-source', 'window'], { joinSource: ['window'] }],
  [['--variable', 'seat:12:A'], { variable: ['seat:12:A'] }],
  [['--valid-on', '2027-05-31'], { validOn: ['2027-05-31'] }],
  [['--redeemed'], { redeemed: true }],
  [['--no-redeemed', '--redeemed-context', 'day-1'], { redeemed: false, redeemedContext: ['day-1'] }],
  [['--installed', '--platform', 'apple'], { installed: true, platform: ['apple'] }],
  [['--no-installed', '--no-stale'], { installed: false, stale: false }],
  [['--label', 'Ada', '--label-match', 'prefix'], { label: ['Ada'], labelMatch: 'prefix' }],
  [['--revision', 'gte:2'], { revision: ['gte:2'] }],
  [['--template-version', '3'], { templateVersion: ['3'] }],
  [['--created-from', '2027-05-31T00:00:00Z'], { createdFrom: '2027-05-31T00:00:00.000Z' }],
  [['--created-to', '2027-06-01T00:00:00Z'], { createdTo: '2027-06-01T00:00:00.000Z' }],
  [
    ['--where', 'variable=tier:a=b', '--where', 'variable=tier:gold', '--where', 'installed=true'],
    { variable: ['tier:a=b', 'tier:gold'], installed: ['true'] },
  ],
  [['--variable', 'tier:gold', '--where', 'variable=tier:silver'], { variable: ['tier:gold', 'tier:silver'] }],
  [['--no-installed', '--where', 'installed=true'], { installed: [false, 'true'] }],
  [['--sort-by', 'label', '--sort-dir', 'asc'], { sortBy: 'label', sortDir: 'asc' }],
]

test.each([
  ['installed', '--where installed must be filter=value, such as --where installed=true'],
  ['=true', '--where =true must be filter=value, such as --where installed=true'],
  ['status=ISSUED', '--where status=ISSUED: status is not a filter', /^in a list, use --status; a broadcast always/],
  ['tier=gold', '--where tier=gold: tier is not a filter', /^the filters are externalPassId,/],
])('--where %s is rejected', async (text, message, hint?: RegExp) => {
  const { flags } = await Parser.parse(['--where', text], { flags: passFilterFlags })
  const hinted = hint ? expect.stringMatching(hint) : undefined
  expect(() => passQuery(flags)).toThrow(expect.objectContaining({ message, hint: hinted }))
})

test.each(given)('%j sends %j, which the API accepts', async (argv, expected) => {
  const { flags } = await Parser.parse(argv, { flags: passFilterFlags })
  const query = Object.fromEntries(Object.entries(passQuery(flags)).filter(([, value]) => value !== undefined))
  expect(query).toEqual(expected)
  expect(PassListQuery.safeParse(query).error).toBeUndefined()
})

test('every API parameter has a flag, except aliases of time windows', () => {
  const [, , ...otherSpellings] = createdWindow
  const elsewhere = ['limit', 'cursor', 'offset', 'include', ...otherSpellings]
  const parameters = Object.keys(PassListQuery.shape).filter((name) => !elsewhere.includes(name))
  expect(new Set(given.flatMap(([, query]) => Object.keys(query)))).toEqual(new Set(parameters))
})

function pass(change: Partial<Pass> = {}): Pass {
  return {
    id: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    externalPassId: 'T-1',
    label: 'Ada',
    status: 'ISSUED',
    version: 3,
    templateVersionId: null,
    templateId: null,
    projectId: null,
    variables: {},
    redemption: null,
    expiresAt: null,
    createdAt: '2027-05-31T10:00:00.000Z',
    updatedAt: '2027-05-31T10:00:00.000Z',
    revision: 1,
    groupKey: null,
    templateVersion: null,
    latestTemplateVersion: null,
    hostedLinks: { apple: null, google: null, smart: null, group: null },
    ...change,
  }
}

test('CSV is written page by page under one header, and all values can be read back', () => {
  const write = csvOf(passesShape, { header: true, rawCells: false })
  const label = 'Ada; "the Countess",\r\nof Lovelace'
  const text = write([pass({ label, variables: { seat: '1,"2"', n: null } })]) + write([]) + write([pass()])
  const rows: Record<string, string>[] = parse(text, { columns: true })
  expect(rows).toMatchObject([
    { label, templateId: '' },
    { label: 'Ada', variables: '{}' },
  ])
  expect(JSON.parse(rows[0]!.variables!)).toEqual({ seat: '1,"2"', n: null })
})

test('JSON Lines has one pass per line, regardless of its label', () => {
  const text = jsonLines([pass({ label: 'a\nb' }), pass()])
  expect(text.split('\n')).toHaveLength(3)
  expect(JSON.parse(text.split('\n')[0]!)).toEqual(pass({ label: 'a\nb' }))
})

test('a table fits a terminal of 80 columns page after page, never cuts a status, and has one header', () => {
  const write = tableFormat(passesShape, { width: 80 })
  const wide = pass({ externalPassId: 'x'.repeat(60), label: '名'.repeat(60), expiresAt: '2027-06-01T00:00:00.000Z' })
  const lines = (write([wide]) + write([wide, pass({ status: 'EXPIRED' })])).trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  for (const line of lines.slice(1, 3)) {
    expect(textWidth(line)).toBeLessThanOrEqual(80)
    expect(line).toMatch(/^0198c7a3-1b02 /)
  }
  expect(lines[3]).toContain('EXPIRED')
})
