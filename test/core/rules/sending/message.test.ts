import { expect, test } from 'vitest'
import { distinctText } from '../../../../src/core/rules/sending/notification.ts'

test('repeated texts differ each time in invisible characters', () => {
  const texts = Array.from({ length: 1000 }, (_, n) => distinctText('Doors open at 7', n + 1))
  expect(new Set(texts).size).toBe(1000)
  for (const text of texts) expect(text.replaceAll(/[\u200b\u200c\u2060]/g, '')).toBe('Doors open at 7')
})
