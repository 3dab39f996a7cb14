import { expect, test } from 'vitest'
import { isCrawler, isInAppBrowser } from '../../../../src/server/pages/link/visitors.ts'

const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
const android = 'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0'

test.each([
  ['Instagram', `${iphone} Mobile/15E148 Instagram 309.0.0 (iPhone15,2; iOS 17_5)`],
  ['Facebook, iPhone', `${iphone} Mobile/15E148 [FBAN/FBIOS;FBAV/440.0;FBDV/iPhone15,2]`],
  ['Facebook, Android', `${android} Chrome/131.0.0.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/440.0]`],
  ['LINE', `${iphone} Safari Line/14.2.0`],
  ['WeChat', `${iphone} Mobile/15E148 MicroMessenger/8.0.49 NetType/WIFI`],
  ['TikTok', `${android} Chrome/131.0.0.0 Mobile Safari/537.36 musical_ly_2023 BytedanceWebview/d8a21c6`],
  ['Snapchat', `${iphone} Mobile/15E148 Snapchat/12.80.0.40`],
  ['LinkedIn', `${iphone} Mobile/15E148 [LinkedInApp]/9.29`],
  ['X', `${iphone} Mobile/15E148 Twitter for iPhone/10.40`],
  ['Pinterest', `${iphone} Mobile/15E148 [Pinterest/iOS]`],
  ['KakaoTalk', `${android} Chrome/131.0.0.0 Mobile Safari/537.36;KAKAOTALK 2410480`],
  ['WhatsApp', `${iphone} Mobile/15E148 WhatsApp/24.10.78`],
  ['any app on Android', `${android} Chrome/131.0.0.0 Mobile Safari/537.36`],
])('%s is an in-app browser', (_, userAgent) => {
  expect(isInAppBrowser(userAgent)).toBe(true)
})

test.each([
  ['Safari, iPhone', `${iphone} Version/17.5 Mobile/15E148 Safari/604.1`],
  ['Chrome, iPhone', `${iphone} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1`],
  ['Chrome, Android', 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36'],
  ['Firefox, Linux', 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'],
  ['an online shop', 'Airline/2.0 OnlineFBANalytics'],
  ['nothing', null],
])('%s is a standalone browser', (_, userAgent) => {
  expect(isInAppBrowser(userAgent)).toBe(false)
})

test.each([
  'WhatsApp/2.23.20.0 A',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'TelegramBot (like TwitterBot)',
  'Twitterbot/1.0',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'meta-externalagent/1.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
  'LinkedInBot/1.0 (compatible; Mozilla/5.0)',
  'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) Chrome/131.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1)',
])('%s is a link preview program', (userAgent) => {
  expect(isCrawler(userAgent)).toBe(true)
})

test.each([
  `${iphone} Version/17.5 Mobile/15E148 Safari/604.1`,
  `${iphone} Mobile/15E148 WhatsApp/24.10.78`,
  'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/131.0.0.0 Mobile Safari/537.36',
  'curl/8.9',
  null,
])('%s is not a link preview program', (userAgent) => {
  expect(isCrawler(userAgent)).toBe(false)
})
