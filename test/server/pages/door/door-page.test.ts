import { describe, expect, test } from 'vitest'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function linked(): Promise<string[]> {
    const { text } = await api.send('GET', '/door')
    return [...text.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, path]) => path!)
  }

  test('only the door page can use the camera, and it can load only its own files and WebAssembly', async () => {
    const { status, headers, text } = await api.send('GET', '/door')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('permissions-policy')).toMatch(/^camera=\(self\), microphone=\(\)/)
    expect((await api.send('GET', '/docs')).headers.get('permissions-policy')).toMatch(/^camera=\(\)/)
    expect(text).not.toMatch(/<script(?![^>]* src=)| style=|<style|(src|href)="(https?:)?\/\//)
  })

  test('its files are small, cacheable permanently, compressed, and under its policy, including workers', async () => {
    const paths = (await linked()).filter((path) => path.startsWith('/door/'))
    expect(paths).toHaveLength(3)
    let bytes = 0
    for (const path of paths) {
      const file = await api.send('GET', path, { headers: { 'accept-encoding': 'br' } })
      expect([path, file.status]).toEqual([path, 200])
      const isHashed = path.endsWith('.js') || path.endsWith('.css')
      expect(file.headers.get('cache-control')).toBe(isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
      expect(file.headers.get('content-encoding')).toBe('br')
      if (isHashed) expect(file.headers.get('content-security-policy')).toContain("default-src 'none'")
      const again = await api.send('GET', path, { headers: { 'if-none-match': file.headers.get('etag')! } })
      expect(again.status).toBe(304)
      bytes += (await api.send('GET', path)).text.length
    }
    // Uncompressed, and without the code reader, which is loaded separately.
    expect(bytes).toBeLessThan(400_000)
  })

  test('can be added to a home screen, and nothing else exists below the path', async () => {
    const { status, text } = await api.send('GET', '/door/manifest.webmanifest')
    expect(status).toBe(200)
    const { icons, ...manifest } = JSON.parse(text) as { icons: { src: string }[] }
    expect(manifest).toMatchObject({ start_url: '../door', scope: '../door', display: 'standalone' })
    for (const { src } of icons) {
      const { pathname } = new URL(src, 'https://passes.example/door/manifest.webmanifest')
      expect([src, (await api.send('GET', pathname)).status]).toEqual([src, 200])
    }
    for (const name of ['door.json', 'main.js', '..%2fpackage.json', 'x']) {
      expect((await api.send('GET', `/door/${name}`)).status, name).toBe(404)
    }
  })
})
