import type { Knex } from 'knex'
import { madeAt, newId } from '../../core/ids.ts'
import { idIsChosen, joinPasses } from '../db/dialect.ts'
import { byId, type ListPage, listPage, NEWEST_FIRST, type PageRequest } from '../db/list-query.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const LOG = mapping({
  id: field.text,
  passId: field.text,
  externalPassId: field.text,
  /** The digest of the device ID in the message; null if the message contains no device ID. */
  device: field.optionalText,
  message: field.text,
})

export interface StoredDeviceLog extends RecordOf<typeof LOG> {
  at: Date
}

/** A log message that a device sent about a pass. The device is not authenticated. */
export type NewDeviceLog = Pick<StoredDeviceLog, 'passId' | 'device' | 'message'>

/**
 * The maximum number of messages per pass. New messages replace the oldest messages. The number is low, because anyone
 * with the serial number of a pass can write messages.
 */
export const MAX_LOGS_OF_PASS = 50

export const MAX_LOGS_OF_WORKSPACE = 5_000

/** The maximum number of messages that one statement deletes: far more than a request adds. */
const TRIMMED = 200

/** The messages that devices sent to the log endpoint of the PassKit web service. */
export class DeviceLogs extends Repository {
  /** Inserts messages. Then deletes the oldest messages above the limits of each pass and of the workspace. */
  async insert(workspaceId: string, logs: NewDeviceLog[], at: Date): Promise<void> {
    await this.db('device_logs').insert(
      logs.map((log) => ({ ...LOG.write({ ...log, id: newId(at) }), workspace_id: workspaceId })),
    )
    for (const passId of new Set(logs.map((log) => log.passId))) {
      await this.trim(() => this.ofWorkspace(workspaceId).where({ pass_id: passId }), MAX_LOGS_OF_PASS)
    }
    await this.trim(() => this.ofWorkspace(workspaceId), MAX_LOGS_OF_WORKSPACE)
  }

  /**
   * Returns a page of messages, newest first.
   * @throws ApiError VALIDATION_ERROR for a cursor that is malformed or of another list
   */
  async list(
    workspaceId: string,
    { projectId, passId, ...page }: PageRequest & { projectId?: string[] | undefined; passId?: string[] | undefined },
  ): Promise<ListPage<StoredDeviceLog>> {
    const filtered = this.db('device_logs').where('device_logs.workspace_id', workspaceId)
    if (passId) filtered.whereIn('device_logs.pass_id', passId)
    const projectIds = this.narrow(projectId)
    if (projectIds) joinPasses(this.db, filtered, 'device_logs.pass_id').whereIn('passes.project_id', projectIds)
    const request = { ...page, ...NEWEST_FIRST, projectId, passId }
    return listPage(this.db, filtered, byId('device_logs'), request, toDeviceLog, (query) =>
      query
        .join('passes', 'passes.id', 'device_logs.pass_id')
        .select('device_logs.id', 'pass_id', 'external_pass_id', 'device', 'message'),
    )
  }

  /**
   * Deletes messages that `kept` selects, the oldest first, until `room` messages remain. Deletes at most `TRIMMED`
   * messages, and the next call deletes the rest.
   */
  private async trim(kept: () => Knex.QueryBuilder, room: number): Promise<void> {
    const oldest = await kept()
      .orderBy('id', 'desc')
      .offset(room - 1)
      .first('id')
    if (!oldest) return
    const older = kept().where('id', '<', oldest.id).orderBy('id').limit(TRIMMED).select('id')
    // Skip rows that another transaction has locked: that transaction deletes them, so waiting is useless.
    const chosen = older.forUpdate().skipLocked()
    await this.db('device_logs').whereRaw(idIsChosen(this.db, chosen)).delete()
  }

  private ofWorkspace(workspaceId: string) {
    return this.db('device_logs').where({ workspace_id: workspaceId })
  }
}

function toDeviceLog(row: RowOf<typeof LOG>): StoredDeviceLog {
  return { ...LOG.read(row), at: madeAt(row.id) }
}
