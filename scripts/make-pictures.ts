/**
 * Draws the pictures of docs/images in Chromium against the built program: `npx tsx scripts/make-pictures.ts [NAME…]`.
 * Each picture shows one pass of an example. Install Noto Sans, including its Arabic and CJK fonts, so that texts look as on
 * phones.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { startServer } from '../bench/support/server.ts'
import { conferenceArtwork } from '../examples/generator/conference-images.ts'
import { readTemplateFile } from '../src/cli/template/template-file.ts'
import { pushTemplate } from '../src/cli/template/template-push.ts'
import type { Client } from '../src/client/client.ts'
import { launchBrowser } from '../test/e2e/support/browser.ts'
import { NFC_KEY } from '../test/wallets/apple/overrides/override-samples.ts'

interface Picture {
  /** The folder of an example. */
  example: string
  rows: string
  externalPassId: string
  /**
   * The content: both phones as the preview draws them, or the hosted page of the pass or its group on one phone per
   * language.
   */
  of: 'phones' | { languages: string[]; link?: 'smart' | 'group' }
  /** The only wallet to draw. */
  platform?: 'apple'
  /**
   * Whether to draw the pass as a poster ticket. The example has no poster, because posters need an
   * entitlement from Apple.
   */
  isPoster?: true
}

const pictures: Record<string, Picture> = {
  phones: { example: 'conference', rows: 'attendees.csv', externalPassId: 'PG27-00007', of: 'phones' },
  pages: {
    example: 'conference',
    rows: 'attendees.csv',
    externalPassId: 'PG27-00289',
    of: { languages: ['de', 'ar', 'ja'] },
  },
  group: {
    example: 'conference',
    rows: 'attendees.csv',
    externalPassId: 'PG27-00016',
    of: { languages: ['en', 'ar'], link: 'group' },
  },
  'boarding-pass': {
    example: 'boarding-pass',
    rows: 'passengers.csv',
    externalPassId: 'GN664-1D',
    of: 'phones',
  },
  'boarding-pass-pages': {
    example: 'boarding-pass',
    rows: 'passengers.csv',
    externalPassId: 'GN664-1D',
    of: { languages: ['en', 'pt', 'he'] },
  },
  poster: {
    example: 'conference',
    rows: 'attendees.csv',
    externalPassId: 'PG27-00007',
    of: 'phones',
    platform: 'apple',
    isPoster: true,
  },
  'poster-membership': {
    example: 'museum',
    rows: 'cards.csv',
    externalPassId: 'AT-2004710000655',
    of: 'phones',
    platform: 'apple',
  },
  loyalty: { example: 'loyalty', rows: 'members.csv', externalPassId: 'GF-00410007', of: 'phones' },
}

const GAP = 24
const SCALE = 1.5
const PHONE = { width: 375, height: 780 }
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'

const root = join(import.meta.dirname, '..')
const templates = new Map<string, string>()
const asked = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'passes-pictures-'))
const browser = await launchBrowser()
const server = await startServer(`sqlite:${join(folder, 'passes.db')}`)
try {
  for (const [name, picture] of Object.entries(pictures)) {
    if (asked.length > 0 && !asked.includes(name)) continue
    const pass = await issue(server.client, picture)
    const shots =
      picture.of === 'phones'
        ? [
            await drawPhones(
              browser,
              `${server.url}/v1/passes/${pass.id}/preview?format=html${picture.platform ? `&platform=${picture.platform}` : ''}`,
            ),
          ]
        : await drawPages(browser, pass.hostedLinks[picture.of.link ?? 'smart']!, picture.of.languages)
    const file = join(root, 'docs/images', `${name}.png`)
    await writeBeside(shots, file)
    console.log(`${name}: ${statSync(file).size} bytes`)
  }
} finally {
  await server.stop()
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Issues the pass of the picture, and if it belongs to a group, the other passes of the group. */
async function issue(client: Client, { example, rows, externalPassId, of, isPoster }: Picture) {
  const examples = join(root, 'examples', example)
  const templateId = isPoster ? await pushPoster(client, example) : await templateOf(client, example)
  const records: Record<string, string>[] = parse(readFileSync(join(examples, rows)), { columns: true, bom: true })
  const row = records.find((record) => record.externalPassId === externalPassId)
  if (!row) throw new Error(`${rows} of ${example} has no row ${externalPassId}`)
  const pass = await create(client, templateId, examples, row)
  if (of !== 'phones' && of.link === 'group') {
    for (const other of records) {
      if (other !== row && other.booking === row.booking) await create(client, templateId, examples, other)
    }
  }
  return pass
}

async function create(client: Client, templateId: string, examples: string, row: Record<string, string>) {
  const { externalPassId = '', label = '', ...cells } = row
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(cells)) {
    const isPhoto = value.startsWith('photos/')
    if (value !== '') variables[name] = isPhoto ? await upload(client, readFileSync(join(examples, value))) : value
  }
  return client.passes.create({ body: { templateId, externalPassId, label, variables } })
}

