import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readGuide, root } from '../support/guide.ts'
import { runGuide } from '../support/guide-run.ts'

test('the commands in the guide to webhooks work', async () => {
  const { output } = await runGuide(readGuide('docs/webhooks.md'))
  const [, tag] = /v1=([0-9a-f]{64})/.exec(readFileSync(join(root, 'docs/webhooks.md'), 'utf8')) ?? []
  expect(output('openssl')).toContain(tag)
  expect(output('webhook test')).toMatch(/Status +SUCCESS/)
  expect(output('webhook verify')).toContain('The signature is valid')
  expect(output('deliveries DELIVERY_ID')).toContain('"type": "webhook.test"')
  expect(output('redeliver')).toMatch(/Status +SUCCESS/)
  expect(output('rotate-secret')).toMatch(/Secret +whsec_/)
  expect(output('webhook update')).toMatch(/Events +pass\.scanned\n/)
  expect(output('webhook delete')).toContain('is deleted')
})
