import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { insertNew, Repository, whereOneOrNull } from '../db/repository.ts'

/** The object of a pass as it was last sent to Google. IDs are without the issuer. */
export interface SentObject {
  kind: GoogleKind
  objectSuffix: string
  classSuffix: string
  templateVersionId: string
}

/** An earlier object of a pass, for example of another kind. It is expired, and can still be on phones. */
export type FormerObject = Omit<SentObject, 'classSuffix'>

const FORMER = mapping({ kind: field.plain<GoogleKind>(), objectSuffix: field.text, templateVersionId: field.text })

const OBJECT = mapping({
  passId: field.text,
  objectSuffix: field.text,
  /** The walletVersion that was last sent to Google. */
  sentVersion: field.number,
  /**
   * The digest of the last sent content; null if unknown. During a send, the field has the mark of the send instead.
   */
  sentDigest: field.optionalText,
  sentAt: field.time,
  /** Null if the pass is not in any Google Wallet. */
  installedAt: field.optionalTime,
  /** The time of the first activation of a transit ticket; null if it was not activated. */
  activatedAt: field.optionalTime,
  lastError: field.optionalText,
})

/** The Google object of a pass. It is created when the link of the pass is opened for the first time. */
export interface StoredGoogleObject extends RecordOf<typeof OBJECT> {
  /** Null if another provider sent the object last, because its content is then unknown. */
  sent: SentObject | null
}

/** The digest of the sent content, and the mark that identifies the send. */
interface SentContent {
  digest: string | null
  mark: string | null
}

interface Row extends RowOf<typeof OBJECT> {
  workspace_id: string
  kind: GoogleKind | null
  class_suffix: string | null
  template_version_id: string | null
  holders: number
}

export class GoogleObjects extends Repository {
  async list(workspaceId: string, passIds: string[]): Promise<StoredGoogleObject[]> {
    const objects = this.db('google_objects').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    return listRecords(objects, toObject)
  }

  /**
   * Returns existing objects by the externalPassId of their pass. Omits passes of another identity, because Google does
   * not link objects of different issuers.
   */
  async listLinkable(
    workspaceId: string,
    externalPassIds: string[],
    googleIdentityId: string | null,
  ): Promise<Map<string, { objectSuffix: string; templateVersionId: string }>> {
    const rows: Record<'external_pass_id' | 'object_suffix' | 'template_version_id', string>[] = await this.db('passes')
      .join('google_objects', 'google_objects.pass_id', 'passes.id')
      .where({ 'passes.workspace_id': workspaceId, 'passes.google_identity_id': googleIdentityId })
      .whereIn('passes.external_pass_id', externalPassIds)
      .select('external_pass_id', 'object_suffix', 'passes.template_version_id')
    return new Map(
      rows.map((row) => [
        row.external_pass_id,
        { objectSuffix: row.object_suffix, templateVersionId: row.template_version_id },
      ]),
    )
  }

  /** Returns the earlier objects of the current holder of a pass. */
  async listFormer(workspaceId: string, passId: string): Promise<FormerObject[]> {
    const former = this.former(workspaceId, passId).where({ is_transferred: false }).orderBy('object_suffix')
    return listRecords(former, FORMER.read)
  }

  /** Returns the objects of former holders that still must be expired at Google. */
  async listTransferred(workspaceId: string, passId: string): Promise<FormerObject[]> {
    const former = this.former(workspaceId, passId).where({ is_transferred: true }).whereNull('expired_at')
    return listRecords(former, FORMER.read)
  }

  /**
   * Moves the objects of a transferred pass to the former holder. Returns whether the pass had an object, in which case
   * Google must be updated. The caller has locked the pass.
   * @param unknown the content to assume for an object that another provider sent last
   */
  async transfer(workspaceId: string, passId: string, unknown: Omit<FormerObject, 'objectSuffix'>): Promise<boolean> {
    const rows: Row[] = await this.current(workspaceId, passId)
    for (const { sent, objectSuffix } of rows.map(toObject)) {
      await this.insertTransferred(workspaceId, passId, sent ?? { ...unknown, objectSuffix }, rows[0]!.holders)
    }
    await this.current(workspaceId, passId).delete()
    await this.former(workspaceId, passId).where({ is_transferred: false }).update({ is_transferred: true })
    return rows.length > 0
  }

  /** Records an object of a former holder, so that a job expires the object at Google. */
  async insertTransferred(workspaceId: string, passId: string, object: FormerObject, holders = 0): Promise<void> {
    const change = { is_transferred: true, expired_at: null }
    await this.db('google_former_objects')
      .insert({
        workspace_id: workspaceId,
        pass_id: passId,
        ...FORMER.write(object),
        holders,
        ...change,
      })
      .onConflict(['object_suffix', 'pass_id'])
      .merge(change)
  }

  /** Records that an object is expired at Google. */
  async setRetired(workspaceId: string, passId: string, objectSuffix: string, at: Date): Promise<void> {
    await this.former(workspaceId, passId).where({ object_suffix: objectSuffix }).update({ expired_at: at.getTime() })
  }

