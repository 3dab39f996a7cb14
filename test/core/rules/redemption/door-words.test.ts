import { expect, test } from 'vitest'
import { doorLanguage } from '../../../../src/core/rules/redemption/scan-message.ts'

test('omits a region that Intl does not know', () => {
  expect(doorLanguage('de', 'de-AT').locale).toBe('de-AT')
  expect(doorLanguage('de', 'de-a').locale).toBe('de')
})
