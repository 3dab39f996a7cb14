/** The wallet that a device has, as far as its request tells. */
export type DevicePlatform = 'apple' | 'google' | 'undetermined'

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
export function devicePlatform({ userAgent, platformHint }: VisitorHeaders): DevicePlatform {
  if (platformHint?.trim() === '"Android"') return 'google'
  if (userAgent === null) return 'undetermined'
  if (/\bAndroid\b/i.test(userAgent)) return 'google'
  if (/\b(?:iPhone|iPad|iPod)\b/i.test(userAgent)) return 'apple'
  return 'undetermined'
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
  // Android's view of a page in any app: Google lets no one sign in there.
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
