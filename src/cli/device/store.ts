import { closeSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder, openPrivateSync, replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError } from '../command/errors.ts'
import { Device } from './state.ts'

/** The file of one virtual phone. */
export interface DeviceFile<D extends Device = Device> {
  readonly name: string
  read(): D
  /** Reads, changes and writes with nobody in between; the file is replaced as a whole. */
  update(change: (device: D) => D): Promise<D>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const LOCK_PATIENCE_MS = 5_000
const LOCK_POLL_MS = 10

/** The phones of a folder, by name. */
export function listDevices(folder: string): Device[] {
  return namesIn(folder).map((name) => readDevice(folder, name))
}

/** Makes the phone where there is none of that name. */
export function createDevice(folder: string, device: Device): void {
  if (!NAME.test(device.name)) {
    throw new UsageError(`--device ${device.name} must be letters, digits, dots, underscores and hyphens, 64 at most`)
  }
  makePrivateFolder(folder)
  if (!namesIn(folder).includes(device.name)) write(folder, device)
}

/**
 * The phone of that name, or the only one.
 * @throws UsageError
 */
export function openDevice(folder: string, name: string | undefined): DeviceFile {
  const names = namesIn(folder)
  if (names.length === 0) {
    throw new UsageError('There is no phone yet', { hint: 'passes device install LINK --platform apple makes one.' })
  }
  const [only] = names
  const chosen = name ?? (names.length === 1 ? only : undefined)
  if (chosen === undefined) throw new UsageError(`Which phone? There are ${names.join(', ')}`)
  if (!names.includes(chosen)) throw new UsageError(`There is no phone ${chosen}; there are ${names.join(', ')}`)
  return {
    name: chosen,
    read: () => readDevice(folder, chosen),
    update: (change) =>
      locked(join(folder, `${chosen}.lock`), () => {
        const changed = change(readDevice(folder, chosen))
        write(folder, changed)
        return changed
      }),
  }
}

function namesIn(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
    return files.map((file) => file.slice(0, -'.json'.length)).toSorted()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function readDevice(folder: string, name: string): Device {
  const path = join(folder, `${name}.json`)
  try {
    return Device.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new CliError(`${path} is not the file of a virtual phone`, { hint: 'delete it to start afresh.', cause })
  }
}

function write(folder: string, device: Device): void {
  const path = join(folder, `${device.name}.json`)
  replacePrivateSync(path, `${JSON.stringify(device, undefined, 2)}\n`)
}

/** One writer at a time, since a phone may be watched by one process and used by another. */
async function locked<T>(path: string, work: () => T): Promise<T> {
  while (!takeLock(path)) await sleep(LOCK_POLL_MS)
  try {
    return work()
  } finally {
    rmSync(path, { force: true })
  }
}

function takeLock(path: string): boolean {
  try {
    closeSync(openPrivateSync(path, 'wx'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Work under the lock takes milliseconds: one that is older was left by a process that was killed.
  const takenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
  if (Date.now() - takenAt > LOCK_PATIENCE_MS) rmSync(path, { force: true })
  return false
}
