import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ErrorCode } from '../../../src/core/contract/schemas/common.ts'
import type { Image } from '../../../src/core/contract/templates/images.ts'
import { errorTable } from '../../../src/core/errors.ts'
import { openApiDocument } from '../../../src/core/openapi/document.ts'
import { withSharedParts } from '../../../src/core/openapi/shared-parts.ts'
import { useApi } from '../../support/api.ts'
import { type Answer, allRoutes } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'
import { png } from '../api/templates/pictures.ts'

const decoders = { br: brotliDecompressSync, gzip: gunzipSync }

describe.each(oneDialect)('on %s', (dialect) => {
  const state = { database: true, migrations: true, worker: true }
  const api = useApi(dialect, { readiness: async () => state })

  test('/healthz reports a running process, without a token', async () => {
    const { status, body } = await api.send('GET', '/healthz')
    expect([status, body]).toEqual([200, { status: 'ok' }])
  })

  test('/readyz reports whether the server is ready, and if not, the reason', async () => {
    const ready = await api.send('GET', '/readyz')
    expect([ready.status, ready.body]).toEqual([200, { status: 'ready', checks: state }])
    state.worker = false
    const unavailable = await api.send('GET', '/readyz')
    state.worker = true
    expect([unavailable.status, unavailable.body]).toEqual([
      503,
      { status: 'unavailable', checks: { ...state, worker: false } },
    ])
  })

  test('/ redirects to the reference', async () => {
    const { status, headers } = await api.send('GET', '/')
    expect([status, headers.get('location')]).toEqual([302, './docs'])
  })

  test.each(['/', '/healthz', '/readyz', '/openapi.json', '/docs', '/docs/objects', '/docs/errors', '/docs/try'])(
    '%s responds to HEAD as to GET, without a token',
    async (path) => {
      const [get, head] = [await api.send('GET', path), await api.send('HEAD', path)]
      expect(head.status).toBe(get.status)
      expect([...head.headers.keys()]).toEqual([...get.headers.keys()])
    },
  )

  test('/openapi.json is the document of the contract, without a token', async () => {
    const { status, headers, body } = await api.send('GET', '/openapi.json')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(body).toEqual(JSON.parse(JSON.stringify(withSharedParts(openApiDocument()))))
  })

  test('/docs/try, the former page to try requests, redirects to the reference', async () => {
    const { status, headers } = await api.send('GET', '/docs/try')
    expect([status, headers.get('location')]).toEqual([302, '../docs'])
  })

  const readReference = () =>
    Promise.all(['/docs', '/docs/objects', '/docs/errors'].map((path) => api.send('GET', path)))

  test('the reference runs only its search, and loads nothing', async () => {
    const [reference, objects, errors] = (await readReference()) as [Answer, Answer, Answer]
    for (const { text, headers } of [reference, objects, errors]) {
      const digestOf = (part = '') => `'sha256-${createHash('sha256').update(part).digest('base64')}'`
      const [, style] = /<style>([^<]*)<\/style>/.exec(text)!
      const scripts = [...text.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script]) => script)
      expect(scripts).toHaveLength(text === reference.text ? 1 : 0)
      const script = scripts.map((script) => `script-src ${digestOf(script)}; `).join('')
      expect(headers.get('content-security-policy')).toBe(
        `default-src 'none'; style-src ${digestOf(style)}; ${script}img-src 'self'; ` +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      )
      expect(text).not.toMatch(/<script [^>]|<link rel="stylesheet"|<[^>]* (style|on\w+)=|(src|href)="(https?:)?\/\//)
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      })
    }
  })

  test('the reference shows every endpoint, event, and object, and links to each error and object', async () => {
    const [reference, objects, errors] = (await readReference()) as [Answer, Answer, Answer]
    const idsOf = (text: string) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
    for (const { text } of [reference, objects, errors]) {
      expect(text.replace(/<script>.*?<\/script>/s, '')).not.toMatch(/undefined|\[object /)
      const ids = idsOf(text)
      expect(new Set(ids).size).toBe(ids.length)
      for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
    }
    for (const { name, route } of allRoutes) {
      const [shown = ''] = new RegExp(`<article id="${name}">[\\s\\S]*?</article>`).exec(reference.text) ?? []
      for (const part of [route.path, `client.${name}(`, 'curl ', 'passes ']) expect(shown, name).toContain(part)
      for (const code of route.errors ?? []) expect(shown).toContain(`docs/errors#${code}"`)
    }
    const { components, webhooks } = openApiDocument()
    for (const type of Object.keys(webhooks)) expect(reference.text).toContain(`<article id="on.${type}">`)
    expect(idsOf(objects.text)).toEqual(expect.arrayContaining(Object.keys(components.schemas)))
    const linked = [...reference.text.matchAll(/href="docs\/(objects|errors)#([^"]+)"/g)].map(([, , id]) => id!)
    expect([...idsOf(objects.text), ...idsOf(errors.text)]).toEqual(expect.arrayContaining(linked))
    const [, list = ''] = /<article id="passes.list">([\s\S]*?)<\/article>/.exec(reference.text)!
    expect(list).toContain('Matches passes whose variable has this value')
    expect(list).toContain('Example: <code>variable=seat:A-17</code>')
    const order = ErrorCode.options.map((code) => ({ code, at: errors.text.indexOf(`id="${code}"`) }))
    expect(order.filter(({ at }) => at < 0)).toEqual([])
    const isReserved = ({ code }: { code: ErrorCode }) => errorTable[code][1].startsWith('Reserved')
    const lastAnswered = Math.max(...order.filter((one) => !isReserved(one)).map(({ at }) => at))
    expect(order.filter((one) => isReserved(one) && one.at < lastAnswered)).toEqual([])
  })

  test('public files are sent as br or gzip, and as 304 if the client has them', async () => {
    const workspace = await api.workspace()
    const { body } = await workspace.send('POST', '/v1/images', {
      body: await png(),
      headers: { 'content-type': 'image/png' },
    })
    const isCompressed = {
      '/openapi.json': true,
      '/docs': true,
      '/docs/objects': true,
      '/docs/errors': true,
      [`/images/${(body as Image).id}`]: false,
    }
    for (const [path, compressed] of Object.entries(isCompressed)) {
      const get = (headers: Record<string, string> = {}, method = 'GET') => api.send(method, path, { headers })
      const plain = await get()
      const tags: string[] = []
      for (const coding of ['br', 'gzip']) {
        const small = await get({ 'accept-encoding': coding === 'br' ? 'gzip, br' : coding })
        expect(small.headers.get('content-encoding'), path).toBe(compressed ? coding : null)
        expect(small.headers.get('vary')).toBe(compressed ? 'Accept-Encoding' : null)
        expect(small.bytes.length / plain.bytes.length, path).toSatisfy((ratio) =>
          compressed ? ratio < 0.4 : ratio === 1,
        )
        const content = compressed ? decoders[coding as 'br'](small.bytes) : small.bytes
        expect(content.equals(plain.bytes), path).toBe(true)
        tags.push(small.headers.get('etag')!)
        const head = await get({ 'accept-encoding': coding }, 'HEAD')
        expect(Number(head.headers.get('content-length'))).toBe((await get({ 'accept-encoding': coding })).bytes.length)
        expect(head.bytes).toHaveLength(0)
      }
      tags.push(plain.headers.get('etag')!)
      expect(new Set(tags).size).toBe(compressed ? 3 : 1)
      for (const known of [...tags, `W/${tags[0]}`, `"other", ${tags[1]}`, '*']) {
        const again = await get({ 'if-none-match': known })
        expect([again.status, again.bytes.length], `${path} ${known}`).toEqual([304, 0])
        expect(again.headers.get('etag')).toBe(plain.headers.get('etag'))
        expect(again.headers.get('cache-control')).toBe(plain.headers.get('cache-control'))
      }
      expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
    }
  })

  test('a changed file has a new path, and its old path is not found', async () => {
    const { text } = await api.send('GET', '/docs')
    const [, path = '', digest = ''] = /<link rel="icon" href="(assets\/[^"]*\.([0-9a-f]{16})\.[^"]*)"/.exec(text)!
    const statusOf = async (file: string) => (await api.send('GET', `/${file}`)).status
    expect(await statusOf(path)).toBe(200)
    for (const other of [path.replace(digest, '0'.repeat(16)), path.replace(`.${digest}`, '')]) {
      expect(await statusOf(other), other).toBe(404)
    }
  })
})
