import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { z } from 'zod'
import { parseJson } from '../../../src/core/json.ts'

/** A push as a phone receives it; its topic is the pass type. */
export type Push = z.output<typeof Push>
const Push = z.object({ token: z.string(), topic: z.string() })

const RECONNECT_MS = 500

interface PushesOptions {
  fleetId: string
  /** Returns the current address of the sandbox's APNs emulator for phones. */
  locate: () => Promise<string>
  signal: AbortSignal
  onOpen: () => void
  onPush: (push: Push) => void
}

/**
 * Receives all pushes to tokens that start with the fleet id, over one connection to the sandbox's APNs emulator. The
 * emulator keeps the newest push of each token while this process is disconnected. Reconnects after a server restart.
 * Resolves when the signal aborts.
 * @throws the error of the first connection
 */
export async function receivePushes({ fleetId, locate, signal, onOpen, onPush }: PushesOptions): Promise<void> {
  let wasOpen = false
  while (!signal.aborted) {
    try {
      const { statusCode, body } = await request(`${await locate()}/fleets/${fleetId}/pushes`, {
        signal,
        bodyTimeout: 0,
      })
      if (statusCode !== 200) throw new Error(`The emulator for APNs responded with ${statusCode} to a fleet`)
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
