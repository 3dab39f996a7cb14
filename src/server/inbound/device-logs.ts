import { deviceDigest, Uuid } from '../../core/ids.ts'
import type { NewDeviceLog } from '../../storage/devices/device-logs-repository.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { JobServices, Services } from '../context.ts'

export type DeviceLogServices = JobServices & Pick<Services, 'identities' | 'metrics'>

/** The limits on log messages in a request. They are low, because any client can send messages. */
const MAX_LOGS = 5
const MAX_LOGGED_LENGTH = 300
const MAX_KEPT_LENGTH = 500

/**
 * The maximum number of pass types, and of serial numbers, that are looked up per message. A message of a phone
 * contains one pass type and one serial number.
 */
const MAX_NAMES = 2

/**
 * Writes messages of a device to the log of the server. A message with the pass type and serial number of a pass is
 * also stored for the workspace of the pass. The messages are not trustworthy: any client can send them.
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
    await store.forVisits(workspaceId).transaction((tx) => tx.deviceLogs.insert(workspaceId, messages, clock()))
  }
}

/** Returns the pass that a message names; undefined for no pass or several. (Identities can share a pass type.) */
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

/**
 * Returns the serial numbers in a message. iOS writes one after the words "serial number". Without these words, returns
 * the UUIDs in the message: the serial numbers of this server are UUIDs.
 */
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

/** Replaces the device ID in a message with a digest. The ID would give access to the list of passes on the phone. */
function readable(message: string, workspaceId: string): Pick<NewDeviceLog, 'device' | 'message'> {
  const text = clean(message).slice(0, MAX_KEPT_LENGTH)
  const [, deviceId] = /(?:\bfor device |\/devices\/)([^\s,;()'/]+)/i.exec(text) ?? []
  if (deviceId === undefined) return { device: null, message: text.toWellFormed() }
  const device = deviceDigest(workspaceId, deviceId)
  return { device, message: text.replaceAll(deviceId, device).slice(0, MAX_KEPT_LENGTH).toWellFormed() }
}

/** Replaces control characters with spaces. Databases reject NUL, and terminals interpret other control characters. */
function clean(message: string): string {
  return message.replaceAll(/\p{Cc}+/gu, ' ').trim()
}

function isText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}
