import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { loadBadges } from '../../../src/server/pages/badges.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect, temporaryFolder } from '../../support/databases.ts'
import { png } from '../api/templates/pictures.ts'
import { issuedPass } from '../fixtures.ts'

const svg = (text: string) => `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><text>${text}</text></svg>`

function folderOf(files: Record<string, string | Uint8Array>): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

test('a badge is found by its language, then without the region, then in English', async () => {
  const badges = loadBadges(
    folderOf({
      'apple/en.svg': svg('English'),
      'apple/pt.svg': svg('Português'),
      'apple/pt_BR.svg': svg('Português do Brasil'),
      'google/de.png': await png(),
      'google/.DS_Store': '',
    }),
  )
  const found = (platform: 'apple' | 'google', language: string) => badges.find(platform, language)?.content.toString()
  expect(found('apple', 'pt-BR')).toContain('Brasil')
  expect(found('apple', 'pt-br')).toContain('Brasil')
  expect(found('apple', 'pt-PT')).toMatch(/>Português</)
  expect(found('apple', 'ja')).toContain('English')
  expect(badges.find('google', 'de-AT')?.path).toMatch(/^\/assets\/badge-google-de\.\w{16}\.png$/)
  expect(badges.find('google', 'fr')).toBeUndefined()
})

test.each<[string, Record<string, string | Uint8Array>, RegExp]>([
  ['is empty', {}, /holds no badges: put them there as apple\/en\.svg/],
  [
    'has a file with an invalid name',
    { 'apple/badge_final.svg': svg('x') },
    /badge_final\.svg is not named like a badge/,
  ],
  ['has a file of an unsupported type', { 'apple/en.gif': 'GIF89a' }, /en\.gif is not named like a badge/],
  [
    'has a file whose content is not of its type',
    { 'google/en.png': svg('x') },
    /en\.png is named like image\/png, but has other content/,
  ],
  ['has a file that is too large', { 'apple/en.svg': svg('x'.repeat(300_000)) }, /a badge can have at most 262144/],
  [
    'has two badges of one language',
    { 'apple/pt-BR.svg': svg('1'), 'apple/pt_BR.svg': svg('2') },
    /two badges of apple for pt-BR/,
  ],
  ['has a folder in place of a file', { 'apple/en.svg/x': '' }, /en\.svg is not a file/],
  [
    'has too many files',
    Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`apple/aa-x-${n}.svg`, svg('x')])),
    /holds 101 files: at most 100 are read/,
  ],
])('rejects a folder that %s, naming the file and the reason', (_, files, message) => {
  expect(() => loadBadges(folderOf(files))).toThrow(message)
})

test('rejects a folder that does not exist or is a file', () => {
  const folder = folderOf({ file: '' })
  for (const path of [join(folder, 'none'), join(folder, 'file')]) {
    expect(() => loadBadges(path)).toThrow(`--badges: there is no folder ${path}`)
  }
})

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test("pages show the operator's badges from a cacheable address, and a text button without one", async () => {
    const pass = await issuedPass(await api.workspace())
    const badges = loadBadges(folderOf({ 'apple/en.svg': svg('Add') }))
    const { services, app } = api
    api.app = api.createApp({ ...services, badges })
    const { text } = await api.send('GET', new URL(pass.hostedLinks.smart!).pathname)
    const [, path] = /<a class="badge"[^>]*><img src="\.\.([^"]+)" alt="Add to Apple Wallet"><\/a>/.exec(text)!
    const badge = await api.send('GET', path!, { headers: { 'accept-encoding': 'br' } })
    const known = await api.send('GET', path!, { headers: { 'if-none-match': badge.headers.get('etag')! } })
    api.app = app
    expect(text).toContain(`href="${pass.hostedLinks.google}">Add to Google Wallet</a>`)
    expect(Object.fromEntries(badge.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'content-encoding': 'br',
      'x-content-type-options': 'nosniff',
    })
    expect(brotliDecompressSync(badge.bytes).toString()).toBe(svg('Add'))
    expect(known.status).toBe(304)
  })
})
