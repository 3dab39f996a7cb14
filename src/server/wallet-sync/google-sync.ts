import { randomUUID } from 'node:crypto'
import { ExternalPassId } from '../../core/contract/passes.ts'
import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import type { StoredClass } from '../../storage/passes/google-classes.ts'
import type { StoredGoogleObject } from '../../storage/passes/google-objects.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions-repository.ts'
import { GoogleApiError, isRejected, rejectionOf } from '../../wallets/google/api/api-error.ts'
import type { GoogleCalls } from '../../wallets/google/api/google-api.ts'
import { buildMessage, sendMessage, type WrittenMessage } from '../../wallets/google/messages.ts'
import {
  asKind,
  cardAsKind,
  digestOfUpdate,
  type GooglePlace,
  type GoogleResource,
  idOf,
  isLongClassSuffix,
  kindOf,
  longClassSuffixOf,
  placeOf,
} from '../../wallets/google/resource.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import type { Sides } from '../../wallets/wallets.ts'
import { createDefinitions, type Definitions } from './definitions.ts'
import { recordClassSent, recordRejection, recordSent, type SentObject } from './google-records.ts'
import { type Issuing, renderTemplateCards } from './issuing.ts'

export type GoogleSync = ReturnType<typeof createGoogleSync>

export interface PassMessage extends WrittenMessage {
  /** Whether an earlier attempt to send this message can have succeeded. */
  mayBeThere: boolean
  /** Whether the message belongs to a broadcast, which has a lower priority. */
  isBulk: boolean
}

type GoogleParts = Pick<Sides['google'], 'api' | 'wallet'>

export interface GoogleSyncOptions extends GoogleParts {
  /** Returns the API and the wallet of another identity. Default: the API and the wallet of the server. */
  sideOf?: (googleIdentityId: string) => Promise<GoogleParts>
  store: Store
  issuing: Issuing
  definitions?: Definitions
  isOnlyPlatform?: boolean
  clock: () => Date
}

