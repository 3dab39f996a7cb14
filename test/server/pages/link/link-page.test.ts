import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { fieldGroups } from '../../../../src/core/contract/schemas/definition.ts'
import { inspectImage } from '../../../../src/core/rules/template/image.ts'
import type { Services } from '../../../../src/server/context.ts'
import { createLinks } from '../../../../src/server/link-signing.ts'
import type { Wallets } from '../../../../src/wallets/wallets.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { png } from '../../api/templates/pictures.ts'
import { issuedPass, makePass } from '../../fixtures.ts'

const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1'
const android = 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36'
const desktop = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'
const inInstagram = iphone.replace('Safari/604.1', 'Instagram 309.0.0')
const inFacebook = `${android} [FB_IAB/FB4A;FBAV/440.0]`

const design = { organizationName: 'Harbour Cinema', description: 'Ticket to the late show' }

/** Returns the services with these wallets. */
function rendering(services: Services, wallets: Wallets): Services {
  return { ...services, wallets, identities: { ...services.identities, walletsOf: async () => wallets } }
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const open = (pass: Pass, userAgent = desktop, query = '') =>
    api.send('GET', new URL(pass.hostedLinks.smart!).pathname + query, { headers: { 'user-agent': userAgent } })

  async function pictured(workspace: TestWorkspace): Promise<{ pass: Pass; imageId: string }> {
    const upload = { body: await png(), contentType: 'image/png' as const }
    const { id } = await workspace.ok(contract.images.create, upload)
    const pass = await issuedPass(workspace, {
      passType: 'coupon',
      definition: {
        design: {
          organizationName: 'Harbour Cinema',
          description: 'Ticket to the late show',
          images: { icon: id, logo: id, strip: id },
          colors: { background: '#123456', foreground: '#ffffff' },
          fields: { primary: [{ key: 'name', label: 'Guest', value: '{{pass.label}}' }] },
          barcode: { format: 'aztec', altText: 'No. 7' },
        },
        expiresAt: '2027-05-21T22:00:00+01:00',
      },
    })
    return { pass, imageId: id }
  }

  test('the page shows the pass as in the wallet', async () => {
    const { pass, imageId } = await pictured(await api.workspace())
    const { text } = await open(pass)
    expect(text).toContain('<title>Ada Lovelace – Harbour Cinema</title>')
    expect(text).toContain('<dt dir="auto">Guest</dt><dd dir="auto">Ada Lovelace</dd>')
    expect(text).toContain('--background: #123456; --foreground: #ffffff')
    expect(text).toContain('21 May 2027 at 21:00 UTC')
    expect(text).toMatch(/aria-label="Aztec code"><svg [\s\S]*No\. 7/)
    const page = new URL(pass.hostedLinks.smart!)
    for (const role of ['logo', 'strip']) {
      const [, address] = new RegExp(`<img class="${role}" src="([^"]+)"`).exec(text)!
      expect(new URL(address!, page).pathname).toBe(`/images/${imageId}`)
      expect((await api.send('GET', new URL(address!, page).pathname)).status).toBe(200)
    }
  })

  test('the page shows the poster of newer iPhones and the classic style', async () => {
    const workspace = await api.workspace()
    const upload = { body: await png(), contentType: 'image/png' as const }
    const { id } = await workspace.ok(contract.images.create, upload)
    const fields = { primary: [{ key: 'name', label: 'Guest', value: '{{pass.label}}' }] }
    const pass = await issuedPass(workspace, {
      passType: 'storeCard',
      definition: {
        design: { ...design, fields, images: { icon: id, artwork: id } },
        apple: { poster: true, posterGeneric: { additionalInfoFields: [{ key: 'hours', value: 'Late on Fridays' }] } },
      },
    })
    const { text } = await open(pass)
    const [poster, classic] = text.split('<figcaption>iOS 26</figcaption>')
    expect(poster).toContain('<figcaption dir="ltr">iOS 27+</figcaption><article class="poster posterGeneric"')
    expect(poster).toContain('<img class="artwork"')
    expect(text.match(/Late on Fridays/g)).toHaveLength(1)
    for (const look of [poster, classic]) {
      expect(look).toContain('<dt dir="auto">Guest</dt><dd dir="auto">Ada Lovelace</dd>')
      expect(look).toContain('aria-label="QR code"')
    }
  })

  test('the page runs and styles only what its policy allows', async () => {
    const { pass } = await pictured(await api.workspace())
    const { text, headers } = await open(pass)
    const style = /<style>([\s\S]*?)<\/style>/.exec(text)![1]!
    const digest = createHash('sha256').update(style).digest('base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${digest}'; img-src 'self'; script-src 'self'; base-uri 'none'; ` +
        `form-action 'none'; frame-ancestors 'none'`,
    )
    expect(text).not.toMatch(/\s(style|on\w+)=|<script>/)
  })

  test('files of the page except images are cacheable forever, and their address is a digest of the content', async () => {
    const { pass } = await pictured(await api.workspace())
    const { text } = await open(pass)
    const [, source] = /<script src="([^"]+)" defer>/.exec(text)!
    const script = await api.send('GET', new URL(source!, pass.hostedLinks.smart!).pathname)
    expect(script.status).toBe(200)
    expect(Object.fromEntries(script.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    expect(source).toContain(createHash('sha256').update(script.text).digest('hex').slice(0, 16))
    expect((await api.send('GET', '/assets/tablet.js')).status).toBe(404)
  })

  test('below a proxy path, links, images, and scripts have this path', async () => {
    const { pass, imageId } = await pictured(await api.workspace())
    const { services, app } = api
    const proxied = 'https://tickets.example/wallet'
    const keys = { current: Buffer.alloc(32, 7), previous: [] }
    const platforms = ['apple', 'google'] as const
    const links = createLinks({ keys, publicUrl: proxied, platforms, ttlDays: 400 })
    api.app = api.createApp({ ...services, links })
    const { text } = await open(pass)
    api.app = app
    const page = `${proxied}/l/token`
    const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => new URL(address!, page).href)
    expect(addresses).toContain(`${proxied}/images/${imageId}`)
    expect(addresses.length).toBeGreaterThan(5)
    for (const address of addresses) expect(address).toMatch(/^https:\/\/tickets\.example\/wallet\/(l|images|assets)\//)
  })

  test.each([
    ['a computer', desktop, true],
    ['an iPhone that requests the page', iphone, false],
    ['an Android phone that requests the page', android, false],
    ['an app on an iPhone', inInstagram, false],
    ['an app on an Android phone', inFacebook, false],
  ])('%s is offered both wallets', async (_, userAgent, hasCode) => {
    const { pass } = await pictured(await api.workspace())
    const { status, headers, text } = await open(pass, userAgent, userAgent === desktop ? '' : '?choose')
    expect([status, headers.get('vary')]).toEqual([200, 'User-Agent, Sec-CH-UA-Platform, Accept-Language'])
    expect(text).toContain(`href="${pass.hostedLinks.apple}">Add to Apple Wallet</a>`)
    expect(text).toContain(`href="${pass.hostedLinks.google}">Add to Google Wallet</a>`)
    expect(text.includes('Continue on your phone')).toBe(hasCode)
    const isGoogleFirst = text.indexOf('Add to Google') < text.indexOf('Add to Apple')
    expect(isGoogleFirst).toBe(userAgent.includes('Android'))
  })

  test.each([
    ['an app', inInstagram, 200],
    ['an app', inFacebook, 200],
    ['a browser', iphone, 302],
    ['a browser', android, 302],
  ])('shows how to open a browser in an app only, and redirects a browser: %s', async (_, userAgent, status) => {
    const { pass } = await pictured(await api.workspace())
    const answer = await open(pass, userAgent)
    expect(answer.status).toBe(status)
    expect(answer.text.includes('Open in your browser')).toBe(status === 200)
    // The script of the page copies the link, and does not redirect.
    const [, script] = /<script src="([^"]+)"/.exec(answer.text) ?? []
    if (status === 302) return expect(script).toBeUndefined()
    expect(script).toMatch(/\/copy\.\w+\.js$/)
    expect(answer.text).toContain(` readonly aria-label="Link to this page" value="${pass.hostedLinks.smart}">`)
  })

  const crawlers = [
    'WhatsApp/2.23.20.0 A',
    'Slackbot-LinkExpanding 1.0',
    'TelegramBot (like TwitterBot)',
    'Twitterbot/1.0',
  ]
  const secret = 'Zoë Quark-Holder'

  /** Creates a pass whose definition contains the name of the holder, or another value of the holder, in every text. */
  async function secretive(workspace: TestWorkspace) {
    const upload = { body: await png(), contentType: 'image/png' as const }
    const { id } = await workspace.ok(contract.images.create, upload)
    const text = '{{pass.label}} {{who}}'
    const fields = Object.fromEntries(
      fieldGroups.map((group) => [
        group,
        [{ key: group, label: text, value: `mailto:{{who}}`, changeMessage: `${text} %@` }],
      ]),
    )
    const pass = await issuedPass(workspace, {
      passType: 'coupon',
      label: secret,
      variables: { who: secret },
      name: 'Late show',
      definition: {
        variables: [{ name: 'who', label: 'Who', default: secret }],
        design: {
          organizationName: text,
          description: text,
          logoText: text,
          images: { icon: id, logo: id, strip: id },
          colors: { background: '#123456' },
          fields,
          barcode: { message: text, altText: text },
          links: [
            { label: text, url: 'https://harbour.example/{{who}}' },
            { label: 'Box office', url: 'tel:+351210000000' },
          ],
        },
        google: { classKey: '{{who}}' },
      },
    })
    return { pass, id }
  }

  test('a link preview in a chat names the issuer of the pass and never the holder', async () => {
    const { pass, id } = await secretive(await api.workspace())
    const { text } = await open(pass)
    const tags = text.match(/<(?:meta|link) [^>]*>/g)!
    expect(tags.join()).not.toMatch(/Quark|Holder|Zo/)
    expect(tags).toEqual(
      expect.arrayContaining([
        '<meta name="robots" content="noindex">',
        '<meta property="og:title" content="Late show">',
        '<meta property="og:description" content="Add this pass to Apple Wallet or Google Wallet.">',
        `<meta property="og:image" content="https://passes.example/images/${id}/shared.png">`,
        '<meta name="twitter:card" content="summary_large_image">',
        '<meta name="theme-color" content="#123456">',
        `<link rel="apple-touch-icon" href="../images/${id}">`,
      ]),
    )
    const named = await pictured(await api.workspace())
    const plain = await open(named.pass)
    expect(plain.text).toContain('<meta property="og:title" content="Harbour Cinema – Ticket">')
    const picture = await api.send('GET', `/images/${id}/shared.png`)
    expect(Object.fromEntries(picture.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    const etag = picture.headers.get('etag')!
    expect((await api.send('GET', `/images/${id}/shared.png`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    for (const unknown of [pass.id, 'x'])
      expect((await api.send('GET', `/images/${unknown}/shared.png`)).status).toBe(404)
  })

  test.each(crawlers)('%s gets a preview without a download, a redirect, or holder data', async (userAgent) => {
    const workspace = await api.workspace()
    const { pass } = await secretive(workspace)
    const queued = await makePass(workspace, pass.templateId!, { label: secret })
    for (const { hostedLinks } of [pass, queued]) {
      for (const link of Object.values(hostedLinks).filter((link) => link !== null)) {
        const headers = { 'user-agent': userAgent, accept: '*/*' }
        const answer = await api.send('GET', new URL(link!).pathname, { headers })
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
        expect(answer.text).not.toMatch(/Quark|<svg|<script|href="http/)
        expect(answer.text).toContain('<h1 dir="auto">Late show</h1>')
      }
    }
    // The page was opened, but no wallet.
    expect(await workspace.ok(contract.passes.get, { params: { id: queued.id } })).toMatchObject({ status: 'QUEUED' })
  })

  test('the page of an ended pass names the issuer and a contact, and no holder data', async () => {
    const workspace = await api.workspace()
    const { pass } = await secretive(workspace)
    const known = await issuedPass(workspace, {
      definition: {
        design: {
          organizationName: 'Harbour <Cinema>',
          description: 'Ticket',
          fields: {
            back: [
              { key: 'web', label: 'Web', value: 'https://harbour.example/help?a=1&b=2' },
              { key: 'hours', label: 'Hours', value: '9 to 5' },
              { key: 'plain', label: 'Plain', value: 'http://harbour.example' },
              { key: 'bad', label: 'Bad', value: 'javascript:alert(1)' },
            ],
          },
          links: [{ label: 'Mail', url: 'mailto:help@harbour.example' }],
        },
      },
    })
    for (const status of ['VOID', 'EXPIRED', 'FAILED']) {
      await api.database.writer('passes').whereIn('id', [pass.id, known.id]).update({ status })
      const { text } = await open(known)
      expect(text).toContain('Issued by <strong dir="auto">Harbour &#60;Cinema&#62;</strong>')
      expect([...text.matchAll(/<a dir="ltr" href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
        'mailto:help@harbour.example',
        'https://harbour.example/help?a=1&#38;b=2',
      ])
      const other = await open(pass)
      expect(other.text).toContain('href="tel:+351210000000"')
      expect(other.text).not.toMatch(/Quark|Issued by|mailto/)
      const json = await api.send('GET', new URL(known.hostedLinks.smart!).pathname, {
        headers: { accept: 'application/json' },
      })
      expect(json.body).toMatchObject({ details: { reason: status.toLowerCase() } })
      expect(json.text).not.toContain('Harbour')
    }
  })

  test.each([
    ['an iPhone', iphone, 'apple'],
    ['an Android phone', android, 'google'],
  ] as const)('redirects a browser on %s to its wallet in the sandbox', async (_, userAgent, platform) => {
    const { pass } = await pictured(await api.workspace())
    const path = new URL(pass.hostedLinks.smart!).pathname
    const headers = { 'user-agent': userAgent, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const sent = await api.send('GET', path, { headers })
    expect([sent.status, sent.headers.get('location')]).toEqual([302, pass.hostedLinks[platform]])
    const chosen = await api.send('GET', `${path}?choose`, { headers })
    expect(chosen.text).toContain('<strong>SANDBOX - not a real pass: no phone accepts it</strong>')
    const { services, app } = api
    api.app = api.createApp(rendering(services, { ...services.wallets, sandboxed: [] }))
    const real = await api.send('GET', `${path}?choose`, { headers })
    api.app = app
    expect(real.text).not.toContain('SANDBOX')
  })

  test('the page and its times are in the language of the visitor, and keep the texts of the pass', async () => {
    const { pass } = await pictured(await api.workspace())
    const headers = { 'user-agent': desktop, 'accept-language': 'ar-EG, en;q=0.5' }
    const { text } = await api.send('GET', new URL(pass.hostedLinks.smart!).pathname, { headers })
    expect(text).toContain('<html lang="ar" dir="rtl">')
    expect(text).toContain('إضافة إلى Apple Wallet</a>')
    expect(text).toMatch(/صالحة حتى <time datetime="2027-05-21T21:00:00.000Z">[^<]*مايو/)
    expect(text).toContain('<dt dir="auto">Guest</dt><dd dir="auto">Ada Lovelace</dd>')
    const broken = await api.send('GET', '/l/nothing', { headers: { 'accept-language': 'ja' } })
    expect(broken.text).toContain('<h1>このリンクは完全ではありません</h1>')
  })

  test("texts that Google Wallet writes are in the visitor's language, next to the texts of the pass", async () => {
    const pass = await issuedPass(await api.workspace(), {
      passType: 'eventTicket',
      definition: { design, event: { name: 'Late show', venue: { name: 'Harbour' }, seat: { row: 'C', seat: '7' } } },
    })
    const { services, app } = api
    const { google } = services.wallets
    api.app = api.createApp(
      rendering(services, { google: google!, all: [google!], sandboxed: services.wallets.sandboxed }),
    )
    const headers = { 'user-agent': desktop, 'accept-language': 'de' }
    const { text } = await api.send('GET', new URL(pass.hostedLinks.smart!).pathname, { headers })
    api.app = app
    expect(text).toMatch(/<dt dir="auto" lang="de">Reihe<\/dt><dd[^>]*>C<\/dd>/)
    expect(text).toContain('Late show')
  })

  test('names the platform if only one is in the sandbox', async () => {
    const { pass } = await pictured(await api.workspace())
    const { services, app } = api
    api.app = api.createApp(rendering(services, { ...services.wallets, sandboxed: ['google'] }))
    const { text } = await open(pass)
    api.app = app
    expect(text).toContain('SANDBOX - not a real pass in Google Wallet: no Android phone accepts it')
  })

  test('compresses pages for clients that accept it, with the same content', async () => {
    const { pass } = await pictured(await api.workspace())
    const path = new URL(pass.hostedLinks.smart!).pathname
    const plain = await open(pass)
    const zipped = await api.send('GET', path, { headers: { 'user-agent': desktop, 'accept-encoding': 'br, gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(zipped.bytes).toString()).toBe(plain.text)
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 2)
  })

  test('every server has an icon at the paths that browsers and phones request', async () => {
    const icon = await api.send('GET', '/favicon.ico')
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/x-icon'])
    expect([...icon.bytes.subarray(0, 8)]).toEqual([0, 0, 1, 0, 1, 0, 32, 32])
    expect(inspectImage(icon.bytes.subarray(22))).toMatchObject({ contentType: 'image/png', width: 32, height: 32 })
    const { text } = await open(await issuedPass(await api.workspace()))
    const [, touch] = /rel="apple-touch-icon" href="\.\.([^"]+)"/.exec(text)!
    expect(inspectImage((await api.send('GET', touch!)).bytes)).toMatchObject({ width: 180, height: 180 })
  })

  test('each state has its own text, for people and for programs', async () => {
    const workspace = await api.workspace()
    const seen = new Map<string, string>()
    const read = async (path: string, status: number, reason: string) => {
      const page = await api.send('GET', path, { headers: { 'x-correlation-id': 'visit-1' } })
      expect([page.status, page.headers.get('x-correlation-id'), page.headers.get('vary')]).toEqual([
        status,
        'visit-1',
        'Accept, Accept-Language',
      ])
      expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
      expect(page.text).not.toMatch(/<script|undefined/)
      const [, title] = /<h1>([^<]+)<\/h1>/.exec(page.text)!
      expect(page.text).toContain(`<title>${title}</title>`)
      const json = await api.send('GET', path, { headers: { accept: 'application/json' } })
      expect(json.body).toMatchObject({ details: { reason } })
      seen.set(reason + status, title!)
    }
    const pathOf = async () => {
      const pass = await issuedPass(workspace)
      return { id: pass.id, path: new URL(pass.hostedLinks.smart!).pathname }
    }
    for (const status of ['VOID', 'FAILED', 'EXPIRED']) {
      const { id, path } = await pathOf()
      await api.database.writer('passes').where({ id }).update({ status })
      await read(path, 410, status.toLowerCase())
    }
    const revoked = await pathOf()
    await workspace.ok(contract.passes.revokeLinks, { params: { id: revoked.id } })
    await read(revoked.path, 410, 'revoked')
    const { path } = await pathOf()
    await read(path.slice(0, -1), 404, 'malformed')
    await read(path.slice(0, -3) + (path.endsWith('AAA') ? 'BBB' : 'AAA'), 404, 'tampered')
    const now = api.now
    api.advance(401 * 86_400)
    await read(path, 404, 'expired')
    api.now = now
    expect(new Set(seen.values()).size).toBe(7)
  })
})
