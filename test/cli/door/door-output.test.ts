import { afterEach, expect, test } from 'vitest'
import { phoneWarning } from '../../../src/cli/door/door-output.ts'
import { drawInvitation } from '../../../src/cli/qr-page.ts'

const { TZ } = process.env
afterEach(() => {
  if (TZ === undefined) delete process.env.TZ
  else process.env.TZ = TZ
})

test.each([
  'http://127.0.0.1:3000',
  'http://localhost:3000',
  'https://passes.localhost',
  'http://[::1]:3000',
  'http://127.3.2.1',
])('warns that no phone can open %s, without the code of the link', (origin) => {
  const warning = phoneWarning(`${origin}/door#SECRET`)
  expect(warning).toContain(`No phone can open ${origin}: `)
  expect(warning).toContain('--public-url')
  expect(warning).not.toContain('SECRET')
})

test('warns that the camera needs https at an http address only', () => {
  expect(phoneWarning('http://192.168.0.7:3000/door#SECRET')).toContain('https pages only')
  expect(phoneWarning('https://passes.example/tickets/door#SECRET')).toBe(undefined)
  expect(phoneWarning('https://localhost.example/door#SECRET')).toBe(undefined)
})

test('prints instructions and the end of the invitation in local time', async () => {
  process.env.TZ = 'Europe/Berlin'
  const sheet = await drawInvitation(
    { url: 'https://passes.example/door', expiresAt: '2026-11-27T20:30:00.000Z' },
    { gate: 'North', projectName: 'Spring fair' },
  )
  expect(sheet).toContain('2. Give the phone a name, begin, and allow the camera.')
  expect(sheet).toMatch(/Works until Friday.? 27 November 2026 at 21:30 \(Europe\/Berlin\)/)
})
