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
