import { type LinkKind, type LinkVerdict, linkExpiry, signLink, verifyLink } from '../core/rules/crypto/link.ts'
import { deriveKey } from '../core/rules/crypto/server-key.ts'
import type { StoredPass } from '../storage/passes/pass-row.ts'
import type { Platform } from '../wallets/wallet.ts'
import type { ServerKeys } from './boot/server-key.ts'

/** Hosted add-to-wallet links: made on read without a write, checked without a read. */
export interface Links {
  /** Fresh links of an installable pass; a platform that is not configured has none. */
  build(pass: StoredPass, at: Date): { apple: string | null; google: string | null; smart: string | null }
  /** The link of one kind for a pass. */
  urlFor(kind: LinkKind, pass: StoredPass, at: Date): string
  verify(token: string, at: Date): LinkVerdict
  /** What links, and the images that pages show, are reached below; without a slash at the end. */
  publicUrl: string
}

export interface LinksOptions {
  keys: ServerKeys
  /** Without a slash at the end. */
  publicUrl: string
  platforms: readonly Platform[]
  ttlDays: number
}

export function createLinks({ keys, publicUrl, platforms, ttlDays }: LinksOptions): Links {
  const signingKey = deriveKey(keys.current, 'links')
  const acceptedKeys = [signingKey, ...keys.previous.map((key) => deriveKey(key, 'links'))]
  const urlFor = (kind: LinkKind, pass: StoredPass, at: Date) => {
    const { workspaceId, id: passId, linkGeneration: generation } = pass
    const expiresAt = linkExpiry(pass.expiresAt, at, ttlDays)
    return `${publicUrl}/l/${signLink({ kind, workspaceId, passId, generation, expiresAt }, signingKey)}`
  }
  return {
    publicUrl,
    urlFor,
    verify: (token, at) => verifyLink(token, acceptedKeys, at),
    build: (pass, at) => ({
      apple: platforms.includes('apple') ? urlFor('apple', pass, at) : null,
      google: platforms.includes('google') ? urlFor('google', pass, at) : null,
      smart: urlFor('smart', pass, at),
    }),
  }
}
