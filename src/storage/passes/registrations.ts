import type { Knex } from 'knex'
import { Uuid } from '../../core/ids.ts'
import { isOneOf } from '../db/bulk-rows.ts'
import { forUpdate, isPostgres, joinPasses, toDate } from '../db/dialect.ts'
import { runPrepared, sendSilently } from '../db/prepared.ts'
import { lockPasses } from './pass-change.ts'
import { type PassRow, type StoredPass, selectPass, toPass } from './pass-row.ts'

/** A device that holds a pass in Apple Wallet, and how far it has come. */
export interface StoredRegistration {
  workspaceId: string
  passId: string
  deviceId: string
  pushToken: string
  registeredAt: Date
  pushedAt: Date | null
  /** The walletVersion that the device was last pushed for; 0 for none, below that where a push was forgotten. */
  pushedVersion: number
  fetchedAt: Date | null
  fetchedVersion: number
  lastError: string | null
}

interface Row {
  workspace_id: string
  pass_id: string
  device_id: string
  push_token: string
  registered_at: number
  pushed_at: number | null
  pushed_version: number
  fetched_at: number | null
  fetched_version: number
  last_error: string | null
}

/** A device that is to be told that its pass changed. */
export interface OutdatedRegistration extends PushedRegistration, Pick<StoredRegistration, 'pushToken'> {
  /** What the pass shows now. */
  walletVersion: number
  appleIdentityId: string | null
}

type Device = Pick<StoredRegistration, 'passId' | 'deviceId'>
type Key = (string | number)[]
type PushedRegistration = Device & Pick<StoredRegistration, 'pushedVersion'>

/** Phones that have passes in Apple Wallet, and which of them must still fetch a change. */
export class Registrations {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** True when the device is new to the pass; a known one may come with a new push token. */
  async insert(
    workspaceId: string,
    registration: Pick<StoredRegistration, 'passId' | 'deviceId' | 'pushToken'>,
    at: Date,
  ): Promise<boolean> {
    const { passId, deviceId, pushToken } = registration
    const inserted = await this.db('apple_registrations')
      .insert({
        workspace_id: workspaceId,
        pass_id: passId,
        device_id: deviceId,
        push_token: pushToken,
        registered_at: at.getTime(),
        pushed_version: 0,
        fetched_version: 0,
      })
      .onConflict(['device_id', 'pass_id'])
      .ignore()
      .returning('pass_id')
    if (inserted.length > 0) return true
    await this.one(workspaceId, passId, deviceId).update({ push_token: pushToken })
    return false
  }

  /** A device has not fetched that version, whatever it is pushed for at this moment: it is to be pushed again. True where it is so. */
  async forgetPush(workspaceId: string, passId: string, deviceId: string, version: number): Promise<boolean> {
    const behind = this.one(workspaceId, passId, deviceId).where('fetched_version', '<', version)
    // Another value than before, and always less: the figures count what rises.
    return (await behind.update({ pushed_version: this.db.raw('-1 - abs(pushed_version)') })) > 0
  }

  /** Whether any device holds a pass of the server's own identity, of all workspaces. */
  async hasAny(): Promise<boolean> {
    const held = joinPasses(this.db, this.db('apple_registrations'), 'apple_registrations.pass_id')
    return (await held.whereNull('passes.apple_identity_id').first('pass_id')) !== undefined
  }

