import { expect, test } from 'vitest'
import { z } from 'zod'
import { Definition, type DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import {
  inLanguage,
  languageOf,
  listTexts,
  missingTranslations,
  otherLanguages,
} from '../../../../src/core/rules/template/definition-languages.ts'
import { namedImages } from '../../../../src/core/rules/template/image-choice.ts'

const design = { organizationName: 'Harbour', description: 'Ticket' }
const languages = { default: 'pt', others: ['en', 'ar'] }

function define(parts: Partial<DefinitionInput>) {
  return Definition.parse({ design, ...parts })
}

function issuesOf(parts: Partial<DefinitionInput>): string[] {
  return checkDefinition(define(parts)).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const fields = (...back: { label?: unknown; value: unknown }[]) =>
  ({ back: back.map((field, n) => ({ key: `f${n}`, ...field })) }) as NonNullable<DefinitionInput['design']['fields']>

interface Schema {
  type?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
  anyOf?: Schema[]
}

/** Yields a value for each text that can have translations, with only this text. */
function* translatedTexts(schema: Schema): Generator<unknown> {
  const { properties = {}, additionalProperties, items, anyOf = [] } = schema
  const isText = anyOf.some(({ type }) => type === 'string')
  if (isText && anyOf.some((other) => other.additionalProperties?.type === 'string')) yield { pt: 'Porta' }
  for (const part of anyOf) yield* translatedTexts(part)
  for (const [key, part] of Object.entries(properties)) {
    if (key !== 'images') for (const value of translatedTexts(part)) yield { [key]: value }
  }
  if (items) for (const value of translatedTexts(items)) yield [value]
  if (additionalProperties) for (const value of translatedTexts(additionalProperties)) yield { any: value }
}

test('every text that the schema allows to translate is read in one language', () => {
  const values = [...translatedTexts(z.toJSONSchema(Definition, { io: 'input', reused: 'inline' }) as Schema)]
  expect(values).toContainEqual({ trip: { to: { city: { pt: 'Porta' } } } })
  expect(values.filter((value) => listTexts(value as ReturnType<typeof define>).length !== 1)).toEqual([])
})

test('a definition reads in each language, else in its default; without languages it stays unchanged', () => {
  const written = define({
    languages,
    variables: [{ name: 'gate', label: 'Gate' }],
    design: {
      ...design,
      organizationName: { pt: 'Porto', en: 'Harbour', ar: 'ميناء' },
      fields: fields({ label: { pt: 'Porta', en: 'Gate' }, value: '{{gate}}' }),
      barcode: { altText: { pt: 'Bilhete', ar: 'تذكرة' } },
      links: [{ label: { pt: 'Mapa', en: 'Map' }, url: 'https://example.com' }],
    },
    door: { notice: { pt: 'Pulseira', en: 'Wristband' } },
  })
  const plain = inLanguage(written)
  expect([languageOf(plain), ...otherLanguages(plain).map(languageOf)]).toEqual(['pt', 'en', 'ar'])
  const read = ['pt', 'en', 'ar'].map((language) => {
    const { design, door } = inLanguage(plain, language)
    const { label, value } = design.fields.back[0]!
    return [design.organizationName, label, value, design.barcode?.altText, design.links[0]!.label, door!.notice]
  })
  expect(read).toEqual([
    ['Porto', 'Porta', '{{gate}}', 'Bilhete', 'Mapa', 'Pulseira'],
    ['Harbour', 'Gate', '{{gate}}', 'Bilhete', 'Map', 'Wristband'],
    ['ميناء', 'Porta', '{{gate}}', 'تذكرة', 'Mapa', 'Pulseira'],
  ])
  expect(inLanguage(written, 'en')).toBe(inLanguage(plain, 'en'))
  expect([...missingTranslations(written)].map(({ path, language }) => `${path.join('.')} ${language}`)).toEqual([
    'design.fields.back.0.label ar',
    'design.barcode.altText en',
    'design.links.0.label ar',
    'door.notice ar',
  ])
  const one = define({})
  expect(inLanguage(one)).toBe(one)
  expect([languageOf(inLanguage(one)), otherLanguages(inLanguage(one))]).toEqual([undefined, []])
})

test('rejects languages that phones cannot distinguish or that are unused, with their path', () => {
  expect(issuesOf({ languages: { default: 'pt', others: ['en', 'en', 'pt'] } })).toEqual([
    'languages.others.1: Duplicate language en',
    'languages.others.2: Duplicate language pt',
  ])
  const label = (text: unknown) => ({ design: { ...design, fields: fields({ label: text, value: 'x' }) } })
  expect(issuesOf(label({ pt: 'Porta' }))).toEqual([
    'design.fields.back.0.label.pt: Set languages, such as { "default": "pt" }, if a text is in several languages',
  ])
  expect(issuesOf({ languages, ...label({ en: 'Gate', de: 'Tor' }) })).toEqual([
    'design.fields.back.0.label.de: The languages of the definition are pt, en, ar: add de, or remove it here',
    'design.fields.back.0.label: Missing the default language pt, which is the fallback if a language has no text',
  ])
  expect(() => define({ languages: { default: 'Portuguese' } })).toThrow(
    /Must be a language such as pt, pt-BR or zh-Hans/,
  )
  // An error in only one language is reported with the language.
  expect(issuesOf({ languages, ...label({ pt: 'Porta', en: 'Gate {{number}}' }) })).toEqual([
    expect.stringMatching(/^design\.fields\.back\.0\.label\.en: Unknown placeholder \{\{number\}\}/),
  ])
})

test('rejects one default text with two translations, which iPhones cannot hold, with both paths', () => {
  const twice = fields(
    { label: { pt: 'Porta', en: 'Gate' }, value: 'x' },
    { label: { pt: 'Porta', en: 'Door' }, value: 'y' },
    { label: 'Porta', value: { pt: 'x', en: 'x' } },
  )
  expect(issuesOf({ languages, design: { ...design, fields: twice } })).toEqual([
    expect.stringMatching(
      /^design\.fields\.back\.1\.label: "Porta" is "Door" in en here and "Gate" at design\.fields\.back\.0\.label/,
    ),
    expect.stringMatching(
      /^design\.fields\.back\.2\.label: "Porta" is "Porta" in en here and "Gate" at design\.fields\.back\.0\.label/,
    ),
  ])
  // Semantic tags contain the name of a venue, but not its address or instructions for the door.
  const quay = (en: string) => ({ pt: 'Cais', en })
  const other = { event: { venue: { name: quay('Dock'), address: quay('Wharf') } }, door: { notice: quay('Pier') } }
  expect(issuesOf({ languages, design: { ...design, organizationName: quay('Quay') }, ...other })).toEqual([
    expect.stringMatching(/^event\.venue\.name: "Cais" is "Dock" in en here and "Quay" at design\.organizationName/),
  ])
})

const id = (n: number) => `0b5f2c3e-1111-8222-8333-44445555666${n}`
const images = (strip: unknown) => ({ design: { ...design, images: { strip } } }) as Partial<DefinitionInput>

test('each language can have its own image, from any source of images', () => {
  const state = { by: '{{stamps}}', map: { '1': id(2) }, else: id(3) }
  const written = define({
    languages,
    variables: [{ name: 'stamps', label: 'Stamps' }],
    ...images({ pt: id(1), en: state }),
  })
  expect(['pt', 'en', 'ar'].map((language) => inLanguage(written, language).design.images.strip)).toEqual([
    id(1),
    state,
    id(1),
  ])
  expect([...namedImages(written)].map(({ path, id }) => [path.slice(2).join('.'), id])).toEqual([
    ['strip.pt', id(1)],
    ['strip.en.map.1', id(2)],
    ['strip.en.else', id(3)],
  ])
  expect([...missingTranslations(written)].map(({ path, language }) => [...path, language])).toEqual([
    ['design', 'images', 'strip', 'ar'],
  ])
  expect(checkDefinition(written)).toEqual([])
  // Translators receive only texts.
  expect(listTexts(written).map(({ path }) => path[1])).not.toContain('images')
})

test('errors of an image by language name its language', () => {
  const state = { by: '{{stamp}}', map: { '1': '{{photo}}' } }
  expect(issuesOf({ languages, ...images({ pt: id(1), ar: state }) })).toEqual([
    'design.images.strip.ar.map.1: {{photo}} is not an image: declare the variable with the format image',
    expect.stringMatching(/^design\.images\.strip\.ar\.by: Unknown placeholder \{\{stamp\}\}/),
    expect.stringMatching(/^design\.images\.strip\.ar\.map\.1: Unknown placeholder \{\{photo\}\}/),
  ])
  expect(issuesOf({ languages, ...images({ pt: state }) })).toEqual([
    'design.images.strip.pt.map.1: {{photo}} is not an image: declare the variable with the format image',
    expect.stringMatching(/^design\.images\.strip\.pt\.by: Unknown placeholder \{\{stamp\}\}/),
    expect.stringMatching(/^design\.images\.strip\.pt\.map\.1: Unknown placeholder \{\{photo\}\}/),
  ])
  expect(issuesOf({ languages, ...images({ en: id(1), de: id(2) }) })).toEqual([
    'design.images.strip.de: The languages of the definition are pt, en, ar: add de, or remove it here',
    'design.images.strip: Missing the default language pt, which is the fallback if a language has no image',
  ])
  expect(issuesOf(images({ pt: id(1) }))).toEqual([
    'design.images.strip.pt: Set languages, such as { "default": "pt" }, if an image is in several languages',
  ])
  for (const odd of [
    { by: '{{x}}' },
    { map: id(1) },
    { by: '{{x}}', else: id(1) },
    { pt: { en: id(1) } },
    { Pt: id(1) },
    7,
  ])
    expect(() => define({ languages, ...images(odd) })).toThrow(
      /or one of these for each language|Must be \{ by, map, else \}, or have one image for each language/,
    )
  const states = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}`, id(1)]))
  const many = { by: 'x', map: states, else: id(1) }
  const tags = Array.from('abcdefghijklmnopqrst', (letter) => `${letter}q`)
  const all = Object.fromEntries(tags.map((tag) => [tag, many]))
  const [first, ...others] = tags
  expect(issuesOf({ languages: { default: first!, others: others.slice(0, 19) }, ...images(all) })).toEqual([
    expect.stringMatching(/^design\.images: The design names more than 2000 images/),
  ])
})