/** Keeps classes and objects at Google in sync with templates and passes. */
export function createGoogleSync(options: GoogleSyncOptions) {
  const { api, wallet, store, issuing, clock } = options
  const { definitions = createDefinitions(store) } = options
  const own: GoogleParts = { api, wallet }

  /** @throws ApiError GOOGLE_JWT_FAILED */
  async function sideOf({ googleIdentityId }: Pick<StoredPass, 'googleIdentityId'>): Promise<GoogleParts> {
    return googleIdentityId === null ? own : ((await options.sideOf?.(googleIdentityId)) ?? own)
  }

  /**
   * Renders the pass with the ID and the kind of its existing object. The ID stays, even if another provider chose it.
   * The kind stays while the pass keeps its version. If a new version has another kind, each object of any other kind
   * becomes a former object.
   */
  async function locate(pass: StoredPass, given?: StoredGoogleObject) {
    const { workspaceId, id, templateVersionId } = pass
    const shown = await issuing.render(pass)
    const linked = { ...shown, ...(await linksOf(pass, shown)) }
    const [known] = given ? [given] : await store.googleObjects.list(workspaceId, [id])
    if (!known) {
      const called = { ...linked, ...(pass.googleObjectId && { objectSuffix: pass.googleObjectId }) }
      return {
        rendered: asKind(called, kindOf(linked.card)),
        former: [],
        isUnknown: false,
        isNew: true,
        sentDigest: null,
      }
    }
    const { objectSuffix, sentDigest } = known
    const current = known.sent ?? { kind: kindOf(linked.card), objectSuffix, templateVersionId }
    const kind = current.templateVersionId === templateVersionId ? current.kind : kindOf(linked.card)
    const objects = [current, ...(await store.googleObjects.listFormer(workspaceId, id))]
    const ofKind = objects.find((object) => object.kind === kind)
    const rendered = { ...linked, ...(ofKind && { objectSuffix: ofKind.objectSuffix }) }
    const former = objects.filter((object) => object !== ofKind)
    return { rendered: asKind(rendered, kind), former, isUnknown: known.sent === null, isNew: false, sentDigest }
  }

  /**
   * Finds the objects of linked passes in one query. Omits linked passes without an object at Google: the next update
   * of `pass` looks for them again. Omits linked passes that can have links themselves, because Google rejects nested
   * links.
   */
  async function linksOf(pass: StoredPass, { card }: WalletPass): Promise<Pick<WalletPass, 'linkedObjectIds'>> {
    // Omit texts that are not valid external IDs: no pass has them, and PostgreSQL rejects NUL in a query.
    const externalIds = new Set(card.google.linkedPasses?.filter((id) => ExternalPassId.safeParse(id).success))
    externalIds.delete(pass.externalPassId)
    if (externalIds.size === 0) return {}
    const { workspaceId, googleIdentityId } = pass
    const { wallet } = await sideOf(pass)
    const objects = await store.googleObjects.listLinkable(workspaceId, [...externalIds], googleIdentityId)
    const linkedObjectIds: string[] = []
    for (const externalId of externalIds) {
      const object = objects.get(externalId)
      const { google } = (object && (await definitions.find(workspaceId, object.templateVersionId))) ?? {}
      const hasLinks = google?.linkedPasses !== undefined || google?.object?.linkedObjectIds !== undefined
      if (object && !hasLinks) linkedObjectIds.push(idOf(wallet, object.objectSuffix))
    }
    return linkedObjectIds.length > 0 ? { linkedObjectIds } : {}
  }

  async function prepare(pass: StoredPass, at: Date, known?: StoredGoogleObject) {
    const { workspaceId, googleClassId } = pass
    const { api, wallet } = await sideOf(pass)
    // Read the class before the pass is rendered, so that the recorded version of the class is never newer than the
    // version that was sent.
    const [ofClass] = googleClassId ? await store.googleClasses.list(workspaceId, [googleClassId]) : []
    const { rendered, former, isUnknown, isNew, sentDigest } = await locate(pass, known)
    const retired = await definitions.listRetired(pass)
    const place = placeOf(rendered)
    const { kind } = place
    const object = wallet.objectOf(rendered, at)
    const digest = digestOfUpdate(kind, object, retired)
    const needsClass = isUnknown || ofClass?.sentVersion === null

    const sent: SentObject = { place, digest, mark: null }
    async function beginSend(): Promise<void> {
      if (isNew) return
      const mark = `sending ${randomUUID()}`
      await store.statement((tx) => tx.googleObjects.markSending(workspaceId, pass.id, mark))
      sent.mark = mark
    }

    async function sendClass(calls: GoogleCalls): Promise<void> {
      const isOutdated = ofClass !== undefined && ofClass.sentVersion !== ofClass.version
      if (isOutdated) await upsertClass(store, workspaceId, calls, kind, wallet.classOf(rendered))
      else await calls.insertClass(kind, wallet.classOf(rendered))
      if (isOutdated) sent.ofClass = ofClass
    }

    /** Updates each former object to the pass's current content, without erased data, and then expires the object. */
    async function expire(calls: GoogleCalls): Promise<void> {
      for (const { kind, objectSuffix, templateVersionId } of former) {
        const previous = await issuing.render({ ...pass, templateVersionId })
        const { classId: _, ...shown } = wallet.objectOf(asKind({ ...previous, objectSuffix }, kind), at)
        await calls.expireObject(kind, shown, retired)
      }
    }
    return {
      api,
      rendered,
      place,
      sent,
      objectId: object.id,
      // Former objects and locations need an update even if the digest is equal: erased data must be removed from
      // former objects, and Google can have received the object without its locations.
      isEqual: sentDigest === digest && !needsClass && former.length === 0 && object.merchantLocations === undefined,
      make: async (calls: GoogleCalls) => {
        await beginSend()
        await sendClass(calls)
        await calls.upsertObject(kind, object, retired)
        await expire(calls)
      },
      update: async (calls: GoogleCalls) => {
        await beginSend()
        // Do not send the class if it is not needed, so that the class of an object that another provider created is
        // not replaced.
        if (needsClass) await sendClass(calls)
        await calls.updateObject(kind, object, retired)
        await expire(calls)
      },
    }
  }

  /**
   * Whether a pass must be sent again before its save link is created, because the ID of its class is too long for the
   * link. Sending the pass gives it a class with a short ID.
   */
  function hasLongClassName({ googleClassId }: StoredPass, { classSuffix }: GooglePlace): boolean {
    return googleClassId !== null && isLongClassSuffix(classSuffix)
  }

  async function makeSure(pass: StoredPass, at: Date): Promise<GooglePlace> {
    const [known] = await store.googleObjects.list(pass.workspaceId, [pass.id])
    if (known?.sent && known.sentVersion >= pass.walletVersion && !hasLongClassName(pass, known.sent)) return known.sent
    const { api, make, place, sent } = await prepare(pass, at, known)
    try {
      await make(api)
    } catch (error) {
      if (isRejected(error)) await recordRejection(pass, error, at, options)
      throw error
    }
    await recordSent(pass, sent, options)
    return place
  }

  const making = new Map<string, Promise<GooglePlace>>()

  return {
    api,
    sideOf,
    /** Renders a pass as Google receives it, with the IDs of its existing object. */
    render: async (pass: StoredPass) => (await locate(pass)).rendered,
    /**
     * Ensures that the class and the object of a pass exist at Google in their current form before a holder saves the
     * pass. Returns their IDs. Records a permanent rejection on the pass, and fails a pass that has no other platform.
     * Concurrent requests for a pass share one send, because all workspaces share the rate of API calls.
     */
    ensure(pass: StoredPass, at: Date) {
      const key = [pass.id, pass.serialNumber, pass.walletVersion].join()
      const made = making.get(key) ?? makeSure(pass, at).finally(() => making.delete(key))
      making.set(key, made)
      return made
    },
    /**
     * Sends the class of a template version, or the class that passes with the same class key share. Records a
     * permanent rejection on the version or the class instead of throwing it, since a retry would fail again.
     * @param issuer selects the identity of the class
     */
    async upsertClass(
      workspaceId: string,
      version: PublishedVersion,
      { issuer, ofClass }: { issuer: Pick<StoredPass, 'googleIdentityId'>; ofClass?: StoredClass | undefined },
    ): Promise<void> {
      const { templateId, id, version: templateVersion } = version
      const { api, wallet } = await sideOf(issuer)
      const { templateCard: card, templateTranslations = [] } = await renderTemplateCards(version, ofClass?.values)
      const content = { templateId, templateVersion, ...(ofClass && { classDigest: ofClass.keyDigest }) }
      const names = ofClass ? await store.googleClasses.listNames(workspaceId, ofClass.id) : []
      const inUse = new Set(names.map(({ kind }) => kind))
      try {
        for (const kind of inUse.size > 0 ? inUse : [kindOf(card)]) {
          const templateCard = cardAsKind(card, kind)
          const translations = templateTranslations.map((other) => cardAsKind(other, kind))
          const ofKind = wallet.classOf({ ...content, templateCard, templateTranslations: translations })
          await upsertClass(store, workspaceId, api.bulk, kind, ofKind)
          const long = longClassSuffixOf(content, kind)
          if (ofClass && names.some(({ classSuffix }) => classSuffix === long)) {
            await upsertClass(store, workspaceId, api.bulk, kind, { ...ofKind, id: idOf(wallet, long) })
          }
        }
        await store.transaction(async (tx) => {
          if (ofClass) await recordClassSent(tx, workspaceId, ofClass, clock())
          else await tx.rejections.clear(workspaceId, 'google', id)
        })
      } catch (error) {
        if (!isRejected(error)) throw error
        const rejection = rejectionOf(error, clock())
        await store.transaction((tx) =>
          ofClass
            ? tx.rejections.insert(workspaceId, 'class', ofClass.id, rejection)
            : tx.rejections.insert(workspaceId, 'version', id, rejection),
        )
      }
    },
    /** Sends the object unless it is unchanged. @param known the stored object, if the caller has read it */
    async update(pass: StoredPass, known?: StoredGoogleObject): Promise<'sent' | 'equal'> {
      const { workspaceId, id, walletVersion: version } = pass
      const { api, isEqual, update, make, sent } = await prepare(pass, clock(), known)
      const equal = { version, digest: sent.digest }
      if (isEqual && (await store.statement((tx) => tx.googleObjects.setEqual(workspaceId, id, equal)))) return 'equal'
      try {
        await update(api.bulk)
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        // Also create the class, because the class can be the missing resource.
        await make(api.bulk)
      }
      await recordSent(pass, sent, options)
      return 'sent'
    },
    /** Shows a text on the pass and as a notification. The default header is the name of the organization. */
    async message(pass: StoredPass, { mayBeThere, isBulk, ...written }: PassMessage): Promise<void> {
      const { api, rendered, place, objectId, make } = await prepare(pass, clock())
      const calls = isBulk ? api.bulk : api
      const message = buildMessage(rendered, written)
      try {
        await sendMessage(calls, { kind: place.kind, id: objectId }, message, { mayBeThere })
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        await make(calls)
        await calls.addMessage(place.kind, objectId, message)
      }
    },
  }
}

/**
 * Creates or replaces a class, and keeps the messages that broadcasts sent to it (decisions/0013). If there are such
 * messages, reading them takes an additional request.
 * @throws GoogleApiError
 */
async function upsertClass(
  { broadcastClasses }: Pick<Store, 'broadcastClasses'>,
  workspaceId: string,
  calls: GoogleCalls,
  kind: GoogleKind,
  resource: GoogleResource,
): Promise<void> {
  const suffix = resource.id.slice(resource.id.indexOf('.') + 1)
  const keepsMessages = await broadcastClasses.hasMessages(workspaceId, suffix)
  await calls.upsertClass(kind, resource, { keepsMessages })
}
