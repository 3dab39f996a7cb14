import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import TemplateLint from '../../../../src/commands/template/lint.ts'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput, PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { plainPng } from '../../../../src/files/plain-png.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect, temporaryFolder } from '../../../support/databases.ts'
import { header, pixels, png } from '../../../support/image-parts.ts'
import { makeTemplate } from '../../fixtures.ts'

const design = { organizationName: 'Harbour', description: 'Ticket' }
const field = { key: 'name', label: 'NAME', value: 'x' }
const primary = (value: object) => ({ design: { ...design, fields: { primary: [{ ...field, ...value }] } } })
const apple = (keys: object) => ({ design, apple: keys })
const google = (keys: object) => ({ design, google: keys })
const ofObject = (keys: object) => google({ object: keys })

const ofProject = google({ kind: 'eventTicket', class: { issuerName: '{{project.name}}' } })

const broken: [string, object, PassType?][] = [
  ['an unknown placeholder', { design: { ...design, logoText: '{{nobody}}' } }],
  ['an unknown placeholder of a system variable', { design: { ...design, description: '{{pass.nothing}}' } }],
  ['a text where a number belongs', primary({ as: 'number', value: 'many' })],
  ['an amount without a currency', primary({ as: 'currency', value: '5' })],
  ['an unknown currency', primary({ as: 'currency', value: '5', currency: 'XXY' })],
  ['a style of a text', primary({ style: 'long' })],
  ['an aligned primary field', primary({ align: 'center' })],
  ['a change message without its value', primary({ changeMessage: 'changed' })],
  ['an unknown field in google.points', google({ points: 'stars' })],
  ['an unknown field in google.rows', google({ rows: [['stars']] })],
  [
    'a trip that ends before it starts',
    { design, trip: { mode: 'bus', departsAt: '2027-05-02T00:00:00Z', arrivesAt: '2027-05-01T00:00:00Z' } },
    'boardingPass',
  ],
  [
    'an unknown time zone of a trip',
    { design, trip: { mode: 'bus', from: { timeZone: 'Mars/Base' } } },
    'boardingPass',
  ],
  ['an event and a trip', { design, event: { name: 'x' }, trip: { mode: 'bus' } }, 'eventTicket'],
  [
    'a window that ends before it starts',
    { design, redemption: { windows: [{ start: '2027-05-02T00:00:00Z', end: '2027-05-01T00:00:00Z' }] } },
  ],
  ['an unknown variable at the door', { design, door: { show: ['nobody'] } }],
  ['an unsafe link', { design: { ...design, links: [{ label: 'x', url: 'javascript:alert(1)' }] } }],
  ['an expiry that is no time', { design, expiresAt: 'soon' }],
  [
    'a required variable with a wrong default',
    { design, variables: [{ name: 'day', label: 'Day', format: 'date', default: 'today' }] },
  ],
  ['a color of Apple without its form', apple({ backgroundColor: 'blue' })],
  ['an Apple date without an offset', apple({ relevantDate: '2027-05-01T10:00:00' })],
  ['a launch address without its app', apple({ appLaunchURL: 'harbour://x' })],
  ['a wrong type in semantics', apple({ semantics: { eventName: 5 } })],
  ['a distance that is no number', apple({ maxDistance: 'far' })],
  ['a field of Apple without a key', apple({ generic: { headerFields: [{ value: 'x' }] } })],
  ['a poster without its images', apple({ poster: true }), 'eventTicket'],
  ['an unknown field of a Google object', ofObject({ nothing: 1 })],
  ['a wrong type in a Google object', ofObject({ barcode: 'x' })],
  ['a field of a Google object that the server sets', ofObject({ state: 'SLEEPING' })],
  ['a wrong color of a Google object', ofObject({ hexBackgroundColor: 'blue' })],
  [
    'messages of a Google object',
    ofObject({ messages: [{ header: 'Doors', body: 'Open', messageType: 'TEXT_AND_NOTIFY' }] }),
  ],
  [
    'a place with an address',
    apple({ featuredActions: [{ identifier: 'a', type: 'place', url: 'https://a.example/' }] }),
  ],
  ['a key that is not of NFC readers', { design, nfc: { message: 'x', publicKey: 'AAAA' } }],
  [
    'an EAN-13 with a wrong check digit',
    { design: { ...design, barcode: { format: 'ean13', message: '4006381333932' } } },
  ],
  ['an unknown field of a Google class', google({ class: { nothing: 1 } })],
  ['a required text that consists of the name of a project, without a project', ofProject],
]

/** Runs `template lint FILE --json`, and returns its exit code and the paths of its errors. */
async function lint(file: string) {
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const before = process.exitCode
  process.exitCode = 0
  await TemplateLint.run([file, '--json'], { root: import.meta.dirname })
  const code = process.exitCode
  process.exitCode = before
  const text = printed.mock.calls.map(([chunk]) => chunk).join('')
  printed.mockRestore()
  const { error } = JSON.parse(text) as { error?: { details: { issues: { path: unknown[] }[] } } }
  return { code, paths: error?.details.issues.map(({ path }) => path) ?? [] }
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function publish(definition: DefinitionInput, passType: PassType) {
    const workspace = await api.workspace()
    const { id: templateId } = await makeTemplate(workspace, { passType })
    const created = await workspace.call(contract.templates.createVersion, {
      params: { id: templateId },
      body: { definition },
    })
    if (created.status !== 201) return created
    const { id } = created.body as { id: string }
    return workspace.call(contract.templateVersions.publish, { params: { id } })
  }

  test.each(broken)(
    'template lint and publishing reject %s with the same paths',
    async (_, definition, passType = 'generic') => {
      const { status, body } = await publish(definition as DefinitionInput, passType)
      const file = join(temporaryFolder(), 'template.json')
      writeFileSync(file, JSON.stringify({ key: 'x', name: 'x', passType, definition }))
      const { code, paths } = await lint(file)
      expect([status, code]).toEqual([400, 1])
      expect(paths).toEqual(
        (body as { details: { issues: { path: unknown[] }[] } }).details.issues.map(({ path }) => path),
      )
    },
  )

  test('template lint accepts a required text that consists of the name of the project of the file', async () => {
    const file = join(temporaryFolder(), 'template.json')
    const template = { key: 'x', name: 'x', project: 'Fair', passType: 'generic', definition: ofProject }
    writeFileSync(file, JSON.stringify(template))
    expect(await lint(file)).toEqual({ code: 0, paths: [] })
  })

  test('template lint rejects an image that an upload would reject, at each place that names it', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'template.json')
    const images = { icon: 'a.png', logo: { en: 'a.png', de: 'b.png' } }
    const languages = { default: 'en', others: ['de'] }
    const definition = { languages, design: { ...design, images } }
    writeFileSync(file, JSON.stringify({ key: 'x', name: 'x', passType: 'generic', definition }))
    writeFileSync(join(folder, 'a.png'), png(header(480, 480), pixels(620)))
    writeFileSync(join(folder, 'b.png'), plainPng(480, 150, '#22313f'))
    const paths = [['icon'], ['logo', 'en']].map((path) => ['definition', 'design', 'images', ...path])
    expect(await lint(file)).toEqual({ code: 1, paths })
  })

  const examples = join(import.meta.dirname, '../../../../examples')
  test.each(readdirSync(examples).filter((name) => existsSync(join(examples, name, 'template.json'))))(
    'template lint accepts the example %s',
    async (name) => {
      expect(await lint(join(examples, name, 'template.json'))).toEqual({ code: 0, paths: [] })
    },
  )
})
