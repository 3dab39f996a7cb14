import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  keyOf,
  type StarterKind,
  starterFiles,
  starterKinds,
  starterTemplate,
} from '../../../src/cli/template/starters.ts'
import { draftOf, readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { writeTemplate } from '../../../src/cli/template/write-files.ts'
import { checkDefinition } from '../../../src/core/rules/template/definition.ts'
import { previewOf, samplePass, viewsOf } from '../../../src/server/pages/card/card-preview.ts'
import { createWarnings, platformIssuesOf, previewWallets } from '../../../src/server/pages/template-dev/content.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { parseDefinition } from '../../support/definitions.ts'

const facts = { key: 'k', name: 'Name', organization: 'Fair', icon: '00000000-0000-0000-0000-000000000000' }

test.each(starterKinds)('the starter for %s can be published unchanged, without a warning', async (kind) => {
  const folder = temporaryFolder()
  const { template, image } = starterFiles(kind, { ...facts, icon: 'images/k/icon.png' })
  const path = join(folder, 'k.json')
  const images = [{ path: join(folder, 'images/k/icon.png'), content: image }]
  writeTemplate({ path, content: template }, images, { replaces: false })
  const file = await readTemplateFile(path)
  expect(checkDefinition(file.definition)).toEqual([])
  const draft = draftOf(file)
  expect(draft.faults).toEqual([])
  expect(await platformIssuesOf(draft, new Date(0))).toEqual([])
  const finder = createWarnings()
  expect(await finder.find(draft, new Date(0))).toEqual([])
  finder.close()
})

test('the flight starter is a semantic boarding pass on an iPhone and a flight on Android', () => {
  const { apple, google } = viewsOfStarter('flight')
  expect(apple).toMatchObject({
    preferredStyleSchemes: ['semanticBoardingPass', 'boardingPass'],
    semantics: { airlineCode: 'GN', flightNumber: 1943, departureCityName: 'Porto', destinationCityName: 'Amsterdam' },
  })
  expect(google).toMatchObject({ title: 'OPO → AMS', rows: [[{ value: 'B12' }], [{}, {}], [{}, {}, {}]] })
})

test('the ticket starter fills the event of both wallets', () => {
  const { apple, google } = viewsOfStarter('event-ticket')
  expect(apple).toMatchObject({ semantics: { eventName: 'Spring fair', venueName: 'Town hall' } })
  expect(google).toMatchObject({ title: 'Spring fair' })
})

function viewsOfStarter(kind: StarterKind) {
  const { definition, passType } = starterTemplate(kind, facts)
  const pass = samplePass(parseDefinition(definition), passType)
  const [at, wallets] = [new Date(0), previewWallets]
  return { apple: previewOf(pass, wallets, at).apple, google: viewsOf(pass, wallets, at).google }
}

test.each([
  ['Café Crème 2027!', 'cafe-creme-2027'],
  ['--', ''],
  ['日本', ''],
  ['a'.repeat(80), 'a'.repeat(64)],
])('derives from the name "%s" the key "%s"', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test.each(['', 'A', 'a b', 'a'.repeat(65)])('rejects the key "%s"', (key) => {
  expect(() => starterTemplate('coupon', { ...facts, key })).toThrow('cannot be a key')
})
