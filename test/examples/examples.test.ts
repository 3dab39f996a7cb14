import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { attendees } from '../../examples/generator/attendees.ts'
import { brokenRows } from '../../examples/generator/broken-attendees.ts'
import { codePointLength } from '../../src/core/bounds.ts'
import { type Definition, PassType } from '../../src/core/contract/schemas/definition.ts'
import { readPoster } from '../../src/core/rules/display/poster.ts'
import { checkDefinition } from '../../src/core/rules/template/definition.ts'
import { inLanguage } from '../../src/core/rules/template/definition-languages.ts'
import { resolvePolicies } from '../../src/core/rules/template/resolve.ts'
import { compileVariables } from '../../src/core/rules/template/variables.ts'
import { NIL_UUID } from '../../src/core/uuid.ts'
import { samplePass } from '../../src/server/pages/card/card-preview.ts'
import { checkOverrides } from '../../src/wallets/apple/overrides/override-check.ts'
import { checkPoster } from '../../src/wallets/apple/overrides/poster-check.ts'
import { buildPassJson } from '../../src/wallets/apple/pass-json.ts'
import { parseDefinition } from '../support/definitions.ts'

const root = join(import.meta.dirname, '../..')
const folder = (example: string) => join(root, 'examples', example)

const examples = [
  { example: 'conference', passType: 'eventTicket', files: { 'attendees.csv': 2000, 'attendees-mended.csv': 18 } },
  { example: 'loyalty', passType: 'storeCard', files: { 'members.csv': 200 } },
  { example: 'coffee-card', passType: 'storeCard', files: {} },
  { example: 'coupon', passType: 'coupon', files: { 'coupons.csv': 200 } },
  { example: 'boarding-pass', passType: 'boardingPass', files: { 'passengers.csv': 120 } },
  { example: 'museum', passType: 'generic', files: { 'cards.csv': 40 } },
  { example: 'festival', passType: 'eventTicket', files: { 'tickets.csv': 40 } },
]
/** Whether an example is a card of the coffee house, which have the same images. */
const isOfCoffee = (example: string) => ['loyalty', 'coffee-card'].includes(example)
/** The examples with a poster. */
const posters = ['museum', 'festival']

test.each(examples)('the $example template can be published as it is', async ({ example, passType }) => {
  const template = await readTemplate(example)
  expect(PassType.parse(template.passType)).toBe(passType)
  expect(checkDefinition(await readDefinition(example))).toEqual([])
})

test.each(examples)('the $example images are small PNG files of the sizes that wallets show', async ({ example }) => {
  const { design } = (await readTemplate(example)).definition
  // The strip of an event ticket is lower than that of a store card or coupon.
  const strip = ['conference', 'festival'].includes(example) ? [1125, 294] : [1125, 432]
  const sizes: Record<string, number[]> = {
    icon: [114, 114],
    logo: isOfCoffee(example) ? [150, 150] : [480, 150],
    // A boarding pass and a generic pass have no strip.
    ...(!['boarding-pass', 'museum'].includes(example) && { strip }),
    ...(posters.includes(example) && { artwork: [1074, 1344], primaryLogo: [378, 90] }),
    ...(!isOfCoffee(example) && { hero: [1032, 336] }),
  }
  const images = imagePaths(design.images)
  expect([...new Set(images.map(({ role }) => role))].sort()).toEqual(Object.keys(sizes).sort())
  for (const { role, path } of images) {
    const file = join(folder(example), path)
    const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true })
    expect([info.width, info.height], role).toEqual(sizes[role])
    expect((await stat(file)).size, role).toBeLessThan(60_000)
    const corner = `#${data.subarray(0, 3).toString('hex')}`
    if (role === 'logo') expect(corner).toBe(design.colors.background)
  }
})

test.each(posters)('the %s has a poster that Apple accepts', async (example) => {
  const passType = PassType.parse((await readTemplate(example)).passType)
  const definition = inLanguage(await readDefinition(example))
  expect([...checkOverrides(definition, passType), ...checkPoster(definition, passType)]).toEqual([])
  const { card } = samplePass(definition, passType)
  const names = { passTypeIdentifier: 'pass.com.example', teamIdentifier: 'A1B2C3D4E5' }
  const pass = { id: NIL_UUID, authenticationToken: NIL_UUID, card }
  const json = buildPassJson(pass, names, 'https://passes.example.com/apple')
  const poster = readPoster(JSON.parse(JSON.stringify(json)), { language: 'en' })
  expect(poster).toMatchObject({ since: 27, hasBarcode: true })
})