  /**
   * The one read of a pass without a workspace, for phones: a serial number says nothing without the pass's own token, which the
   * caller must compare. Of some identities, since another provider may have given a number to several passes.
   */
  async findPass(serialNumber: string, identityIds: (string | null)[]): Promise<StoredPass | undefined> {
    // Those of other providers may have any form.
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

  /** Whether the device has the pass. */
  async has(workspaceId: string, passId: string, deviceId: string): Promise<boolean> {
    return (await this.one(workspaceId, passId, deviceId).first('pass_id')) !== undefined
  }

  /** Whether the pass has as many devices as it may have. */
  async isFull(workspaceId: string, passId: string, maxDevices: number): Promise<boolean> {
    const ofPass = this.ofPasses(workspaceId, [passId])
    return (await ofPass.offset(maxDevices - 1).first('pass_id')) !== undefined
  }

  /** A device no longer has the pass; true where it had. */
  async delete(workspaceId: string, passId: string, deviceId: string): Promise<boolean> {
    return (await this.one(workspaceId, passId, deviceId).delete()) > 0
  }

  /** The devices that have any of the passes. */
  async list(workspaceId: string, passIds: string[]): Promise<StoredRegistration[]> {
    const rows: Row[] = await this.ofPasses(workspaceId, passIds).orderBy(['registered_at', 'device_id'])
    return rows.map(toRegistration)
  }

  /** Devices that were not pushed yet for what their pass now shows. */
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
   * A phone does not say which device fetches a pass: it is noted for the one that asked last what changed, among those
   * that lack the version.
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

  /** Whether any device has fetched that version of the pass. */
  async isFetched(workspaceId: string, passId: string, version: number): Promise<boolean> {
    const fetched = this.ofPasses(workspaceId, [passId]).where('fetched_version', '>=', version)
    return (await fetched.first('device_id')) !== undefined
  }

  /** Apple took the push. An older one never takes the place of a newer, nor of one that was forgotten since it was looked up. */
  async setPushed(workspaceId: string, pushes: (PushedRegistration & { version: number })[], at: Date): Promise<void> {
    const newer = pushes.filter(({ pushedVersion, version }) => pushedVersion < version)
    if (newer.length === 0) return
    if (isPostgres(this.db)) await this.lock(workspaceId, passIdsOf(newer))
    for (const version of new Set(newer.map((push) => push.version))) {
      const some = newer.filter((push) => push.version === version)
      const keys = some.map(({ passId, deviceId, pushedVersion }) => [deviceId, passId, pushedVersion])
      const change = { pushed_version: version, pushed_at: at.getTime(), last_error: null }
      await this.set(workspaceId, [...IN_ORDER, 'pushed_version'], keys, change)
    }
  }

  /** Notes why pushes to devices failed. */
  async setErrors(workspaceId: string, devices: Device[], error: string): Promise<void> {
    if (isPostgres(this.db)) await this.lock(workspaceId, passIdsOf(devices))
    const keys = devices.map(({ passId, deviceId }) => [deviceId, passId])
    await this.set(workspaceId, IN_ORDER, keys, { last_error: error })
  }

  /** Of devices that the caller holds, as many at once as one statement takes well; nobody waits for it in a transaction. */
  private async set(workspaceId: string, columns: string[], keys: Key[], change: object): Promise<void> {
    for (let from = 0; from < keys.length; from += CHUNK) {
      const ours = this.db('apple_registrations').where({ workspace_id: workspaceId })
      await sendSilently(this.db, ours.whereIn(columns, keys.slice(from, from + CHUNK)).update(change))
    }
  }

  /** Removes registrations whose token Apple calls dead for passes of an identity, and returns them; a newer token stays. */
  async deleteByTokens(pushTokens: string[], identityId: string | null): Promise<DroppedRegistration[]> {
    if (pushTokens.length === 0) return []
    const theirs = isOneOf(this.db, 'push_token', pushTokens, 'text')
    const ofIdentity = () =>
      this.db('passes').where({ 'passes.apple_identity_id': identityId }).select(this.db.raw('1'))
    const dead = () =>
      this.db('apple_registrations')
        .whereRaw(theirs)
        .whereExists(ofIdentity().whereRaw('passes.id = apple_registrations.pass_id'))
    const told = { workspaceId: 'workspace_id', passId: 'pass_id', pushToken: 'push_token' }
    const rows: DroppedRegistration[] = await forUpdate(this.db, dead().orderBy(IN_ORDER)).select(told)
    await dead().delete()
    const former = ofIdentity()
      .join('former_passes', 'former_passes.pass_id', 'passes.id')
      .whereRaw('former_passes.serial_number = former_registrations.serial_number')
    await this.db('former_registrations').whereRaw(theirs).whereExists(former).delete()
    return rows
  }

  /**
   * Announces a change of passes: devices that hold them get the next tag, which is held until the transaction ends. It stands
   * with them, since a pass that is written is written to every index of lists (decisions/0014).
   */
  async bumpUpdateTag(workspaceId: string, passIds: string[]): Promise<void> {
    // Before the counter: who waits for passes or devices must not hold up what others announce.
    const held = this.ofPasses(workspaceId, passIds).select('pass_id')
    const passes = lockPasses(this.db, workspaceId).whereIn('id', held).select('id')
    const [, devices] = await Promise.all([isPostgres(this.db) ? passes : [], this.lock(workspaceId, passIds)])
    if (devices.length === 0) return
    const tag = () => this.db('sequences').where({ name: 'update-tag' })
    await sendSilently(this.db, tag().update({ value: this.db.raw('value + 1') }))
    await sendSilently(this.db, this.ofPasses(workspaceId, passIds).update({ update_tag: tag().select('value') }))
  }

  /** Holds the devices of passes until the transaction ends. */
  private lock(workspaceId: string, passIds: string[]) {
    return forUpdate(this.db, this.ofPasses(workspaceId, passIds).orderBy(IN_ORDER).select('pass_id'))
  }

  private ofPasses(workspaceId: string, passIds: string[]) {
    return this.db('apple_registrations').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
  }

  private one(workspaceId: string, passId: string, deviceId: string) {
    return this.db('apple_registrations').where({ workspace_id: workspaceId, pass_id: passId, device_id: deviceId })
  }
}

/** A registration that was removed since its token is dead. */
export type DroppedRegistration = Pick<StoredRegistration, 'workspaceId' | 'passId' | 'pushToken'>

/** Leaves passes of some identities for Apple; null is that of the server. */
export function whereOfIdentities(passes: Knex.QueryBuilder, identityIds: (string | null)[]): void {
  const ids = identityIds.filter((id) => id !== null)
  passes.whereIn('passes.apple_identity_id', ids)
  if (identityIds.includes(null)) passes.orWhereNull('passes.apple_identity_id')
}

/** In which devices are held, so that two never wait for each other: along their key, as whoever writes those of one device does. */
export const IN_ORDER = ['device_id', 'pass_id']

/** Keys of devices in one statement. */
const CHUNK = 500

const passIdsOf = (devices: { passId: string }[]) => [...new Set(devices.map(({ passId }) => passId))]

function toRegistration(row: Row): StoredRegistration {
  return {
    workspaceId: row.workspace_id,
    passId: row.pass_id,
    deviceId: row.device_id,
    pushToken: row.push_token,
    registeredAt: new Date(row.registered_at),
    pushedAt: toDate(row.pushed_at),
    pushedVersion: row.pushed_version,
    fetchedAt: toDate(row.fetched_at),
    fetchedVersion: row.fetched_version,
    lastError: row.last_error,
  }
}
