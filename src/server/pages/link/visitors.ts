import { type Phone, type Platform, platformFacts } from '../../../core/contract/platform.ts'

/** The kind of phone that a visitor has, as far as the request shows. */
export type VisitorPhone = Phone | 'undetermined'

/** What browsers say of the device behind a request; null where they do not. */
export interface VisitorHeaders {
  /** The header `User-Agent`. */
  userAgent: string | null
  /** The header `Sec-CH-UA-Platform` as it was sent: a quoted string such as `"Android"`. */
  platformHint: string | null
}

/**
 * The wallet of the device behind a request. A Macintosh may be an iPad in disguise, so only a script on the page can
 * tell; it and every computer are undetermined and get the page that offers both.
 */
export function phoneOf({ userAgent, platformHint }: VisitorHeaders): VisitorPhone {
  if (platformHint?.trim() === '"Android"') return 'android'
  if (userAgent === null) return 'undetermined'
  if (/\bAndroid\b/i.test(userAgent)) return 'android'
  if (/\b(?:iPhone|iPad|iPod)\b/i.test(userAgent)) return 'iphone'
  return 'undetermined'
}

/** Whether the wallet of the platform is on the visitor's phone. */
export function isOfPhone(platform: Platform, phone: VisitorPhone): boolean {
  return platformFacts[platform].phone === phone
}

/** How apps that show web pages themselves sign their user agent. */
const signatures = [
  /\bInstagram\b/,
  /\bFB(?:AN|AV|_IAB)\b/,
  /\bLine\//,
  /\bMicroMessenger\//,
  /\bSnapchat\b/,
  /\b(?:musical_ly|BytedanceWebview|TikTok)\b/,
  /\bLinkedInApp\b/,
  /\bTwitter for\b/,
  /\bPinterest\//,
  /\bKAKAOTALK\b/,
  /\bWhatsApp\//,
  // Android's view of a page in any app, where no one can sign in to a wallet.
  /; wv\)/,
]

/** Whether a page is shown inside another app, where wallets can often not be reached. */
export function isInAppBrowser(userAgent: string | null): boolean {
  return userAgent !== null && signatures.some((signature) => signature.test(userAgent))
}

/**
 * How programs sign that look at a link for a chat, a search or a feed: `…bot`, and those with names of their own. Phones
 * of the make Cubot are none.
 */
const crawlers = [
  /(?:^|[^u])bot\b/i,
  /crawl|spider/i,
  /externalhit|externalagent/i,
  /^WhatsApp\//,
  /(?:BingPreview|UriPreview|Iframely|Embedly|vkShare|Mastodon|Viber)/,
]

/** Whether a program asks, and not a person: it is told what a link is, and opens nothing. */
export function isCrawler(userAgent: string | null): boolean {
  return userAgent !== null && crawlers.some((crawler) => crawler.test(userAgent))
}

/** What the answer to a hosted link depends on: the device and what it runs, and the language. */
export const LINK_VARY = 'User-Agent, Sec-CH-UA-Platform, Accept-Language'