const goodFiles = examples.flatMap(({ example, files }) =>
  Object.entries(files).map(([file, count]) => ({ example, file, count })),
)

test.each(goodFiles)('each of the $count rows of $example/$file creates a pass', async ({ example, file, count }) => {
  const check = checkOf(await readDefinition(example))
  const [header, ...rows] = await readRows(example, file)
  expect(rows).toHaveLength(count)
  for (const row of rows) expect(check(header!, row), row.join()).toEqual([])
  expect(new Set(rows.map(([externalPassId]) => externalPassId)).size).toBe(count)
})

test('the attendees have the scripts, quotes, commas, line breaks, and emoji of real lists', async () => {
  const text = await readFile(join(folder('conference'), 'attendees.csv'), 'utf8')
  const scripts =
    'Latin Cyrillic Greek Arabic Hebrew Devanagari Tamil Bengali Han Hiragana Katakana Hangul Thai Ethiopic Georgian Armenian'
  const signs = [
    ...scripts.split(' ').map((script) => new RegExp(`\\p{Script=${script}}`, 'u')),
    /\u200d\p{Extended_Pictographic}/u,
    /\w'\w/,
    /\w’\w/,
    /""/,
    /\w, \w/,
    /\w-\w/,
    /\n1\. /,
  ]
  expect(signs.filter((sign) => !sign.test(text))).toEqual([])
  expect(text).not.toMatch(/\r|undefined|^\ufeff/)
})

test('no value of an attendee equals a label, whose translation iPhones would show for the value', async () => {
  const {
    back = [],
    header = [],
    primary = [],
    secondary = [],
    auxiliary = [],
  } = (await readDefinition('conference')).design.fields!
  const fields = [header, primary, secondary, auxiliary, back].flat()
  const labels = new Set(fields.map(({ label }) => label))
  const values = (await readRows('conference', 'attendees.csv')).flat()
  expect(new Set(values.filter((value) => labels.has(value)))).toEqual(new Set())
})

test('exactly the intended rows of the broken file fail', async () => {
  const check = checkOf(await readDefinition('conference'))
  const [header, ...rows] = await readRows('conference', 'attendees-broken.csv')
  const seen = new Set<string>()
  const refused = rows.flatMap((row, index) => {
    const repeated = seen.has(row[0]!)
    seen.add(row[0]!)
    return repeated || check(header!, row).length > 0 ? [index] : []
  })
  const meant = brokenRows(attendees({ seed: 521, first: 2001, count: 40 }))
  expect(rows).toHaveLength(40)
  expect(refused).toEqual(meant.map(({ index }) => index))
  expect(meant.map(({ cells }) => cells)).toEqual(meant.map(({ index }) => rows[index]))
})

test('fixed rows and correct rows together are the 40 late registrations', async () => {
  const [, ...broken] = await readRows('conference', 'attendees-broken.csv')
  const [, ...mended] = await readRows('conference', 'attendees-mended.csv')
  const fine = broken.filter((_, index) => index % 2 === 0 || index > 2 * mended.length)
  const ids = [...fine, ...mended].map(([externalPassId]) => externalPassId).sort()
  expect(ids).toEqual(Array.from({ length: 40 }, (_, index) => `PG27-${String(2001 + index).padStart(5, '0')}`))
})

const scripts = [
  {
    script: 'make-attendees.ts',
    base: 'conference',
    files: ['attendees.csv', 'attendees-broken.csv', 'attendees-mended.csv'],
  },
  {
    script: 'make-customers.ts',
    base: '.',
    files: [
      'loyalty/members.csv',
      'coupon/coupons.csv',
      'boarding-pass/passengers.csv',
      'museum/cards.csv',
      'festival/tickets.csv',
    ],
  },
]

