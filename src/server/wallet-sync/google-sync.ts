import { randomUUID } from 'node:crypto'
import { effectiveStatus } from '../../core/rules/pass/pass-status.ts'
import type { StoredClass } from '../../storage/passes/google-classes.ts'
import type { StoredGoogleObject } from '../../storage/passes/google-objects.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { PublishedVersion } from '../../storage/templates/template-versions.ts'
import type { GoogleApi, GoogleCalls } from '../../wallets/google/api/api.ts'
import { GoogleApiError, isRefused, rejectionOf } from '../../wallets/google/api/api-error.ts'
import { buildMessage, sendMessage, type WrittenMessage } from '../../wallets/google/messages.ts'
import {
  asKind,
  cardAsKind,
  digestOfUpdate,
  type GooglePlace,
  idOf,
  isLongClassSuffix,
  kindOf,
  longClassSuffixOf,
  placeOf,
} from '../../wallets/google/resource.ts'
import type { GoogleWallet } from '../../wallets/google/wallet.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import { upsertClass } from './class-updates.ts'
import { createDefinitions, type Definitions } from './definitions.ts'
import { tellHolders } from './holders.ts'
import { type Issuing, recordFailure, renderTemplateCards } from './issuing.ts'
import { queueWalletUpdates } from './wallet-updates.ts'

/** Keeps classes and objects at Google in step with templates and passes. */
export interface GoogleSync {
  /** Of the server itself. */
  readonly api: GoogleApi
  /** Whose a pass is at Google. @throws ApiError GOOGLE_JWT_FAILED */
  sideOf(pass: Pick<StoredPass, 'googleIdentityId'>): Promise<GoogleParts>
  /** What Google is given of a pass, under the ids that it has there. */
  render(pass: StoredPass): Promise<WalletPass>
  /**
   * Makes sure that class and object are there, as they now stand, before somebody saves the pass, and says where. What
   * Google refuses for good is noted on the pass, which fails where it has no other platform.
   */
  ensure(pass: StoredPass, at: Date): Promise<GooglePlace>
  /**
   * Sends the class of a template version, or one that passes of a key share. Where Google refuses it for good, that is noted
   * on the version or the class and nothing is thrown: another try would be in vain.
   * @param issuer whose it is
   */
  upsertClass(
    workspaceId: string,
    version: PublishedVersion,
    of: { issuer: Pick<StoredPass, 'googleIdentityId'>; ofClass?: StoredClass | undefined },
  ): Promise<void>
  /**
   * Sends the object as it now stands. One in which nothing changed is not sent.
   * @param known what is known of it, where the caller has read that
   */
  update(pass: StoredPass, known?: StoredGoogleObject): Promise<'sent' | 'equal'>
  /** Shows a text on the pass and on the phone's screen, under a header that is the organization's name by default. */
  message(pass: StoredPass, message: PassMessage): Promise<void>
}

/** What became of a pass at Google. */
interface Sent {
  place: GooglePlace
  /** Its class, where that was sent as it was read. */
  ofClass?: StoredClass
  /** Of what the object says. */
  digest: string
  /** What the pass was marked with as the send began; null where nothing was known of it at Google. */
  mark: string | null
}

/** A message that Google is to show on a pass. */
export interface PassMessage extends WrittenMessage {
  /** True where an earlier try may have taken effect. */
  mayBeThere: boolean
  /** True for one of many, which let others go first. */
  isBulk: boolean
}

/** Who renders for an issuer, and who calls for it. */
export interface GoogleParts {
  api: GoogleApi
  wallet: GoogleWallet
}

/** What objects at Google are kept in step with. */
export interface GoogleSyncOptions {
  api: GoogleApi
  wallet: GoogleWallet
  /** The same of another identity; that of the server by default. */
  sideOf?: (googleIdentityId: string) => Promise<GoogleParts>
  store: Store
  issuing: Issuing
  definitions?: Definitions
  /** True where passes have no other platform. */
  isOnlyPlatform?: boolean
  clock: () => Date
}

