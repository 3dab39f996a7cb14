import type { Definition } from '../../core/contract/schemas/definition.ts'
import { ApiError } from '../../core/errors.ts'
import { groupBy, runsOf } from '../../core/group-by.ts'
import { idsOf } from '../../core/ids.ts'
import { renderCard, renderImages } from '../../core/rules/display/card.ts'
import { isUnissued } from '../../core/rules/pass/pass-status.ts'
import { textsOf } from '../../core/rules/sending/message-texts.ts'
import { distinctText } from '../../core/rules/sending/notification.ts'
import { type ClassClaim, claimClass } from '../../core/rules/template/class-key.ts'
import { inLanguage, otherLanguages } from '../../core/rules/template/definition-languages.ts'
import { buildScope, templateScope } from '../../core/rules/template/resolve.ts'
import { mapInSlices } from '../../core/slices.ts'
import type { StoredRejection } from '../../storage/operations/rejections.ts'
import type { StoredClass } from '../../storage/passes/google-classes.ts'
import type { PassError, StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions-repository.ts'
import type { IdentityIds } from '../../storage/workspaces/identities-repository.ts'
import type { ApplePass } from '../../wallets/apple/pass-json.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import { createDefinitions, VERSIONS_AT_ONCE, type VersionContent } from './definitions.ts'

/** A pass that was checked for every configured platform, and the error if it cannot be issued. */
export interface Outcome {
  pass: StoredPass
  error?: PassError
  /** The rejection by one platform. The pass is still issued, because another platform accepts it. */
  rejection?: StoredRejection
}

export type Issuing = ReturnType<typeof createIssuing>

export interface Cause {
  at: Date
  /** Returns the correlation ID of the request that queued a pass. */
  correlationIdOf: (passId: string) => string | null
}

/** Issues passes in two steps, `prepare` and `write`, so that the transaction of `write` contains only SQL. */
export function createIssuing(
  store: Store,
  wallets: Wallets,
  definitions = createDefinitions(store),
  walletsOf: (pass: IdentityIds) => Promise<Pick<Wallets, 'all'>> = async () => wallets,
) {
  return {
    /** Renders and checks passes for every configured platform. Omits passes that are deleted or already issued. */
    async prepare(workspaceId: string, passIds: string[], at: Date): Promise<Outcome[]> {
      const passes = (await store.passes.listByIds(workspaceId, passIds)).filter(({ status }) => isUnissued(status))
      const ofVersions = [...groupBy(passes, versionIdOf).values()].flat()
      const outcomes: Outcome[] = []
      for (const some of runsOf(ofVersions, versionIdOf, VERSIONS_AT_ONCE)) {
        outcomes.push(...(await prepareSome(workspaceId, some, at)))
      }
      return outcomes
    },

    /**
     * Writes the outcomes with their events. Returns the IDs of passes that are not issued yet, because they changed
     * after they were rendered.
     */
    async write(
      tx: Repositories,
      workspaceId: string,
      outcomes: Outcome[],
      { at, correlationIdOf }: Cause,
    ): Promise<string[]> {
      const passes = outcomes.map(({ pass }) => pass)
      const revisions = await tx.passes.lockUnissued(workspaceId, idsOf(passes))
      const current = outcomes.filter(({ pass }) => revisions.get(pass.id) === pass.revision)
      const issued = current.filter(({ error }) => !error).map(({ pass }) => pass)
      await tx.passes.setIssued(workspaceId, idsOf(issued), at)
      await tx.events.insert(
        workspaceId,
        issued.map((pass) => ({
          type: 'pass.issued',
          subject: pass.id,
          data: issuedData(pass),
          correlationId: correlationIdOf(pass.id),
        })),
        at,
      )
      for (const { pass, error, rejection } of current) {
        if (rejection) await tx.rejections.insert(workspaceId, 'pass', pass.id, rejection)
        if (error) await recordFailure(tx, pass, error, { at, correlationId: correlationIdOf(pass.id) })
      }
      return idsOf(passes.filter(({ id, revision }) => (revisions.get(id) ?? revision) !== revision))
    },

    /** Renders the current state of a pass for the platforms, in all languages or only the given one. */
    async render(pass: StoredPass, language?: string): Promise<WalletPass> {
      const version = await versionOf(pass, language)
      const classes = await classesOf(pass.workspaceId, [pass])
      const walletPass = await toWalletPass(pass, version, classes.get(pass.googleClassId ?? ''))
      return { ...walletPass, ...(await messageOf(pass, version)) }
    },

    /**
     * Renders a pass for Apple, without its class. Needs no query if the version is cached and the pass shows no
     * message.
     */
    async renderForApple(pass: StoredPass, language?: string): Promise<ApplePass> {
      const version = await versionOf(pass, language)
      return { ...(await toApplePass(pass, version)), ...(await messageOf(pass, version)) }
    },
  }

  async function versionOf(
    { workspaceId, templateVersionId }: StoredPass,
    language: string | undefined,
  ): Promise<VersionContent & InLanguages> {
    const found = (await definitions.findVersion(workspaceId, templateVersionId))!
    if (language === undefined) return found
    return { ...found, definition: inLanguage(found.definition, language), isOneLanguage: true }
  }

  async function prepareSome(workspaceId: string, passes: StoredPass[], at: Date): Promise<Outcome[]> {
    const versions = await definitions.findVersions(workspaceId, [...new Set(passes.map(versionIdOf))])
    const classes = await classesOf(workspaceId, passes)
    const rejected = await listRejected(workspaceId, [...versions.keys(), ...classes.keys()])
    const templateCardsOf = cacheTemplateCards()
    return mapInSlices(passes, async (pass) => {
      const error = rejected.get(pass.templateVersionId) ?? rejected.get(pass.googleClassId ?? '')
      if (error) return { pass, error: { code: error.code, message: error.message } }
      const version = versions.get(pass.templateVersionId)!
      const ofClass = classes.get(pass.googleClassId ?? '')
      const checkAs = (render: () => Promise<WalletPass>) => check(pass, render, () => walletsOf(pass), at)
      const outcome = await checkAs(() =>
        toWalletPass(pass, { ...version, isOneLanguage: true }, ofClass, templateCardsOf),
      )
      const isTaken = !outcome.error && !outcome.rejection
      // Check a rejected pass again with translations: an override can require a text that only the translations
      // contain.
      return isTaken ? outcome : checkAs(() => toWalletPass(pass, version, ofClass))
    })
  }

  async function messageOf(
    { workspaceId, message }: StoredPass,
    { definition }: Pick<VersionContent, 'definition'>,
  ): Promise<Pick<WalletPass, 'message'>> {
    if (!message) return {}
    const body = await store.notifications.findBody(workspaceId, message.notificationId)
    return body ? { message: textsOf(body, definition, (text) => distinctText(text, message.number)) } : {}
  }

  /**
   * Returns the rejections of versions and classes by ID. Returns none if the server issues for several platforms,
   * because another platform can still accept the passes.
   */
  async function listRejected(workspaceId: string, ids: string[]): Promise<Map<string, StoredRejection>> {
    return wallets.all.length === 1 ? store.rejections.list(workspaceId, ids) : new Map()
  }

  async function classesOf(workspaceId: string, passes: StoredPass[]): Promise<Map<string, StoredClass>> {
    const ids = [...new Set(passes.flatMap(({ googleClassId }) => googleClassId ?? []))]
    const classes = ids.length > 0 ? await store.googleClasses.list(workspaceId, ids) : []
    return new Map(classes.map((ofClass) => [ofClass.id, ofClass]))
  }
}

/**
 * Renders a pass for a request. If this fails, the definition or the values are at fault, so the error is not a server
 * error.
 * @throws ApiError the result of `toError`; by default, CONFLICT
 */
export async function renderOr<T>(render: () => T | Promise<T>, toError = toConflict): Promise<T> {
  try {
    return await render()
  } catch (cause) {
    throw cause instanceof ApiError && cause.code === 'PASS_ISSUING_FAILED' ? toError(cause) : cause
  }
}

function toConflict(cause: ApiError): ApiError {
  const { message, details } = cause
  return new ApiError('CONFLICT', { message, details, cause })
}

/** Marks a pass as FAILED and emits its event, in the transaction that detects the failure. */
export async function recordFailure(
  tx: Repositories,
  pass: StoredPass,
  error: PassError,
  { at, correlationId }: { at: Date; correlationId: string | null },
): Promise<void> {
  if (pass.status === 'ISSUED') await tx.passes.setRejected(pass.workspaceId, pass.id, error, at)
  else await tx.passes.setFailed(pass.workspaceId, pass.id, error, at)
  const data = { ...identifiers(pass), error }
  await tx.events.insert(pass.workspaceId, [{ type: 'pass.failed', subject: pass.id, data, correlationId }], at)
}

async function check(
  pass: StoredPass,
  walletPassOf: () => Promise<WalletPass>,
  walletsOf: () => Promise<Pick<Wallets, 'all'>>,
  at: Date,
): Promise<Outcome> {
  try {
    const walletPass = await walletPassOf()
    const wallets = await walletsOf()
    let rejection: StoredRejection | undefined
    await mapInSlices(wallets.all, async (wallet) => {
      try {
        await wallet.check(walletPass, at)
      } catch (error) {
        // Record the rejection, but issue the pass, because another platform can accept it.
        const isRejection =
          error instanceof ApiError && error.details.platform === wallet.platform && wallets.all.length > 1
        if (!isRejection) throw error
        rejection = { platform: wallet.platform, code: error.code, message: error.message, at }
      }
    })
    return { pass, ...(rejection && { rejection }) }
  } catch (error) {
    // Rethrow an error that might be temporary, so that the job is retried.
    if (!(error instanceof ApiError) || 'retry-after' in error.headers) throw error
    return { pass, error: { code: error.code, message: error.message } }
  }
}

interface InLanguages {
  /** Whether to render only the language of `definition`. By default, all its languages are rendered. */
  isOneLanguage?: true
}

function othersOf({ definition, isOneLanguage }: Pick<VersionContent, 'definition'> & InLanguages): Definition[] {
  return isOneLanguage ? [] : otherLanguages(definition)
}

async function toApplePass(
  pass: StoredPass,
  version: VersionContent & InLanguages,
  scope = scopeOf(pass, version.definition),
): Promise<ApplePass> {
  const { definition, passType } = version
  const { copyId: id, serialNumber, expiresAt, status, appleToken: authenticationToken } = pass
  const cardOf = (shown: Definition) =>
    renderCard({ definition: shown, passType, scope, expiresAt, voided: status === 'VOID' })
  const translations = await mapInSlices(othersOf(version), cardOf)
  return {
    id,
    ...(serialNumber !== id && { serialNumber }),
    authenticationToken,
    card: cardOf(definition),
    ...(translations.length > 0 && { translations }),
    ...(version.isOneLanguage && {
      translatedImages: otherLanguages(definition).map((other) => renderImages(other, scope)),
    }),
    ...(pass.group && { groupId: pass.group.id }),
    ...(pass.webServiceUrl !== null && { webServiceUrl: pass.webServiceUrl }),
  }
}

async function toWalletPass(
  pass: StoredPass,
  version: VersionContent & InLanguages,
  ofClass: StoredClass | undefined,
  templateCardsOf: TemplateCardsOf = renderTemplateCards,
): Promise<WalletPass> {
  const { definition } = version
  const scope = scopeOf(pass, definition)
  // A preview can use a version for which the pass has no class yet. In that case, compute the class that the pass
  // would have.
  const claim =
    ofClass?.templateVersionId === version.id
      ? ofClass
      : claimClass(definition, version.passType, scope, pass.googleIdentityId)
  return {
    ...(await toApplePass(pass, version, scope)),
    templateId: pass.templateId,
    templateVersion: version.version,
    ...(claim && { classDigest: claim.keyDigest }),
    ...(await templateCardsOf(
      { ...version, templateName: pass.templateName, projectName: pass.projectName },
      claim?.values,
    )),
  }
}

type TemplateCards = Pick<WalletPass, 'templateCard' | 'templateTranslations'>
type TemplateCardsOf = typeof renderTemplateCards

/** Returns a function that renders the card of a version only once for consecutive passes of this version. */
function cacheTemplateCards(): TemplateCardsOf {
  let last: { cards: Promise<TemplateCards>; of: Parameters<TemplateCardsOf> } | undefined
  return (version, values) => {
    const isSame =
      last?.of[0].definition === version.definition &&
      last.of[0].templateName === version.templateName &&
      last.of[0].projectName === version.projectName &&
      last.of[1] === values
    if (!last || !isSame) last = { cards: renderTemplateCards(version, values), of: [version, values] }
    return last.cards
  }
}

function scopeOf(pass: StoredPass, definition: Definition) {
  return buildScope(definition, pass, pass.expiresAt)
}

/** Renders the card of a version without values of a holder: with defaults and the `values` of its class. */
export async function renderTemplateCards(
  version: Pick<PublishedVersion, 'definition' | 'passType' | 'templateName' | 'projectName'> & InLanguages,
  values?: ClassClaim['values'],
): Promise<TemplateCards> {
  const { definition, passType } = version
  const scope = templateScope(definition, version, values)
  const cardOf = (shown: Definition) =>
    renderCard({ definition: shown, passType, scope, expiresAt: null, voided: false })
  const templateTranslations = await mapInSlices(othersOf(version), cardOf)
  return { templateCard: cardOf(definition), ...(templateTranslations.length > 0 && { templateTranslations }) }
}

function versionIdOf({ templateVersionId }: StoredPass): string {
  return templateVersionId
}

function identifiers(pass: StoredPass) {
  const { id, externalPassId, templateId, templateVersionId, projectId } = pass
  return { id, externalPassId, templateId, templateVersionId, projectId }
}

function issuedData(pass: StoredPass) {
  return {
    ...identifiers(pass),
    variables: pass.variables,
    redemption: pass.redemption,
    expiresAt: pass.expiresAt?.toISOString() ?? null,
    createdAt: pass.createdAt.toISOString(),
    ...(pass.group && { groupKey: pass.group.key }),
  }
}
