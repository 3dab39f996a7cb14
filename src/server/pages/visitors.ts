export type DevicePlatform = 'apple' | 'google' | 'undetermined'

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
]

/** Whether a page is shown inside another app, where wallets can often not be reached. */
export function isInAppBrowser(userAgent: string | null): boolean {
  return userAgent !== null && signatures.some((signature) => signature.test(userAgent))
}
