import type { Platform } from '../../../core/contract/platform.ts'
import { fromLink, touchIcon } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { nameWallets, type PageLanguage, pageLanguage } from '../words.ts'

/** A hosted link as a chat previews it: nothing in it is of the holder. */
export interface SharedLink {
  issuer: IssuerFacts
  /** The configured ones, which the description names. */
  platforms: readonly Platform[]
  /** Chats take addresses only that are whole. Without a slash at the end. */
  publicUrl: string
  language: PageLanguage
}

/** How a link looks in a chat: texts and a picture that are the same for every holder. */
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

/** The organisation and what its pass is. */
export function shareTitle({ organization, template }: IssuerFacts): string {
  return [organization, template].filter((text) => text !== '').join(' – ')
}

/** What a preview of the link says below its title. */
export function shareDescription(link: SharedLink): string {
  const { platforms } = link
  const language = sharedLanguage(link)
  return nameWallets(language.words.share, platforms, language)
}

/** Of a preview, which is kept for all who read the chat: the default of the definition where it names languages. */
export function sharedLanguage({
  issuer: { languages },
  language,
}: Pick<SharedLink, 'issuer' | 'language'>): PageLanguage {
  return languages ? pageLanguage(new Headers(), languages) : language
}

/** Where a picture is found in the size that chats show. */
export function sharedPicturePath(imageId: string): string {
  return `/images/${imageId}/shared.png`
}

function metaProperty(property: string, content: string): string {
  return `<meta property="${property}" content="${escapeHtml(content)}">`
}

function metaName(name: string, content: string): string {
  return `<meta name="${name}" content="${escapeHtml(content)}">`
}
