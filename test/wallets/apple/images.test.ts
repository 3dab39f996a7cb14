import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { ImageFault } from '../../../src/core/rules/template/image.ts'
import { makeFiles } from '../../../src/server/images/make-files.ts'
import { createImageSets, type ImageSet, imageSizes } from '../../../src/wallets/apple/image-files.ts'
import { zip } from '../../../src/wallets/apple/package.ts'
import type { ImageSize } from '../../../src/wallets/wallet.ts'
import { picture } from './fixtures.ts'

const background = '#336699'

/** Serves image files by name, and counts the reads of each. */
function library(pictures: Record<string, Buffer | Error>) {
  const reads: string[] = []
  const loadImageFiles = async (id: string, sizes: readonly ImageSize[]) => {
    reads.push(id)
    const found = pictures[id]
    if (!(found instanceof Buffer)) throw found ?? new Error(`No image ${id}`)
    return (await makeFiles(found, sizes)).files
  }
  return { reads, loadImageFiles }
}

const filesOf = ({ part }: ImageSet) => unzipSync(zip([], [part]))

async function sizes(set: ImageSet): Promise<Record<string, string>> {
  const entries = Object.entries(filesOf(set)).map(async ([name, bytes]) => {
    const { format, width, height } = await sharp(bytes).metadata()
    return [name, `${format} ${width}x${height}`] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

test('a pass without an icon gets a plain one in the color of the card', async () => {
  const { loadImageFiles } = library({})
  const files = await createImageSets(loadImageFiles)({ images: {}, background })
  expect(await sizes(files)).toEqual({
    'icon.png': 'png 38x38',
    'icon@2x.png': 'png 76x76',
    'icon@3x.png': 'png 114x114',
  })
  const { channels } = await sharp(filesOf(files)['icon.png']!).stats()
  expect(channels.map(({ mean }) => mean)).toEqual([0x33, 0x66, 0x99])
})

test('an image shrinks to each scale that it fills; only icons are enlarged; JPEG becomes PNG', async () => {
  const { loadImageFiles } = library({
    icon: await picture(20, 20),
    logo: await picture(1000, 200, 'jpeg'),
    strip: await picture(800, 288),
    thumbnail: await picture(180, 240, 'jpeg'),
    hero: await picture(1032, 336),
  })
  const images = { icon: 'icon', logo: 'logo', strip: 'strip', thumbnail: 'thumbnail', hero: 'hero' }
  expect(await sizes(await createImageSets(loadImageFiles)({ images, background }))).toEqual({
    'icon.png': 'png 38x38',
    'icon@2x.png': 'png 76x76',
    'icon@3x.png': 'png 114x114',
    'logo.png': 'png 160x32',
    'logo@2x.png': 'png 320x64',
    'logo@3x.png': 'png 480x96',
    'strip.png': 'png 375x135',
    'strip@2x.png': 'png 750x270',
    'thumbnail.png': 'png 68x90',
    'thumbnail@2x.png': 'png 135x180',
  })
})

test("images of posters and boarding passes have Apple's file names", async () => {
  const sources = {
    artwork: [1074, 1344],
    primaryLogo: [378, 90],
    secondaryLogo: [405, 36],
    footer: [858, 45],
  } as const
  const pictures = await Promise.all(
    Object.entries(sources).map(async ([role, [width, height]]) => [role, await picture(width, height)]),
  )
  const { loadImageFiles } = library({ ...Object.fromEntries(pictures), icon: await picture(114, 114) })
  const images = { icon: 'icon', ...Object.fromEntries(Object.keys(sources).map((role) => [role, role])) }
  const made = await sizes(await createImageSets(loadImageFiles)({ images, background }))
  for (const [role, [width, height]] of Object.entries(sources)) {
    const of = (scale: number) => `png ${(width / 3) * scale}x${(height / 3) * scale}`
    expect([made[`${role}.png`], made[`${role}@2x.png`], made[`${role}@3x.png`]], role).toEqual([of(1), of(2), of(3)])
  }
})

test('rotates a photo according to its EXIF orientation', async () => {
  const sideways = await sharp(await picture(300, 100, 'jpeg'))
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const { loadImageFiles } = library({ a: sideways })
  const made = await sizes(await createImageSets(loadImageFiles)({ images: { thumbnail: 'a' }, background }))
  expect(made).toMatchObject({ 'thumbnail.png': 'png 30x90', 'thumbnail@3x.png': 'png 90x270' })
})

test('concurrent callers share one build, and later ones its result', async () => {
  const { loadImageFiles, reads } = library({ logo: await picture(160, 50) })
  const imageSets = createImageSets(loadImageFiles)
  const card = { images: { logo: 'logo' }, background }
  const all = await Promise.all(Array.from({ length: 20 }, () => imageSets(card)))
  all.push(await imageSets({ ...card, images: { ...card.images } }))
  expect(new Set(all).size).toBe(1)
  expect(reads).toEqual(['logo'])
})

test('the color of the card changes the image set only if it has a plain icon', async () => {
  const { loadImageFiles } = library({ icon: await picture(38, 38) })
  const imageSets = createImageSets(loadImageFiles)
  const withIcon = await imageSets({ images: { icon: 'icon' }, background })
  expect(await imageSets({ images: { icon: 'icon' }, background: '#000000' })).toBe(withIcon)
  const plain = await imageSets({ images: {}, background })
  expect(await imageSets({ images: {}, background: '#000000' })).not.toBe(plain)
})

test('does not cache a failed build', async () => {
  const pictures: Record<string, Buffer | Error> = { logo: new Error('The database is away') }
  const { loadImageFiles } = library(pictures)
  const imageSets = createImageSets(loadImageFiles)
  const card = { images: { logo: 'logo' }, background }
  await expect(Promise.all([imageSets(card), imageSets(card)])).rejects.toThrow('The database is away')
  pictures.logo = await picture(160, 50)
  expect(await sizes(await imageSets(card))).toHaveProperty('logo.png')
})

test('caches the most recently used sets within the size limit', async () => {
  const { loadImageFiles, reads } = library({
    a: await picture(38, 38),
    b: await picture(38, 38),
    c: await picture(38, 38),
  })
  const { part } = await createImageSets(loadImageFiles)({ images: { icon: 'a' }, background })
  // Each entry counts as its bytes and 200 more.
  const bytesOfOne = part.size + 200
  reads.length = 0
  const imageSets = createImageSets(loadImageFiles, { maxBytes: bytesOfOne * 2 })
  for (const icon of ['a', 'b', 'a', 'c', 'a', 'b']) await imageSets({ images: { icon }, background })
  // c replaced b, because a was used after b.
  expect(reads).toEqual(['a', 'b', 'c', 'b'])
})

test('an image that can never be decoded is rejected by role and ID; other failures can be retried', async () => {
  const pictures = { bad: new ImageFault('is a broken JPEG'), away: new Error('The database is away') }
  const { loadImageFiles } = library(pictures)
  const imageSets = createImageSets(loadImageFiles)
  await expect(imageSets({ images: { strip: 'bad' }, background })).rejects.toMatchObject({
    code: 'PASS_ISSUING_FAILED',
    message: expect.stringContaining('The image bad (strip) cannot be read as PNG or JPEG: it is a broken JPEG.'),
    details: { imageId: 'bad', role: 'strip' },
  })
  await expect(imageSets({ images: { strip: 'away' }, background })).rejects.toBe(pictures.away)
})

test.each([
  [1, 1],
  [76, 20],
  [113, 113],
  [4_000, 10],
])('an icon of %i x %i pixels is written in all three sizes', async (width, height) => {
  const { loadImageFiles } = library({ a: await picture(width, height) })
  const made = await sizes(await createImageSets(loadImageFiles)({ images: { icon: 'a' }, background }))
  expect(Object.keys(made)).toEqual(['icon.png', 'icon@2x.png', 'icon@3x.png'])
  for (const [name, side] of Object.entries({ 'icon.png': 38, 'icon@2x.png': 76, 'icon@3x.png': 114 })) {
    expect(Math.max(...made[name]!.match(/\d+/g)!.map(Number)), name).toBe(side)
  }
})

test('the guide lists the image sizes of the table', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/templates.md'), 'utf8')
  for (const [role, { shown }] of Object.entries(imageSizes)) {
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${role}\` |`))
    for (const [style, { width, height }] of Object.entries(shown)) {
      expect(row, style).toContain(`${width} x ${height}`)
      if (Object.keys(shown).length < 5) expect(row).toContain(style)
    }
  }
})
