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

/** A sentence as HTML, with HTML for its names in braces. */
export function fillHtml(sentence: string, parts: Record<string, string>): string {
  return escapeHtml(sentence).replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole)
}
