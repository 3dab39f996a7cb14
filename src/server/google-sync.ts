import type { StoredPass } from '../storage/pass-row.ts'
import type { Store } from '../storage/store.ts'
import type { PublishedVersion } from '../storage/template-versions.ts'
import type { GoogleApi } from '../wallets/google/api.ts'
import { GoogleApiError } from '../wallets/google/api-error.ts'
import { kindOf } from '../wallets/google/resource.ts'
import { nameOf } from '../wallets/google/values.ts'
import type { GoogleWallet } from '../wallets/google/wallet.ts'
import { sendMessage } from './google-messages.ts'
import { type Issuing, renderTemplateCard } from './issuing.ts'

/** Keeps classes and objects at Google in step with templates and passes. */
export interface GoogleSync {
  readonly api: GoogleApi
  /** Makes sure that class and object are there, as they now stand, before somebody saves the pass. */
  ensure(pass: StoredPass, at: Date): Promise<void>
  /** Sends the class of a template version. */
  upsertClass(version: PublishedVersion): Promise<void>
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
}

export interface GoogleSyncOptions {
  api: GoogleApi
  wallet: GoogleWallet
  store: Store
  issuing: Issuing
  clock: () => Date
}

export function createGoogleSync({ api, wallet, store, issuing, clock }: GoogleSyncOptions): GoogleSync {
  return {
    api,
    async ensure(pass, at) {
      const [known] = await store.googleObjects.list(pass.workspaceId, [pass.id])
      if (known && known.sentVersion >= pass.walletVersion) return
      const rendered = await issuing.render(pass)
      const kind = kindOf(rendered.card)
      await api.upsertClass(kind, wallet.classOf(rendered))
      await api.upsertObject(kind, wallet.objectOf(rendered, at))
      await store.transaction((tx) => tx.googleObjects.setSent(pass.workspaceId, pass.id, pass.walletVersion, at))
    },
    async upsertClass(version) {
      const templateCard = renderTemplateCard(version)
      await api.upsertClass(kindOf(templateCard), wallet.classOf({ templateId: version.templateId, templateCard }))
    },
    async update(pass) {
      const rendered = await issuing.render(pass)
      await api.updateObject(kindOf(rendered.card), wallet.objectOf(rendered, clock()))
    },
    async message(pass, { id, header, body, mayBeThere }) {
      const rendered = await issuing.render(pass)
      const kind = kindOf(rendered.card)
      const object = wallet.objectOf(rendered, clock())
      const message = { id, header: header ?? nameOf(rendered.card), body }
      try {
        await sendMessage(api, { kind, id: object.id }, message, { mayBeThere })
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        await api.upsertObject(kind, object)
        await api.addMessage(kind, object.id, message)
      }
    },
  }
}
