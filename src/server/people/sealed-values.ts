import { type ServerKeys, seal, unseal } from '../../core/rules/crypto/server-key.ts'

/** The associated data of a seal. It differs by kind, so that no sealed value opens as one of another kind. */
type SealedKind = 'sign-in' | 'command-line' | 'device'

export function sealValue(value: unknown, kind: SealedKind, { current }: ServerKeys): string {
  return seal(JSON.stringify(value), kind, current, 'sign-ins')
}

/** Returns the value in a sealed text; undefined if the text is missing, or was not sealed by this installation. */
export function openValue<T>(sealed: unknown, kind: SealedKind, { current, previous }: ServerKeys): T | undefined {
  if (typeof sealed !== 'string') return undefined
  try {
    return JSON.parse(unseal(sealed, kind, [current, ...previous], 'sign-ins'))
  } catch {
    // Treat a forged text, or a text of another server key, like a missing text.
    return undefined
  }
}
