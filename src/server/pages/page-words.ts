import { escapeHtml } from './html.ts'

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

/** Fills in the placeholders of a sentence with HTML. The sentence itself is escaped. */
export function fillHtml(sentence: string, parts: Record<string, string>): string {
  return escapeHtml(sentence).replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole)
}
