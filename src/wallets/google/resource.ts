import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { GoogleKind, PassType } from '../../core/contract/definition.ts'
import { parseJson } from '../../core/json.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { WalletPass } from '../wallet.ts'

/** A class or an object as Google's REST interface takes it: plain JSON. */
export type GoogleResource = { id: string } & Record<string, unknown>

/** What every payload needs to know besides the pass. */
export interface GoogleIssuer {
  issuerId: string
  /**
   * Where the internet reaches the server, without a slash at the end. Google fetches images from there and refuses a
   * pass whose image it cannot get, so under anything but https payloads hold no images, required ones neither.
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

/** The kind of class and object that shows a card: as the definition says, a flight that is known, or as its pass type has. */
export function kindOf(card: Card): GoogleKind {
  return card.google.kind ?? (card.flight ? 'flight' : kinds[card.passType])
}

/** Where a pass stands at Google: its object, and the class of that. Ids are given without the issuer. */
export interface GooglePlace {
  kind: GoogleKind
  objectSuffix: string
  classSuffix: string
}

/**
 * The one place that says what the object and the class of a pass are called. Google knows each id once among all kinds, and
 * no object changes its kind, so that both name it. A version has classes of its own, one for each key where it has keys: what
 * another publishes never shows on its passes.
 */
export function placeOf(pass: Omit<WalletPass, 'authenticationToken' | 'templateCard'>): GooglePlace {
  const kind = kindOf(pass.card)
  return { kind, objectSuffix: pass.googleSuffix ?? `${pass.id}-${kind}`, classSuffix: classSuffixOf(pass, kind) }
}

type ClassOwner = Pick<WalletPass, 'templateId' | 'templateVersion' | 'classDigest'>

/**
 * The part of a class's id after the issuer: of the version, or of what passes of a key share (decisions/0015). The latter
 * is short, since a save link names the class of each of its passes.
 */
export function classSuffixOf(owner: ClassOwner, kind: GoogleKind): string {
  const long = longClassSuffixOf(owner, kind)
  return owner.classDigest ? `${createHash('sha256').update(long).digest('hex').slice(0, 32)}-${kind}` : long
}

/** What the class of a key was called before: objects that were sent then stand there until they are sent again. */
export function longClassSuffixOf({ templateId, templateVersion, classDigest }: ClassOwner, kind: GoogleKind): string {
  return `${VERSION_CLASS}${templateId}-v${templateVersion}-${kind}${classDigest ? `-${classDigest}` : ''}`
}

const VERSION_CLASS = 'template-'

/** Whether the class of a key is called by its long name. */
export function isLongClassSuffix(suffix: string): boolean {
  return suffix.startsWith(VERSION_CLASS)
}

/** An id as Google has it. */
export function idOf({ issuerId }: Pick<GoogleIssuer, 'issuerId'>, suffix: string): string {
  return `${issuerId}.${suffix}`
}

/** The pass as one of a kind that is not for its card to say: an object that is there keeps its kind. */
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

/** The card as another kind of Google's passes. */
export function cardAsKind(card: Card, kind: GoogleKind): Card {
  return { ...card, google: { ...card.google, kind } }
}

/** What the text says, as the schema reads it; undefined where it is no JSON or does not fit. */
export function parseAs<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  return schema.safeParse(parseJson(text)).data
}

/** Stands for all that an update of an object says: two of the same digest leave the same behind. `cleared` are keys that it takes away. */
export function digestOfUpdate(kind: GoogleKind, object: GoogleResource, cleared: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, object, cleared]))
    .digest('base64url')
    .slice(0, 22)
}
