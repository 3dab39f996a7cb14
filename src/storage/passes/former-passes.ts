import { Uuid } from '../../core/ids.ts'
import { insertRows, isOneOf } from '../db/bulk-rows.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import type { StoredPass } from './pass-row.ts'
import { type OutdatedRegistration, whereOfIdentities } from './registrations.ts'

/** The number of days in which a former holder's phones can download the void pass. Later, the pass is not found. */
export const FORMER_PASS_DAYS = 30

const DAY_MS = 24 * 3_600_000

const FORMER = mapping({
  /** The serial number that this server gave to the former holder's copy. */
  serialNumber: field.text,
  /** The serial number from another provider; null if this server assigned the serial number. */
  importedSerialNumber: field.optionalText,
  workspaceId: field.text,
  passId: field.text,
  templateVersionId: field.text,
  appleToken: field.text,
  updateTag: field.number,
  modifiedAt: field.time,
  endedAt: field.time,
})

/** The copy of a transferred pass on the phones of its former holder. */
export interface FormerPass
  extends Omit<RecordOf<typeof FORMER>, 'importedSerialNumber' | 'updateTag' | 'endedAt'>,
    Pick<StoredPass, 'copyId'> {}

/** Returns the pass as its former holder sees it: void, without personal data and without a code. */
export function asFormer(
  pass: StoredPass,
  former: Pick<FormerPass, 'templateVersionId'> & Partial<FormerPass>,
): StoredPass {
  const { serialNumber = pass.serialNumber, copyId = pass.copyId, appleToken = '' } = former
  const { modifiedAt = pass.modifiedAt, templateVersionId } = former
  const gone = {
    label: '',
    variables: {},
    scanCode: '',
    scanPayload: null,
    expiresAt: null,
    redemption: null,
    balanceSums: null,
    message: null,
  }
  return {
    ...pass,
    ...gone,
    googleClassId: null,
    group: null,
    status: 'VOID',
    copyId,
    serialNumber,
    appleToken,
    modifiedAt,
    templateVersionId,
  }
}

export class FormerPasses extends Repository {
  /** Ends the current holder's copy of a locked pass. Returns whether Apple devices need a push. */
  async insert(pass: StoredPass, at: Date): Promise<boolean> {
    const { workspaceId, id, copyId, serialNumber, modifiedAt } = pass
    const row = FORMER.write({
      serialNumber: copyId,
      importedSerialNumber: serialNumber === copyId ? null : serialNumber,
      workspaceId,
      passId: id,
      templateVersionId: pass.templateVersionId,
      appleToken: pass.appleToken,
      updateTag: 0,
      modifiedAt: new Date(Math.max(at.getTime() - (at.getTime() % 1000), modifiedAt.getTime() + 1000)),
      endedAt: at,
    })
    await this.db('former_passes').insert(row)
    const registrations = () => this.db('apple_registrations').where({ workspace_id: workspaceId, pass_id: id })
    const held: { device_id: string; push_token: string }[] = await registrations().select('device_id', 'push_token')
    if (held.length === 0) return false
    const key = { workspace_id: workspaceId, serial_number: copyId, is_pushed: false }
    const phones = held.map((phone) => ({ ...key, ...phone }))
    await insertRows(this.db, 'former_registrations', phones)
    await registrations().delete()
    return true
  }

  /** Like `Registrations.findPass`, for former copies. Ignores copies that ended more than `FORMER_PASS_DAYS` ago. */
  async findBySerialNumber(
    serialNumber: string,
    identityIds: (string | null)[],
    at: Date,
  ): Promise<FormerPass | undefined> {
    const own = Uuid.safeParse(serialNumber).data ?? null
    const row: RowOf<typeof FORMER> | undefined = await this.db('former_passes')
      .join('passes', 'passes.id', 'former_passes.pass_id')
      .where((copy) => {
        copy.where({ 'former_passes.imported_serial_number': null, 'former_passes.serial_number': own })
        copy.orWhere({ 'former_passes.imported_serial_number': serialNumber })
      })
      .where((pass) => whereOfIdentities(pass, identityIds))
      .where('ended_at', '>', at.getTime() - FORMER_PASS_DAYS * DAY_MS)
      .orderBy('ended_at', 'desc')
      .first('former_passes.*')
    if (!row) return undefined
    const { serialNumber: copyId, importedSerialNumber, updateTag, endedAt, ...former } = FORMER.read(row)
    return { ...former, copyId, serialNumber: importedSerialNumber ?? copyId }
  }

