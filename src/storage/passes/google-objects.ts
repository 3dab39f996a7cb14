import type { Knex } from 'knex'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { toDate } from '../db/dialect.ts'

/** What Google was last sent of a pass, and where. Ids are without the issuer. */
export interface SentObject {
  kind: GoogleKind
  objectSuffix: string
  /** The class that the object stands in. */
  classSuffix: string
  /** The version that it shows. */
  templateVersionId: string
}

/** An object of another kind than its pass has now. It is expired, and may still be on phones. */
export type FormerObject = Omit<SentObject, 'classSuffix'>

/** The Google object of a pass: there from the first opening of its link on. */
export interface StoredGoogleObject extends Pick<SentObject, 'objectSuffix'> {
  passId: string
  /** Null if another provider sent the object last: nothing is known about an imported object. */
  sent: SentObject | null
  /** The walletVersion that Google was last sent. */
  sentVersion: number
  /** Of what it was sent then; null, or the mark of a send that is under way, where that is not known for sure. */
  sentDigest: string | null
  sentAt: Date
  /** Null while nobody has the pass in Google Wallet. */
  installedAt: Date | null
  /** When a transit ticket was first activated; null for what never was. */
  activatedAt: Date | null
  lastError: string | null
}

/** What an object was sent, and the send that it was sent by. */
interface SentContent {
  digest: string | null
  mark: string | null
}

interface Row {
  pass_id: string
  workspace_id: string
  object_suffix: string
  kind: GoogleKind | null
  class_suffix: string | null
  template_version_id: string | null
  sent_version: number
  sent_digest: string | null
  sent_at: number
  installed_at: number | null
  activated_at: number | null
  last_error: string | null
  holders: number
}

type FormerRow = Record<'object_suffix' | 'kind' | 'template_version_id', string>

/** What Google has of each pass: the object that was sent, who holds it, and objects of templates before. */
export class GoogleObjects {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** What Google was told of passes; those it was told nothing of are left out. */
  async list(workspaceId: string, passIds: string[]): Promise<StoredGoogleObject[]> {
    const rows: Row[] = await this.db('google_objects').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    return rows.map(toObject)
  }

  /** Objects that the pass had before its present one. */
  async listFormer(workspaceId: string, passId: string): Promise<FormerObject[]> {
    const rows: FormerRow[] = await this.db('google_former_objects')
      .where({ workspace_id: workspaceId, pass_id: passId, is_transferred: false })
      .orderBy('object_suffix')
    return rows.map(toFormer)
  }

  /** Objects of former holders that Google does not know to be over. */
  async listTransferred(workspaceId: string, passId: string): Promise<FormerObject[]> {
    const rows: FormerRow[] = await this.db('google_former_objects')
      .where({ workspace_id: workspaceId, pass_id: passId, is_transferred: true })
      .whereNull('expired_at')
    return rows.map(toFormer)
  }

  /**
   * The pass, which the caller holds, goes to another holder: its objects are those of a former one. True where Google is to
   * be told.
   * @param unknown what to assume about an object that another provider sent last
   */
  async transfer(workspaceId: string, passId: string, unknown: Omit<FormerObject, 'objectSuffix'>): Promise<boolean> {
    const ofPass = (table: string) => this.db(table).where({ workspace_id: workspaceId, pass_id: passId })
    const rows: Row[] = await ofPass('google_objects')
    for (const { sent, objectSuffix } of rows.map(toObject)) {
      await this.insertTransferred(workspaceId, passId, sent ?? { ...unknown, objectSuffix }, rows[0]!.holders)
    }
    await ofPass('google_objects').delete()
    await ofPass('google_former_objects').where({ is_transferred: false }).update({ is_transferred: true })
    return rows.length > 0
  }

