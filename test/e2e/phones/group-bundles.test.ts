import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { oneDialect } from '../../support/databases.ts'
import { unpack, verifySignature } from '../../wallets/apple/fixtures.ts'
import { findApns } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { sharedServer } from '../support/server.ts'

const conference = new URL('../../../examples/conference/template.json', import.meta.url).pathname
const iPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5'

describe.each(oneDialect)('on %s', (dialect) => {
  const shared = sharedServer({ dialect })

  test('offers the eleven passes of a booking to an iPhone as two bundles of valid packages', async () => {
    const server = await shared()
    const pushed = await run(['template', 'push', conference, '--publish', '--json'], server)
    const { templateId } = JSON.parse(pushed.stdout) as { templateId: string }
    const passes = Array.from({ length: 11 }, (_, n) => ({
      templateId,
      externalPassId: `GUEST-${n}`,
      label: `Guest ${n}`,
      variables: {
        ticketType: 'Guest',
        email: `guest-${n}@example.org`,
        hall: 'Sala Tejo',
        seat: `A-${n}`,
        validUntil: '2027-05-21T22:00:00+01:00',
        booking: 'R-2042',
      },
    }))
    const { results } = await server.client.passes.createBatch({ body: { passes } })
    const link = results[0]!.pass!.hostedLinks.group!
    const page = await (await fetch(link, { headers: { 'user-agent': iPhone, 'accept-language': 'ar' } })).text()
    expect(page).toContain('Polyglot Conference – تذكرة مؤتمر بوليغلوت 2027')

    const bundles = [...page.matchAll(/href="([^"]*)"/g)]
      .map(([, href]) => new URL(href!.replaceAll('&#38;', '&'), link))
      .filter(({ searchParams }) => searchParams.has('bundle'))
    const { rootPem } = await findApns(server)
    const serialNumbers: string[][] = []
    for (const bundle of bundles) {
      const answer = await fetch(bundle, { headers: { 'user-agent': iPhone } })
      expect(answer.headers.get('content-type')).toBe('application/vnd.apple.pkpasses')
      serialNumbers.push(await readBundle(Buffer.from(await answer.arrayBuffer()), rootPem))
    }
    expect(serialNumbers.map(({ length }) => length)).toEqual([10, 1])
    expect(serialNumbers.flat().toSorted()).toEqual(results.map(({ pass }) => pass!.id).toSorted())
  })
})

/** Returns the serial numbers of a bundle, after unzip and openssl checked its packages in each language. */
async function readBundle(bundle: Buffer, rootPem: string): Promise<string[]> {
  const folder = await unpack(bundle)
  return Promise.all(
    readdirSync(folder).map(async (name) => {
      const inner = await unpack(readFileSync(join(folder, name)))
      await verifySignature(inner, rootPem, { time: new Date() })
      const languages = readdirSync(inner).filter((file) => file.endsWith('.lproj'))
      expect(languages.toSorted()).toEqual(['ar.lproj', 'de.lproj', 'en.lproj', 'ja.lproj', 'pt.lproj'])
      return JSON.parse(readFileSync(join(inner, 'pass.json'), 'utf8')).serialNumber as string
    }),
  )
}
