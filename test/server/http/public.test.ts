import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Image } from '../../../src/core/contract/images.ts'
import { ErrorCode } from '../../../src/core/contract/schemas/common.ts'
import { errorTable } from '../../../src/core/errors.ts'
import { openApiDocument } from '../../../src/core/openapi/document.ts'
import { withSharedParts } from '../../../src/core/openapi/shared-parts.ts'
import { useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
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

  test.each(['/', '/healthz', '/readyz', '/openapi.json', '/docs', '/docs/errors', '/docs/try'])(
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

  test('/docs/try can load only its own files, without a token', async () => {
    const { status, headers, text } = await api.send('GET', '/docs/try')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    })
    expect(text).not.toMatch(/<script(?! src=)| style=|<style|(src|href)="(https?:)?\/\//)
    const paths = [...text.matchAll(/(?:src|href)="\.\.(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    expect(paths).toHaveLength(5)
    for (const path of paths) {
      const file = await api.send('GET', path)
      expect([path, file.status]).toEqual([path, 200])
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(file.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('the reference runs no scripts, shows every endpoint with samples, and links to each of its errors', async () => {
    const [reference, errors] = [await api.send('GET', '/docs'), await api.send('GET', '/docs/errors')]
    for (const { text, headers } of [reference, errors]) {
      expect(text).not.toMatch(/<script| style=|undefined|\[object /)
      expect(headers.get('content-security-policy')).not.toContain('script-src')
      expect(headers.get('content-security-policy')).not.toContain('unsafe')
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
      expect(new Set(ids).size).toBe(ids.length)
      for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
    }
    for (const { name, route } of allRoutes) {
      const [shown = ''] = new RegExp(`<article id="${name}">[\\s\\S]*?</article>`).exec(reference.text) ?? []
      for (const part of [route.path, `client.${name}(`, 'curl ', 'passes ']) expect(shown, name).toContain(part)
      for (const code of route.errors ?? []) expect(shown).toContain(`docs/errors#${code}"`)
    }
    const order = ErrorCode.options.map((code) => ({ code, at: errors.text.indexOf(`id="${code}"`) }))
    expect(order.filter(({ at }) => at < 0)).toEqual([])
    const isReserved = ({ code }: { code: ErrorCode }) => errorTable[code][1].startsWith('Reserved')
    const lastAnswered = Math.max(...order.filter((one) => !isReserved(one)).map(({ at }) => at))
    expect(order.filter((one) => isReserved(one) && one.at < lastAnswered)).toEqual([])
  })

  test('the assets of the docs page are large, and are sent as gzip to clients that accept it', async () => {
    const { text } = await api.send('GET', '/docs/try')
    const [path] = /assets\/swagger-ui-bundle[^"]+/.exec(text) ?? []
    const plain = await api.send('GET', `/${path}`)
    const small = await api.send('GET', `/${path}`, { headers: { 'accept-encoding': 'gzip' } })
    expect([plain.headers.get('content-encoding'), small.headers.get('content-encoding')]).toEqual([null, 'gzip'])
    expect(small.headers.get('vary')).toBe('Accept-Encoding')
  })

  test('public files are sent as br or gzip, and as 304 if the client has them', async () => {
    const workspace = await api.workspace()
    const { body } = await workspace.send('POST', '/v1/images', {
      body: await png(),
      headers: { 'content-type': 'image/png' },
    })
    const { text } = await api.send('GET', '/docs/try')
    const bundle = `/${/assets\/swagger-ui-bundle[^"]+/.exec(text)![0]}`
    const isCompressed = {
      '/openapi.json': true,
      [bundle]: true,
      '/docs': true,
      '/docs/errors': true,
      '/docs/try': false,
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
    expect((await api.send('GET', '/assets/swagger-ui.0000000000000000.css')).status).toBe(404)
    expect((await api.send('GET', '/assets/docs.js')).status).toBe(404)
  })
})
