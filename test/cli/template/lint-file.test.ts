import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { draftOf, readTemplateFile } from '../../../src/cli/template/template-file.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { plainPng } from '../../../src/files/plain-png.ts'
import { createWarnings } from '../../../src/server/pages/template-dev/content.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { parseDefinition } from '../../support/definitions.ts'

const icon = '00000000-0000-0000-0000-000000000000'
const field = (value: string) => ({ key: 'seat', label: 'Seat', value })

const finder = createWarnings()
afterAll(() => finder.close())

async function codesOf(design: Partial<DefinitionInput['design']>, rest: Partial<DefinitionInput> = {}) {
  const definition = parseDefinition({
    variables: [{ name: 'seat', label: 'Seat', maxLength: 4 }],
    design: { organizationName: 'Fair', description: 'Ticket', images: { icon }, ...design },
    ...rest,
  })
  const file = { definition, passType: 'eventTicket' as const, images: [], withImages: () => definition }
  return (await finder.find(draftOf(file), new Date(0))).map(({ code }) => code)
}

test('warns with the rules of the server about a file that iPhones or Google would show badly', async () => {
  const primary = [field('{{seat}}')]
  const pale = { colors: { foreground: '#ffffff' }, fields: { primary } }
  expect(await codesOf({ fields: { primary } })).toEqual([])
  expect(await codesOf({ ...pale, images: {} })).toEqual(['contrast-low', 'image-missing'])
  expect(await codesOf(pale, { apple: { backgroundColor: 'rgb(0, 0, 0)', labelColor: 'rgb(255, 255, 255)' } })).toEqual(
    [],
  )
  expect(await codesOf(pale, { accept: ['contrast-low'] })).toEqual([])
  expect(await codesOf({})).toEqual(['google-front-empty'])
  expect(await codesOf({ fields: { primary: [field('W'.repeat(60))] } })).toEqual(['text-cut'])
})

test('measures the strip of the file without a server, and names an image that is broken', async () => {
  const folder = temporaryFolder()
  const write = async (strip: Buffer | string) => {
    writeFileSync(join(folder, 'strip.png'), strip)
    const colors = { background: '#1a1a2e', foreground: '#ffffff', label: '#ffffff' }
    const fields = { primary: [field('12')] }
    const design = {
      organizationName: 'Fair',
      description: 'Ticket',
      images: { icon, strip: 'strip.png' },
      colors,
      fields,
    }
    const path = join(folder, 'ticket.json')
    writeFileSync(path, JSON.stringify({ name: 'Ticket', passType: 'eventTicket', definition: { design } }))
    return draftOf(await readTemplateFile(path))
  }
  const plain = (background: string) =>
    sharp({ create: { width: 1125, height: 294, channels: 4, background } })
      .png()
      .toBuffer()
  const codesFor = async (strip: Buffer) => (await finder.find(await write(strip), new Date(0))).map(({ code }) => code)
  expect(await codesFor(await plain('#ffffff'))).toEqual(['strip-contrast-low', 'strip-contrast-low'])
  expect(await codesFor(await plain('#101020'))).toEqual([])
  // EXIF turns this picture, so that it is 500 x 300 pixels.
  const turned = sharp({ create: { width: 300, height: 500, channels: 3, background: '#101020' } })
  expect(await codesFor(await turned.jpeg().withMetadata({ orientation: 6 }).toBuffer())).toEqual(['image-small'])
  const image = await plain('#101020')
  const { faults } = await write(image.subarray(0, 60))
  expect(faults).toEqual([{ path: ['design', 'images', 'strip'], message: 'The image is a broken PNG' }])
})

test('names each image that cannot be used, with its place in the file', async () => {
  const path = join(temporaryFolder(), 'ticket.json')
  const images = {
    icon: 'https://fair.example/icon.png',
    logo: { by: '{{tier}}', map: { gold: 'gold.png' }, else: '.' },
  }
  const design = { organizationName: 'Fair', description: 'Ticket', images }
  const variables = [
    { name: 'tier', label: 'Tier' },
    { name: 'photo', label: 'Photo', format: 'image', example: 'data:image/png;base64,iVBORw0KGgo=' },
  ]
  const text = JSON.stringify({ name: 'Ticket', passType: 'generic', definition: { variables, design } })
  writeFileSync(path, text)
  const message = 'Must be an image file or the ID of an uploaded image, not a URL'
  await expect(readTemplateFile(path)).rejects.toMatchObject({
    message: `${path} names images that cannot be used`,
    details: {
      issues: [
        { path: ['definition', 'design', 'images', 'icon'], message, line: 1, column: text.indexOf('"https') + 1 },
        {
          path: ['definition', 'design', 'images', 'logo', 'map', 'gold'],
          message: expect.stringContaining('gold.png does not exist'),
        },
        { path: ['definition', 'design', 'images', 'logo', 'else'], message: expect.stringContaining('is a folder') },
        { path: ['definition', 'variables', 1, 'example'], message },
      ],
    },
  })
})

test('warns about a small image in a language other than the default', async () => {
  const folder = temporaryFolder()
  for (const [name, width] of [
    ['icon', 114],
    ['large', 480],
    ['small', 100],
  ] as const) {
    writeFileSync(join(folder, `${name}.png`), plainPng(width, width, '#22313f'))
  }
  const path = join(folder, 'ticket.json')
  const images = { icon: 'icon.png', logo: { en: 'large.png', de: 'small.png' } }
  const design = { organizationName: 'Fair', description: 'Ticket', images, fields: { primary: [field('12')] } }
  const definition = { languages: { default: 'en', others: ['de'] }, design }
  writeFileSync(path, JSON.stringify({ name: 'Ticket', passType: 'generic', definition }))
  const warnings = await finder.find(draftOf(await readTemplateFile(path)), new Date(0))
  expect(warnings.map(({ code }) => code)).toEqual(['image-small'])
})
