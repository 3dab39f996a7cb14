import type { Platform } from '../../../core/contract/platform.ts'
import { fromLink, touchIcon } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { nameWallets, type PageLanguage, pageLanguage } from '../words.ts'

/** A hosted link as a chat previews it, without data of the holder. */
export interface SharedLink {
  issuer: IssuerFacts
  /** The configured platforms, which the description names. */
  platforms: readonly Platform[]
  /** Chats accept only absolute addresses. Without a trailing slash. */
  publicUrl: string
  language: PageLanguage
}

/** Returns the tags of a chat preview: texts and a picture that are the same for every holder. */
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

/** Returns the title of a preview: the organization and the kind of pass. */
export function shareTitle({ organization, template }: IssuerFacts): string {
  return [organization, template].filter((text) => text !== '').join(' – ')
}

export function shareDescription(link: SharedLink): string {
  const { platforms } = link
  const language = sharedLanguage(link)
  return nameWallets(language.words.share, platforms, language)
}

/**
 * Returns the language of a preview. Chats cache previews for all readers, so it is the default language of the
 * definition, if it names one.
 */
export function sharedLanguage({
  issuer: { languages },
  language,
}: Pick<SharedLink, 'issuer' | 'language'>): PageLanguage {
  return languages ? pageLanguage(new Headers(), languages) : language
}

/** Returns the path of an image in the size that chats show. */
export function sharedPicturePath(imageId: string): string {
  return `/images/${imageId}/shared.png`
}

function metaProperty(property: string, content: string): string {
  return `<meta property="${property}" content="${escapeHtml(content)}">`
}

function metaName(name: string, content: string): string {
  return `<meta name="${name}" content="${escapeHtml(content)}">`
}