test.each(scripts)('$script reproduces the same bytes', async ({ script, base, files }) => {
  const target = await mkdtemp(join(tmpdir(), 'passes-examples-'))
  try {
    await run(script, target)
    for (const file of files) {
      expect(await readFile(join(target, file), 'utf8')).toBe(await readFile(join(folder(base), file), 'utf8'))
    }
  } finally {
    await rm(target, { recursive: true })
  }
})

test('make-images.ts draws every image that the templates name, as committed', async () => {
  const target = await mkdtemp(join(tmpdir(), 'passes-examples-'))
  try {
    await run('make-images.ts', target)
    for (const { example } of examples) {
      for (const { path } of imagePaths((await readTemplate(example)).definition.design.images)) {
        const pixels = (base: string) => sharp(join(base, path)).ensureAlpha().raw().toBuffer()
        const [drawn, committed] = [await pixels(join(target, example)), await pixels(folder(example))]
        // Allow a small difference, because edges are smoothed slightly differently on another processor.
        expect(meanDifference(drawn, committed), `${example}/${path}`).toBeLessThan(0.5)
      }
    }
  } finally {
    await rm(target, { recursive: true })
  }
})

type ImageInput = string | { by: string; map: Record<string, string>; else: string }

/** The files that a design names, with the role that each is for. */
function imagePaths(images: Record<string, ImageInput>): { role: string; path: string }[] {
  return Object.entries(images).flatMap(([role, choice]) => {
    const paths = typeof choice === 'string' ? [choice] : [...Object.values(choice.map), choice.else]
    return paths.filter((path) => !path.startsWith('{{')).map((path) => ({ role, path }))
  })
}

interface TemplateFile {
  name: string
  description: string
  passType: string
  definition: { design: { images: Record<string, ImageInput>; colors: { background: string } } }
}

async function readTemplate(example: string): Promise<TemplateFile> {
  return JSON.parse(await readFile(join(folder(example), 'template.json'), 'utf8'))
}

const NIL_ID = '00000000-0000-0000-0000-000000000000'

/** Returns the definition that the server would receive: each path of an image is replaced by an ID. */
async function readDefinition(example: string): Promise<Definition> {
  const { definition } = await readTemplate(example)
  const images = Object.fromEntries(Object.keys(definition.design.images).map((role) => [role, NIL_ID]))
  return parseDefinition({ ...definition, design: { ...definition.design, images } })
}

async function readRows(example: string, file: string): Promise<string[][]> {
  return parse(await readFile(join(folder(example), file)), { relax_column_count: true })
}

/** Returns a function that lists all issues of a row. An empty cell is an omitted variable. */
function checkOf(definition: Definition) {
  const checkVariables = compileVariables(definition)
  return (header: string[], row: string[]): unknown[] => {
    if (row.length !== header.length) return ['column count']
    const { externalPassId, label, ...cells } = Object.fromEntries(header.map((name, index) => [name, row[index]!]))
    // A photo is a file next to the list. The upload turns it into an image.
    const given = Object.entries(cells).map(([name, value]) => [name, value.startsWith('photos/') ? NIL_ID : value])
    const variables = Object.fromEntries(given.filter(([, value]) => value !== ''))
    const undeclared = Object.keys(cells).filter((name) => definition.variables.every((known) => known.name !== name))
    const lengths = [externalPassId, label].filter((value) => !value || codePointLength(value) > 255)
    const issues = [...undeclared, ...lengths, ...checkVariables(variables)]
    if (issues.length > 0) return issues
    const names = { id: '', scanCode: '', templateName: '', projectName: null }
    const resolved = resolvePolicies(definition, { ...names, externalPassId: '', label: '', variables })
    return 'issues' in resolved ? resolved.issues : []
  }
}

/** From 0 for the same pixels to 255 for black against white. */
function meanDifference(a: Buffer, b: Buffer): number {
  if (a.length !== b.length) return 255
  return a.reduce((sum, value, index) => sum + Math.abs(value - b[index]!), 0) / a.length
}

/** Runs a script in this process, because a separate one takes a second to start. Each script can run once. */
async function run(script: string, target: string): Promise<void> {
  const before = process.argv
  process.argv = [process.execPath, script, target]
  try {
    await import(join(root, 'examples', script))
  } finally {
    process.argv = before
  }
}
