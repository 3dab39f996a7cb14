import { expect, test } from 'vitest'
import { messageBody, showBroadcast } from '../../../src/cli/notify/notification-output.ts'

const now = new Date('2027-01-01T00:00:00Z')

test('parses a message as one text or as one per language', () => {
  expect(messageBody({ message: 'pt=5' }, now)).toMatchObject({ body: 'pt=5', options: {} })
  const flags = { 'message-in': ['pt=Portas = 19h', 'zh-Hans=七点开门'], 'header-in': ['pt=Hoje'] }
  expect(messageBody(flags, now)).toMatchObject({
    body: { pt: 'Portas = 19h', 'zh-Hans': '七点开门' },
    options: { google: { header: { pt: 'Hoje' } } },
  })
  expect(messageBody({ 'message-in': ['__proto__=x', 'pt=y'] }, now).body).toEqual(
    Object.fromEntries([
      ['__proto__', 'x'],
      ['pt', 'y'],
    ]),
  )
})

test.each([
  [['Portas'], 'must be language=text'],
  [['=Portas'], 'must be language=text'],
  [['pt=a', 'pt=b'], 'has two texts in pt'],
])('rejects --message-in %j before it sends anything', (given, said) => {
  expect(() => messageBody({ 'message-in': given }, now)).toThrow(said)
})

test('prints the text of each language', () => {
  const broadcast = {
    id: 'b',
    projectId: 'p',
    body: { pt: 'Portas às 19h', en: 'Doors at 7' },
    platforms: [],
    options: {},
    sendAt: null,
    status: 'PENDING',
    passCount: null,
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
  } as unknown as Parameters<typeof showBroadcast>[0]
  expect(showBroadcast(broadcast)).toMatch(/Message \(pt\) +Portas às 19h\n.*Message \(en\) +Doors at 7/)
})
