import type { Definition, ImageRole, PassType } from '../../../core/contract/schemas/definition.ts'
import type { Platform } from '../../../core/contract/schemas/platform.ts'
import type { Warning } from '../../../core/contract/schemas/warnings.ts'
import { validationError } from '../../../core/errors.ts'
import { readAppleLook } from '../../../core/rules/display/apple-look.ts'
import { type Card, localeOf, renderCard } from '../../../core/rules/display/card.ts'
import { readGoogleView } from '../../../core/rules/display/google-view.ts'
import { readPoster } from '../../../core/rules/display/poster.ts'
import { readSemanticFields } from '../../../core/rules/display/semantic-boarding.ts'
import { claimClass } from '../../../core/rules/template/class-key.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import {
  inLanguage,
  languagesOf,
  otherLanguages,
  writtenOf,
} from '../../../core/rules/template/definition-languages.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import { resolveExpiry, templateScope } from '../../../core/rules/template/resolve.ts'
import { mapInSlices } from '../../../core/slices.ts'
import { NIL_UUID } from '../../../core/uuid.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { AppleWallet } from '../../../wallets/apple/apple-wallet.ts'
import type { GoogleWallet } from '../../../wallets/google/google-wallet.ts'
import type { WalletPass } from '../../../wallets/wallet.ts'
import type { Page } from '../html.ts'
import { barcodesOf } from './poster.ts'
import { previewPage } from './preview-page.ts'
import { drawAhead } from './symbols.ts'

/** The parts of the wallets that previews need. They contain no keys, because nothing is signed. */
export interface PreviewWallets {
  apple?: Pick<AppleWallet, 'passJson'>
  google?: Pick<GoogleWallet, 'classOf' | 'objectOf'>
}

function languagesOfPass({ card, translations = [] }: Pick<WalletPass, 'card' | 'translations'>): string[] {
  return [card, ...translations].flatMap(({ language }) => language ?? [])
}

/**
 * Returns the pass as a phone in the given language shows it.
 * @throws ApiError VALIDATION_ERROR if the definition lacks the language
 */
export function passIn(pass: WalletPass, language: string | undefined): WalletPass {
  if (language === undefined) return pass
  const { translations = [], templateTranslations = [], ...inDefault } = pass
  requireLanguage(languagesOfPass(pass), language)
  const isWanted = (card: Card) => card.language === language
  return {
    ...inDefault,
    card: translations.find(isWanted) ?? pass.card,
    templateCard: templateTranslations.find(isWanted) ?? pass.templateCard,
  }
}

function requireLanguage(known: string[], language: string): void {
  if (known.includes(language)) return
  const advice =
    known.length === 0 ? 'names no languages: omit the parameter' : `has only the languages ${known.join(', ')}`
  throw validationError([{ path: ['language'], message: `The definition ${advice}` }])
}

/** Returns a sample in a language of the definition. @throws ApiError VALIDATION_ERROR for any other language */
export function samplePassIn(
  definition: Definition,
  passType: PassType,
  { scope, language }: { scope: Scope; language: string | undefined },
): WalletPass {
  if (language !== undefined) requireLanguage(languagesOf(writtenOf(definition)), language)
  return samplePass(inLanguage(definition, language), passType, scope)
}

/** Returns the data that each platform would receive for a pass; null for platforms not configured or not requested. */
export function previewOf(pass: WalletPass, { apple, google }: PreviewWallets, at: Date, platform?: Platform) {
  const isAsked = (name: Platform) => platform === undefined || platform === name
  return {
    apple: apple && isAsked('apple') ? apple.passJson(pass) : null,
    google: google && isAsked('google') ? { class: google.classOf(pass), object: google.objectOf(pass, at) } : null,
  }
}

export interface ViewOptions {
  /** The platform to preview. Default: every configured platform. */
  platform?: Platform | undefined
  /** The language of the phone (BCP 47). Default: the language of the pass. */
  spoken?: string
}

export function viewsOf(pass: WalletPass, wallets: PreviewWallets, at: Date, { platform, spoken }: ViewOptions = {}) {
  const { apple, google } = previewOf(pass, wallets, at, platform)
  return {
    apple: apple && appleCard(pass.card, apple),
    poster: apple && readPoster(apple, localeOf(pass.card)),
    semantic: apple && readSemanticFields(apple, localeOf(pass.card)),
    google: google && readGoogleView(google.class, google.object, pass.card.language, spoken),
  }
}

