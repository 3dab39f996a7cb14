import type { Knex } from 'knex'
import { Uuid } from '../../core/ids.ts'
import { isOneOf } from '../db/bulk-rows.ts'
import { joinPasses, lockRows } from '../db/dialect.ts'
import { runPrepared, sendSilently } from '../db/prepared.ts'
import { field, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { insertNew, Repository, whereOneOrNull } from '../db/repository.ts'
import { lockPasses } from './pass-change.ts'
import { type PassRow, type StoredPass, selectPass, toPass } from './pass-row.ts'

const REGISTRATION = mapping({
  workspaceId: field.text,
  passId: field.text,
  deviceId: field.text,
  pushToken: field.text,
  registeredAt: field.time,
  pushedAt: field.optionalTime,
  /** The walletVersion of the last push; 0 if there was no push, negative if the push must be repeated. */
  pushedVersion: field.number,
  fetchedAt: field.optionalTime,
  fetchedVersion: field.number,
  lastError: field.optionalText,
})

/** A device that holds a pass in Apple Wallet, with the versions of its last push and of its last download. */
export interface StoredRegistration extends RecordOf<typeof REGISTRATION> {}

export interface OutdatedRegistration extends PushedRegistration, Pick<StoredRegistration, 'pushToken'> {
  walletVersion: number
  appleIdentityId: string | null
}

type Device = Pick<StoredRegistration, 'passId' | 'deviceId'>
type Key = (string | number)[]
type PushedRegistration = Device & Pick<StoredRegistration, 'pushedVersion'>

export class Registrations extends Repository {
  /**
   * Registers a device, or updates the push token of a registered device. Returns whether the device is new to the
   * pass.
   */
  async insert(
    workspaceId: string,
    registration: Pick<StoredRegistration, 'passId' | 'deviceId' | 'pushToken'>,
    at: Date,
  ): Promise<boolean> {
    const { passId, deviceId, pushToken } = registration
    const given = { workspaceId, passId, deviceId, pushToken, registeredAt: at, pushedVersion: 0, fetchedVersion: 0 }
    if (await insertNew(this.db, 'apple_registrations', REGISTRATION.write(given), IN_ORDER)) return true
    await this.one(workspaceId, passId, deviceId).update({ push_token: pushToken })
    return false
  }

  /**
   * If a device lacks a version, marks the device for another push, even while a push is in progress, and returns true.
   */
  async forgetPush(workspaceId: string, passId: string, deviceId: string, version: number): Promise<boolean> {
    const behind = this.one(workspaceId, passId, deviceId).where('fetched_version', '<', version)
    // Change `pushed_version`, so that a concurrent `setPushed` skips the device. Lower the value, because the hourly
    // figures count an increase as a push.
    return (await behind.update({ pushed_version: this.db.raw('-1 - abs(pushed_version)') })) > 0
  }

  /** Whether any device holds a pass of the server's own identity, in any workspace. */
  async hasAny(): Promise<boolean> {
    const held = joinPasses(this.db, this.db('apple_registrations'), 'apple_registrations.pass_id')
    return (await held.whereNull('passes.apple_identity_id').first('pass_id')) !== undefined
  }

  /**
   * Finds a pass by its serial number, without a workspace. The caller must therefore compare the phone's token with
   * the token of the pass. Searches only the given identities, because imported passes of different identities can have
   * the same serial number.
   */
  async findPass(serialNumber: string, identityIds: (string | null)[]): Promise<StoredPass | undefined> {
    // Serial numbers of other providers can have any form, so compare the text with IDs only if it is a UUID.
    const values = { own: Uuid.safeParse(serialNumber).data ?? null, serialNumber }
    const rows = await runPrepared<PassRow>(this.db, 'find-pass-by-serial-number', values, () =>
      selectPass(
        this.db,
        this.db('passes').whereRaw(
          `(passes.id = :own and passes.serial_number is null and passes.imported_serial_number is null
            or passes.serial_number = :own
            or passes.imported_serial_number = :serialNumber)`,
        ),
      ),
    )
    return rows.map(toPass).find(({ appleIdentityId }) => identityIds.includes(appleIdentityId))
  }

  async has(workspaceId: string, passId: string, deviceId: string): Promise<boolean> {
    return (await this.one(workspaceId, passId, deviceId).first('pass_id')) !== undefined
  }

  async isFull(workspaceId: string, passId: string, maxDevices: number): Promise<boolean> {
    const ofPass = this.ofPasses(workspaceId, [passId])
    return (await ofPass.offset(maxDevices - 1).first('pass_id')) !== undefined
  }

  async delete(workspaceId: string, passId: string, deviceId: string): Promise<boolean> {
    return (await this.one(workspaceId, passId, deviceId).delete()) > 0
  }

  async list(workspaceId: string, passIds: string[]): Promise<StoredRegistration[]> {
    const ofPasses = this.ofPasses(workspaceId, passIds).orderBy(['registered_at', 'device_id'])
    return listRecords(ofPasses.select(REGISTRATION.columns), REGISTRATION.read)
  }

  /** Returns the devices that still need a push for the current wallet version of their pass. */
  async listOutdated(workspaceId: string, passIds: string[]): Promise<OutdatedRegistration[]> {
    return this.db('apple_registrations')
      .join('passes', 'passes.id', 'apple_registrations.pass_id')
      .where('apple_registrations.workspace_id', workspaceId)
      .whereIn('apple_registrations.pass_id', passIds)
      .whereRaw('apple_registrations.pushed_version < passes.wallet_version')
      .select({ passId: 'pass_id', deviceId: 'device_id', pushToken: 'push_token', pushedVersion: 'pushed_version' })
      .select({ walletVersion: 'wallet_version', appleIdentityId: 'apple_identity_id' })
  }

  /**
   * Records a download. The request does not identify the device. Of the devices that lack the version, the download
   * counts for the device that listed its passes last.
   */
  async setFetched(workspaceId: string, passId: string, version: number, at: Date): Promise<void> {
    const candidate = this.db('apple_registrations')
      .where({ workspace_id: workspaceId, pass_id: passId })
      .where('fetched_version', '<', version)
      .orderByRaw('coalesce(listed_at, 0) desc, registered_at')
      .limit(1)
      .select('device_id')
    const device = this.ofPasses(workspaceId, [passId]).whereIn('device_id', candidate)
    await device.update({ fetched_at: at.getTime(), fetched_version: version })
  }

  /** Whether any device has downloaded the version of the pass, or a later one. */
  async isFetched(workspaceId: string, passId: string, version: number): Promise<boolean> {
    const fetched = this.ofPasses(workspaceId, [passId]).where('fetched_version', '>=', version)
    return (await fetched.first('device_id')) !== undefined
  }

  /**
   * Records accepted pushes. Skips devices whose `pushedVersion` changed since it was read, because they got a newer
   * push or need another push.
   */
  async setPushed(workspaceId: string, pushes: (PushedRegistration & { version: number })[], at: Date): Promise<void> {
    const newer = pushes.filter(({ pushedVersion, version }) => pushedVersion < version)
    if (newer.length === 0) return
    await lockRows(this.db, () => this.lock(workspaceId, passIdsOf(newer)))
    for (const version of new Set(newer.map((push) => push.version))) {
      const some = newer.filter((push) => push.version === version)
      const keys = some.map(({ passId, deviceId, pushedVersion }) => [deviceId, passId, pushedVersion])
      const change = { pushed_version: version, pushed_at: at.getTime(), last_error: null }
      await this.set(workspaceId, [...IN_ORDER, 'pushed_version'], keys, change)
    }
  }

  /** Records why pushes to devices failed. */
  async setErrors(workspaceId: string, devices: Device[], error: string): Promise<void> {
    await lockRows(this.db, () => this.lock(workspaceId, passIdsOf(devices)))
    const keys = devices.map(({ passId, deviceId }) => [deviceId, passId])
    await this.set(workspaceId, IN_ORDER, keys, { last_error: error })
  }

  /**
   * Updates devices, in chunks. Inside a transaction, does not wait for the database. The caller has locked the
   * devices.
   */
  private async set(workspaceId: string, columns: string[], keys: Key[], change: object): Promise<void> {
    for (let from = 0; from < keys.length; from += CHUNK) {
      const ours = this.db('apple_registrations').where({ workspace_id: workspaceId })
      await sendSilently(this.db, ours.whereIn(columns, keys.slice(from, from + CHUNK)).update(change))
    }
  }

  /**
   * Removes and returns registrations whose token Apple reported as invalid for the passes of an identity. Keeps
   * registrations with a newer token.
   */
  async deleteByTokens(pushTokens: string[], identityId: string | null): Promise<DroppedRegistration[]> {
    if (pushTokens.length === 0) return []
    const theirs = isOneOf(this.db, 'push_token', pushTokens, 'text')
    const ofIdentity = () =>
      this.db('passes').where({ 'passes.apple_identity_id': identityId }).select(this.db.raw('1'))
    const dead = () =>
      this.db('apple_registrations')
        .whereRaw(theirs)
        .whereExists(ofIdentity().whereRaw('passes.id = apple_registrations.pass_id'))
    const columns = { workspaceId: 'workspace_id', passId: 'pass_id', pushToken: 'push_token' }
    const rows: DroppedRegistration[] = await dead().orderBy(IN_ORDER).forUpdate().select(columns)
    await dead().delete()
    const former = ofIdentity()
      .join('former_passes', 'former_passes.pass_id', 'passes.id')
      .whereRaw('former_passes.serial_number = former_registrations.serial_number')
    await this.db('former_registrations').whereRaw(theirs).whereExists(former).delete()
    return rows
  }

  /**
   * Assigns the next update tag to the devices that hold changed passes. Locks the tag counter until the transaction
   * ends. Devices store the tag, because a tag in a pass would change the indexes of all pass lists (decisions/0014).
   */
  async bumpUpdateTag(workspaceId: string, passIds: string[]): Promise<void> {
    // Lock the counter of update tags last, so that other transactions do not wait for it while this transaction waits
    // for a pass.
    const held = this.ofPasses(workspaceId, passIds).select('pass_id')
    const lockHeld = () => lockPasses(this.db, workspaceId).whereIn('id', held).select('id')
    const [, devices] = await Promise.all([lockRows(this.db, lockHeld), this.lock(workspaceId, passIds)])
    if (devices.length === 0) return
    const tag = () => this.db('sequences').where({ name: 'update-tag' })
    await sendSilently(this.db, tag().update({ value: this.db.raw('value + 1') }))
    await sendSilently(this.db, this.ofPasses(workspaceId, passIds).update({ update_tag: tag().select('value') }))
  }

  /** Locks the devices of passes until the transaction ends. */
  private lock(workspaceId: string, passIds: string[]) {
    return this.ofPasses(workspaceId, passIds).orderBy(IN_ORDER).select('pass_id').forUpdate()
  }

  private ofPasses(workspaceId: string, passIds: string[]) {
    return this.db('apple_registrations').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
  }

  private one(workspaceId: string, passId: string, deviceId: string) {
    return this.db('apple_registrations').where({ workspace_id: workspaceId, pass_id: passId, device_id: deviceId })
  }
}

/** A registration that was removed because its token is invalid. */
export type DroppedRegistration = Pick<StoredRegistration, 'workspaceId' | 'passId' | 'pushToken'>

/** Restricts a query to passes of the given Apple identities. Null stands for the identity of the server. */
export function whereOfIdentities(passes: Knex.QueryBuilder, identityIds: (string | null)[]): void {
  whereOneOrNull(passes, 'passes.apple_identity_id', identityIds)
}

/** The order in which registrations are locked, to prevent deadlocks: the order of their primary key. */
export const IN_ORDER = ['device_id', 'pass_id']

const CHUNK = 500

const passIdsOf = (devices: { passId: string }[]) => [...new Set(devices.map(({ passId }) => passId))]
