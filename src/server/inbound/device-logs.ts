import { Uuid } from '../../core/ids.ts'
import { deviceDigest } from '../../core/rules/crypto/device-digest.ts'
import type { NewDeviceLog } from '../../storage/devices/device-logs.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { JobServices, Services } from '../context.ts'

/** What the log endpoint of phones needs. */
export type DeviceLogServices = JobServices & Pick<Services, 'identities' | 'metrics'>

/** Anybody may send logs: a request says no more than this. */
const MAX_LOGS = 5
const MAX_LOGGED_LENGTH = 300
const MAX_KEPT_LENGTH = 500

/** As many names of each kind are looked up: a message of a phone has one. */
const MAX_NAMES = 2

/**
 * Takes in what a device wrote. Nobody says who it is, and of which pass it speaks only the message itself says: one that names a
 * pass, by its type and its serial number, is kept for the workspace of that pass. Every message goes to the log of the server,
 * and nowhere else where it names no pass.
 */
export async function takeDeviceLogs(services: DeviceLogServices, logs: string[]): Promise<void> {
  const { store, clock, log, metrics } = services
  const kept = new Map<string, NewDeviceLog[]>()
  for (const message of logs.slice(0, MAX_LOGS)) {
    const pass = await findNamed(message.slice(0, MAX_KEPT_LENGTH), services)
    const about = pass && { passId: pass.id, workspaceId: pass.workspaceId }
    log.warn({ message: message.slice(0, MAX_LOGGED_LENGTH), ...about }, 'device log')
    metrics.deviceLogs.inc({ about: pass ? 'pass' : 'unknown' })
    if (pass) {
      kept.set(pass.workspaceId, [
        ...(kept.get(pass.workspaceId) ?? []),
        { passId: pass.id, ...readable(message, pass.workspaceId) },
      ])
    }
  }
  for (const [workspaceId, messages] of kept) {
    await store.transaction((tx) => tx.deviceLogs.insert(workspaceId, messages, clock()))
  }
}

/** The one pass that a message names. Where several could be meant, as two identities have one pass type, it is nobody's. */
async function findNamed(message: string, { store, identities }: DeviceLogServices): Promise<StoredPass | undefined> {
  const types = namesIn(message, /\bpass\.[\w.-]*\w/g)
  const serialNumbers = serialNumbersIn(message)
  if (serialNumbers.length === 0) return undefined
  const identityIds = new Set((await Promise.all(types.map((type) => identities.ofAccount('apple', type)))).flat())
  const found = new Map<string, StoredPass>()
  for (const serialNumber of serialNumbers) {
    for (const identityId of identityIds) {
      const pass = await store.registrations.findPass(serialNumber, [identityId])
      if (pass) found.set(pass.id, pass)
    }
  }
  return found.size === 1 ? [...found.values()][0] : undefined
}

/** What stands after the words that iOS writes, and what looks like a serial number of ours. */
function serialNumbersIn(message: string): string[] {
  const [, quoted, plain] = /\bserial number (?:'([^']+)'|([^\s,;()']+))/i.exec(message) ?? []
  const named = quoted ?? plain
  if (named !== undefined) return isText(named) ? [named] : []
  return namesIn(message, /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi).filter(
    (text) => Uuid.safeParse(text).success,
  )
}

function namesIn(message: string, pattern: RegExp): string[] {
  return [...new Set(message.match(pattern))].slice(0, MAX_NAMES)
}

/** A message as it may be shown, without the id of the device, which would be a key to what the phone holds. */
function readable(message: string, workspaceId: string): Pick<NewDeviceLog, 'device' | 'message'> {
  const text = clean(message).slice(0, MAX_KEPT_LENGTH)
  const [, deviceId] = /(?:\bfor device |\/devices\/)([^\s,;()'/]+)/i.exec(text) ?? []
  if (deviceId === undefined) return { device: null, message: text.toWellFormed() }
  const device = deviceDigest(workspaceId, deviceId)
  return { device, message: text.replaceAll(deviceId, device).slice(0, MAX_KEPT_LENGTH).toWellFormed() }
}

/** Databases take no null character, and terminals no other control character. */
function clean(message: string): string {
  return message.replaceAll(/\p{Cc}+/gu, ' ').trim()
}

function isText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}
