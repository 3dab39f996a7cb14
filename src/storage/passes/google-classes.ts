import type { Knex } from 'knex'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { newId } from '../../core/ids.ts'
import type { ClassClaim } from '../../core/rules/template/class-key.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { forUpdate } from '../db/dialect.ts'
import type { IdentityIds } from '../workspaces/identities.ts'

/** A class at Google that passes with the same key share. */
export interface StoredClass extends ClassClaim {
  id: string
  templateVersionId: string
  /** Grows with every change of the values. */
  version: number
  /** The version that Google was last sent; null while it was sent none. */
  sentVersion: number | null
}

/** A class to claim, of the version that needs it. */
export interface NewClass extends ClassClaim {
  templateVersionId: string
}

interface Row {
  id: string
  template_version_id: string
  key_digest: string
  class_values: string
  version: number
  sent_version: number | null
}

/** Classes of versions with a google.classKey. Who changes one holds it; the passes that join are taken before, or are new. */
export class GoogleClasses {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** Classes by their ids; unknown ones are left out. */
  async list(workspaceId: string, ids: string[]): Promise<StoredClass[]> {
    const rows: Row[] = await this.db('google_classes').where({ workspace_id: workspaceId }).whereIn('id', ids)
    return rows.map(toClass)
  }

  /** A class, which nobody else changes until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredClass | undefined> {
    const row: Row | undefined = await forUpdate(this.db, this.one(workspaceId, id)).first()
    return row && toClass(row)
  }

  /**
   * The classes of these keys, distinct ones, held until the transaction ends: made with the values that they bring where
   * there are none. A class in which no pass stands takes the values, too.
   */
  async claim(workspaceId: string, classes: NewClass[], at: Date): Promise<StoredClass[]> {
    // One order for everyone, so that two batches that hold the same keys never wait for each other.
    const sorted = classes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const asked = sorted.map(({ templateVersionId, keyDigest, values }) => ({
      id: newId(at),
      workspace_id: workspaceId,
      template_version_id: templateVersionId,
      key_digest: keyDigest,
      class_values: JSON.stringify(values),
      version: 1,
    }))
    // Writing what stands there holds it, in the statement that would make it: nobody forgets it in between.
    const rows = await insertRows<Row>(
      this.db,
      'google_classes',
      asked,
      `on conflict (template_version_id, key_digest) do update set key_digest = excluded.key_digest
        where google_classes.workspace_id = excluded.workspace_id returning *`,
    )
    const found = rows.map(toClass)
    const made = new Set(asked.map(({ id }) => id))
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

  /** The caller holds the class. */
  async setValues(workspaceId: string, id: string, values: ClassClaim['values']): Promise<void> {
    const change = { class_values: JSON.stringify(values), version: this.db.raw('version + 1') }
    await this.one(workspaceId, id).update(change)
  }

  /** Google was sent this version; where it had been sent a newer one, only the older one is sure to be there. */
  async setSent(workspaceId: string, id: string, version: number): Promise<void> {
    await this.one(workspaceId, id).update({ sent_version: version })
  }

  /** Forgets a class that the last pass has left. The caller holds it. */
  async deleteUnused(workspaceId: string, id: string): Promise<void> {
    const members = this.db('passes').whereRaw('passes.google_class_id = google_classes.id').select('id')
    await this.one(workspaceId, id).whereNotExists(members).delete()
  }

  /** Those of the classes in which a pass stands whose data was not erased. */
  async listInUse(classes: Pick<StoredClass, 'id'>[]): Promise<Set<string>> {
    if (classes.length === 0) return new Set()
    const member = this.db('passes').whereRaw('passes.google_class_id = google_classes.id').whereNull('erased_at')
    const ids = classes.map(({ id }) => id)
    return new Set(await this.db('google_classes').whereIn('id', ids).whereExists(member.select('id')).pluck('id'))
  }

  /** Whose the class is: all of its passes are of one issuer, null being that of the server. Undefined where it has none. */
  async findIssuer(workspaceId: string, id: string): Promise<Pick<IdentityIds, 'googleIdentityId'> | undefined> {
    const ofClass = this.db('passes').where({ workspace_id: workspaceId, google_class_id: id })
    const row: { google_identity_id: string | null } | undefined = await ofClass.first('google_identity_id')
    return row && { googleIdentityId: row.google_identity_id }
  }

  /** The kinds of the objects of a class, with what it was called when they were sent: it has a resource at Google for each. */
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

/** What tells a class from others, as text. */
export function keyOf({ templateVersionId, keyDigest }: Pick<NewClass, 'templateVersionId' | 'keyDigest'>): string {
  return `${templateVersionId} ${keyDigest}`
}

function toClass(row: Row): StoredClass {
  return {
    id: row.id,
    templateVersionId: row.template_version_id,
    keyDigest: row.key_digest,
    values: JSON.parse(row.class_values),
    version: row.version,
    sentVersion: row.sent_version,
  }
}
