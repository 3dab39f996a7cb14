import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { exportCertificates, makeGoogleKey, signRequest } from '../support/credential-issuers.ts'
import { readGuide, root } from '../support/guide.ts'
import { type GuideOptions, runGuide } from '../support/guide-run.ts'

/** Guides that no other test follows further. */
const paths = [
  ...readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`),
  'docs/completion.md',
  'examples/coffee-card/README.md',
]
const guides = paths.map((path) => readGuide(path))

const play: GuideOptions['meanwhile'] = {
  'apple signs pass.csr': signRequest,
  'a keychain exports Certificates.p12': exportCertificates,
  'google makes service-account.json': makeGoogleKey,
  'the credentials are at hand': async (folder) => {
    await signRequest(folder)
    await makeGoogleKey(folder)
  },
}

test.each(guides)('the commands in $path work', async (guide) => {
  const database = 'postgres://passes:PASSWORD@127.0.0.1/passes'
  const text = readFileSync(join(root, guide.path), 'utf8')
  const words: Record<string, string> = {}
  if (text.includes(database)) words[database] = await emptyDatabase('postgres')
  await runGuide(guide, { meanwhile: play, words })
})

describe('untested parts state the reason in the guide', () => {
  const all = [...guides, readGuide('docs/webhooks.md'), readGuide('examples/README.md')]
  const blocks = all.flatMap(({ path, steps }) =>
    steps.flatMap((step) => (step.kind === 'not-run' ? [{ where: `${path}:${step.line}`, ...step }] : [])),
  )
  test.each(blocks)('$where: $reason', ({ reason, commands }) => {
    expect(reason).toMatch(/^[a-z]/)
    expect(commands).not.toEqual([])
  })
})

const analyzer = '/usr/bin/systemd-analyze'

test.skipIf(!existsSync(analyzer))('systemd takes the unit of the production guide', async () => {
  const guide = readFileSync(join(root, 'docs/guides/production.md'), 'utf8')
  const [, unit = ''] = /^```ini file=passes\.service\n([\s\S]*?)^```$/m.exec(guide) ?? []
  expect(unit).toContain('User=passes')
  const file = join(temporaryFolder(), 'passes.service')
  writeFileSync(file, unit.replace('ExecStart=/usr/local/bin/passes', `ExecStart=${analyzer}`))
  const { exitCode, stdout, stderr } = await execa(analyzer, ['verify', file], { reject: false })
  expect([exitCode, stdout, stderr]).toEqual([0, '', ''])
})

test('every file link of the guides is valid', () => {
  const pages = ['docs/README.md', ...paths]
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)]
      .map(([, target]) => join(page, '..', target!))
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${page}: ${target}`),
  )
  expect(broken).toEqual([])
})
