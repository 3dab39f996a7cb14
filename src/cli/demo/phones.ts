import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { CliError } from '../command/errors.ts'
import type { PassChange } from '../device/phone.ts'
import { deviceFor, phoneOf } from '../device/phones.ts'
import type { DeviceFile } from '../device/store.ts'
import { type WatchEvent, watch } from '../device/watch.ts'

const PATIENCE_MS = 30_000

/** A change that a phone was told of and took. */
export interface Arrival {
  file: DeviceFile
  change: PassChange
  /** From the answer to the update until the phone had it. */
  seconds: number
}

/** Installs a pass through its links on a new iPhone and a new Android phone. */
export function installOnPhones(
  { appleLink, googleLink }: { appleLink: string; googleLink: string },
  folder: string,
): Promise<DeviceFile[]> {
  const links = { apple: appleLink, google: googleLink }
  return Promise.all(
    (['apple', 'google'] as const).map(async (platform) => {
      const file = deviceFor(join(folder, 'phones'), platform)
      await phoneOf(file).install(links[platform])
      return file
    }),
  )
}

/**
 * Makes a change while the phones are awake, and resolves when it has arrived on each.
 * @throws CliError where one waits in vain
 */
export async function watchChange(files: readonly DeviceFile[], change: () => Promise<unknown>): Promise<Arrival[]> {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), PATIENCE_MS)
  const watches = files.map((file) => startWatch(file, stop.signal))
  try {
    await Promise.all(watches.map(({ ready }) => ready))
    await change()
    const startedAt = performance.now()
    return await Promise.all(
      watches.map(async ({ file, arrived }) => {
        return { file, change: await arrived, seconds: (performance.now() - startedAt) / 1000 }
      }),
    )
  } finally {
    clearTimeout(timer)
    stop.abort()
    await Promise.allSettled(watches.flatMap(({ ready, arrived }) => [ready, arrived]))
  }
}

/** `ready` once the phone hears pushes, `arrived` with the first change that it takes. */
function startWatch(file: DeviceFile, signal: AbortSignal) {
  const heard = new EventEmitter()
  const [listening, changed] = [once(heard, 'listening'), once(heard, 'change')]
  const onEvent = (event: WatchEvent) => {
    heard.emit(event.event, event)
  }
  const missed = watch(phoneOf(file), { signal, onEvent }).then(() => {
    throw new CliError(`The change never arrived on the phone ${file.name}`)
  })
  return {
    file,
    ready: Promise.race([listening, missed]),
    arrived: Promise.race([changed.then(([change]) => change as PassChange), missed]),
  }
}
