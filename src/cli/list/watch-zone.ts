import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Zone } from '../../core/contract/scans/zones.ts'
import { isTemporary } from './follow.ts'

interface WatchOptions {
  note: (message: string) => void
  wait?: () => Promise<unknown>
}

const POLL_MS = 2_000

/**
 * Yields a zone, and yields the zone again each time the number of people inside changes. Keeps polling while the
 * server is unreachable.
 */
export async function* watchZone(
  { zones }: Pick<Client, 'zones'>,
  id: string,
  { note, wait = () => sleep(POLL_MS) }: WatchOptions,
): AsyncGenerator<Zone, never> {
  let last = await zones.get({ params: { id } })
  yield last
  for (let isAway = false; ; ) {
    await wait()
    try {
      const zone = await zones.get({ params: { id } })
      if (isAway) note('The server is back')
      isAway = false
      if (zone.inside !== last.inside) yield zone
      last = zone
    } catch (error) {
      if (!isTemporary(error)) throw error
      if (!isAway) note(`${error.message}; waiting for the server`)
      isAway = true
    }
  }
}
