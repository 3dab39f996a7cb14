import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Definition, DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { barcodeMessage, renderCard } from '../../../../src/core/rules/display/card.ts'
import { buildScope, type PassFacts } from '../../../../src/core/rules/template/resolve.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const everywhere = '{{a}} {{b}} {{pass.label}} {{pass.externalPassId}} {{pass.id}} {{pass.scanCode}} {{project.name}}'

/** Every rendered text of the definition contains every kind of placeholder. */
const input: DefinitionInput = {
  variables: [
    { name: 'a', label: 'A' },
    { name: 'b', label: 'B', default: 'default of b' },
  ],
  design: {
    organizationName: everywhere,
    description: everywhere,
    logoText: everywhere,
    fields: {
      header: [{ key: 'h', label: everywhere, value: everywhere, changeMessage: `%@ ${everywhere}` }],
      back: [{ key: 'b', value: everywhere }],
    },
    barcode: { format: 'pdf417', message: everywhere, altText: everywhere },
    locations: [{ latitude: 1, longitude: 2, relevantText: everywhere }],
    relevantDate: everywhere,
    links: [{ label: everywhere, url: `https://example.com/${everywhere}` }],
  },
  apple: { userInfo: { deep: [everywhere] } },
  google: { class: { text: everywhere }, object: { text: [everywhere] } },
}
const definition = parseDefinition(input)

function render(facts: PassFacts, content: Definition = definition) {
  const scope = buildScope(content, facts, null)
  return renderCard({ passType: 'generic', definition: content, scope, expiresAt: null, voided: false })
}

function factsOf(marker: string, variables: PassFacts['variables'] = {}): PassFacts {
  return {
    id: `id-${marker}`,
    externalPassId: `external-${marker}`,
    label: `label-${marker}`,
    scanCode: `code-${marker}`,
    templateName: 'Template',
    projectName: `project-${marker}`,
    variables,
  }
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('{{a}}', '{{pass.id}}', '{{b}}{{', '\ud800', '😀', '\u202e', '"\\</script>', 'x'.repeat(1_000)),
)
const variables = fc.dictionary(
  fc.oneof(fc.constantFrom('a', 'b', '__proto__', 'pass.id'), text),
  fc.oneof(text, fc.jsonValue()),
)

test('arbitrary variables render without a throw, as well-formed text in every place', () => {
  fc.assert(
    fc.property(variables, text, (given, label) => {
      const json = JSON.stringify(render({ ...factsOf('x', given), label }))
      expect(json.isWellFormed()).toBe(true)
      expect(json).not.toMatch(/\\ud[89a-f]/)
    }),
  )
})

test('a pass shows nothing of another pass that the same version renders', () => {
  fc.assert(
    fc.property(variables, variables, (ofA, ofB) => {
      const a = render(factsOf('MARKER-A', { ...ofA, a: 'value-MARKER-A' }))
      const b = render(factsOf('MARKER-B', { ...ofB, a: 'value-MARKER-B' }))
      expect(JSON.stringify(a)).not.toContain('MARKER-B')
      expect(JSON.stringify(b)).not.toContain('MARKER-A')
      expect(JSON.stringify(render(factsOf('MARKER-A', { ...ofA, a: 'value-MARKER-A' })))).toBe(JSON.stringify(a))
    }),
  )
})

test('rendering leaves the definition as it was, for the next pass', () => {
  const before = JSON.stringify(definition)
  render(factsOf('x', { a: '{{b}}' }))
  expect(JSON.stringify(definition)).toBe(before)
})

test('a value that looks like a placeholder is shown, not filled', () => {
  const card = render(factsOf('x', { a: '{{pass.scanCode}}' }))
  expect(card.fields.header[0]!.value).toBe('{{pass.scanCode}} default of b label-x external-x id-x code-x project-x')
})

test('a variable without a value shows its default, or nothing', () => {
  expect(render(factsOf('x')).logoText).toBe(' default of b label-x external-x id-x code-x project-x')
  expect(render(factsOf('x', { b: '' })).logoText).toBe('  label-x external-x id-x code-x project-x')
})

test('undeclared variables render nowhere', () => {
  expect(JSON.stringify(render(factsOf('x', { secret: 'MARKER', 'pass.label': 'MARKER' })))).not.toContain('MARKER')
})

test('the scan code is the default barcode message', () => {
  const plain = parseDefinition({ design: { organizationName: 'O', description: 'D' } })
  expect(barcodeMessage(plain, buildScope(plain, factsOf('x')))).toBe('code-x')
  expect(render(factsOf('x'), plain).barcode).toEqual({ format: 'qr', message: 'code-x', altText: null })
})

test('shows times in their zone: of definition, departure, or policy (periods, then windows), else UTC', () => {
  // The zone of this machine must have no effect.
  vi.stubEnv('TZ', 'America/St_Johns')
  onTestFinished(() => void vi.unstubAllEnvs())
  const moment = '2027-05-31T19:30:00Z'
  const shownWith = (more: object, variables: Record<string, string> = {}) => {
    const content = parseDefinition({
      variables: [{ name: 'zone', label: 'Zone' }],
      design: {
        organizationName: 'O',
        description: 'D',
        fields: { primary: [{ key: 'at', label: 'At', value: moment, as: 'time' }] },
      },
      ...more,
    })
    const card = renderCard({
      passType: 'generic',
      definition: content,
      scope: new Map(Object.entries(variables)),
      expiresAt: null,
      voided: false,
    })
    return card.fields.primary[0]!.value.replaceAll('\u202f', ' ')
  }
  const daily = (timezone: string) => ({ redemption: { perPeriod: { unit: 'day', count: 1, timezone } } })
  expect(shownWith({})).toBe('7:30 PM UTC')
  expect(shownWith(daily('Europe/Lisbon'))).toBe('8:30 PM GMT+1')
  expect(shownWith(daily('{{zone}}'), { zone: 'Asia/Tokyo' })).toBe('4:30 AM GMT+9')
  expect(shownWith(daily('{{zone}}'), { zone: 'nowhere' })).toBe('7:30 PM UTC')
  const within = (...starts: string[]) => ({
    redemption: { windows: [{ end: '2027-06-30T00:00:00Z' }, ...starts.map((start) => ({ start }))] },
  })
  expect(shownWith(within('2027-05-01T00:00:00+05:30', '2027-05-02T00:00:00Z'))).toBe('1:00 AM UTC+5:30')
  expect(shownWith(within('{{zone}}'), { zone: '2027-05-01T00:00:00+02:00' })).toBe('9:30 PM UTC+2')
  expect(shownWith(within('{{zone}}'), { zone: 'never' })).toBe('7:30 PM UTC')
  expect(shownWith(within())).toBe('7:30 PM UTC')
  expect(
    shownWith({ redemption: { ...daily('Asia/Tokyo').redemption, ...within('2027-05-01T00:00:00+02:00').redemption } }),
  ).toBe('4:30 AM GMT+9')
  expect(shownWith({ ...daily('Europe/Lisbon'), timeZone: 'Asia/Tokyo' })).toBe('4:30 AM GMT+9')
  const trip = { ...daily('Asia/Tokyo'), trip: { mode: 'train', from: { name: 'A', timeZone: '{{zone}}' } } }
  expect(shownWith(trip, { zone: 'Europe/Lisbon' })).toBe('8:30 PM GMT+1')
  for (const zone of ['', 'nowhere']) expect(shownWith(trip, { zone })).toBe('4:30 AM GMT+9')
  expect(shownWith({ ...trip, timeZone: 'UTC' }, { zone: 'Europe/Lisbon' })).toBe('7:30 PM UTC')
})
