import { Uuid } from '../../core/ids.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { bindIds, isAmong } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import type { IdentityIds } from '../workspaces/identities-repository.ts'
import { insertIndex } from './identifiers.ts'
import { byExternalId, type NewPass, type StoredPass, toNewRow } from './pass-row.ts'
import { whereOfIdentities } from './registrations.ts'

export interface ImportedDevice {
  deviceId: string
  pushToken: string
}

/** A pass that another provider issued. Its serial number or object ID is null if it follows this server's scheme. */
export interface ImportedPass extends NewPass {
  status: 'ISSUED' | 'VOID'
  importedSerialNumber: string | null
  /** The object ID without the issuer. */
  googleObjectId: string | null
  scanPayload: string | null
  devices: ImportedDevice[]
  /** The SHA-256 digest of the imported row, in hexadecimal. */
  importDigest: string
}

export interface TakenNames {
  serialNumbers: Set<string>
  googleObjectIds: Set<string>
}

/** A serial number that this server assigned, with the identities of its pass. */
interface OwnCopy {
  id: string
  apple_identity_id: string | null
  google_identity_id: string | null
}

/**
 * The wallet version of content from another provider: the first version, so that the next change makes wallets
 * outdated.
 */
const HELD_VERSION = 1

export class ImportedPasses extends Repository {
  /**
   * Inserts passes with their phones and Google objects, and returns the IDs of the inserted passes. Sends no updates.
   * Skips passes whose externalPassId is in use, or whose serial number or object is in use under their identity.
   */
  async insert(workspaceId: string, passes: ImportedPass[], at: Date): Promise<Set<string>> {
    if (passes.length === 0) return new Set()
    const inserted = await insertRows<{ id: string }>(
      this.db,
      'passes',
      passes.toSorted(byExternalId).map((pass) => toImportedRow(workspaceId, pass, at)),
      'on conflict do nothing returning id',
    )
    const ids = new Set(inserted.map(({ id }) => id))
    const fresh = passes.filter(({ id }) => ids.has(id))
    await insertIndex(this.db, workspaceId, fresh)
    await this.insertHolders(workspaceId, fresh, at)
    return ids
  }

  /**
   * Returns the digests of the imported rows, by the external IDs of their passes. Omits passes that were not imported.
   */
  async listDigests(workspaceId: string, externalPassIds: string[]): Promise<Map<string, string>> {
    const rows = await runPrepared<{ external_pass_id: string; import_digest: string }>(
      this.db,
      'list-import-digests',
      { workspaceId, externalPassIds: bindIds(this.db, externalPassIds) },
      () => `select external_pass_id, import_digest from passes
        where workspace_id = :workspaceId and ${isAmong(this.db, 'external_pass_id', 'externalPassIds', 'text')}
          and import_digest is not null`,
    )
    return new Map(rows.map((row) => [row.external_pass_id, row.import_digest]))
  }

  /**
   * Returns the given serial numbers and object IDs that a pass of the same identity has or had, in any workspace.
   * Omits those that imported passes have now, because a unique index rejects their duplicates.
   */
  async listTaken(
    names: { serialNumbers: string[]; googleObjectIds: string[] },
    { appleIdentityId = null, googleIdentityId = null }: Partial<IdentityIds>,
  ): Promise<TakenNames> {
    const own = await this.listOwn([...names.serialNumbers, ...names.googleObjectIds.map(copyIdIn)])
    const former: string[] = await this.db('former_passes')
      .join('passes', 'passes.id', 'former_passes.pass_id')
      .whereIn('former_passes.imported_serial_number', names.serialNumbers)
      .where((pass) => whereOfIdentities(pass, [appleIdentityId]))
      .pluck('former_passes.imported_serial_number')
    const objects: string[] = await this.db('google_former_objects')
      .join('passes', 'passes.id', 'google_former_objects.pass_id')
      .whereIn('object_suffix', names.googleObjectIds)
      .where({ google_identity_id: googleIdentityId })
      .pluck('object_suffix')
    const copyOf = (name: string) => own.get(Uuid.safeParse(name).data ?? '')
    const serials = names.serialNumbers.filter((name) => copyOf(name)?.apple_identity_id === appleIdentityId)
    const called = names.googleObjectIds.filter(
      (name) => copyOf(copyIdIn(name))?.google_identity_id === googleIdentityId,
    )
    return { serialNumbers: new Set([...serials, ...former]), googleObjectIds: new Set([...called, ...objects]) }
  }