  async has(workspaceId: string, copyId: string, deviceId: string): Promise<boolean> {
    return (
      (await this.registrations(workspaceId, copyId).where({ device_id: deviceId }).first('device_id')) !== undefined
    )
  }

  async isFull(workspaceId: string, copyId: string, maxDevices: number): Promise<boolean> {
    const devices = this.registrations(workspaceId, copyId)
    return (await devices.offset(maxDevices - 1).first('device_id')) !== undefined
  }

  /**
   * Registers a phone that still has the former copy, for example from a backup. A push then makes the phone download
   * the ended copy. Returns whether the phone is new. The caller has locked the pass.
   */
  async register(workspaceId: string, copyId: string, deviceId: string, pushToken: string): Promise<boolean> {
    const announced = await this.db('former_passes')
      .where({ workspace_id: workspaceId, serial_number: copyId })
      .update({ update_tag: 0 })
    if (announced === 0) return false
    const change = { push_token: pushToken, is_pushed: false }
    const known = await this.registrations(workspaceId, copyId).where({ device_id: deviceId }).update(change)
    if (known > 0) return false
    const key = { workspace_id: workspaceId, serial_number: copyId, device_id: deviceId }
    await this.db('former_registrations')
      .insert({ ...key, ...change })
      .onConflict(['device_id', 'serial_number'])
      .merge(change)
    return true
  }

  async unregister(workspaceId: string, copyId: string, deviceId: string): Promise<void> {
    await this.registrations(workspaceId, copyId).where({ device_id: deviceId }).delete()
  }

  /** Assigns the next update tag to ended copies without a tag. Locks the tag counter until the transaction ends. */
  async bumpUpdateTag(workspaceId: string, passIds: string[]): Promise<void> {
    const waiting = () =>
      this.db('former_passes').where({ workspace_id: workspaceId, update_tag: 0 }).whereIn('pass_id', passIds)
    if (!(await waiting().first('serial_number'))) return
    const [row] = await this.db('sequences')
      .where({ name: 'update-tag' })
      .update({ value: this.db.raw('value + 1') })
      .returning('value')
    await waiting().update({ update_tag: row.value })
  }

  async listOutdated(workspaceId: string, passIds: string[]): Promise<OutdatedRegistration[]> {
    const outdated = await this.unpushed(workspaceId, passIds)
      .join('former_passes', 'former_passes.serial_number', 'former_registrations.serial_number')
      .join('passes', 'passes.id', 'former_passes.pass_id')
      .select({
        passId: 'pass_id',
        deviceId: 'device_id',
        pushToken: 'push_token',
        appleIdentityId: 'apple_identity_id',
      })
    // Return 0 as both versions, because a copy of a former holder never changes again.
    return outdated.map((one) => ({ ...one, pushedVersion: 0, walletVersion: 0 }))
  }

  /** Records that Apple accepted pushes. */
  async setPushed(workspaceId: string, sent: Pick<OutdatedRegistration, 'passId' | 'pushToken'>[]): Promise<void> {
    const tokens = [...new Set(sent.map(({ pushToken }) => pushToken))]
    await this.unpushed(workspaceId, [...new Set(sent.map(({ passId }) => passId))])
      .whereRaw(isOneOf(this.db, 'push_token', tokens, 'text'))
      .update({ is_pushed: true })
  }

  private registrations(workspaceId: string, copyId: string) {
    return this.db('former_registrations').where({ workspace_id: workspaceId, serial_number: copyId })
  }

  private unpushed(workspaceId: string, passIds: string[]) {
    const ofPasses = this.db('former_passes').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    return this.db('former_registrations')
      .where('former_registrations.workspace_id', workspaceId)
      .where({ is_pushed: false })
      .whereIn('former_registrations.serial_number', ofPasses.select('serial_number'))
  }
}
