import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../command/errors.ts'
import { listen } from './http.ts'
import type { PassChange, Phone, PushSource } from './phone.ts'

export type WatchEvent =
  | { event: 'listening'; source: string }
  | ({ event: 'change' } & PassChange)
  | { event: 'problem'; message: string }

export interface WatchOptions {
  /** Ends the watch. */
  signal: AbortSignal
  onEvent: (event: WatchEvent) => Promise<void> | void
}

const RECONNECT_MS = 500

/**
 * Keeps the phone awake: it hears pushes and looks for news at each, and also whenever a connection stands anew, since
 * a push that was sent meanwhile may be lost. Resolves when the signal ends it.
 */
export async function watch(phone: Phone, options: WatchOptions): Promise<void> {
  await Promise.all(phone.sources().map((source) => follow(phone, source, options)))
}

async function follow(phone: Phone, source: PushSource, { signal, onEvent }: WatchOptions): Promise<void> {
  let told = ''
  while (!signal.aborted) {
    let isFirst = true
    try {
      await listen(await source.locate(), signal, async () => {
        if (isFirst) await onEvent({ event: 'listening', source: source.name })
        isFirst = false
        await look(phone, onEvent)
        told = ''
      })
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof CliError)) throw error
      // Once is enough while a server is away.
      if (error.message !== told) await onEvent({ event: 'problem', message: error.message })
      told = error.message
    }
    // Ended by the signal, the loop ends by itself.
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function look(phone: Phone, onEvent: WatchOptions['onEvent']): Promise<void> {
  const { changes, problems } = await phone.check()
  for (const change of changes) await onEvent({ event: 'change', ...change })
  for (const message of problems) await onEvent({ event: 'problem', message })
}
