import type { Platform } from '../../../core/contract/schemas/platform.ts'
import { writeMoment } from '../../../core/formats.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { PageWords } from '../../../locales/page-texts.ts'
import { browserFile, fromLink, touchIcon } from '../assets.ts'
import type { Badges } from '../badges.ts'
import { barcodeSvg } from '../card/symbols.ts'
import { escapeHtml, fillHtml } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { nameWallets, type PageLanguage, pageLanguage } from '../words.ts'

export const PARTS_STYLE = browserFile('link-parts.css')

/** Draws a button: the official badge or, if the operator provides none, text. The platforms forbid redrawn badges. */
export function buttonHtml(
  platform: Platform,
  address: string,
  { badges, language }: { badges: Badges; language: PageLanguage },
  behind = '',
): string {
  const text = escapeHtml(nameWallets(language.words.addTo, [platform], language))
  const badge = badges.find(platform, language.locale)
  const content = badge ? `<img src="${escapeHtml(fromLink(badge.path))}" alt="${text}">` : text
  return `<a class="${badge ? 'badge' : 'button'}" data-platform="${platform}" href="${escapeHtml(address)}">${content}${behind}</a>`
}

/** Names the kind of a pass: by its template or, if the definition has languages, by the translated description. */
export function kindOfPass(
  description: string,
  { template, languages }: Pick<IssuerFacts, 'template' | 'languages'>,
): string {
  return (languages && description.trim()) || template
}

export function ribbonHtml(platforms: Platform[], sandboxed: readonly Platform[], language: PageLanguage): string {
  if (sandboxed.length === 0) return ''
  const { all, one } = language.words.sandbox
  const text = sandboxed.length < platforms.length ? nameWallets(one, sandboxed, language) : all
  return `<p class="ribbon"><strong>${escapeHtml(text)}</strong></p>`
}

/** Shows an address that visitors can select, or copy with a button that the script shows. */
export function inAppHint(address: string, { inApp }: PageWords): string {
  return `<div class="hint"><p><strong>${escapeHtml(inApp.title)}</strong> ${escapeHtml(inApp.text)}</p>
<div class="link"><input class="address" dir="ltr" readonly aria-label="${escapeHtml(inApp.address)}" value="${escapeHtml(address)}">
<button class="button copy" type="button" data-done="${escapeHtml(inApp.copied)}" hidden>${escapeHtml(inApp.copy)}</button></div>
<p class="copied" role="status"></p></div>`
}

/** Returns a QR code of the address for visitors on a computer. The style hides it on small screens. */
export function phoneHtml(address: string, { phone }: PageWords): string {
  const svg = barcodeSvg('qr', address)
  if (svg === undefined) return ''
  return `<figure class="phone"><div class="symbol" role="img" aria-label="${escapeHtml(phone.code)}">${svg}</div>
<figcaption><strong>${escapeHtml(phone.title)}</strong>
${escapeHtml(phone.text)}</figcaption></figure>`
}

export interface ExpiryOptions {
  /** A language tag. */
  language: string
  words: Pick<PageWords, 'validUntil'>
  /** An IANA zone, or an offset such as UTC+2. Default: UTC. */
  timeZone?: string | undefined
}

export function expiryHtml({ expiresAt }: Card, { language, words, timeZone = 'UTC' }: ExpiryOptions): string {
  if (expiresAt === null) return ''
  const time = timeHtml(expiresAt, { language, timeZone })
  return `<p class="expiry">${fillHtml(words.validUntil, { time })}</p>`
}

export interface TimeOptions {
  language: string
  timeZone: string
  weekday?: 'short'
}

export function timeHtml(moment: Date, { language, timeZone, weekday }: TimeOptions): string {
  // Use British English, which writes the day before the month.
  const tag = language === 'en' ? 'en-GB' : language
  const format: Intl.DateTimeFormatOptions = {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    ...(weekday && { weekday }),
  }
  return `<time datetime="${moment.toISOString()}">${escapeHtml(writeMoment(moment, format, tag, timeZone))}</time>`
}

/** The content of the preview that a chat shows for a hosted link. It contains no data of the holder. */
export interface SharedLink {
  issuer: IssuerFacts
  platforms: readonly Platform[]
  /** The public URL without a trailing slash, because chats accept only absolute addresses. */
  publicUrl: string
  language: PageLanguage
}

export function shareTags(link: SharedLink): string {
  const { issuer, publicUrl } = link
  const description = shareDescription(link)
  const picture = issuer.pictureId && `${publicUrl}${sharedPicturePath(issuer.pictureId)}`
  const icon = issuer.iconId ? fromLink(`/images/${issuer.iconId}`) : fromLink(touchIcon.path)
  return [
    metaName('description', description),
    metaProperty('og:type', 'website'),
    issuer.organization && metaProperty('og:site_name', issuer.organization),
    metaProperty('og:title', shareTitle(issuer)),
    metaProperty('og:description', description),
    picture && metaProperty('og:image', picture),
    metaName('twitter:card', picture ? 'summary_large_image' : 'summary'),
    issuer.background && metaName('theme-color', issuer.background),
    `<link rel="apple-touch-icon" href="${escapeHtml(icon)}">`,
  ]
    .filter(Boolean)
    .join('\n')
}

export function shareTitle({ organization, template }: IssuerFacts): string {
  return [organization, template].filter((text) => text !== '').join(' – ')
}

export function shareDescription(link: SharedLink): string {
  const { platforms } = link
  const language = sharedLanguage(link)
  return nameWallets(language.words.share, platforms, language)
}

/**
 * Returns the language of a preview: the default language of the definition, if any, because a chat caches the preview
 * for all readers.
 */
export function sharedLanguage({
  issuer: { languages },
  language,
}: Pick<SharedLink, 'issuer' | 'language'>): PageLanguage {
  return languages ? pageLanguage(new Headers(), languages) : language
}

export function sharedPicturePath(imageId: string): string {
  return `/images/${imageId}/shared.png`
}

function metaProperty(property: string, content: string): string {
  return `<meta property="${property}" content="${escapeHtml(content)}">`
}

function metaName(name: string, content: string): string {
  return `<meta name="${name}" content="${escapeHtml(content)}">`
}
