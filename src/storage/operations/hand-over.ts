import type { Knex } from 'knex'
import { Uuid } from '../../core/ids.ts'
import { countRows, Repository } from '../db/repository.ts'
import { type PassRow, type StoredPass, selectPass, toPass } from '../passes/pass-row.ts'

export interface HandOverFilter {
  projectId?: string | undefined
  templateId?: string | undefined
  /** The ID of the identity of the passes; null for the identities of the server on both platforms. */
  identityId?: string | null | undefined
  /** An upper bound for pass IDs. Excludes passes that are created later, so that the export ends. */
  until: string
}

export interface HandOverPass {
  pass: StoredPass
  templateKey: string | null
  /** The Google object ID without the issuer; null if no object was sent. */
  objectSuffix: string | null
  devices: { deviceId: string; pushToken: string }[]
}

/** Reads passes by ID, with the data that another server needs to take them over (decisions/0020). */
export class HandOver extends Repository {
  async count(workspaceId: string, filter: HandOverFilter): Promise<number> {
    return countRows(this.passes(workspaceId, filter))
  }

  async listVariables(
    workspaceId: string,
    filter: HandOverFilter,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<{ id: string; variables: Record<string, unknown> }[]> {
    const rows: Pick<PassRow, 'id' | 'variables'>[] = await this.page(workspaceId, filter, after)
      .limit(limit)
      .select('passes.id', 'passes.variables')
    return rows.map(({ id, variables }) => ({ id, variables: JSON.parse(variables) }))
  }

  /** Returns the passes after the ID `after`, sorted by ID, each with its phones in the order of registration. */
  async list(
    workspaceId: string,
    filter: HandOverFilter,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<HandOverPass[]> {
    const query = selectPass(this.db, this.page(workspaceId, filter, after).limit(limit))
    const rows: (PassRow & { template_key: string | null })[] = await query.select({ template_key: 'templates.key' })
    const ids = rows.map(({ id }) => id)
    const ofPasses = (table: string) => this.db(table).where({ workspace_id: workspaceId }).whereIn('pass_id', ids)
    const objects: { pass_id: string; object_suffix: string }[] = await ofPasses('google_objects').select(
      'pass_id',
      'object_suffix',
    )
    const devices: { pass_id: string; device_id: string; push_token: string }[] = await ofPasses('apple_registrations')
      .orderBy(['registered_at', 'device_id'])
      .select('pass_id', 'device_id', 'push_token')
    const suffixes = new Map(objects.map((row) => [row.pass_id, row.object_suffix]))
    const devicesOf = new Map<string, HandOverPass['devices']>(ids.map((id) => [id, []]))
    for (const { pass_id, device_id: deviceId, push_token: pushToken } of devices)
      devicesOf.get(pass_id)!.push({ deviceId, pushToken })
    return rows.map((row) => ({
      pass: toPass(row),
      templateKey: row.template_key,
      objectSuffix: suffixes.get(row.id) ?? null,
      devices: devicesOf.get(row.id)!,
    }))
  }

  /**
   * Returns the IDs of up to two projects or templates whose ID, key, or name is `text`. A second ID shows the
   * caller that `text` is ambiguous.
   */
  async listNamed(workspaceId: string, table: 'projects' | 'templates', text: string): Promise<string[]> {
    const id = Uuid.safeParse(text)
    const query = this.db(table).where({ workspace_id: workspaceId })
    return query
      .where((any) => {
        any.where({ name: text })
        if (table === 'templates') any.orWhere({ key: text })
        if (id.success) any.orWhere({ id: id.data })
      })
      .limit(2)
      .pluck('id')
  }

  private page(workspaceId: string, filter: HandOverFilter, after: string | undefined): Knex.QueryBuilder {
    const query = this.passes(workspaceId, filter).orderBy('passes.id')
    return after === undefined ? query : query.where('passes.id', '>', after)
  }

  /** Selects the passes to export. Omits erased passes, which have no data to export. */
  private passes(workspaceId: string, { projectId, templateId, identityId, until }: HandOverFilter): Knex.QueryBuilder {
    const query = this.db('passes')
      .where('passes.workspace_id', workspaceId)
      .where('passes.id', '<', until)
      .whereNull('passes.erased_at')
    if (projectId !== undefined) query.where('passes.project_id', projectId)
    if (templateId !== undefined) query.where('passes.template_id', templateId)
    if (identityId === null) query.whereNull('passes.apple_identity_id').whereNull('passes.google_identity_id')
    else if (identityId !== undefined) {
      query.where((any) => {
        any.where('passes.apple_identity_id', identityId).orWhere('passes.google_identity_id', identityId)
      })
    }
    return query
  }
}
