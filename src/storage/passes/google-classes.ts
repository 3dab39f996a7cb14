import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import { newId } from '../../core/ids.ts'
import type { ClassClaim } from '../../core/rules/template/class-key.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import type { IdentityIds } from '../workspaces/identities-repository.ts'

const CLASS = mapping({
  id: field.text,
  templateVersionId: field.text,
  keyDigest: field.text,
  values: field.inColumn('class_values', field.json<ClassClaim['values']>()),
  /** The version of the values, incremented with every change. */
  version: field.number,
  /** The version that was last sent to Google; null if no version was sent. */
  sentVersion: field.optionalNumber,
})

/** The class at Google that all passes with the same key share. */
export interface StoredClass extends RecordOf<typeof CLASS> {}

export interface NewClass extends ClassClaim {
  templateVersionId: string
}

/**
 * The classes of template versions with a `google.classKey`. Lock a class before you change it. To prevent deadlocks,
 * lock passes first, and then the classes that they join.
 */
export class GoogleClasses extends Repository {
  async list(workspaceId: string, ids: string[]): Promise<StoredClass[]> {
    return listRecords(this.db('google_classes').where({ workspace_id: workspaceId }).whereIn('id', ids), CLASS.read)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredClass | undefined> {
    return findRecord(this.one(workspaceId, id).forUpdate(), CLASS.read)
  }

  /**
   * Returns the classes of the given keys, which must be distinct, and locks these classes until the transaction ends.
   * Creates missing classes with the given values. An existing class also gets these values, if no pass uses it.
   */
  async claim(workspaceId: string, classes: NewClass[], at: Date): Promise<StoredClass[]> {
    // Sort the keys. Otherwise, two batches with the same keys in different orders could deadlock.
    const sorted = classes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const requested = sorted.map(({ templateVersionId, keyDigest, values }) => ({
      id: newId(at),
      workspace_id: workspaceId,
      template_version_id: templateVersionId,
      key_digest: keyDigest,
      class_values: JSON.stringify(values),
      version: 1,
    }))
    // On a conflict, update the row to lock it. Otherwise, the row could be deleted before a second statement locks it.
    const rows = await insertRows<RowOf<typeof CLASS>>(
      this.db,
      'google_classes',
      requested,
      `on conflict (template_version_id, key_digest) do update set key_digest = excluded.key_digest
        where google_classes.workspace_id = excluded.workspace_id returning *`,
    )
    const found = rows.map(CLASS.read)
    const made = new Set(requested.map(({ id }) => id))
    const known = found.filter(({ id }) => !made.has(id))
    const inUse = await this.listInUse(known)
    const brought = new Map(sorted.map((one) => [keyOf(one), one.values]))
    for (const one of known.filter(({ id }) => !inUse.has(id))) {
      one.values = brought.get(keyOf(one))!
      one.version += 1
      await this.setValues(workspaceId, one.id, one.values)
    }
    return found
  }

  /** Replaces the values of a class that the caller has locked. */
  async setValues(workspaceId: string, id: string, values: ClassClaim['values']): Promise<void> {
    const change = { class_values: JSON.stringify(values), version: this.db.raw('version + 1') }
    await this.one(workspaceId, id).update(change)
  }

  /**
   * Records the version that was sent to Google, even if it is older than the recorded version. Concurrent sends can
   * arrive in any order, so Google might have the older version.
   */
  async setSent(workspaceId: string, id: string, version: number): Promise<void> {
    await this.one(workspaceId, id).update({ sent_version: version })
  }

  /** Deletes those of the given classes that no pass uses. The caller has locked the classes. */
  async deleteUnused(workspaceId: string, ids: string[]): Promise<void> {
    const members = this.db('passes').whereRaw('passes.google_class_id = google_classes.id').select('id')
    const classes = this.db('google_classes').where({ workspace_id: workspaceId }).whereIn('id', ids)
    await classes.whereNotExists(members).delete()
  }

  /** Returns the IDs of the classes that have a pass whose data is not erased. */
  async listInUse(classes: Pick<StoredClass, 'id'>[]): Promise<Set<string>> {
    if (classes.length === 0) return new Set()
    const member = this.db('passes').whereRaw('passes.google_class_id = google_classes.id').whereNull('erased_at')
    const ids = classes.map(({ id }) => id)
    return new Set(await this.db('google_classes').whereIn('id', ids).whereExists(member.select('id')).pluck('id'))
  }

  /**
   * Returns the issuer that all passes of a class share; null for the issuer of the server, and `undefined` if the
   * class has no passes.
   */
  async findIssuer(workspaceId: string, id: string): Promise<Pick<IdentityIds, 'googleIdentityId'> | undefined> {
    const ofClass = this.db('passes').where({ workspace_id: workspaceId, google_class_id: id })
    const row: { google_identity_id: string | null } | undefined = await ofClass.first('google_identity_id')
    return row && { googleIdentityId: row.google_identity_id }
  }

  /** Returns the names of a class at Google. At Google, each kind of object has a separate class. */
  async listNames(workspaceId: string, id: string): Promise<{ kind: GoogleKind; classSuffix: string }[]> {
    return this.db('google_objects')
      .join('passes', 'passes.id', 'google_objects.pass_id')
      .where({ 'passes.workspace_id': workspaceId, 'passes.google_class_id': id })
      .whereNotNull('kind')
      .distinct('kind', 'class_suffix as classSuffix')
  }

  private one(workspaceId: string, id: string) {
    return this.db('google_classes').where({ workspace_id: workspaceId, id })
  }
}

export function keyOf({ templateVersionId, keyDigest }: Pick<NewClass, 'templateVersionId' | 'keyDigest'>): string {
  return `${templateVersionId} ${keyDigest}`
}
