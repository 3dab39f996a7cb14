import type { PlatformRefusal } from '../../core/contract/wallets.ts'
import { effectiveStatus } from '../../core/rules/pass/pass-status.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions.ts'
import type { GoogleApi, GoogleCalls } from '../../wallets/google/api/api.ts'
import { GoogleApiError, isRefused } from '../../wallets/google/api/api-error.ts'
import { kindOf } from '../../wallets/google/resource.ts'
import { nameOf } from '../../wallets/google/values.ts'
import type { GoogleWallet } from '../../wallets/google/wallet.ts'
import { sendMessage } from './google-messages.ts'
import { type Issuing, recordFailure, renderTemplateCard } from './issuing.ts'
import { queueWalletUpdates } from './wallet-updates.ts'

/** Keeps classes and objects at Google in step with templates and passes. */
export interface GoogleSync {
  readonly api: GoogleApi
  /**
   * Makes sure that class and object are there, as they now stand, before somebody saves the pass. What Google refuses for
   * good is noted on the pass, which fails where it has no other platform.
   */
  ensure(pass: StoredPass, at: Date): Promise<void>
  /**
   * Sends the class of a template version, unless a newer version has sent its own. Where Google refuses it for good, that
   * is noted on the version and nothing is thrown: another try would be in vain.
   */
  upsertClass(workspaceId: string, version: PublishedVersion): Promise<void>
  /** Sends the object as it now stands. */
  update(pass: StoredPass): Promise<void>
  /** Shows a text on the pass and on the phone's screen, under a header that is the organization's name by default. */
  message(pass: StoredPass, message: PassMessage): Promise<void>
}

export interface PassMessage {
  /** Distinct for the pass: one that is there already is not shown again. */
  id: string
  header: string | undefined
  body: string
  /** True where an earlier try may have taken effect. */
  mayBeThere: boolean
  /** True for one of many, which let others go first. */
  isBulk: boolean
}

export interface GoogleSyncOptions {
  api: GoogleApi
  wallet: GoogleWallet
  store: Store
  issuing: Issuing
  /** True where passes have no other platform. */
  isOnlyPlatform?: boolean
  clock: () => Date
}

export function createGoogleSync(options: GoogleSyncOptions): GoogleSync {
  const { api, wallet, store, issuing, isOnlyPlatform = false, clock } = options

  /** Object and class, ready to be sent. */
  async function prepare(pass: StoredPass, at: Date) {
    const rendered = await issuing.render(pass)
    const kind = kindOf(rendered.card)
    const { workspaceId, templateId, templateVersion } = pass
    const earlier = await store.templateVersions.listPublishedBefore(workspaceId, templateId, templateVersion)
    const retired = earlier.map(({ google }) => google?.object ?? {})
    const object = wallet.objectOf(rendered, at)
    return {
      card: rendered.card,
      kind,
      objectId: object.id,
      make: async (calls: GoogleCalls) => {
        await calls.insertClass(kind, wallet.classOf(rendered))
        await calls.upsertObject(kind, object, retired)
      },
      update: (calls: GoogleCalls) => calls.updateObject(kind, object, retired),
    }
  }

  /**
   * Notes what Google was sent. The pass may have changed meanwhile, when nobody knew yet that Google holds it, or while
   * somebody else sent something newer that this one has overwritten: then it is sent again.
   */
  function recordSent({ workspaceId, id, templateVersionId, walletVersion }: StoredPass): Promise<void> {
    return store.transaction(async (tx) => {
      const at = clock()
      const current = await tx.passes.findForUpdate(workspaceId, id)
      if (!current) return
      await tx.googleObjects.setSent(workspaceId, id, walletVersion, at)
      for (const subject of [id, templateVersionId]) await tx.refusals.clear(workspaceId, subject, 'google')
      if (current.walletVersion === walletVersion) return
      await queueWalletUpdates(tx, workspaceId, [id], { at, correlationId: null })
    })
  }

  function recordRefusal(pass: StoredPass, error: GoogleApiError, at: Date): Promise<void> {
    const { workspaceId, id } = pass
    return store.transaction(async (tx) => {
      const current = await tx.passes.findForUpdate(workspaceId, id)
      if (current?.walletVersion !== pass.walletVersion) return
      const refusal = refusalOf(error, at)
      await tx.refusals.insert(workspaceId, 'pass', id, refusal)
      if (!isOnlyPlatform || effectiveStatus(current, at) !== 'ISSUED') return
      await recordFailure(tx, current, { code: refusal.code, message: refusal.message }, { at, correlationId: null })
    })
  }

  return {
    api,
    async ensure(pass, at) {
      const [known] = await store.googleObjects.list(pass.workspaceId, [pass.id])
      if (known && known.sentVersion >= pass.walletVersion) return
      const { make } = await prepare(pass, at)
      try {
        await make(api)
      } catch (error) {
        if (isRefused(error)) await recordRefusal(pass, error, at)
        throw error
      }
      await recordSent(pass)
    },
    async upsertClass(workspaceId, version) {
      const { templateId, id } = version
      const templateCard = renderTemplateCard(version)
      const resource = wallet.classOf({ templateId, templateCard })
      const [newest] = await store.templateVersions.listNewestPublished(workspaceId, [templateId])
      const { upsertClass, insertClass } = api.bulk
      try {
        await (newest?.id === id ? upsertClass : insertClass)(kindOf(templateCard), resource)
        await store.transaction((tx) => tx.refusals.clear(workspaceId, id, 'google'))
      } catch (error) {
        if (!isRefused(error)) throw error
        await store.transaction((tx) => tx.refusals.insert(workspaceId, 'version', id, refusalOf(error, clock())))
      }
    },
    async update(pass) {
      const { update, make } = await prepare(pass, clock())
      try {
        await update(api.bulk)
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        // Its class went missing too.
        await make(api.bulk)
      }
      await recordSent(pass)
    },
    async message(pass, { id, header, body, mayBeThere, isBulk }) {
      const calls = isBulk ? api.bulk : api
      const { card, kind, objectId, make } = await prepare(pass, clock())
      const message = { id, header: header || nameOf(card), body }
      try {
        await sendMessage(calls, { kind, id: objectId }, message, { mayBeThere })
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        await make(calls)
        await calls.addMessage(kind, objectId, message)
      }
    },
  }
}

/** What Google said, for those who made the template. */
export function refusalOf(error: GoogleApiError, at: Date): PlatformRefusal {
  return { platform: 'google', code: 'GOOGLE_API_FAILED', message: error.message, at: at.toISOString() }
}