/** Brings classes and objects to Google: see GoogleSync. */
export function createGoogleSync(options: GoogleSyncOptions): GoogleSync {
  const { api, wallet, store, issuing, isOnlyPlatform = false, clock } = options
  const { definitions = createDefinitions(store) } = options
  const own: GoogleParts = { api, wallet }

  async function sideOf({ googleIdentityId }: Pick<StoredPass, 'googleIdentityId'>): Promise<GoogleParts> {
    return googleIdentityId === null ? own : ((await options.sideOf?.(googleIdentityId)) ?? own)
  }

  /**
   * The pass as Google is to show it. An object that is there keeps its id, which may be of another provider, and its kind as long
   * as the pass keeps its version; where a version brings another kind, the objects of other kinds are former ones.
   */
  async function locate(pass: StoredPass, given?: StoredGoogleObject) {
    const { workspaceId, id, templateVersionId } = pass
    const asked = await issuing.render(pass)
    const [known] = given ? [given] : await store.googleObjects.list(workspaceId, [id])
    if (!known) {
      const called = { ...asked, ...(pass.googleObjectId && { googleSuffix: pass.googleObjectId }) }
      return {
        rendered: asKind(called, kindOf(asked.card)),
        former: [],
        isUnknown: false,
        isNew: true,
        sentDigest: null,
      }
    }
    const { objectSuffix, sentDigest } = known
    const current = known.sent ?? { kind: kindOf(asked.card), objectSuffix, templateVersionId }
    const kind = current.templateVersionId === templateVersionId ? current.kind : kindOf(asked.card)
    const objects = [current, ...(await store.googleObjects.listFormer(workspaceId, id))]
    const ofKind = objects.find((object) => object.kind === kind)
    const rendered = { ...asked, ...(ofKind && { googleSuffix: ofKind.objectSuffix }) }
    const former = objects.filter((object) => object !== ofKind)
    return { rendered: asKind(rendered, kind), former, isUnknown: known.sent === null, isNew: false, sentDigest }
  }

  /** Object and class, ready to be sent. */
  async function prepare(pass: StoredPass, at: Date, known?: StoredGoogleObject) {
    const { workspaceId, googleClassId } = pass
    const { api, wallet } = await sideOf(pass)
    // Before the pass is rendered: no class is noted as newer than what was sent of it.
    const [ofClass] = googleClassId ? await store.googleClasses.list(workspaceId, [googleClassId]) : []
    const { rendered, former, isUnknown, isNew, sentDigest } = await locate(pass, known)
    const retired = await definitions.listRetired(pass)
    const place = placeOf(rendered)
    const { kind } = place
    const object = wallet.objectOf(rendered, at)
    const digest = digestOfUpdate(kind, object, retired)
    const needsClass = isUnknown || ofClass?.sentVersion === null

    const sent: Sent = { place, digest, mark: null }
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

    /** They show what the pass now says: what was erased of it goes from them, too. */
    async function expire(calls: GoogleCalls): Promise<void> {
      for (const { kind, objectSuffix, templateVersionId } of former) {
        const asItWas = await issuing.render({ ...pass, templateVersionId })
        const { classId: _, ...shown } = wallet.objectOf(asKind({ ...asItWas, googleSuffix: objectSuffix }, kind), at)
        await calls.expireObject(kind, shown, retired)
      }
    }
    return {
      api,
      rendered,
      place,
      sent,
      objectId: object.id,
      // Former objects go with every update, so that what is erased goes from them too; places may have been left out.
      isEqual: sentDigest === digest && !needsClass && former.length === 0 && object.merchantLocations === undefined,
      make: async (calls: GoogleCalls) => {
        await beginSend()
        await sendClass(calls)
        await calls.upsertObject(kind, object, retired)
        await expire(calls)
      },
      update: async (calls: GoogleCalls) => {
        await beginSend()
        // An object that another provider made stands in a class of theirs.
        if (needsClass) await sendClass(calls)
        await calls.updateObject(kind, object, retired)
        await expire(calls)
      },
    }
  }

  /**
   * Notes what Google was sent. The pass may have changed meanwhile, when nobody knew yet that Google holds it, or while
   * somebody else sent something newer that this one has overwritten: then it is sent again.
   */
  function recordSent(pass: StoredPass, { place, ofClass, digest, mark }: Sent): Promise<void> {
    const { workspaceId, id, templateVersionId, walletVersion } = pass
    return store.transaction(async (tx) => {
      const at = clock()
      const current = await tx.passes.findForUpdate(workspaceId, id)
      if (!current) return
      if (current.serialNumber !== pass.serialNumber) return recordTransferred(tx, pass, place)
      const sent = { ...place, templateVersionId, version: walletVersion, digest, mark }
      const isReplaced = await tx.googleObjects.setSent(workspaceId, id, sent, at)
      await tx.rejections.clear(workspaceId, 'google', id, templateVersionId)
      if (ofClass) await recordClassSent(tx, workspaceId, ofClass)
      if (current.walletVersion !== walletVersion)
        await queueWalletUpdates(tx, workspaceId, [id], { at, correlationId: null })
      if (isReplaced) await tellHolders(tx, workspaceId, [id], { at, correlationId: null })
    })
  }

  /** The pass went to another holder meanwhile: what was sent is the former one's, and is to expire. */
  async function recordTransferred(tx: Repositories, pass: StoredPass, place: GooglePlace): Promise<void> {
    const { workspaceId, id, templateVersionId } = pass
    await tx.googleObjects.insertTransferred(workspaceId, id, { ...place, templateVersionId })
    await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-google', subject: id, correlationId: null }], clock())
  }

  /** As recordSent: a class that changed meanwhile is sent again. */
  async function recordClassSent(tx: Repositories, workspaceId: string, { id, version }: StoredClass): Promise<void> {
    const current = await tx.googleClasses.findForUpdate(workspaceId, id)
    if (!current) return
    await tx.googleClasses.setSent(workspaceId, id, version)
    await tx.rejections.clear(workspaceId, 'google', id)
    if (current.version === version) return
    const job = { workspaceId, kind: 'upsert-google-class' as const, subject: id, correlationId: null }
    await tx.jobs.insertOnce([job], clock())
  }

  function recordRejection(pass: StoredPass, error: GoogleApiError, at: Date): Promise<void> {
    const { workspaceId, id } = pass
    return store.transaction(async (tx) => {
      const current = await tx.passes.findForUpdate(workspaceId, id)
      if (current?.walletVersion !== pass.walletVersion) return
      const rejection = rejectionOf(error, at)
      await tx.rejections.insert(workspaceId, 'pass', id, rejection)
      if (!isOnlyPlatform || effectiveStatus(current, at) !== 'ISSUED') return
      await recordFailure(
        tx,
        current,
        { code: rejection.code, message: rejection.message },
        { at, correlationId: null },
      )
    })
  }

  /** In a class of a key under its long name, of which too few would fit into a save link: sent again, it stands in the short one. */
  function standsInLong({ googleClassId }: StoredPass, { classSuffix }: GooglePlace): boolean {
    return googleClassId !== null && isLongClassSuffix(classSuffix)
  }

  async function makeSure(pass: StoredPass, at: Date): Promise<GooglePlace> {
    const [known] = await store.googleObjects.list(pass.workspaceId, [pass.id])
    if (known?.sent && known.sentVersion >= pass.walletVersion && !standsInLong(pass, known.sent)) return known.sent
    const { api, make, place, sent } = await prepare(pass, at, known)
    try {
      await make(api)
    } catch (error) {
      if (isRefused(error)) await recordRejection(pass, error, at)
      throw error
    }
    await recordSent(pass, sent)
    return place
  }

  const making = new Map<string, Promise<GooglePlace>>()

  return {
    api,
    sideOf,
    render: async (pass) => (await locate(pass)).rendered,
    // Those who open a pass at the same moment share one making: each other would spend the calls that all workspaces have.
    ensure(pass, at) {
      const key = [pass.id, pass.serialNumber, pass.walletVersion].join()
      const made = making.get(key) ?? makeSure(pass, at).finally(() => making.delete(key))
      making.set(key, made)
      return made
    },
    async upsertClass(workspaceId, version, { issuer, ofClass }) {
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
          if (ofClass) await recordClassSent(tx, workspaceId, ofClass)
          else await tx.rejections.clear(workspaceId, 'google', id)
        })
      } catch (error) {
        if (!isRefused(error)) throw error
        const rejection = rejectionOf(error, clock())
        await store.transaction((tx) =>
          ofClass
            ? tx.rejections.insert(workspaceId, 'class', ofClass.id, rejection)
            : tx.rejections.insert(workspaceId, 'version', id, rejection),
        )
      }
    },
    async update(pass, known) {
      const { workspaceId, id, walletVersion: version } = pass
      const { api, isEqual, update, make, sent } = await prepare(pass, clock(), known)
      const equal = { version, digest: sent.digest }
      if (isEqual && (await store.statement((tx) => tx.googleObjects.setEqual(workspaceId, id, equal)))) return 'equal'
      try {
        await update(api.bulk)
      } catch (error) {
        if (!(error instanceof GoogleApiError && error.kind === 'missing')) throw error
        // Its class went missing too.
        await make(api.bulk)
      }
      await recordSent(pass, sent)
      return 'sent'
    },
    async message(pass, { mayBeThere, isBulk, ...written }) {
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
