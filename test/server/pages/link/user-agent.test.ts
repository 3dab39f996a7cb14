import { expect, test } from 'vitest'
import { phoneOf } from '../../../../src/server/pages/link/visitors.ts'

const webkit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)'
const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0'

test.each([
  [
    'Safari, iPhone',
    'iphone',
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) ${webkit} Version/17.5 Mobile/15E148 Safari/604.1`,
  ],
  [
    'Chrome, iPhone',
    'iphone',
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) ${webkit} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1`,
  ],
  [
    'Instagram, iPhone',
    'iphone',
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) ${webkit} Mobile/15E148 Instagram 309.0.0 (iPhone15,2; iOS 17_5)`,
  ],
  [
    'Safari, old iPad',
    'iphone',
    `Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) ${webkit} Version/12.1.2 Mobile/15E148 Safari/604.1`,
  ],
  [
    'Safari, iPod',
    'iphone',
    `Mozilla/5.0 (iPod touch; CPU iPhone OS 12_5 like Mac OS X) ${webkit} Version/12.1.2 Mobile/15E148 Safari/604.1`,
  ],
  ['Chrome, Pixel', 'android', `Mozilla/5.0 (Linux; Android 10; K) ${chrome} Mobile Safari/537.36`],
  ['Firefox, Android', 'android', 'Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0'],
  [
    'Samsung Internet',
    'android',
    `Mozilla/5.0 (Linux; Android 13; SM-S918B) ${chrome} SamsungBrowser/27.0 Mobile Safari/537.36`,
  ],
  ['Android tablet', 'android', `Mozilla/5.0 (Linux; Android 12; SM-X906C) ${chrome} Safari/537.36`],
  [
    'Facebook, Android',
    'android',
    `Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) ${chrome} Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/440.0]`,
  ],
  [
    'Safari, Mac or a new iPad',
    'undetermined',
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/17.5 Safari/605.1.15`,
  ],
  ['Chrome, Mac', 'undetermined', `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${chrome} Safari/537.36`],
  ['Edge, Windows', 'undetermined', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/131.0.0.0`],
  ['Firefox, Linux', 'undetermined', 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'],
  ['Chrome OS', 'undetermined', `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${chrome} Safari/537.36`],
  ['curl', 'undetermined', 'curl/8.5.0'],
  ['nothing', 'undetermined', ''],
])('%s is %s', (_, phone, userAgent) => {
  expect(phoneOf({ userAgent, platformHint: null })).toBe(phone)
})

test('the client hint reveals Android if the user agent hides it', () => {
  const desktop = `Mozilla/5.0 (X11; Linux x86_64) ${chrome} Safari/537.36`
  expect(phoneOf({ userAgent: desktop, platformHint: '"Android"' })).toBe('android')
  expect(phoneOf({ userAgent: null, platformHint: '"Android"' })).toBe('android')
})

test('a hint of another platform, or a malformed one, is ignored', () => {
  for (const platformHint of ['"macOS"', '"Windows"', '"Unknown"', 'Androidish', '']) {
    expect(phoneOf({ userAgent: null, platformHint })).toBe('undetermined')
  }
})
