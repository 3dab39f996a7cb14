import { Parser } from '@oclif/core'
import { expect, test } from 'vitest'
import { passFilterFlags, passQuery } from '../../../src/cli/pass-list.ts'
import { createdWindow, PassListQuery } from '../../../src/core/contract/passes.ts'

const id = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'

const given: [flags: string[], query: Record<string, unknown>][] = [
  [['--status', 'ISSUED', '--status', 'VOID'], { status: ['ISSUED', 'VOID'] }],
  [['--external-pass-id', 'T-1', '--external-pass-id', 'T-2'], { externalPassId: ['T-1', 'T-2'] }],
  [['--search', 'ada'], { search: ['ada'] }],
  [['--project', id, '--project', 'none'], { projectId: [id, 'null'] }],
  [['--template', id], { templateId: [id] }],
  [['--variable', 'seat:12:A'], { variable: ['seat:12:A'] }],
  [['--valid-on', '2027-05-31'], { validOn: ['2027-05-31'] }],
  [['--redeemed'], { redeemed: true }],
  [['--no-redeemed', '--redeemed-context', 'day-1'], { redeemed: false, redeemedContext: ['day-1'] }],
  [['--label', 'Ada', '--label-match', 'prefix'], { label: ['Ada'], labelMatch: 'prefix' }],
  [['--revision', 'gte:2'], { revision: ['gte:2'] }],
  [['--template-version', '3'], { templateVersion: ['3'] }],
  [['--created-from', '2027-05-31T00:00:00Z'], { createdFrom: '2027-05-31T00:00:00.000Z' }],
  [['--created-to', '2027-06-01T00:00:00Z'], { createdTo: '2027-06-01T00:00:00.000Z' }],
  [['--sort-by', 'label', '--sort-dir', 'asc'], { sortBy: 'label', sortDir: 'asc' }],
]

test.each(given)('%j asks for %j, which the interface takes', async (argv, expected) => {
  const { flags } = await Parser.parse(argv, { flags: passFilterFlags })
  const query = Object.fromEntries(Object.entries(passQuery(flags)).filter(([, value]) => value !== undefined))
  expect(query).toEqual(expected)
  expect(PassListQuery.safeParse(query).error).toBeUndefined()
})

test('every parameter of the interface has its flag, save the other spellings of a window', () => {
  const [, , ...otherSpellings] = createdWindow
  const elsewhere = ['limit', 'cursor', 'offset', ...otherSpellings]
  const parameters = Object.keys(PassListQuery.shape).filter((name) => !elsewhere.includes(name))
  expect(new Set(given.flatMap(([, query]) => Object.keys(query)))).toEqual(new Set(parameters))
})
