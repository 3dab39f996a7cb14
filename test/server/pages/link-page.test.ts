import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { createLinks } from '../../../src/server/links.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { png } from '../api/templates/pictures.ts'
import { issuedPass } from '../fixtures.ts'

const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1'
const android = 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36'
const desktop = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'
const inInstagram = iphone.replace('Safari/604.1', 'Instagram 309.0.0')
const inFacebook = `${android} [FB_IAB/FB4A;FBAV/440.0]`

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

  test('the page shows the pass as it will look', async () => {
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

  test('nothing on the page runs or is styled but what its policy names', async () => {
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

  test('what the page loads beside images is kept for good, and its address changes with its content', async () => {
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

  test('below a path of a proxy, links lead there, and images and scripts are asked for there', async () => {
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
    ['an iPhone that asks for the page', iphone, false],
    ['an Android phone that asks for the page', android, false],
    ['an app on an iPhone', inInstagram, false],
    ['an app on an Android phone', inFacebook, false],
  ])('%s is offered both wallets', async (_, userAgent, hasCode) => {
    const { pass } = await pictured(await api.workspace())
    const { status, headers, text } = await open(pass, userAgent, userAgent === desktop ? '' : '?choose')
    expect([status, headers.get('vary')]).toEqual([200, 'User-Agent, Sec-CH-UA-Platform'])
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
  ])('%s that cannot add passes is told to open a browser, and is not sent on: %s', async (_, userAgent, status) => {
    const { pass } = await pictured(await api.workspace())
    const answer = await open(pass, userAgent)
    expect(answer.status).toBe(status)
    expect(answer.text.includes('Open in your browser')).toBe(status === 200)
    expect(answer.text).not.toContain('<script')
  })

  test('each state has words of its own, for people and for programs', async () => {
    const workspace = await api.workspace()
    const seen = new Map<string, string>()
    const read = async (path: string, status: number, reason: string) => {
      const page = await api.send('GET', path, { headers: { 'x-correlation-id': 'visit-1' } })
      expect([page.status, page.headers.get('x-correlation-id'), page.headers.get('vary')]).toEqual([
        status,
        'visit-1',
        'Accept',
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
