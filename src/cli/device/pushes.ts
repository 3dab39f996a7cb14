import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { CliError } from '../command/errors.ts'

/** A push as a phone receives it: the topic is the pass type that it is about. */
export type Push = z.output<typeof Push>
const Push = z.object({ token: z.string(), topic: z.string() })

const RECONNECT_MS = 500

/** Whose pushes are received, and who is told of them. */
export interface PushesOptions {
  fleetId: string
  /** Where the sandbox's APNs is now, for phones. */
  locate: () => Promise<string>
  signal: AbortSignal
  onOpen: () => void
  onPush: (push: Push) => void
}

/**
 * Receives every push to tokens that begin with the id of the fleet, over one connection to the sandbox's APNs, which keeps the newest of
 * each token while nobody listens. Connects again where the server was restarted; resolves when the signal ends it.
 * @throws what keeps it from the first connection
 */
export async function receivePushes({ fleetId, locate, signal, onOpen, onPush }: PushesOptions): Promise<void> {
  let wasOpen = false
  while (!signal.aborted) {
    try {
      const { statusCode, body } = await request(`${await locate()}/fleets/${fleetId}/pushes`, {
        signal,
        bodyTimeout: 0,
      })
      if (statusCode !== 200) throw new CliError(`The emulator for APNs answered ${statusCode} to a fleet`)
      wasOpen = true
      onOpen()
      for await (const line of linesOf(body)) {
        const push = Push.safeParse(parseJson(line)).data
        if (push) onPush(push)
      }
    } catch (error) {
      if (!wasOpen && !signal.aborted) throw error
    }
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
