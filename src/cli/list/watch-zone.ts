import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Zone } from '../../core/contract/scans/zones.ts'
import { poll } from './follow.ts'

const POLL_MS = 2_000

/**
 * Yields a zone, and yields the zone again each time the number of people inside changes. Keeps polling while the
 * server is unreachable.
 */
export async function* watchZone(
  { zones }: Pick<Client, 'zones'>,
  id: string,
  { note, wait = () => sleep(POLL_MS) }: { note: (message: string) => void; wait?: () => Promise<unknown> },
): AsyncGenerator<Zone> {
  const read = () => zones.get({ params: { id } })
  let last = await read()
  yield last
  for await (const zone of poll(read, { note, wait })) {
    if (zone.inside !== last.inside) yield zone
    last = zone
  }
}