  /** An object of a former holder, of which the pass has none: it is to expire. */
  async insertTransferred(workspaceId: string, passId: string, object: FormerObject, holders = 0): Promise<void> {
    const change = { is_transferred: true, expired_at: null }
    await this.db('google_former_objects')
      .insert({
        workspace_id: workspaceId,
        pass_id: passId,
        object_suffix: object.objectSuffix,
        kind: object.kind,
        template_version_id: object.templateVersionId,
        holders,
        ...change,
      })
      .onConflict(['object_suffix', 'pass_id'])
      .merge(change)
  }

  /** Google knows that it is over. */
  async setRetired(workspaceId: string, passId: string, objectSuffix: string, at: Date): Promise<void> {
    await this.db('google_former_objects')
      .where({ workspace_id: workspaceId, pass_id: passId, object_suffix: objectSuffix })
      .update({ expired_at: at.getTime() })
  }

  /**
   * Google was sent this version of the pass, which the caller holds. Where it had been sent a newer one, only the older
   * one is sure to be there. An object that another takes the place of is a former one from now on: then true.
   * @param digest of all that was sent; without one, no later update is known to say the same
   * @param mark what markSending was given before it was sent
   */
  async setSent(
    workspaceId: string,
    passId: string,
    { version, digest = null, mark = null, ...sent }: SentObject & { version: number } & Partial<SentContent>,
    at: Date,
  ): Promise<boolean> {
    const key = { workspace_id: workspaceId, pass_id: passId }
    const isOurs = await this.db('passes').where({ workspace_id: workspaceId, id: passId }).first('id')
    if (!isOurs) return false
    const change = {
      object_suffix: sent.objectSuffix,
      kind: sent.kind,
      class_suffix: sent.classSuffix,
      template_version_id: sent.templateVersionId,
      sent_version: version,
      sent_at: at.getTime(),
    }
    const rows: Row[] = await this.db('google_objects').where(key)
    const before = rows.map(toObject).find(({ objectSuffix }) => objectSuffix !== sent.objectSuffix)
    const replacing = before && (await this.replace(workspaceId, before, sent, at))
    await this.db('google_objects')
      .insert({ ...key, ...change, sent_digest: digest })
      .onConflict('pass_id')
      .merge({
        ...change,
        ...replacing,
        last_error: null,
        // Another mark, or none: another send went beside this one, and which came last is not known.
        sent_digest: this.db.raw(
          'case when google_objects.sent_digest = cast(:mark as text) then cast(:digest as text) end',
          { mark, digest },
        ),
      })
    return before !== undefined
  }

  /** Google has this version, too, where the last that it was sent says the same and nothing else is on its way: then true. */
  async setEqual(
    workspaceId: string,
    passId: string,
    { version, digest }: { version: number; digest: string },
  ): Promise<boolean> {
    const isSame = this.db('google_objects').where({ workspace_id: workspaceId, pass_id: passId, sent_digest: digest })
    return (await isSame.update({ sent_version: version, last_error: null })) > 0
  }

  /** Something is about to be sent: until that is noted, no update is known to say the same. The mark tells sends apart. */
  async markSending(workspaceId: string, passId: string, mark: string): Promise<void> {
    await this.db('google_objects').where({ workspace_id: workspaceId, pass_id: passId }).update({ sent_digest: mark })
  }

  /** Keeps what is known of an object that another takes the place of, and says who holds the other. */
  private async replace(workspaceId: string, { passId, ...before }: StoredGoogleObject, sent: SentObject, at: Date) {
    const former = () => this.db('google_former_objects').where({ workspace_id: workspaceId, pass_id: passId })
    const holders = this.db('google_objects').where({ pass_id: passId }).select('holders')
    await this.db('google_former_objects').insert({
      workspace_id: workspaceId,
      pass_id: passId,
      object_suffix: before.objectSuffix,
      kind: (before.sent ?? sent).kind,
      template_version_id: (before.sent ?? sent).templateVersionId,
      holders,
    })
    const returning = await former().where({ object_suffix: sent.objectSuffix }).first('holders')
    await former().where({ object_suffix: sent.objectSuffix }).delete()
    const held: number = returning?.holders ?? 0
    return { holders: held, installed_at: held > 0 ? at.getTime() : null, activated_at: null }
  }

