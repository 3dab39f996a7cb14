import { expect, test } from 'vitest'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const early = '2027-05-20T18:00:00+01:00'
const late = '2027-05-20T19:00:00+01:00'
const variables = ['from', 'to'].map((name) => ({ name, label: name }))
const design = { organizationName: 'Harbour', description: 'Ticket' }

const about = (facts: object) => parseDefinition({ variables, design, ...facts })
const eventOf = (startsAt: string, endsAt: string) => about({ event: { name: 'Show', startsAt, endsAt } })
const tripOf = (departsAt: string, arrivesAt: string) =>
  about({ trip: { mode: 'bus', from: { name: 'A' }, to: { name: 'B' }, departsAt, arrivesAt } })

const facts = {
  id: '01982f3e-0000-7000-8000-000000000001',
  externalPassId: 'p-1',
  label: 'Ada',
  scanCode: 'CODE',
  templateName: 'Ticket',
  projectName: null,
}

test('rejects an event or trip that ends before it starts', () => {
  for (const [of, path, first] of [
    [eventOf, ['event', 'endsAt'], 'startsAt'],
    [tripOf, ['trip', 'arrivesAt'], 'departsAt'],
  ] as const) {
    expect(checkDefinition(of(early, late))).toEqual([])
    expect(checkDefinition(of(early, early))).toEqual([])
    expect(checkDefinition(of(late, early))).toEqual([{ path, message: `Must not be before ${first}` }])
  }
})

test('a fact of a template applies to each pass unless it is empty', () => {
  const issuesOf = (definition: ReturnType<typeof about>, values: object) => {
    expect(checkDefinition(definition)).toEqual([])
    const checked = compilePass(definition)({ ...facts, variables: { from: early, to: late, ...values } })
    return 'issues' in checked ? checked.issues : []
  }
  const message = 'Must not be before startsAt'
  expect(issuesOf(eventOf('{{from}}', '{{to}}'), {})).toEqual([])
  expect(issuesOf(eventOf('{{from}}', '{{to}}'), { from: late, to: early })).toEqual([
    { path: ['variables', 'to'], message },
  ])
  expect(issuesOf(eventOf('{{from}}', early), { from: late })).toEqual([
    { path: ['variables', 'from'], message: 'Must not be after endsAt' },
  ])
  expect(issuesOf(eventOf('{{from}}', '{{to}}'), { to: '' })).toEqual([])
})

test.each([
  ['departsAt', early, 'now'],
  ['timeZone', 'Europe/Lisbon', 'Mars/Base'],
  ['latitude', '38.7', '91'],
])('a variable that is the only content of %s can be empty, and is then omitted', (key, sound, wrong) => {
  const place = key === 'departsAt' ? {} : { longitude: '{{from}}', latitude: '{{from}}' }
  const from = key === 'timeZone' ? { timeZone: '{{from}}' } : place
  const definition = about({
    trip: { mode: 'bus', from: { name: 'A', ...from }, ...(key === 'departsAt' && { departsAt: '{{from}}' }) },
  })
  const isTaken = (value: string) => !('issues' in compilePass(definition)({ ...facts, variables: { from: value } }))
  expect([sound, '', wrong].map(isTaken)).toEqual([true, true, false])
})

test('the error of a group key that is too long names its variable', () => {
  const definition = about({ group: { key: '{{pass.label}} {{to}}' } })
  const checked = compilePass(definition)({ ...facts, variables: { to: 'x'.repeat(252) } })
  const message = 'Results in a group key that is too long: at most 255 characters'
  expect(checked).toEqual({ issues: [{ path: ['variables', 'to'], message }] })
})
