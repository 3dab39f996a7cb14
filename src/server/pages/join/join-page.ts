import type { Platform } from '../../../core/contract/schemas/platform.ts'
import type { FieldError, FormField } from '../../../core/rules/join/join-form.ts'
import { textIn, type WrittenText } from '../../../core/rules/template/definition-languages.ts'
import type { JoinSettings } from '../../../storage/join/join-pages-repository.ts'
import { browserFile, fromLink, pageIcon } from '../assets.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import { PARTS_STYLE, ribbonHtml, type SharedLink, shareTags } from '../link/link-parts.ts'

export interface JoinPageFacts extends SharedLink {
  settings: Pick<JoinSettings, 'title' | 'intro' | 'consent'>
  platforms: Platform[]
  /** The emulated platforms. No real phone accepts their passes. */
  sandboxed: readonly Platform[]
}

export interface FilledForm {
  values: ReadonlyMap<string, string>
  hasConsent: boolean
  errors: ReadonlyMap<string, FieldError>
  lacksConsent: boolean
  /** An error that concerns the whole form. */
  problem?: 'expired' | 'invalid'
}

export const emptyForm: FilledForm = {
  values: new Map(),
  hasConsent: false,
  errors: new Map(),
  lacksConsent: false,
}

/** The names of inputs that are not variables. The hyphen keeps them different from the name of any variable. */
export const TOKEN_INPUT = '-token'
export const CONSENT_INPUT = '-consent'

const JOIN_STYLE = browserFile('join.css')

/** Returns the page with the form. It works without scripts. */
export function joinPage(facts: JoinPageFacts, { fields, token, filled }: AskedForm): Page {
  const { check, submit } = facts.language.words.join
  const title = textOf(facts.settings.title, facts)
  const summary = summaryHtml(fields, filled, facts)
  const form = formHtml(facts, { fields, token, filled }, { summary, consent: consentHtml(filled, facts), submit })
  return pageOf(facts, summary === '' ? title : `${check} ${title}`, form)
}

/**
 * Returns the page for a full join page that identifies visitors by email. Instead of the form, it asks only for the
 * email address, to which the server sends the link of an existing pass.
 */
export function fullPage(facts: JoinPageFacts, asked: AskedForm): Page {
  const { recover } = facts.language.words.join
  const summary = summaryHtml(asked.fields, asked.filled, facts)
  const form = formHtml(facts, asked, { summary, consent: '', submit: recover.submit })
  return fullPageOf(facts, recover.ask, form)
}

/** Returns the confirmation that an address was submitted to a full join page. It is the same for every address. */
export function fullSentPage(facts: JoinPageFacts): Page {
  return fullPageOf(facts, facts.language.words.join.recover.sent)
}

function fullPageOf(facts: JoinPageFacts, text: string, form = ''): Page {
  const { title, what } = facts.language.words.problems.joinFull
  return pageOf(facts, title, `${statusHtml({ title, what, advice: text })}${form}`)
}

interface AskedForm {
  fields: readonly FormField[]
  token: string
  filled: FilledForm
}

function formHtml(
  facts: JoinPageFacts,
  { fields, token, filled }: AskedForm,
  { summary, consent, submit }: { summary: string; consent: string; submit: string },
): string {
  return `<form method="post">${summary}<input type="hidden" name="${TOKEN_INPUT}" value="${token}">
${fields.map((field) => fieldHtml(field, filled, facts)).join('\n')}
${consent}
<button class="button" type="submit">${escapeHtml(submit)}</button></form>`
}

/** Returns the confirmation of a submission whose link is sent by email. It is the same for every address. */
export function sentPage(facts: JoinPageFacts): Page {
  const { sent } = facts.language.words.join
  return pageOf(facts, sent.title, statusHtml(sent))
}

function statusHtml({ title, what, advice }: Record<'title' | 'what' | 'advice', string>): string {
  return `<div class="sent" role="status"><h2>${escapeHtml(title)}</h2><p>${escapeHtml(what)}</p><p class="muted">${escapeHtml(advice)}</p></div>`
}

