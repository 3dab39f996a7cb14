import { escapeHtml } from './html.ts'

/** What went wrong with a link. */
export type ProblemKind =
  | 'revoked'
  | 'void'
  | 'failed'
  | 'expired'
  | 'suspended'
  | 'linkExpired'
  | 'malformed'
  | 'platform'
  | 'unknown'
  | 'busy'
  | 'fault'
  | 'refused'

interface Explanation {
  title: string
  /** What happened. */
  what: string
  /** What the visitor can do. */
  advice: string
}

/** Our own sentences on hosted pages, in one language; names in braces are filled. */
export interface PageWords {
  /** {wallet} */
  addTo: string
  /** The preview in a chat, with the wallets of all configured platforms. {wallet} */
  share: string
  /** The names of two wallets within `share`. {wallet}, {other} */
  or: string
  /** The ribbon if all platforms or one of them is in the sandbox: no phone accepts the pass. {wallet}, {phone} */
  sandbox: { all: string; one: string }
  androidPhone: string
  /** {time} */
  validUntil: string
  addToCalendar: string
  /** What opens the back of the pass. */
  more: string
  /** Of a pass in a list: whether it can be added at once, or is made when somebody opens it. */
  state: { ready: string; preparing: string }
  inApp: { title: string; text: string; address: string; copy: string; copied: string }
  /** On a computer, beside the code of the page. */
  phone: { code: string; title: string; text: string }
  /** {organization} */
  issuedBy: string
  /** {reference}: a number to quote. */
  reference: string
  problems: Record<ProblemKind, Explanation>
}

/** A sentence as HTML, with HTML for its names in braces. */
export function fillHtml(sentence: string, parts: Record<string, string>): string {
  return escapeHtml(sentence).replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole)
}
