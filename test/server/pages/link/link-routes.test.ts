import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'

const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1'
const android = 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36'
const desktop = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const { get } = contract.passes

  const open = (pass: Pass, kind: 'apple' | 'google' | 'smart', headers: Record<string, string> = {}) =>
    api.send('GET', new URL(pass.hostedLinks[kind]!).pathname, { headers })

  test('the Apple link returns the signed package', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { label: 'Ada', variables: { seat: 'B7' } })
    const answer = await open(pass, 'apple')
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/vnd.apple.pkpass',
      'content-disposition': `attachment; filename="${pass.id}.pkpass"`,
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
    })
    expect(answer.bytes.subarray(0, 4).toString('latin1')).toBe('PK\x03\x04')
    // The files in the package are not compressed, so the test can search their text.
    for (const part of [`"serialNumber":"${pass.id}"`, '"value":"B7"', 'manifest.json', 'signature', 'icon.png']) {
      expect(answer.bytes.includes(part), part).toBe(true)
    }
  })

  test("the Google link redirects to Google's save address with a token of the pass", async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { label: 'Ada' })
    const answer = await open(pass, 'google')
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'no-store'])
    const location = answer.headers.get('location')!
    expect(location).toMatch(/^https:\/\/pay\.google\.com\/gp\/v\/save\/[\w-]+\.[\w-]+\.[\w-]+$/)
    const [, claims] = location.slice(location.lastIndexOf('/') + 1).split('.')
    const { aud, typ, iat, payload } = JSON.parse(Buffer.from(claims!, 'base64url').toString())
    expect({ aud, typ, iat }).toEqual({ aud: 'google', typ: 'savetowallet', iat: Math.floor(api.now.getTime() / 1000) })
    expect(payload.genericObjects).toHaveLength(1)
    expect(JSON.stringify(payload)).toContain(pass.id)
  })

  test.each([
    ['an iPhone', { 'user-agent': iphone }, 'apple'],
    ['an Android phone', { 'user-agent': android }, 'google'],
    ['an Android hint', { 'user-agent': desktop, 'sec-ch-ua-platform': '"Android"' }, 'google'],
  ] as const)('the smart link redirects %s to its wallet', async (_, headers, kind) => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const answer = await open(pass, 'smart', headers)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, pass.hostedLinks[kind]])
    expect(answer.headers.get('vary')).toBe('User-Agent, Sec-CH-UA-Platform, Accept-Language')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  test.each<Record<string, string>>([{}, { 'user-agent': desktop }])(
    'the smart link offers both wallets to anyone else: %j',
    async (headers) => {
      const workspace = await api.workspace()
      const pass = await issuedPass(workspace, { label: 'Ada Lovelace', name: 'Members card' })
      const { status, headers: answered, text } = await open(pass, 'smart', headers)
      expect(status).toBe(200)
      expect(answered.get('vary')).toBe('User-Agent, Sec-CH-UA-Platform, Accept-Language')
      for (const part of ['Ada Lovelace', 'Members card', pass.hostedLinks.apple!, pass.hostedLinks.google!]) {
        expect(text).toContain(part)
      }
    },
  )

  test('a page runs only its own scripts, cannot be framed, and sends no referrer', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const page = Object.fromEntries((await open(pass, 'smart')).headers)
    expect(page).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    })
    const policy = page['content-security-policy']!
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
      expect(policy).toContain(part)
    }
    expect(policy).not.toMatch(/script-src[^;]*unsafe/)
  })

  test('a pass with an event has a calendar entry at its link, as long as the link works', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, {
      passType: 'eventTicket',
      variables: { starts: '2027-05-20T19:00:00+01:00' },
      definition: {
        variables: [{ name: 'starts', label: 'Starts' }],
        timeZone: 'Europe/Lisbon',
        design: { organizationName: 'Harbour', description: 'Ticket' },
        event: { name: 'Night music', startsAt: '{{starts}}' },
      },
    })
    const page = await open(pass, 'smart')
    const [, address] = /<a href="([^"]+calendar.ics)">Add to calendar</.exec(page.text)!
    expect(page.text).toMatch(/>[^<]*20 May 2027[^<]*19:00 WEST<\/time>/)
    const path = new URL(address!).pathname
    const get = (headers = {}) => api.send('GET', path, { headers })
    const first = await get()
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-type': 'text/calendar; charset=utf-8',
      'cache-control': 'private, no-cache',
      'content-disposition': `attachment; filename="${pass.id}.ics"`,
    })
    expect(first.text).toContain('\r\nDTSTART:20270520T180000Z\r\nSUMMARY:Night music\r\n')
    const etag = first.headers.get('etag')!
    expect((await get({ 'if-none-match': etag })).status).toBe(304)
    const body = { variables: { starts: '2027-05-20T20:00:00+01:00' } }
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body })
    const moved = await get({ 'if-none-match': etag })
    const uidOf = (text: string) => /UID:.+/.exec(text)?.[0]
    expect(moved.text).toContain('DTSTART:20270520T190000Z')
    expect(uidOf(moved.text)).toBe(uidOf(first.text))
    expect((await get({ 'user-agent': 'WhatsApp/2.23' })).text).not.toContain('Night music')
    const other = await issuedPass(workspace)
    expect((await api.send('GET', `${new URL(other.hostedLinks.smart!).pathname}/calendar.ics`)).status).toBe(404)
    await workspace.ok(contract.passes.revokeLinks, { params: { id: pass.id } })
    expect((await get({ 'if-none-match': etag })).status).toBe(410)
  })

  test("shows the pass in the visitor's language, and in the default one to chat previews", async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, {
      passType: 'eventTicket',
      variables: { price: '1234.5' },
      definition: {
        languages: { default: 'pt', others: ['en', 'ar'] },
        group: { key: 'order {{price}}' },
        variables: [{ name: 'price', label: 'Price' }],
        design: {
          organizationName: { pt: 'Porto', en: 'Harbour', ar: 'Club 42 ميناء' },
          description: { pt: 'Bilhete', en: 'Ticket' },
          links: [{ label: { pt: 'Bilheteira', en: 'Box office', ar: 'شباك التذاكر' }, url: 'tel:+351210000000' }],
          fields: {
            primary: [
              { key: 'price', label: { pt: 'Preço', en: 'Price', ar: 'السعر' }, value: '{{price}}', as: 'number' },
            ],
            back: [{ key: 'rules', label: { pt: 'Regras', ar: 'القواعد' }, value: { pt: 'Sem troco', ar: 'بلا فكة' } }],
          },
        },
        event: { name: { pt: 'Noite', en: 'Night' }, startsAt: '2027-05-20T19:00:00Z' },
      },
    })
    const readBy = async (language: string, headers = {}) =>
      (await open(pass, 'smart', { 'user-agent': desktop, 'accept-language': language, ...headers })).text
    const cases: [string, { has: string[]; lacks: string[] }][] = [
      [
        'ar-EG',
        {
          has: ['<html lang="ar" dir="rtl">', 'eventTicket" dir="rtl"', 'السعر', 'القواعد', 'بلا فكة'],
          lacks: ['Preço', 'Sem troco'],
        },
      ],
      [
        'en',
        { has: ['<html lang="en" dir="ltr">', 'Price', '1,234.5', 'Regras', '– Harbour</title>'], lacks: ['Preço'] },
      ],
      [
        'it',
        {
          has: ['<html lang="it" dir="ltr">', '<div class="picture" lang="pt">', 'Preço', '1.234,5'],
          lacks: ['Price'],
        },
      ],
      ['', { has: ['<html lang="pt" dir="ltr">', 'Preço'], lacks: ['lang="en"'] }],
    ]
    for (const [language, { has, lacks }] of cases) {
      const page = await readBy(language)
      for (const text of has) expect(page, language).toContain(text)
      for (const text of lacks) expect(page, language).not.toContain(text)
      expect(page, language).toContain('<meta property="og:site_name" content="Porto">')
    }
    const group = new URL(pass.hostedLinks.group!).pathname
    const inArabic = await api.send('GET', group, { headers: { 'user-agent': desktop, 'accept-language': 'ar' } })
    for (const text of [
      '<html lang="ar" dir="rtl">',
      'Club 42 ميناء – ',
      'السعر 1',
      'site_name" content="Porto"',
      '</span> جاهزة</span>',
    ])
      expect(inArabic.text).toContain(text)
    const { headers } = inArabic
    expect([headers.get('content-language'), headers.get('vary')]).toEqual([
      'ar',
      'User-Agent, Sec-CH-UA-Platform, Accept-Language',
    ])
    const shared = await readBy('en', { 'user-agent': 'WhatsApp/2.23' })
    expect([shared.includes('<html lang="pt"'), shared.includes('Harbour')]).toEqual([true, false])
    const calendar = (language: string) =>
      api.send('GET', `${new URL(pass.hostedLinks.smart!).pathname}/calendar.ics`, {
        headers: { 'accept-language': language },
      })
    const [english, portuguese] = [await calendar('en'), await calendar('fi')]
    expect([english.text.includes('SUMMARY:Night\r'), portuguese.text.includes('SUMMARY:Noite\r')]).toEqual([
      true,
      true,
    ])
    expect(english.headers.get('etag')).not.toBe(portuguese.headers.get('etag'))
    await workspace.ok(contract.passes.void, { params: { id: pass.id }, body: {} })
    const ended = [await readBy('ar'), await readBy('it')]
    for (const text of ['Club 42 ميناء', 'شباك التذاكر']) expect(ended[0]).toContain(text)
    for (const text of ['Porto', 'Bilheteira']) expect(ended[1]).toContain(text)
  })

  test('label and names stay text on the page, for any content', async () => {
    const workspace = await api.workspace()
    const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;{{tier}}`
    const pass = await issuedPass(workspace, { label: hostile, name: hostile })
    const { text } = await open(pass, 'smart')
    expect(text).not.toMatch(/<script>alert|<img src=x|onerror='/)
    expect(text.match(/&#60;script&#62;alert\(1\)/g)!.length).toBeGreaterThanOrEqual(2)
    expect(text).toContain('&#38;amp;{{tier}}')
  })

  test('opening a link of a QUEUED pass issues it at once, and the job that waits finds nothing to do', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    for (const kind of ['apple', 'google', 'smart'] as const) {
      const pass = await makePass(workspace, template.id)
      expect(pass.status).toBe('QUEUED')
      const answer = await open(pass, kind, { 'x-correlation-id': `opened-${kind}` })
      expect(answer.status).toBeLessThan(400)
      const issued = await workspace.ok(get, { params: { id: pass.id } })
      expect(issued.status).toBe('ISSUED')
      await api.runJobs()
      expect(await workspace.ok(get, { params: { id: pass.id } })).toEqual(issued)
      const events = await workspace.events(pass.id)
      expect(events).toMatchObject([{ type: 'pass.issued', correlationId: `opened-${kind}` }])
    }
  })

  test('phones that open a QUEUED pass concurrently with the worker issue it once', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const pass = await makePass(workspace, template.id)
    const opened = await Promise.all([open(pass, 'apple'), open(pass, 'apple'), api.runJobs(), open(pass, 'google')])
    expect([opened[0].status, opened[1].status, opened[3].status]).toEqual([200, 200, 302])
    expect(await workspace.events(pass.id)).toHaveLength(1)
  })

  test('opening a QUEUED pass that no phone accepts makes it FAILED and ends its link', async () => {
    const workspace = await api.workspace()
    const content = { ...definition(), apple: { description: '{{seat}}' } }
    const variables = [
      { name: 'tier', label: 'Tier' },
      { name: 'seat', label: 'Seat', default: 'x' },
    ]
    const template = await publishedTemplate(workspace, { definition: { ...content, variables } })
    const pass = await makePass(workspace, template.id, { variables: { seat: '' } })
    expect((await open(pass, 'apple')).status).toBe(410)
    expect(await workspace.ok(get, { params: { id: pass.id } })).toMatchObject({ status: 'FAILED' })
    expect((await workspace.events(pass.id)).map(({ type }) => type)).toEqual(['pass.failed'])
  })
})