function pageOf(facts: JoinPageFacts, title: string, form: string): Page {
  const { issuer, settings, language, platforms, sandboxed } = facts
  const intro = textOf(settings.intro, facts)
  const lang = langOf(facts)
  return buildPage({
    title: [title, issuer.organization].filter((text) => text !== '').join(' – '),
    main: `<div class="intro">${ribbonHtml(platforms, sandboxed, language)}${brandHtml(issuer)}<h1 dir="auto"${lang}>${escapeHtml(textOf(settings.title, facts))}</h1>
${intro === '' ? '' : `<p dir="auto"${lang}>${linked(intro)}</p>`}</div>
${form}`,
    language: language.tag,
    head: shareTags(facts),
    styles: [PARTS_STYLE, JOIN_STYLE, ...(issuer.background ? [`:root { --brand: ${issuer.background}; }`] : [])],
    icon: fromLink(issuer.iconId ? `/images/${issuer.iconId}` : pageIcon.path),
    hasForm: true,
  })
}

function brandHtml({ organization, iconId, pictureId }: IssuerFacts): string {
  const picture = pictureId ? `<img class="picture" src="${fromLink(`/images/${pictureId}`)}" alt="">` : ''
  const icon = iconId ? `<img src="${fromLink(`/images/${iconId}`)}" alt="">` : ''
  if (!icon && !organization) return picture
  return `${picture}<p class="brand">${icon}<span dir="auto">${escapeHtml(organization)}</span></p>`
}

/** Lists the errors with links to their fields. Browsers focus the list, so that screen readers read it first. */
function summaryHtml(fields: readonly FormField[], filled: FilledForm, facts: JoinPageFacts): string {
  const { words } = facts.language
  const { errors, lacksConsent, problem } = filled
  if (errors.size === 0 && !lacksConsent && !problem) return ''
  const wrong = fields.flatMap((field) => {
    const error = errors.get(field.name)
    return error
      ? [{ id: `field-${field.name}`, label: textOf(field.label, facts), text: errorText(error, field, facts) }]
      : []
  })
  const list = [
    ...wrong.map(
      ({ id, label, text }) =>
        `<li><a href="#${id}"><bdi${langOf(facts)}>${escapeHtml(label)}</bdi>: ${escapeHtml(text)}</a></li>`,
    ),
    ...(lacksConsent ? [`<li><a href="#consent">${escapeHtml(words.join.errors.consent)}</a></li>`] : []),
  ].join('')
  const head = problem ? words.join.errors[problem] : words.join.check
  return `<div class="errors" role="alert" tabindex="-1" autofocus><strong>${escapeHtml(head)}</strong>${list && `<ul>${list}</ul>`}</div>
`
}

function fieldHtml(field: FormField, { values, errors }: FilledForm, facts: JoinPageFacts): string {
  const { join } = facts.language.words
  const { name, isRequired, example, kind } = field
  const id = `field-${name}`
  const error = errors.get(name)
  const described = [error && `error-${name}`, example !== undefined && kind !== 'choice' && `example-${name}`].filter(
    Boolean,
  )
  const attributes = `id="${id}" name="${name}"${isRequired ? ' required' : ''}${error ? ' aria-invalid="true"' : ''}${
    described.length > 0 ? ` aria-describedby="${described.join(' ')}"` : ''
  }`
  const optional = isRequired ? '' : ` <span class="optional">(${escapeHtml(join.optional)})</span>`
  return `<div class="field${error ? ' wrong' : ''}"><label for="${id}"><span dir="auto"${langOf(facts)}>${escapeHtml(textOf(field.label, facts))}</span>${optional}</label>
${example !== undefined && kind !== 'choice' ? `<p class="example" id="example-${name}">${escapeHtml(join.example.replace('{example}', () => example))}</p>\n` : ''}${
  error ? `<p class="error" id="error-${name}">${escapeHtml(errorText(error, field, facts))}</p>\n` : ''
}${inputHtml(field, values.get(name) ?? '', attributes, facts)}</div>`
}