export interface PreviewPageOptions {
  title: string
  subtitle: string
  wallets: PreviewWallets
  store: Pick<Repositories, 'images'>
  at: Date
  /** The platform to preview. Default: every configured platform. */
  platform?: Platform | undefined
  warnings?: Warning[]
}

export async function previewPageOf(pass: WalletPass, options: PreviewPageOptions): Promise<Page> {
  const { title, subtitle, wallets, store, at, platform, warnings = [] } = options
  const { images } = pass.card
  const pictures = await loadPictures(images, store)
  const views = viewsOf(pass, wallets, at, { platform })
  await drawAhead([...barcodesOf(views.apple, views.poster), ...(views.google ? [views.google.barcode] : [])])
  return previewPage(
    {
      title,
      subtitle,
      ...views,
      images,
      at,
      warnings,
    },
    { imageUrl: (id) => pictures.get(id) },
  )
}

async function loadPictures(images: Card['images'], store: Pick<Repositories, 'images'>): Promise<Map<string, string>> {
  const found = await Promise.all([...new Set(Object.values(images))].map((id) => store.images.findPublic(id)))
  return new Map(
    found
      .filter((image) => image !== undefined)
      .map(({ id, contentType, data }) => [id, `data:${contentType};base64,${Buffer.from(data).toString('base64')}`]),
  )
}

/** Returns a pass without a holder, in the language of the definition and without translations. */
export function samplePass(definition: Definition, passType: PassType, scope = sampleScope(definition)): WalletPass {
  return sampleOf(definition, passType, scope).pass
}

export async function sampleInLanguages(
  definition: Definition,
  passType: PassType,
  scope = sampleScope(definition),
): Promise<WalletPass> {
  const { pass, cardsOf } = sampleOf(definition, passType, scope)
  const others = await mapInSlices(otherLanguages(definition), cardsOf)
  if (others.length === 0) return pass
  return {
    ...pass,
    translations: others.map(({ card }) => card),
    templateTranslations: others.map(({ templateCard }) => templateCard),
  }
}

/** Returns a sample, and a function that renders its cards in another language of the definition. */
function sampleOf(definition: Definition, passType: PassType, scope: Scope) {
  const claim = claimClass(inLanguage(definition), passType, scope)
  const names = { templateName: scope.get('template.name')!, projectName: scope.get('project.name') ?? null }
  // Create the scope once, because filled texts are cached by scope and most are the same in all languages.
  const shared = templateScope(definition, names, claim?.values)
  const expiry = resolveExpiry(definition, scope)
  const expiresAt = 'value' in expiry ? expiry.value : null
  const cardsOf = (shown: Definition): Pick<WalletPass, 'card' | 'templateCard'> => {
    const content = { definition: shown, passType, voided: false }
    return {
      card: renderCard({ ...content, scope, expiresAt }),
      templateCard: renderCard({ ...content, scope: shared, expiresAt: null }),
    }
  }
  const pass: WalletPass = {
    id: NIL_UUID,
    templateId: NIL_UUID,
    templateVersion: 1,
    ...(claim && { classDigest: claim.keyDigest }),
    authenticationToken: NIL_UUID,
    ...cardsOf(definition),
  }
  return { pass, cardsOf }
}

/** The images that each pass type shows on its front. */
const roles: Record<PassType, readonly ImageRole[]> = {
  generic: ['logo', 'thumbnail'],
  eventTicket: ['logo', 'strip', 'thumbnail', 'background'],
  storeCard: ['logo', 'strip'],
  coupon: ['logo', 'strip'],
  boardingPass: ['logo', 'footer'],
}

/** Returns a card as an iPhone shows it: with fields and barcode of its pass.json, and the images of its pass type. */
export function appleCard(card: Card, passJson: Record<string, unknown>): Card {
  const { passType } = card
  return {
    ...card,
    ...readAppleLook(passJson, { passType, locale: localeOf(card) }),
    images: imagesOf(card),
    apple: { transitType: Object(passJson[passType]).transitType },
    // Omit the links, because the fields of the back already contain them.
    links: [],
  }
}

function imagesOf({ passType, images }: Card): Card['images'] {
  const shown = roles[passType].filter((role) => images[role] !== undefined)
  // Omit the thumbnail and the background if there is a strip, because phones do not show them next to a strip.
  const fitting = shown.includes('strip') ? shown.filter((role) => role === 'logo' || role === 'strip') : shown
  return Object.fromEntries(fitting.map((role) => [role, images[role]]))
}
