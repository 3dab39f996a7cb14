import { z } from 'zod'
import { subscribableEvents } from '../events.ts'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { Envelope } from './deliveries.ts'
import { anyOf } from './list.ts'

const FollowedEventType = z.enum(subscribableEvents)

/** An event in the event stream: the envelope of a delivery, with the ID of the event. */
const FollowedEvent = z.strictObject({ ...Envelope.shape, type: FollowedEventType })

/** Routes of the event stream. */
export const events = {
  follow: route({
    method: 'GET',
    path: '/v1/events',
    scope: 'webhooks:read',
    summary: 'Follow events as they happen',
    description:
      'Server-sent events over a connection that the client opens: `id:` is the id of the event, `data:` its envelope. Each ' +
      'event of the workspace comes once, in one order for all who follow, whether a webhook wants it or not. The first ' +
      'thing sent is an id without data: where to begin again. `Last-Event-ID` goes on after an event; the id of zeros ' +
      'begins with the oldest that is kept. An event past retention is 409 with the `oldest` in details. Comments come ' +
      'every 15 seconds. The stream ends when its token does, when nobody reads it, and when the server stops: come again ' +
      'with the last id. A workspace has 10 streams at each server.',
    eventStream: true,
    query: z.strictObject({ type: anyOf(FollowedEventType).optional() }),
    headers: z.object({ 'last-event-id': Uuid.optional() }),
    responses: { 200: FollowedEvent },
    errors: ['CONFLICT'],
  }),
}
