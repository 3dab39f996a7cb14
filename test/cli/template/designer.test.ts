import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { zipSync } from 'fflate'
import { afterAll, expect, test } from 'vitest'
import { CliError } from '../../../src/cli/command/cli-error.ts'
import { importDesignerTemplate } from '../../../src/cli/template/designer/import-template.ts'
import { draftOf, readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import { checkDefinition } from '../../../src/core/rules/template/definition.ts'
import { previewOf, samplePass } from '../../../src/server/pages/card/card-preview.ts'
import { createWarnings, platformIssuesOf, previewWallets } from '../../../src/server/pages/template-dev/content.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { festival, flight, loyalty, museum, writeArchive, writeBundle } from './designer-bundles.ts'

const at = new Date(0)
const finder = createWarnings()
afterAll(() => finder.close())

async function importAt(path: string, folder = temporaryFolder(), replaces = false) {
  const file = join(folder, 'card.json')
  const report = await importDesignerTemplate(path, {
    file,
    key: 'card',
    name: 'Card',
    replaces,
    findPlatformIssues: (content) => platformIssuesOf(content, at),
  })
  return { folder, file, report, template: JSON.parse(readFileSync(file, 'utf8')) }
}

async function importOf(files: Parameters<typeof writeBundle>[1]) {
  const imported = await importAt(writeBundle(temporaryFolder(), files))
  const file = await readTemplateFile(imported.file)
  const draft = draftOf(file)
  expect([...checkDefinition(file.definition), ...(await platformIssuesOf(draft, at)), ...draft.faults]).toEqual([])
  const { apple, google } = previewOf(samplePass(draft.definition, draft.passType), previewWallets, at)
  const { design, ...definition } = imported.template.definition
  const examples = Object.fromEntries(
    definition.variables.map(({ name, example }: Record<string, string>) => [name, example]),
  )
  return {
    ...imported,
    source: JSON.parse(String(files['pass.json'])),
    apple: apple!,
    google: google!,
    design,
    definition,
    examples,
    warnings: await finder.find(draft, at),
  }
}

/** Returns a part of pass.json without the keys that the editor adds. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).filter(([key, item]) => key !== '_id' && item !== 'PKTextAlignmentNatural')
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]))
}

const paths = (notes: { path: string }[]) => notes.map(({ path }) => path)

test('a membership with only a poster becomes both styles, with variables, and keeps the keys of iPhones', async () => {
  const { template, report, source, apple, design, definition, examples, warnings } = await importOf(museum)
  expect(template).toMatchObject({ key: 'card', name: 'Card', passType: 'generic' })
  expect(warnings).toEqual([])
  expect(apple.posterGeneric).toEqual(plain(source.posterGeneric))
  expect(apple).toMatchObject({
    generic: { primaryFields: [{ value: 'Jane Appleseed' }], auxiliaryFields: [{ value: '4006381333931' }] },
    barcodes: [{ format: 'PKBarcodeFormatEAN13', message: '4006381333931' }, { format: 'PKBarcodeFormatQR' }],
    footerBackgroundColor: 'rgb(10,20,30)',
    sharingProhibited: true,
  })
  expect(design).toMatchObject({
    colors: { background: '#22313f', foreground: '#ffffff', label: '#f3e3c3' },
    images: { icon: 'images/card/icon.png', artwork: 'images/card/artwork.png' },
    fields: {
      secondary: [
        { value: '{{since}}', as: 'date', style: 'medium' },
        { as: 'currency', currency: 'EUR' },
      ],
    },
    barcode: { format: 'ean13', message: '{{number}}', altText: '{{number}}' },
  })
  expect(examples).toMatchObject({ since: '2019-04-15', credit: '12.5', number: '4006381333931' })
  const byName = Object.fromEntries(definition.variables.map((one: { name: string }) => [one.name, one]))
  expect(byName).toMatchObject({
    since: { format: 'date' },
    number: { required: true },
    terms: { default: expect.any(String) },
  })
  expect(definition.apple.featuredActions).toEqual([expect.objectContaining({ identifier: 'benefits' })])
  expect(paths(report.unmapped)).toEqual(['locations.0.altitude', 'futureKey', 'featuredActions.1'])
  expect(report.dropped).toContain('authenticationToken')
  expect(JSON.stringify([template, report])).not.toMatch(/TEAM123456|sample-token|SAMPLE-SERIAL|_id|designer\.example/)
})

test('a poster ticket becomes an event in two languages, and lists the files without a use', async () => {
  const { report, source, apple, design, definition, examples, folder } = await importOf(festival)
  expect(apple.semantics).toEqual({ ...source.semantics, eventStartDate: expect.stringContaining('2027-07-10T18:00') })
  expect(apple).toMatchObject({ preferredStyleSchemes: ['posterEventTicket', 'eventTicket'], nfc: source.nfc })
  expect(definition.event).toMatchObject({ name: '{{event}}', doorsAt: '{{doors}}', seat: { gate: '{{gate}}' } })
  expect(definition).toMatchObject({ languages: { default: 'en', others: ['de'] }, expiresAt: '{{expiresAt}}' })
  expect(design.fields.primary[0].label).toEqual({ en: 'EVENT', de: 'EVENT (DE)' })
  expect(design.fields.auxiliary[0].value).toEqual({ en: 'Bring this ticket', de: 'Bitte mitbringen' })
  expect(design.images.artwork).toEqual({ en: 'images/card/artwork.png', de: 'images/card/artwork-de.png' })
  expect(readFileSync(join(folder, 'images/card/artwork-de.png'))).toEqual(festival['de.lproj/artwork@3x.png'])
  expect(readFileSync(join(folder, 'images/card/icon.png'))).toEqual(festival['icon@3x.png'])
  expect(examples).toMatchObject({ seatRow: '4', venueLatitude: '38.7' })
  expect(paths(report.unmapped).toSorted()).toEqual(['de.lproj/pass.strings', 'notes.txt', 'secondaryLogo.pdf'])
})

test('a flight becomes a trip with the semantic style, and its facts share the variables of fields', async () => {
  const { source, apple, google, definition, report } = await importOf(flight)
  expect(apple).toMatchObject({ preferredStyleSchemes: source.preferredStyleSchemes, semantics: source.semantics })
  expect(apple.boardingPass).toMatchObject({ transitType: 'PKTransitTypeAir', primaryFields: [{ value: 'LIS' }, {}] })
  expect(google.class).toMatchObject({ origin: { airportIataCode: 'LIS' }, flightHeader: { flightNumber: '1943' } })
  expect(definition.trip).toMatchObject({ from: { code: '{{from}}' }, boardsAt: '{{boards}}', seat: '{{seat}}' })
  expect(definition.apple.semantics.seats).toEqual([{ seatNumber: '{{seat}}', seatType: '{{seatType}}' }])
  expect(paths(report.assumed)).toEqual(['barcode.message', 'icon.png'])
})

test('a fact does not share the variable of a field if another fact, or another field, has the same value', async () => {
  const change = (from: string, to: string) => ({
    ...festival,
    'pass.json': String(festival['pass.json']).replace(from, to),
  })
  const twoFacts = await importOf(change('"seatSection": "Lawn"', '"seatSection": "B"'))
  expect(twoFacts.definition.event.seat).toMatchObject({ gate: '{{venueEntranceGate}}', section: '{{seatSection}}' })
  const otherName = await importOf(change('"key": "gate"', '"key": "zone"'))
  expect(otherName.definition.event.seat.gate).toBe('{{venueEntranceGate}}')
})

test('a poster with other fields than the classic style keeps both, and values keep their form', async () => {
  const { source, apple, report, examples } = await importOf(loyalty)
  expect(apple.posterGeneric).toEqual(plain(source.posterGeneric))
  expect(apple.storeCard).toEqual(plain(source.storeCard))
  expect(examples).toEqual({ points: '1240', discount: '0.15', tier: 'Gold' })
  expect(paths(report.kept)).toEqual(['storeCard.secondaryFields', 'posterGeneric.primaryFields'])
})

test.each(['Template.pkpasstemplate/', ''])(
  'a ZIP archive with the folder "%s" is the same as the folder',
  async (top) => {
    const { template } = await importAt(writeArchive(temporaryFolder(), museum, top))
    expect(template).toEqual((await importAt(writeBundle(temporaryFolder(), museum))).template)
  },
)

test('writes nothing if a file exists, and replaces files only on request', async () => {
  const path = writeBundle(temporaryFolder(), museum)
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'images/card'), { recursive: true })
  writeFileSync(join(folder, 'images/card/primaryLogo.png'), 'mine')
  await expect(importAt(path, folder)).rejects.toThrow('primaryLogo.png already exists')
  expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual([
    'images',
    'images/card',
    'images/card/primaryLogo.png',
  ])
  expect(readFileSync(join(folder, 'images/card/primaryLogo.png'), 'utf8')).toBe('mine')
  await importAt(path, folder, true)
  expect(readFileSync(join(folder, 'images/card/primaryLogo.png'))).toEqual(museum['primaryLogo@3x.png'])
  expect(readdirSync(join(folder, 'images/card')).toSorted()).toEqual(['artwork.png', 'icon.png', 'primaryLogo.png'])
})

test('does not follow links, does not read damaged images, and never leaves the folder', async () => {
  const outside = temporaryFolder()
  writeFileSync(join(outside, 'secret.png'), museum['icon.png']!)
  const path = writeBundle(temporaryFolder(), { ...museum, 'strip.png': 'not a picture' })
  symlinkSync(join(outside, 'secret.png'), join(path, 'logo.png'))
  symlinkSync(outside, join(path, 'fr.lproj'))
  const { report, template } = await importAt(path)
  expect(paths(report.unmapped)).toEqual(expect.arrayContaining(['logo.png', 'fr.lproj', 'strip.png']))
  expect(Object.keys(template.definition.design.images)).toEqual(['icon', 'artwork', 'primaryLogo'])

  const folder = temporaryFolder()
  const archive = writeArchive(outside, { ...museum, '../../escaped.png': museum['icon.png']!, '/abs.json': '{}' })
  expect(paths((await importAt(archive, folder)).report.unmapped)).toContain('../../escaped.png')
  expect(readdirSync(folder).toSorted()).toEqual(['card.json', 'images'])
})

test.each([
  ['no pass.json', { 'icon.png': 'x' }, 'has no pass.json'],
  ['a pass.json that is not an object', { 'pass.json': '[]' }, 'is not a JSON object'],
  ['a deep pass.json', { 'pass.json': `{"a":${'['.repeat(1000)}${']'.repeat(1000)}}` }, 'nested more than 32 levels'],
  ['a large pass.json', { 'pass.json': `{"a":"${'a'.repeat(1024 * 1024)}"}` }, 'at most 1 MiB'],
  ['no style', { 'pass.json': '{"description":"x"}' }, 'has no style'],
  ['too many files', Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`${n}`, ''])), 'more than 500 files'],
])('rejects a template with %s, and writes nothing', async (_, files, message) => {
  const folder = temporaryFolder()
  await expect(importAt(writeBundle(temporaryFolder(), files as Record<string, string>), folder)).rejects.toThrow(
    message,
  )
  expect(readdirSync(folder)).toEqual([])
})

test('a pass without a signature is reported, because its values can be those of a holder', async () => {
  const { 'tooling.json': _, ...files } = museum
  for (const path of [writeBundle(temporaryFolder(), files), writeArchive(temporaryFolder(), files, '')]) {
    const { assumed } = (await importAt(path)).report
    expect(assumed).toEqual([{ path: 'pass.json', reason: expect.stringContaining('the pass of a holder') }])
  }
})

test.each(['signature', 'manifest.json'])('rejects a signed pass, which has a %s, and writes nothing', async (name) => {
  const files = { ...museum, [name]: '{}' }
  for (const path of [writeBundle(temporaryFolder(), files), writeArchive(temporaryFolder(), files, '')]) {
    const folder = temporaryFolder()
    const error = await importAt(path, folder).catch((rejection: unknown) => rejection)
    expect(error).toMatchObject({
      message: expect.stringContaining('is a signed pass'),
      hint: expect.stringMatching(/pkpasstemplate.* packages/),
    })
    expect(readdirSync(folder)).toEqual([])
  }
})

test('rejects an archive whose files are too large in all, before it decompresses them', async () => {
  const names = Array.from({ length: 9 }, (_, n) => [`${n}.png`, new Uint8Array(10)])
  const archive = Buffer.from(zipSync(Object.fromEntries(names)))
  for (let entry = archive.indexOf('PK\x01\x02'); entry !== -1; entry = archive.indexOf('PK\x01\x02', entry + 4)) {
    archive.writeUInt32LE(16 * 1024 * 1024, entry + 24)
  }
  const path = join(temporaryFolder(), 'bomb.zip')
  writeFileSync(path, archive)
  await expect(importAt(path)).rejects.toThrow('the archive is too large')
  writeFileSync(path, 'text')
  await expect(importAt(path)).rejects.toThrow('it is not a ZIP archive')
})

const damage = fc.constantFrom<unknown>(null, '', 'x'.repeat(12_000), '\0\ud800', '__proto__', 1e21, true, [], {}, [
  null,
])

/** Replaces values of a JSON object by others, each at a place that its number chooses. */
function damaged(value: object, changes: readonly (readonly [number, unknown])[]): object {
  const copy = structuredClone(value)
  for (const [number, other] of changes) {
    const places: [Record<string, unknown>, string][] = []
    const walk = (holder: Record<string, unknown>) => {
      for (const [key, item] of Object.entries(holder)) {
        places.push([holder, key])
        if (typeof item === 'object' && item !== null) walk(item as Record<string, unknown>)
      }
    }
    walk(copy as Record<string, unknown>)
    const [holder, key] = places[number % places.length]!
    holder[key] = structuredClone(other)
  }
  return copy
}

test('any damage to pass.json leads to a template file that can be read, or to a reason', async () => {
  const ofBundle = fc.constantFrom(museum, festival, flight, loyalty)
  const changes = fc.array(fc.tuple(fc.nat(), damage), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(ofBundle, changes, async (files, edits) => {
      const folder = temporaryFolder()
      const passJson = JSON.stringify(damaged(JSON.parse(String(files['pass.json'])), edits))
      const path = writeBundle(folder, { ...files, 'pass.json': passJson })
      const imported = await importAt(path, folder).catch((error: unknown) => error)
      if (imported instanceof CliError) return
      const file = await readTemplateFile(join(folder, 'card.json'))
      const issues = [...checkDefinition(file.definition), ...(await platformIssuesOf(draftOf(file), at))]
      // The designer has to decide how a ticket without its facts is read and shown.
      const open = /^(design\.images|event|nfc|apple\.nfc)/
      expect(issues.map((issue) => issue.path.join('.')).filter((place) => !open.test(place))).toEqual([])
    }),
    { numRuns: times(15, 1000) },
  )
})
