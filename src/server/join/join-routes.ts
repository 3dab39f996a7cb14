import type { H3Event } from 'h3'
import type { Issue } from '../../core/errors.ts'
import { ApiError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import {
  cleanValue,
  type FieldError,
  type FormField,
  formFields,
  hasIdentity,
  type JoinState,
  joinState,
  labelOf,
  readForm,
  sourceOf,
} from '../../core/rules/join/join-form.ts'
import { inLanguage, writtenOf } from '../../core/rules/template/definition-languages.ts'
import type { PublicJoinPage } from '../../storage/join/join-pages-repository.ts'
import type { PassJoin, StoredPass } from '../../storage/passes/pass-row.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions-repository.ts'
import type { JoinLimits } from '../admission/join-limits.ts'
import type { Services } from '../context.ts'
import { addressKey, networkKey } from '../http/client-address.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { decodeUtf8, readBody, requireContentType } from '../http/request-body.ts'
import { pageResponse } from '../pages/html.ts'
import { type IssuerFacts, issuerFacts } from '../pages/issuer-facts.ts'
import {
  CONSENT_INPUT,
  emptyForm,
  type FilledForm,
  fullPage,
  fullSentPage,
  type JoinPageFacts,
  joinPage,
  sentPage,
  TOKEN_INPUT,
} from '../pages/join/join-page.ts'
import { LinkEnded } from '../pages/link/link-problem-page.ts'
import { isCrawler } from '../pages/link/visitors.ts'
import { pageLanguage } from '../pages/words.ts'
import { insertJoined, type JoinPlan, joinContext, planJoin } from './create-joined-pass.ts'
import { endForAddress } from './form-tokens.ts'

export type JoinServices = Services & { joinLimits: JoinLimits; addressOf(event: H3Event): string }

/** The maximum size of a submitted form: up to 64 KiB of values, which percent-encoding makes longer. */
const MAX_FORM_BYTES = 256 * 1024

/** The query parameter with which the page confirms a submission whose link is sent by email. */
const SENT = 'sent'

interface OpenedPage {
  page: PublicJoinPage
  version: PublishedVersion
  issuer: IssuerFacts
  fields: FormField[]
  /** The page's state. If the newest version lacks the email variable, no link can be sent: the state is `closed`. */
  state: JoinState
  /** Whether a full page keeps its form, because the form can send the links of existing passes by email. */
  recovers: boolean
  facts: JoinPageFacts
}

/** @throws ApiError LINK_INVALID, LINK_REVOKED with the reason in its details */
export async function showJoin(event: H3Event, services: JoinServices): Promise<Response> {
  const now = services.clock()
  const opened = await openPage(event, services, now)
  const { page, version, facts } = opened
  if (page.settings.identity !== undefined && event.url.searchParams.has(SENT)) return respond(200, sentPage(facts))
  requireOpen(opened)
  if (!opened.recovers && event.req.method === 'GET' && !isCrawler(event.req.headers.get('user-agent'))) {
    services.linkOpens.noteJoin({ ...page, projectId: version.projectId }, sourceIn(event, page), now)
  }
  return showForm(opened.recovers ? 410 : 200, opened, emptyForm, services.formTokens.create(page.templateId, now))
}

/**
 * Creates a pass from a submitted form, and redirects to its smart link. If the page identifies visitors by email
 * address, redirects to a page that is the same for every address. Sending a form again leads to the same pass.
 * @throws the errors of `showJoin`; ApiError RATE_LIMITED
 */
export async function submitJoin(event: H3Event, services: JoinServices): Promise<Response> {
  const now = services.clock()
  const address = services.addressOf(event)
  services.joinLimits.address(addressKey(address))
  const opened = await openPage(event, services, now)
  const { page, version, fields, recovers } = opened
  const form = await readSubmission(event)
  const fresh = () => services.formTokens.create(page.templateId, now)
  if (!form) return showForm(400, opened, { ...emptyForm, problem: 'invalid' }, fresh())
  const token = form.get(TOKEN_INPUT) ?? ''
  const random = services.formTokens.verify(token, page.templateId, now)
  const { identity, consent } = page.settings
  const externalIdOf = (end: string) => `join:${page.slug}:${end}`
  if (random !== undefined && identity === undefined) {
    const existing = await findExisting(page, externalIdOf(random), services)
    if (existing) return redirectToPass(existing, services, now)
  }
  requireOpen(opened)
  // The checkbox contains the version of the text that the visitor saw. Without the comparison, a visitor could consent
  // to a newer text by accident.
  const hasConsent = cleanValue(form.get(CONSENT_INPUT) ?? '') === cleanValue(consent.version)
  const values = new Map(fields.map(({ name }) => [name, cleanValue(form.get(name) ?? '')]))
  const read = readForm(fields, values)
  const lacksConsent = consent.required && !hasConsent && !recovers
  const filled = { values, hasConsent, lacksConsent, errors: new Map<string, FieldError>() }
  const reject = (more: Partial<FilledForm> = {}) =>
    showForm(400, opened, { ...filled, ...more }, random === undefined ? fresh() : token)
  if ('errors' in read) return reject({ errors: read.errors })
  if (lacksConsent) return reject()
  if (random === undefined) return reject({ problem: 'expired' })

  const store = services.store
  const context = await joinContext(page, store, { correlationId: correlationIdOf(event), now })
  const label = labelOf(page.settings.labelFrom, read.variables) ?? version.templateName
  const end = identity === undefined ? random : endForAddress(random, read.variables[identity]!)
  const wanted = { externalPassId: externalIdOf(end), label, variables: read.variables }
  const plan = recovers ? undefined : planJoin(wanted, version, services, context)
  if (plan instanceof ApiError) return reject(problemsOf(plan, fields))
  services.joinLimits.page(page.templateId, 1, networkKey(address))
  const full = await services.takeQueue({ ...context, store }, 1)
  if (full) throw new ApiError('SERVICE_UNAVAILABLE', { message: full.message, headers: { 'retry-after': '60' } })
  const join: PassJoin = {
    slug: page.slug,
    source: sourceIn(event, page),
    consentVersion: hasConsent ? consent.version : null,
    consentedAt: hasConsent ? now : null,
  }
  if (identity === undefined) {
    const pass = await createPass(opened, { plan: plan!, join }, services, context)
    return redirectToPass(pass, services, now)
  }
  const hasPlace = await storeSubmission(opened, { wanted, join, identity }, services, context)
  return hasPlace ? redirect(`${page.slug}?${SENT}`) : respond(410, fullSentPage(opened.facts))
}

type Context = Awaited<ReturnType<typeof joinContext>>

/** Creates the pass, or returns the pass that a concurrent request created from the same form. */
async function createPass(
  { page, issuer }: OpenedPage,
  { plan, join }: { plan: JoinPlan; join: PassJoin },
  services: JoinServices,
  context: Context,
): Promise<StoredPass> {
  const { workspaceId, templateId } = page
  const created = await services.store.forVisits(workspaceId).transaction(async (tx) => {
    const pass = await insertJoined(tx, plan, join, context, services)
    // Lock the page after the template, as changes of the page do. The reverse order could deadlock.
    if (pass && !(await tx.joinPages.take(workspaceId, templateId))) throw new LinkEnded('full', issuer)
    return pass
  })
  const pass = created ?? (await findExisting(page, plan.externalPassId, services))
  if (!pass) throw new Error(`The pass ${plan.externalPassId} was written, but cannot be read`)
  return pass
}

/**
 * Stores a submission. Its job creates a pass for the address, or finds the existing pass. Returns false if the page is
 * full. Known and new addresses are handled equally, so that neither the response nor its duration shows whether an
 * address has a pass.
 */
async function storeSubmission(
  { page, recovers, facts }: OpenedPage,
  { wanted, join, identity }: { wanted: Parameters<typeof planJoin>[0]; join: PassJoin; identity: string },
  { store }: JoinServices,
  { workspaceId, correlationId, now }: Context,
): Promise<boolean> {
  const { externalPassId, label, variables } = wanted
  const id = newId(now)
  const consentedAt = join.consentedAt?.toISOString() ?? null
  const { locale: language } = facts.language
  const content = { recovers, label, variables, join: { ...join, consentedAt }, identity, language }
  const { templateId } = page
  return store.forVisits(workspaceId).transaction(async (tx) => {
    const submission = { id, templateId, externalPassId, content, holdsPlace: !recovers, createdAt: now }
    if (!(await tx.joinSubmissions.insert(workspaceId, submission))) return !recovers
    const hasPlace = !recovers && (await tx.joinPages.take(workspaceId, templateId))
    if (!hasPlace) await tx.joinSubmissions.removePlace(workspaceId, id)
    await tx.jobs.insert([{ workspaceId, kind: 'process-join', subject: id, correlationId }], now)
    return hasPlace
  })
}

/** @throws ApiError LINK_INVALID, LINK_REVOKED */
async function openPage(event: H3Event, services: JoinServices, now: Date): Promise<OpenedPage> {
  const { store, links, wallets } = services
  const slug = event.context.params?.slug ?? ''
  const page = SLUG.test(slug) ? await store.joinPages.findPublic(slug) : undefined
  const [version] = page ? await store.templateVersions.listNewestPublished(page.workspaceId, [page.templateId]) : []
  if (!page || !version) throw new ApiError('LINK_INVALID', { details: { reason: 'join' } })
  const { suspendedAt, expiresAt } = page.workspace
  if (suspendedAt !== null || (expiresAt !== null && expiresAt <= now)) {
    throw new ApiError('LINK_REVOKED', { details: { reason: 'suspended' } })
  }
  const language = pageLanguage(event.req.headers, writtenOf(version.definition).languages)
  const definition = inLanguage(version.definition, language.ofTexts)
  const issuer = issuerFacts(definition, version)
  const { settings } = page
  const platforms = wallets.all.map(({ platform }) => platform)
  const { sandboxed } = wallets
  const facts = { issuer, settings, language, platforms, sandboxed, publicUrl: links.publicUrl }
  const identifies = hasIdentity(definition, settings)
  const state = identifies ? joinState({ ...page, limit: page.passLimit }, now) : 'closed'
  const recovers = state === 'full' && settings.identity !== undefined
  const fields = formFields(definition, settings).filter(({ name }) => !recovers || name === settings.identity)
  return { page, version, issuer, fields, state, recovers, facts }
}

/** The pattern of `JoinSlug`. Other paths cause no database query. */
const SLUG = /^[a-z0-9-]{3,64}$/

function requireOpen({ state, recovers, issuer }: OpenedPage): void {
  if (state !== 'open' && !recovers) throw new LinkEnded(state, issuer)
}

/** Returns the fields of a form, or `undefined` if the body is not a form. @throws ApiError INVALID_INPUT (413) */
async function readSubmission(event: H3Event): Promise<URLSearchParams | undefined> {
  try {
    requireContentType(event, ['application/x-www-form-urlencoded'])
    return new URLSearchParams(decodeUtf8(await readBody(event, MAX_FORM_BYTES)))
  } catch (error) {
    if (error instanceof ApiError && (error.status === 400 || error.status === 415)) return undefined
    throw error
  }
}

function sourceIn({ url }: H3Event, { settings }: PublicJoinPage): string | null {
  return settings.source ? sourceOf(url.searchParams.get('source')) : null
}

/** Maps the errors of a rejected pass, such as a barcode that is too large, to the form fields that cause them. */
function problemsOf(problem: ApiError, fields: readonly FormField[]): Partial<FilledForm> {
  const issues = (problem.details.issues ?? []) as Issue[]
  const names = issues.flatMap(({ path: [first, name] }) => (first === 'variables' ? [name] : []))
  const wrong = fields.filter((field) => names.includes(field.name))
  const errors = new Map(wrong.map((field): [string, FieldError] => [field.name, 'invalid']))
  return errors.size > 0 ? { errors } : { problem: 'invalid' }
}

async function findExisting(
  { workspaceId, templateId }: PublicJoinPage,
  externalPassId: string,
  { store }: JoinServices,
): Promise<StoredPass | undefined> {
  const [pass] = await store.passes.listByExternalIds(workspaceId, [externalPassId])
  return pass?.templateId === templateId ? pass : undefined
}

function showForm(
  status: number,
  { facts, fields, recovers }: OpenedPage,
  filled: FilledForm,
  token: string,
): Response {
  return respond(status, (recovers ? fullPage : joinPage)(facts, { fields, token, filled }))
}

function respond(status: number, page: ReturnType<typeof joinPage>): Response {
  return pageResponse(page, { status })
}

/**
 * Redirects to the page of the pass. The query parameter `choose` makes phones show this page instead of opening a
 * wallet.
 * @throws ApiError LINK_REVOKED if the links were revoked, or the pass has another holder
 */
function redirectToPass(pass: StoredPass, { links }: JoinServices, now: Date): Response {
  if (pass.linkGeneration > 0) throw new ApiError('LINK_REVOKED', { details: { reason: 'revoked' } })
  const link = links.urlFor('smart', pass, now)
  return redirect(`../l/${link.slice(link.lastIndexOf('/') + 1)}?choose`)
}

/** @param location relative to the page, so that it works under any path of a proxy */
function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store' } })
}