async function upload(client: Client, body: Buffer): Promise<string> {
  return (await client.images.create({ body, contentType: 'image/png' })).id
}

/** Returns the ID of an example's template, which several pictures can share. */
async function templateOf(client: Client, example: string): Promise<string> {
  const known = templates.get(example)
  if (known !== undefined) return known
  const { templateId } = await pushTemplate(client, await readExample(example), { publish: true })
  templates.set(example, templateId)
  return templateId
}

function readExample(example: string) {
  return readTemplateFile(join(root, 'examples', example, 'template.json'))
}

/** Pushes the ticket with the additions that make it a poster. */
async function pushPoster(client: Client, example: string): Promise<string> {
  const file = await readExample(example)
  const artwork = await upload(client, await sharp(Buffer.from(conferenceArtwork())).png().toBuffer())
  const nfc = { message: '{{pass.externalPassId}}', encryptionPublicKey: NFC_KEY, requiresAuthentication: true }
  const withImages: typeof file.withImages = (ids) => {
    const { design, apple, ...rest } = file.withImages(ids)
    return {
      ...rest,
      design: { ...design, images: { ...design.images, artwork } },
      apple: { ...apple, poster: true, nfc },
    }
  }
  const { templateId } = await pushTemplate(client, { ...file, withImages }, { publish: true })
  return templateId
}

async function drawPhones(browser: Browser, url: string): Promise<Buffer> {
  const page = await browser.newPage({
    viewport: { width: 960, height: 1000 },
    deviceScaleFactor: SCALE,
    extraHTTPHeaders: { authorization: `Bearer ${server.token}` },
  })
  try {
    await page.goto(url)
    // Remove the parts below the phones from the picture.
    await page.evaluate(`document.querySelectorAll('.back').forEach((part) => part.remove())`)
    const { x, y, width, height } = (await page.locator('.phones').boundingBox())!
    const clip = { x: Math.max(0, x - GAP), y: y - GAP, width: width + 2 * GAP, height: height + 2 * GAP }
    return await page.screenshot({ clip, fullPage: true })
  } finally {
    await page.close()
  }
}

async function drawPages(browser: Browser, link: string, languages: string[]): Promise<Buffer[]> {
  const shots: Buffer[] = []
  for (const locale of languages) {
    const page: Page = await browser.newPage({ viewport: PHONE, deviceScaleFactor: SCALE, userAgent: iphone, locale })
    try {
      await page.goto(`${link}?choose`, { waitUntil: 'networkidle' })
      // Remove the ribbon that marks passes of the sandbox.
      await page.evaluate(`document.querySelector('.ribbon')?.remove()`)
      shots.push(await page.screenshot())
    } finally {
      await page.close()
    }
  }
  return shots
}

/** Writes the shots side by side into one compact picture. */
async function writeBeside(shots: Buffer[], file: string): Promise<void> {
  const sizes = await Promise.all(shots.map((shot) => sharp(shot).metadata()))
  const width = sizes.reduce((sum, size) => sum + size.width, GAP * (shots.length - 1))
  const height = Math.max(...sizes.map((size) => size.height))
  let left = 0
  const parts = shots.map((input, n) => {
    const part = { input, left, top: 0 }
    left += sizes[n]!.width + GAP
    return part
  })
  const whole = await sharp({ create: { width, height, channels: 3, background: '#ffffff' } })
    .composite(parts)
    .png()
    .toBuffer()
  await sharp(whole).png({ palette: true, colours: 256, effort: 10, dither: 0 }).toFile(file)
}
