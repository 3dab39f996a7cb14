import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { GoogleKind, PassType } from '../../core/contract/schemas/definition.ts'
import { parseJson } from '../../core/json.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { WalletPass } from '../wallet.ts'

export type GoogleResource = { id: string } & Record<string, unknown>

export interface GoogleIssuer {
  issuerId: string
  /**
   * The base URL of images, without a trailing slash. If this is not https, resources contain no images, because Google
   * rejects images that it cannot fetch.
   */
  publicUrl: string
}

const kinds: Record<PassType, GoogleKind> = {
  generic: 'generic',
  eventTicket: 'eventTicket',
  storeCard: 'loyalty',
  coupon: 'offer',
  boardingPass: 'transit',
}

/**
 * Returns the kind that the definition sets. By default, a pass with the facts of a flight is a flight, and any other
 * pass has the kind of its pass type.
 */
export function kindOf(card: Card): GoogleKind {
  return card.google.kind ?? (card.flight ? 'flight' : kinds[card.passType])
}

/** The object and the class of a pass at Google. A suffix is an ID without the issuer ID at its start. */
export interface GooglePlace {
  kind: GoogleKind
  objectSuffix: string
  classSuffix: string
}

/**
 * Returns the object and the class of a pass. Both IDs contain the kind, because an ID must be unique across all kinds,
 * and an object cannot change its kind. Each version has separate classes, so that a new version does not change passes
 * of older versions.
 */
export function placeOf(pass: Omit<WalletPass, 'authenticationToken' | 'templateCard'>): GooglePlace {
  const kind = kindOf(pass.card)
  return { kind, objectSuffix: pass.objectSuffix ?? `${pass.id}-${kind}`, classSuffix: classSuffixOf(pass, kind) }
}

type ClassOwner = Pick<WalletPass, 'templateId' | 'templateVersion' | 'classDigest'>

/**
 * Returns the suffix of the class ID. With a class key, the suffix is a short digest, because a save link contains the
 * class ID of each pass (decisions/0015).
 */
export function classSuffixOf(owner: ClassOwner, kind: GoogleKind): string {
  const long = longClassSuffixOf(owner, kind)
  return owner.classDigest ? `${createHash('sha256').update(long).digest('hex').slice(0, 32)}-${kind}` : long
}

/**
 * Returns the long form of the suffix of the class ID. It is the current form for passes without a class key. With a
 * class key, only classes that earlier releases created have it.
 */
export function longClassSuffixOf({ templateId, templateVersion, classDigest }: ClassOwner, kind: GoogleKind): string {
  return `${VERSION_CLASS}${templateId}-v${templateVersion}-${kind}${classDigest ? `-${classDigest}` : ''}`
}

const VERSION_CLASS = 'template-'

export function isLongClassSuffix(suffix: string): boolean {
  return suffix.startsWith(VERSION_CLASS)
}

export function idOf({ issuerId }: Pick<GoogleIssuer, 'issuerId'>, suffix: string): string {
  return `${issuerId}.${suffix}`
}

/** Returns the pass with the kind of an existing object, because an object cannot change its kind. */
export function asKind(pass: WalletPass, kind: GoogleKind): WalletPass {
  const asOf = (card: Card) => cardAsKind(card, kind)
  const { translations, templateTranslations } = pass
  return {
    ...pass,
    card: asOf(pass.card),
    templateCard: asOf(pass.templateCard),
    ...(translations && { translations: translations.map(asOf) }),
    ...(templateTranslations && { templateTranslations: templateTranslations.map(asOf) }),
  }
}

export function cardAsKind(card: Card, kind: GoogleKind): Card {
  return { ...card, google: { ...card.google, kind } }
}

export function parseAs<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  return schema.safeParse(parseJson(text)).data
}

/**
 * Returns the digest of an update; `cleared` are the keys that it removes. Two updates with the same digest result in
 * the same object.
 */
export function digestOfUpdate(kind: GoogleKind, object: GoogleResource, cleared: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, object, cleared]))
    .digest('base64url')
    .slice(0, 22)
}
