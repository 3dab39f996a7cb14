import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { byPlatform, type Platform, platforms } from '../core/contract/schemas/platform.ts'
import { formatUuid, parseUuid } from '../core/ids.ts'
import type { ServerKeys } from '../core/rules/crypto/server-key.ts'
import { deriveKey } from '../core/rules/crypto/server-key.ts'
import type { StoredPass } from '../storage/passes/pass-row.ts'

/**
 * The token of a hosted link: 42 bytes of facts and 18 of HMAC-SHA256, as 80 characters of base64url. 60 bytes fill
 * base64url exactly, so a token has only one spelling. The database holds no tokens.
 *
 *     0      version (high half) and kind (low half)
 *     1..16  workspace id        33..36  generation
 *     17..32 pass id             37..41  expiry, seconds since 1970
 */

type LinkKind = 'smart' | 'group' | Platform
/**
 * The kinds of links. Tokens contain the index of the kind in this list. An index must never change, so later
 * platforms are added at the end, after `group`.
 */
export const linkKinds: readonly LinkKind[] = ['smart', ...platforms.slice(0, 2), 'group', ...platforms.slice(2)]

export interface Link {
  kind: LinkKind
  workspaceId: string
  /** The ID of the pass, or of the group if the kind is `group`. */
  passId: string
  /**
   * The link generation of the pass, 0 to 2^32 - 1. Revoking the links increases the generation, which invalidates
   * older links.
   */
  generation: number
  /** The expiry, which the token rounds up to a whole second. */
  expiresAt: Date
}

type LinkCheck = { ok: true; link: Link } | { ok: false; reason: 'malformed' | 'tampered' | 'expired' }

/** The key that signs links. A KeyObject is faster than bytes, which Node converts to a key for each signature. */
type LinkKey = KeyObject | Uint8Array

const VERSION = 1
const FACTS_BYTES = 42
const TAG_BYTES = 18
const SHAPE = /^[A-Za-z0-9_-]{80}$/
const DAY_MS = 86_400_000
const MIN_DAYS = 30

/** @param key the subkey for links, from the current server key */
export function signLink({ kind, workspaceId, passId, generation, expiresAt }: Link, key: LinkKey): string {
  const bytes = Buffer.alloc(FACTS_BYTES + TAG_BYTES)
  bytes[0] = (VERSION << 4) | linkKinds.indexOf(kind)
  parseUuid(workspaceId).copy(bytes, 1)
  parseUuid(passId).copy(bytes, 17)
  bytes.writeUInt32BE(generation, 33)
  bytes.writeUIntBE(Math.ceil(expiresAt.getTime() / 1000), 37, 5)
  tagOf(bytes.subarray(0, FACTS_BYTES), key).copy(bytes, FACTS_BYTES)
  return bytes.toString('base64url')
}

/** @param keys the accepted subkeys for links, in any order */
export function verifyLink(token: string, keys: readonly LinkKey[], at: Date): LinkCheck {
  if (!SHAPE.test(token)) return { ok: false, reason: 'malformed' }
  const bytes = Buffer.from(token, 'base64url')
  const facts = bytes.subarray(0, FACTS_BYTES)
  const tag = bytes.subarray(FACTS_BYTES)
  if (!keys.some((key) => timingSafeEqual(tag, tagOf(facts, key)))) return { ok: false, reason: 'tampered' }
  const kind = linkKinds[facts[0]! & 0x0f]
  if (facts[0]! >> 4 !== VERSION || kind === undefined) return { ok: false, reason: 'malformed' }
  const expiresAt = new Date(facts.readUIntBE(37, 5) * 1000)
  if (at >= expiresAt) return { ok: false, reason: 'expired' }
  return {
    ok: true,
    link: {
      kind,
      workspaceId: formatUuid(facts.subarray(1, 17)),
      passId: formatUuid(facts.subarray(17, 33)),
      generation: facts.readUInt32BE(33),
      expiresAt,
    },
  }
}

/**
 * Returns the expiry of a link. The link expires with its pass, but not before 30 days from now, because people open
 * mailed links late. If the pass has no expiry, the link expires after `ttlDays`.
 */
export function linkExpiry(passExpiresAt: Date | null, at: Date, ttlDays = 400): Date {
  if (passExpiresAt === null) return new Date(at.getTime() + ttlDays * DAY_MS)
  return new Date(Math.max(passExpiresAt.getTime(), at.getTime() + MIN_DAYS * DAY_MS))
}

function tagOf(facts: Uint8Array, key: LinkKey): Buffer {
  return createHmac('sha256', key).update(facts).digest().subarray(0, TAG_BYTES)
}

export type Links = ReturnType<typeof createLinks>

interface LinksOptions {
  keys: ServerKeys
  /** The base URL of links and of the images that pages show, without a trailing slash. */
  publicUrl: string
  platforms: readonly Platform[]
  ttlDays: number
}

/** Creates and verifies hosted links without access to the database. Links of previous server keys are accepted. */
export function createLinks({ keys, publicUrl, platforms: configured, ttlDays }: LinksOptions) {
  const acceptedKeys = [keys.current, ...keys.previous].map((key) => createSecretKey(deriveKey(key, 'links')))
  const signingKey = acceptedKeys[0]!
  const urlsOf = (facts: Pick<Link, 'workspaceId' | 'passId' | 'generation'>, expiresAt: Date | null, at: Date) => {
    const link = { ...facts, expiresAt: linkExpiry(expiresAt, at, ttlDays) }
    return (kind: LinkKind) => `${publicUrl}/l/${signLink({ kind, ...link }, signingKey)}`
  }
  const linksOf = ({ workspaceId, id: passId, linkGeneration: generation, expiresAt }: StoredPass, at: Date) =>
    urlsOf({ workspaceId, passId, generation }, expiresAt, at)
  const groupUrl = ({ workspaceId, expiresAt, group }: StoredPass, at: Date) =>
    group && urlsOf({ workspaceId, passId: group.id, generation: group.generation }, expiresAt, at)('group')
  return {
    publicUrl,
    urlFor: (kind: Platform | 'smart', pass: StoredPass, at: Date) => linksOf(pass, at)(kind),
    verify: (token: string, at: Date) => verifyLink(token, acceptedKeys, at),
    /** Returns the links of an installable pass. The link of an unconfigured platform or of a missing group is null. */
    build(pass: StoredPass, at: Date): Record<LinkKind, string | null> {
      const urlOf = linksOf(pass, at)
      return {
        ...byPlatform((platform) => (configured.includes(platform) ? urlOf(platform) : null)),
        smart: urlOf('smart'),
        group: groupUrl(pass, at),
      }
    },
  }
}