  /** Notes why Google refused the last update. */
  async setError(workspaceId: string, passId: string, error: string): Promise<void> {
    await this.db('google_objects').where({ workspace_id: workspaceId, pass_id: passId }).update({ last_error: error })
  }

  /** Takes in a callback once: false when its nonce was seen before. */
  async takeCallback(nonce: string, at: Date): Promise<boolean> {
    const taken = await this.db('google_callbacks')
      .insert({ nonce, received_at: at.getTime() })
      .onConflict('nonce')
      .ignore()
      .returning('nonce')
    return taken.length > 0
  }

  /** Deletes callbacks from before a time, the oldest first and at most `limit`. */
  async deleteCallbacks(before: Date, limit: number): Promise<{ rows: number }> {
    const old = this.db('google_callbacks').where('received_at', '<', before.getTime()).orderBy('received_at')
    return { rows: await this.db('google_callbacks').whereIn('nonce', old.limit(limit).select('nonce')).delete() }
  }

  /**
   * One person more has the object in Google Wallet, or one less. Callbacks do not say who, and come in any order, so they
   * are counted: below zero a removal came before its save. Google's signature stands for the workspace. Returns the pass
   * whose object it is, unless that is a former one.
   */
  async addHolders(
    objectSuffix: string,
    change: 1 | -1,
    at: Date,
    identityIds: (string | null)[] = [null],
  ): Promise<{ workspaceId: string; passId: string } | undefined> {
    const holders = this.db.raw('holders + ?', [change])
    const installed = this.db.raw('case when holders + :change > 0 then coalesce(installed_at, :at) end', {
      change,
      at: at.getTime(),
    })
    const [counted]: Pick<Row, 'workspace_id' | 'pass_id'>[] = await this.called(objectSuffix, identityIds)
      .update({ holders, installed_at: installed })
      .returning(['workspace_id', 'pass_id'])
    if (counted) return { workspaceId: counted.workspace_id, passId: counted.pass_id }
    const former = this.db('google_former_objects').where({ object_suffix: objectSuffix })
    await former.whereExists(this.ofIdentities('google_former_objects', identityIds)).update({ holders })
    return undefined
  }

  /** The holder of a transit ticket activated it. What comes again changes nothing. */
  async setActivated(objectSuffix: string, identityIds: (string | null)[], at: Date): Promise<void> {
    await this.called(objectSuffix, identityIds).whereNull('activated_at').update({ activated_at: at.getTime() })
  }

  /** Google's signature is for one issuer, and says nothing of objects of others. */
  private called(objectSuffix: string, identityIds: (string | null)[]) {
    return this.db('google_objects')
      .where({ object_suffix: objectSuffix })
      .whereExists(this.ofIdentities('google_objects', identityIds))
  }

  private ofIdentities(table: string, identityIds: (string | null)[]) {
    return this.db('passes')
      .whereRaw(`passes.id = ${table}.pass_id`)
      .where((passes) => {
        passes.whereIn(
          'google_identity_id',
          identityIds.filter((id) => id !== null),
        )
        if (identityIds.includes(null)) passes.orWhereNull('google_identity_id')
      })
      .select(this.db.raw('1'))
  }
}

function toFormer(row: FormerRow): FormerObject {
  return { kind: row.kind as GoogleKind, objectSuffix: row.object_suffix, templateVersionId: row.template_version_id }
}

function toObject(row: Row): StoredGoogleObject {
  const objectSuffix = row.object_suffix
  const isKnown = row.kind !== null
  return {
    passId: row.pass_id,
    objectSuffix,
    sent: isKnown
      ? {
          kind: row.kind!,
          objectSuffix,
          classSuffix: row.class_suffix!,
          templateVersionId: row.template_version_id!,
        }
      : null,
    sentVersion: row.sent_version,
    sentDigest: row.sent_digest,
    sentAt: new Date(row.sent_at),
    installedAt: toDate(row.installed_at),
    activatedAt: toDate(row.activated_at),
    lastError: row.last_error,
  }
}