  /**
   * Records the version that was sent to Google, even if it is older than the recorded version. Concurrent sends can
   * arrive in any order, so Google might have the older version. The caller has locked the pass. If the object replaces
   * another object, keeps the replaced object as a former object and returns true.
   * @param digest the digest of the sent content. Without a digest, the next update is sent even if nothing changed
   * @param mark the mark that was given to `markSending` before the send
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
    const current = await findRecord(this.current(workspaceId, passId), toObject)
    const before = current?.objectSuffix === sent.objectSuffix ? undefined : current
    const replacing = before && (await this.replace(workspaceId, before, sent, at))
    await this.db('google_objects')
      .insert({ ...key, ...change, sent_digest: digest })
      .onConflict('pass_id')
      .merge({
        ...change,
        ...replacing,
        last_error: null,
        // If `sent_digest` no longer contains the mark of this send, another send ran concurrently. In this case, store
        // null (unknown content), because Google might have the content of either send.
        sent_digest: this.db.raw(
          'case when google_objects.sent_digest = cast(:mark as text) then cast(:digest as text) end',
          { mark, digest },
        ),
      })
    return before !== undefined
  }

  /** If Google has equal content and no send is in progress, records the version as sent and returns true. */
  async setEqual(
    workspaceId: string,
    passId: string,
    { version, digest }: { version: number; digest: string },
  ): Promise<boolean> {
    const isSame = this.current(workspaceId, passId).where({ sent_digest: digest })
    return (await isSame.update({ sent_version: version, last_error: null })) > 0
  }

  /** Stores the mark of a started send instead of the digest. Until `setSent` is called, `setEqual` returns false. */
  async markSending(workspaceId: string, passId: string, mark: string): Promise<void> {
    await this.current(workspaceId, passId).update({ sent_digest: mark })
  }

  /** Keeps a replaced object as a former object. Returns the columns about the holders of the new object. */
  private async replace(workspaceId: string, { passId, ...before }: StoredGoogleObject, sent: SentObject, at: Date) {
    const returned = () => this.former(workspaceId, passId).where({ object_suffix: sent.objectSuffix })
    const holders = this.db('google_objects').where({ pass_id: passId }).select('holders')
    await this.db('google_former_objects').insert({
      workspace_id: workspaceId,
      pass_id: passId,
      ...FORMER.write(before.sent ?? { ...sent, objectSuffix: before.objectSuffix }),
      holders,
    })
    const held: number = (await returned().first('holders'))?.holders ?? 0
    await returned().delete()
    return { holders: held, installed_at: held > 0 ? at.getTime() : null, activated_at: null }
  }

  /** Records why Google rejected the last update. */
  async setError(workspaceId: string, passId: string, error: string): Promise<void> {
    await this.current(workspaceId, passId).update({ last_error: error })
  }

  /** Records the nonce of a callback. Returns false for a repeated callback. */
  async takeCallback(nonce: string, at: Date): Promise<boolean> {
    return insertNew(this.db, 'google_callbacks', { nonce, received_at: at.getTime() }, ['nonce'])
  }

  async deleteCallbacks(before: Date, limit: number): Promise<{ rows: number }> {
    const old = this.db('google_callbacks').where('received_at', '<', before.getTime()).orderBy('received_at')
    return { rows: await this.db('google_callbacks').whereIn('nonce', old.limit(limit).select('nonce')).delete() }
  }

  /**
   * Adds or removes a holder of the object in Google Wallet. Callbacks do not identify the user, so only the number of
   * holders is stored. The number is negative if a removal arrives before the save that precedes it. Takes no
   * workspace, because Google's signature authenticates the callback. Returns the pass of the object; `undefined` for a
   * former object.
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

  /** Records the first activation of a transit ticket. Later activations have no effect. */
  async setActivated(objectSuffix: string, identityIds: (string | null)[], at: Date): Promise<void> {
    await this.called(objectSuffix, identityIds).whereNull('activated_at').update({ activated_at: at.getTime() })
  }

  private current(workspaceId: string, passId: string) {
    return this.db('google_objects').where({ workspace_id: workspaceId, pass_id: passId })
  }

  private former(workspaceId: string, passId: string) {
    return this.db('google_former_objects').where({ workspace_id: workspaceId, pass_id: passId })
  }

  /**
   * Selects the object that a callback names. Google's signature covers a single issuer, so only objects of this
   * issuer's identities match.
   */
  private called(objectSuffix: string, identityIds: (string | null)[]) {
    return this.db('google_objects')
      .where({ object_suffix: objectSuffix })
      .whereExists(this.ofIdentities('google_objects', identityIds))
  }

  private ofIdentities(table: string, identityIds: (string | null)[]) {
    const passes = this.db('passes').whereRaw(`passes.id = ${table}.pass_id`)
    whereOneOrNull(passes, 'google_identity_id', identityIds)
    return passes.select(this.db.raw('1'))
  }
}

function toObject(row: Row): StoredGoogleObject {
  const { kind, object_suffix: objectSuffix } = row
  const shown = { classSuffix: row.class_suffix!, templateVersionId: row.template_version_id! }
  return { ...OBJECT.read(row), sent: kind && { kind, objectSuffix, ...shown } }
}
