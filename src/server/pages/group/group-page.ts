import type { Platform } from '../../../core/contract/schemas/platform.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { PageWords } from '../../../locales/page-texts.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import { deliveries } from '../../platforms/deliveries.ts'
import { browserFile, copyScript, fromLink, pageIcon } from '../assets.ts'
import type { Badges } from '../badges.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { buttonHtml, inAppHint, PARTS_STYLE, phoneHtml, ribbonHtml, shareTags } from '../link/link-parts.ts'
import { isOfPhone, type VisitorPhone } from '../link/visitors.ts'
import type { PageLanguage } from '../words.ts'

export interface ShownPass {
  pass: StoredPass
  card: Card
  kind: string
  address: string
}

export interface GroupPageFacts {
  title: string
  shown: ShownPass[]
  next: string | undefined
  isFirst: boolean
  issuer: IssuerFacts
  platforms: Platform[]
  badges: Badges
  sandboxed: readonly Platform[]
  publicUrl: string
  language: PageLanguage
  phone: VisitorPhone
  isInApp: boolean
  /** For each platform, the index of the first pass that each button adds. A button adds several passes. */
  firsts: Record<Platform, number[]>
  /** The number of passes to add in one step; undefined for the maximum. */
  each: number | undefined
  own: string
}

const GROUP_STYLE = browserFile('group.css')

/** Returns the page of a group. Its own texts are numbers, symbols, and words that are also on other hosted pages. */
export function groupPage(facts: GroupPageFacts): Page {
  const { title, shown, next, isFirst, issuer, platforms, publicUrl, language, phone, isInApp, own, sandboxed } = facts
  const { words, tag } = language
  const fewer = eachOf(facts)
  const inOrder = platforms.toSorted((a, b) => Number(isOfPhone(b, phone)) - Number(isOfPhone(a, phone)))
  const pages = [
    isFirst ? '' : `<a rel="first" href="${escapeHtml(fewer ? `${own}?${fewer}` : own)}">⇤ 1</a>`,
    next === undefined
      ? ''
      : `<a rel="next" href="${escapeHtml(`${own}?from=${next}${fewer && `&${fewer}`}`)}">… →</a>`,
  ].join(' ')
  const main = `<div class="intro">${ribbonHtml(platforms, sandboxed, language)}
<h1 dir="auto">${escapeHtml(title)}</h1>
${isInApp ? inAppHint(own, words) : ''}</div>
<div class="actions">${inOrder.map((platform) => buttonsHtml(platform, facts)).join('\n')}</div>
<ul class="passes">${shown.map((pass) => passHtml(pass, words)).join('\n')}</ul>
${pages.trim() === '' ? '' : `<p class="pages">${pages}</p>`}
${phone === 'undetermined' ? phoneHtml(own, words) : ''}`
  return buildPage({
    title,
    main,
    language: tag,
    head: shareTags({ issuer, platforms, publicUrl, language }),
    styles: [PARTS_STYLE, GROUP_STYLE],
    script: isInApp ? fromLink(copyScript.path) : undefined,
    icon: fromLink(issuer.iconId ? `/images/${issuer.iconId}` : pageIcon.path),
  })
}

function passHtml({ pass, card, kind, address }: ShownPass, { state }: PageWords): string {
  const fields = [...card.fields.primary, ...card.fields.secondary, ...card.fields.auxiliary]
  const line = fields
    .filter(({ value }) => value.trim() !== '' && value !== pass.label)
    .slice(0, 2)
    .map(({ label, value }) => `<span class="fact">${escapeHtml(label ? `${label} ${value}` : value)}</span>`)
    .join(' · ')
  const [sign, word] = pass.status === 'ISSUED' ? ['✓', state.ready] : ['…', state.preparing]
  return `<li><a href="${escapeHtml(address)}"><strong dir="auto">${escapeHtml(pass.label)}</strong>
<span class="muted" dir="auto">${escapeHtml(kind)}</span>
${line ? `<span dir="auto">${line}</span>` : ''}
<span class="state"><span aria-hidden="true">${sign}</span> ${escapeHtml(word)}</span></a></li>`
}

function buttonsHtml(platform: Platform, facts: GroupPageFacts): string {
  const { shown, firsts, own, badges, language } = facts
  const fewer = eachOf(facts)
  const parameter = deliveries[platform].together?.parameter
  return firsts[platform]
    .map((first, n, all) => {
      const address = `${own}?${parameter}=${shown[first]!.pass.id}${fewer && `&${fewer}`}`
      const range = all.length === 1 ? '' : rangeOf(first + 1, all[n + 1] ?? shown.length)
      return buttonHtml(platform, address, { badges, language }, range && ` <span dir="ltr">${range}</span>`)
    })
    .join('\n')
}

function eachOf({ each }: GroupPageFacts): string {
  return each === undefined ? '' : `each=${each}`
}

function rangeOf(first: number, last: number): string {
  return first === last ? String(first) : `${first}–${last}`
}