  /** Maps each text that is the ID of a current or former copy of a pass to the pass's Apple and Google identities. */
  private async listOwn(texts: string[]): Promise<Map<string, OwnCopy>> {
    const ids = texts.flatMap((text) => Uuid.safeParse(text).data ?? [])
    if (ids.length === 0) return new Map()
    const identities = 'apple_identity_id, google_identity_id from passes'
    const rows = await runPrepared<OwnCopy>(this.db, 'list-own-copies', { ids: bindIds(this.db, ids) }, () =>
      [
        `select id, ${identities} where ${isAmong(this.db, 'id', 'ids')}`,
        `select serial_number, ${identities} where ${isAmong(this.db, 'serial_number', 'ids')}`,
        `select former_passes.serial_number, ${identities} join former_passes on former_passes.pass_id = passes.id
          where ${isAmong(this.db, 'former_passes.serial_number', 'ids')}`,
      ].join(' union all '),
    )
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Inserts the holders of imported passes, and records them as reported, so that they cause no events. */
  private async insertHolders(workspaceId: string, passes: ImportedPass[], at: Date): Promise<void> {
    await insertRows(
      this.db,
      'apple_registrations',
      passes.flatMap(({ id, devices }) =>
        devices.map(({ deviceId, pushToken }) => ({
          workspace_id: workspaceId,
          pass_id: id,
          device_id: deviceId,
          push_token: pushToken,
          registered_at: at.getTime(),
          pushed_version: 0,
          fetched_version: 0,
        })),
      ),
    )
    await insertRows(
      this.db,
      'google_objects',
      passes.flatMap(({ id, googleObjectId }) =>
        googleObjectId === null
          ? []
          : {
              pass_id: id,
              workspace_id: workspaceId,
              object_suffix: googleObjectId,
              sent_version: HELD_VERSION,
              sent_at: at.getTime(),
              // The other provider's number of holders is unknown, so assume one holder per object.
              holders: 1,
              installed_at: at.getTime(),
            },
      ),
    )
    const counts = passes.map((pass) => ({
      workspace_id: workspaceId,
      pass_id: pass.id,
      apple: pass.devices.length,
      google: pass.googleObjectId === null ? 0 : 1,
    }))
    const held = counts.filter(({ apple, google }) => apple + google > 0)
    await insertRows(this.db, 'held_passes', held)
  }
}

function toImportedRow(workspaceId: string, pass: ImportedPass, at: Date) {
  const isIssued = pass.status === 'ISSUED'
  const now = at.getTime()
  const ends = pass.expiresAt?.getTime() ?? null
  return {
    ...toNewRow(workspaceId, pass, at),
    status: pass.status,
    voided_at: isIssued ? null : now,
    issued_at: isIssued ? now : null,
    issued_until: !isIssued || ends === null ? null : Math.max(ends, now),
    imported_serial_number: pass.importedSerialNumber,
    google_object_id: pass.googleObjectId,
    scan_payload: pass.scanPayload,
    import_digest: pass.importDigest,
  }
}

/** Returns an imported pass as a read would return it: the result of `asStored` with the imported fields. */
export function asImported(stored: StoredPass, pass: ImportedPass): StoredPass {
  const { status, scanPayload, googleObjectId, importedSerialNumber } = pass
  return { ...stored, status, scanPayload, googleObjectId, serialNumber: importedSerialNumber ?? stored.copyId }
}

/** Returns the copy ID at the start of the name of an object that this server created (`<id>-<kind>` or `<id>`). */
function copyIdIn(objectId: string): string {
  return objectId.slice(0, 36)
}
