import { type Phone, type Platform, platformFacts } from '../../../core/contract/schemas/platform.ts'

export type VisitorPhone = Phone | 'undetermined'

export interface VisitorHeaders {
  userAgent: string | null
  /** The header `Sec-CH-UA-Platform`, as received: a quoted string such as `"Android"`. */
  platformHint: string | null
}

/**
 * Returns the phone of a visitor. Computers are undetermined, because a Macintosh can be an iPad, which only a script
 * on the page can detect.
 */
export function phoneOf({ userAgent, platformHint }: VisitorHeaders): VisitorPhone {
  if (platformHint?.trim() === '"Android"') return 'android'
  if (userAgent === null) return 'undetermined'
  if (/\bAndroid\b/i.test(userAgent)) return 'android'
  if (/\b(?:iPhone|iPad|iPod)\b/i.test(userAgent)) return 'iphone'
  return 'undetermined'
}

export function isOfPhone(platform: Platform, phone: VisitorPhone): boolean {
  return platformFacts[platform].phone === phone
}

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
  // Android's WebView, in which users cannot sign in to a wallet.
  /; wv\)/,
]

export function isInAppBrowser(userAgent: string | null): boolean {
  return userAgent !== null && signatures.some((signature) => signature.test(userAgent))
}

/** The names of programs that preview or index links, such as `…bot`. Cubot phones do not match. */
const crawlers = [
  /(?:^|[^u])bot\b/i,
  /crawl|spider/i,
  /externalhit|externalagent/i,
  /^WhatsApp\//,
  /(?:BingPreview|UriPreview|Iframely|Embedly|vkShare|Mastodon|Viber)/,
]

/** Whether a program, not a person, requests the link. A program gets a description instead of the pass. */
export function isCrawler(userAgent: string | null): boolean {
  return userAgent !== null && crawlers.some((crawler) => crawler.test(userAgent))
}

export const LINK_VARY = 'User-Agent, Sec-CH-UA-Platform, Accept-Language'