function inputHtml(field: FormField, value: string, attributes: string, facts: JoinPageFacts): string {
  const { kind, maxLength, options } = field
  if (kind === 'choice') {
    const all = ['', ...options].map((option) => {
      const text = option === '' ? facts.language.words.join.choose : option
      return `<option value="${escapeHtml(option)}"${option === value ? ' selected' : ''}>${escapeHtml(text)}</option>`
    })
    return `<select ${attributes}>${all.join('')}</select>`
  }
  const complete = autocompleteOf(field)
  const type = kind === 'number' ? 'type="text" inputmode="decimal"' : `type="${kind}"`
  const direction = kind === 'text' ? 'auto' : 'ltr'
  // Omit length and pattern for a date input, which supports neither.
  const bounds = kind === 'date' ? '' : ` maxlength="${2 * maxLength}"${patternAttribute(field, facts)}`
  return `<input ${attributes} ${type} dir="${direction}"${complete ? ` autocomplete="${complete}"` : ''}${bounds} value="${escapeHtml(value)}">`
}

/** Returns the pattern of a text or number. Browsers check email addresses themselves, and ignore invalid patterns. */
function patternAttribute(field: FormField, facts: JoinPageFacts): string {
  const [pattern, ...others] = field.patterns
  if (pattern === undefined || others.length > 0 || !/^\^.*\$$/.test(pattern)) return ''
  if (field.kind !== 'text' && field.kind !== 'number') return ''
  const title = errorText(field.kind === 'number' ? 'number' : 'invalid', field, facts)
  return ` pattern="${escapeHtml(pattern)}" title="${escapeHtml(title)}"`
}

/** The purpose of inputs by the name of their variable, so that browsers can fill them in (WCAG 1.3.5). */
const purposes: readonly [name: RegExp, purpose: string][] = [
  [/^(?:first|given|fore)_?name$|^(?:first|given)$/i, 'given-name'],
  [/^(?:last|family|sur)_?name$|^(?:last|family)$/i, 'family-name'],
  [/^(?:full_?)?name$/i, 'name'],
  [/^(?:phone|mobile|tel)/i, 'tel'],
  [/^(?:birth|born|dob$)/i, 'bday'],
  [/^(?:company|organi[sz]ation)/i, 'organization'],
]

function autocompleteOf({ name, kind }: FormField): string | undefined {
  if (kind === 'email') return 'email'
  return purposes.find(([pattern]) => pattern.test(name))?.[1]
}

function consentHtml({ hasConsent, lacksConsent }: FilledForm, facts: JoinPageFacts): string {
  const { text, version, required } = facts.settings.consent
  const { join } = facts.language.words
  const invalid = lacksConsent ? ' aria-invalid="true" aria-describedby="error-consent"' : ''
  return `<div class="field consent${lacksConsent ? ' wrong' : ''}">${
    lacksConsent ? `<p class="error" id="error-consent">${escapeHtml(join.errors.consent)}</p>\n` : ''
  }<label><input type="checkbox" id="consent" name="${CONSENT_INPUT}" value="${escapeHtml(version)}"${required ? ' required' : ''}${hasConsent ? ' checked' : ''}${invalid}>
<span dir="auto"${langOf(facts)}>${linked(textOf(text, facts))}</span></label></div>`
}

function errorText(error: FieldError, { maxLength }: FormField, { language }: JoinPageFacts): string {
  return language.words.join.errors[error].replace('{count}', String(maxLength))
}

function textOf(text: WrittenText, { language, issuer }: JoinPageFacts): string {
  return textIn(text, language.ofTexts ?? language.tag, issuer.languages)
}

/** Returns the `lang` attribute for texts of the issuer, if their language differs from the language of the page. */
function langOf({ language: { ofTexts, tag } }: JoinPageFacts): string {
  return ofTexts === undefined || ofTexts === tag ? '' : ` lang="${escapeHtml(ofTexts)}"`
}

const ADDRESS = /https:\/\/[^\s<>]*[^\s<>.,;:!?)\]’”'"]/g

/** Escapes a text of the issuer, and turns the URLs in the text into links. */
function linked(text: string): string {
  let html = ''
  let end = 0
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    html += escapeHtml(text.slice(end, index))
    html += `<a dir="ltr" href="${escapeHtml(address)}" target="_blank" rel="noopener nofollow">${escapeHtml(address)}</a>`
    end = index + address.length
  }
  return html + escapeHtml(text.slice(end))
}
