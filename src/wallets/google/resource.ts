import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { GoogleKind, PassType } from '../../core/contract/schemas/definition.ts'
import { parseJson } from '../../core/json.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { WalletPass } from '../wallet.ts'

export type GoogleResource = { id: string } & Record<string, unknown>

export interface GoogleIssuer {
  issuerId: string
  /** Without a trailing slash. Google rejects images that it cannot fetch, so payloads without https contain none. */
  publicUrl: string
}

const kinds: Record<PassType, GoogleKind> = {
  generic: 'generic',
  eventTicket: 'eventTicket',
  storeCard: 'loyalty',
  coupon: 'offer',
  boardingPass: 'transit',
}

/** Returns the kind of the definition, a flight if the facts are known, else that of the pass type. */
export function kindOf(card: Card): GoogleKind {
  return card.google.kind ?? (card.flight ? 'flight' : kinds[card.passType])
}

/** The object of a pass at Google and its class. IDs have no issuer prefix. */
export interface GooglePlace {
  kind: GoogleKind
  objectSuffix: string
  classSuffix: string
}

/**
 * Both names contain the kind, because IDs are unique across kinds and an object cannot change its kind. Each version
 * has separate classes, so that no version affects passes of another.
 */
export function placeOf(pass: Omit<WalletPass, 'authenticationToken' | 'templateCard'>): GooglePlace {
  const kind = kindOf(pass.card)
  return { kind, objectSuffix: pass.objectSuffix ?? `${pass.id}-${kind}`, classSuffix: classSuffixOf(pass, kind) }
}

type ClassOwner = Pick<WalletPass, 'templateId' | 'templateVersion' | 'classDigest'>

/** The suffix of a key is short, since a save link contains the class of each of its passes (decisions/0015). */
export function classSuffixOf(owner: ClassOwner, kind: GoogleKind): string {
  const long = longClassSuffixOf(owner, kind)
  return owner.classDigest ? `${createHash('sha256').update(long).digest('hex').slice(0, 32)}-${kind}` : long
}

/** Returns the previous name of a key's class, which objects have until they are sent again. */
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

/** Returns the pass with a kind that overrides its card's, since an existing object cannot change its kind. */
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

/** Two updates with the same digest leave an object in the same state. `cleared` are the keys that it removes. */
export function digestOfUpdate(kind: GoogleKind, object: GoogleResource, cleared: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, object, cleared]))
    .digest('base64url')
    .slice(0, 22)
}
