import { z } from 'zod'
import { subscribableEvents } from '../events.ts'
import { Uuid } from '../ids.ts'
import { route } from './common.ts'
import { Envelope } from './deliveries.ts'
import { anyOf } from './list-parameters.ts'

const FollowedEventType = z.enum(subscribableEvents)

/** An event in the event stream: the envelope of a delivery, with the ID of the event. */
const FollowedEvent = z.strictObject({ ...Envelope.shape, type: FollowedEventType })

/** Routes of the event stream. */
export const events = {
  follow: route('GET', '/v1/events', {
    scope: 'webhooks:read',
    summary: 'Follow events as they happen',
    description:
      'Server-sent events over a connection that the client opens: `id:` is the ID of the event, and `data:` ' +
      'its envelope. Each event of the workspace is sent once, in the same order for all clients, regardless ' +
      'of webhooks. The first item is an ID without data, from which the client can resume. `Last-Event-ID` ' +
      'resumes after an event, and the nil UUID starts with the oldest stored event. If the event is past ' +
      'retention, the response is 409 with `oldest` in details. The server sends a comment every 15 seconds. ' +
      'The stream ends when its token expires, when the client stops reading, and when the server stops. Then ' +
      'reconnect with the last ID. A workspace can have 10 streams per server.',
    eventStream: true,
    query: z.strictObject({ type: anyOf(FollowedEventType).optional() }),
    headers: z.object({ 'last-event-id': Uuid.optional() }),
    responses: { 200: FollowedEvent },
    errors: ['CONFLICT'],
  }),
}
