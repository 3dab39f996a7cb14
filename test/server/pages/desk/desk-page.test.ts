import { describe, expect, test } from 'vitest'
import { spokenLanguages } from '../../../../src/locales/languages.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('the desk can load only its own files, and contains no inline code or style', async () => {
    const { status, headers, text } = await api.send('GET', '/desk')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('set-cookie')).toBeNull()
    expect(text).not.toMatch(/<script(?![^>]* src=)| style=|<style|(src|href)="(https?:)?\/\//)
  })

  test('without scripts, shows what it needs in every language', async () => {
    const { text } = await api.send('GET', '/desk')
    const languages = [...text.matchAll(/<p lang="(\w+)" dir="(\w+)">[^<]*JavaScript/g)].map(([, ...found]) =>
      found.join(),
    )
    expect(languages).toHaveLength(spokenLanguages.length)
    expect(languages).toEqual(expect.arrayContaining(['en,ltr', 'de,ltr', 'ar,rtl', 'he,rtl']))
  })

  test('its files, with every language, are under 300 KB compressed, and cacheable permanently', async () => {
    const { text } = await api.send('GET', '/desk')
    const paths = new Set([...text.matchAll(/(?:src|href)="\.(\/desk\/[^"]+)"/g)].map(([, path]) => path!))
    expect(paths.size).toBe(2)
    let bytes = 0
    // Iterating a set includes elements that are added meanwhile.
    for (const path of paths) {
      const file = await api.send('GET', path, { headers: { 'accept-encoding': 'br' } })
      expect([path, file.status]).toEqual([path, 200])
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(file.headers.get('content-encoding')).toBe('br')
      const { text: content } = await api.send('GET', path)
      bytes += Buffer.byteLength(content)
      for (const [, name] of content.matchAll(/["'`]\.\/([\w.-]+\.js)["'`]/g)) paths.add(`/desk/${name}`)
    }
    expect(paths.size).toBe(2 + 15)
    expect(bytes).toBeLessThan(300_000)
  })

  test('the licenses of bundled packages are served, and nothing else below the path', async () => {
    const { status, text } = await api.send('GET', '/desk/licences.txt')
    expect(status).toBe(200)
    for (const name of ['preact', 'd3-scale', 'd3-shape', 'd3-array']) expect(text).toContain(`${name}\n\n`)
    for (const name of ['desk.json', 'main.js', '..%2fpackage.json', 'x']) {
      expect((await api.send('GET', `/desk/${name}`)).status, name).toBe(404)
    }
  })
})
