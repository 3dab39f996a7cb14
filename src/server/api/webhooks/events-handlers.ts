import type { events as contract } from '../../../core/contract/webhooks/deliveries.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { idBound } from '../../../core/ids.ts'
import type { StreamedEvents } from '../../../core/route.ts'
import { PLACE_BEFORE_ALL, type Place } from '../../../storage/db/positions.ts'
import type { LoggedEvent } from '../../../storage/webhooks/event-log.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'

/** The number of events per read. It is low, because events can contain variables of 64 KiB. */
const EVENTS = 25

/** The interval of reads. It limits the delay of events that other servers write. */
const POLL_MS = 1_000

/**
 * The maximum wait before the second read after an event of this process. The first read can miss the event while an
 * older transaction is open.
 */
const MIN_POLL_MS = 50

const DAY_MS = 24 * 3_600_000

export const events: Handlers<typeof contract> = {
  follow: async ({ query, headers }, context) => {
    const since = headers['last-event-id']
    const place =
      since === undefined ? await context.store.eventLog.findEnd(context.workspaceId) : await placeOf(since, context)
    return (ended) => follow(place, query.type, context, ended)
  },
}

async function* follow(
  start: Place,
  types: LoggedEvent['type'][] | undefined,
  { store, workspaceId, services }: RequestContext,
  ended: AbortSignal,
): AsyncGenerator<StreamedEvents> {
  const wakeUp = services.wakeUps.listen(workspaceId)
  try {
    let place = start
    let isWoken = false
    yield [{ id: place.id }]
    while (!ended.aborted) {
      const logged = await wakeUp.share(`${place.position} ${place.id}`, () =>
        store.eventLog.listAfter(workspaceId, place, EVENTS),
      )
      place = logged.at(-1)?.place ?? place
      const wanted = logged.filter(({ type }) => !types || types.some((one) => one === type))
      if (logged.length > 0) await takeTurn(logged)
      yield wanted.map(({ id, envelope }) => ({ id, data: envelope }))
      if (logged.length === EVENTS) continue
      isWoken = await wakeUp.next(isWoken ? MIN_POLL_MS : POLL_MS, ended)
    }
  } finally {
    wakeUp.close()
  }

  /** Waits for the event-loop scheduler. Otherwise, a stream with many past events would delay other workspaces. */
  async function takeTurn(logged: LoggedEvent[]): Promise<void> {
    const bytes = logged.reduce((sum, { envelope }) => sum + envelope.length, 0)
    const leave = await services.eventLoop.enterRequest(workspaceId, bytes)
    leave()
  }
}

/** @throws ApiError CONFLICT if later events might have been deleted, VALIDATION_ERROR if the event never existed */
async function placeOf(id: string, { store, workspaceId, services, now }: RequestContext): Promise<Place> {
  if (id === PLACE_BEFORE_ALL.id) return PLACE_BEFORE_ALL
  const { deliveriesDays: days } = services.retention
  const keptSince = new Date(days === 0 ? 0 : now.getTime() - days * DAY_MS)
  const place = await store.eventLog.findPlace(workspaceId, id)
  if (place && id >= idBound(keptSince.getTime())) return place
  const oldest = (await store.eventLog.findFirstId(workspaceId, keptSince)) ?? null
  if (id < (oldest ?? idBound(keptSince.getTime()))) {
    throw new ApiError('CONFLICT', {
      message: `Events are kept for ${days} days, and events after this ID might have been deleted. Start with the oldest stored event: ${PLACE_BEFORE_ALL.id}.`,
      details: { oldest },
    })
  }
  throw validationError([{ path: ['last-event-id'], message: 'Must be the ID of an event' }])
}
