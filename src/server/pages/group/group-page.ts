import type { Platform } from '../../../core/contract/platform.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { PageWords } from '../../../locales/pages.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import { copyScript, fromLink, pageIcon } from '../assets.ts'
import type { Badges } from '../badges.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { buttonHtml, inAppHint, PARTS_STYLE, phoneHtml, ribbonHtml, STARTS_WITH_PAGE } from '../link/link-parts.ts'
import { shareTags } from '../link/share-tags.ts'
import { isOfPhone, type VisitorPhone } from '../link/visitors.ts'
import type { PageLanguage } from '../words.ts'

/** A pass of the group, as the page lists it. */
export interface ShownPass {
  pass: StoredPass
  card: Card
  /** What kind of pass it is, in the language of the page. */
  kind: string
  /** Of its own page. */
  address: string
}

/** A page of the list of passes of a group, and the device that looks at it. */
export interface GroupPageFacts {
  /** Of the issuer and the template, in the language of the page. */
  title: string
  shown: ShownPass[]
  /** The pass that the next page begins with. */
  next: string | undefined
  isFirst: boolean
  issuer: IssuerFacts
  /** The configured ones. */
  platforms: Platform[]
  badges: Badges
  /** Those of which no real phone takes a pass. */
  sandboxed: readonly Platform[]
  /** Without a slash at its end. */
  publicUrl: string
  language: PageLanguage
  phone: VisitorPhone
  /** The page is shown inside another app. */
  isInApp: boolean
  /** The places in the list that the buttons which add several passes begin at. */
  firsts: Record<Platform, number[]>
  /** How many passes an iPhone is given in one file, where it is fewer than it takes. */
  each: number | undefined
  /** The address of the group, without a query. */
  own: string
}

/**
 * The page of a group: ways to add several at once, above what may be a long list, and each pass with what tells it from the
 * others. Beside what the issuer wrote it has no words but those of every hosted page; the rest are numbers and signs.
 */
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

/** One button for as many as a wallet takes at once. */
function buttonsHtml(platform: Platform, facts: GroupPageFacts): string {
  const { shown, firsts, own, badges, language } = facts
  const fewer = platform === 'apple' ? eachOf(facts) : ''
  return firsts[platform]
    .map((first, n, all) => {
      const address = `${own}?${platform === 'apple' ? 'bundle' : 'save'}=${shown[first]!.pass.id}${fewer && `&${fewer}`}`
      const range = all.length === 1 ? '' : rangeOf(first + 1, all[n + 1] ?? shown.length)
      return buttonHtml(platform, address, { badges, language }, range && ` <span dir="ltr">${range}</span>`)
    })
    .join('\n')
}

/** What addresses say of bundles that are smaller than usual. */
function eachOf({ each }: GroupPageFacts): string {
  return each === undefined ? '' : `each=${each}`
}

function rangeOf(first: number, last: number): string {
  return first === last ? String(first) : `${first}–${last}`
}

const GROUP_STYLE = `
.passes { list-style: none; counter-reset: pass; margin: 1rem 0; padding: 0; display: grid; gap: .5rem }
.passes a { counter-increment: pass; display: grid; grid-template-columns: 1.75rem 1fr auto; gap: 0 .5rem; padding: .75rem 1rem;
  border: 1px solid var(--line); border-radius: .875rem; background: var(--raised); color: inherit; text-decoration: none }
.passes a::before { content: counter(pass); color: var(--muted) }
.passes a > * { grid-column: 2 / -1; overflow-wrap: anywhere; min-width: 0 }
.passes strong { grid-column: 2 }
/* A line ends between a label and its value, or within a seat, only where that alone is wider than the page. */
.passes .fact { display: inline-block }
.passes .state { grid-column: 3; grid-row: 1; color: var(--muted); font-size: .875rem; white-space: nowrap }
/* On a phone a name has the whole line, and how it stands comes last. */
@media (max-width: 25.99rem) {
  .passes strong { grid-column: 2 / -1 }
  .passes .state { grid-column: 2 / -1; grid-row: auto }
}
/* Texts of any direction start where the page does. */
.intro > h1, .passes [dir] { justify-self: start; ${STARTS_WITH_PAGE} }
.actions { display: grid; gap: .75rem; margin: 1rem 0 }
.badge { display: flex; align-items: center; justify-content: center; gap: .75rem }
.badge img { height: 3.25rem; max-width: 80% }
.pages { display: flex; gap: 1.5rem }
.pages a { display: inline-block; padding: .75rem 0 }
`
