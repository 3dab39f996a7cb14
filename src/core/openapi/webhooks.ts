import type { z } from 'zod'
import { eventBodies } from '../contract/entities.ts'
import type { EventType } from '../contract/webhooks/event-data.ts'
import { eventFacts } from '../events.ts'
import { newId } from '../ids.ts'
import { SIGNATURE_HEADER } from '../rules/crypto/signature.ts'
import { SAMPLE_ID } from './examples.ts'
import { toSchema } from './schemas.ts'

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const EXAMPLE_TIME = new Date('2027-05-20T07:30:00.000Z')

export function describeWebhooks() {
  return Object.fromEntries([...eventBodies].map(([type, body]) => [type, { post: describe(type, body) }]))
}

function describe(type: EventType, body: z.ZodType) {
  return {
    operationId: `on.${type}`,
    tags: ['Webhooks'],
    summary: eventFacts[type].summary,
    description:
      'The server sends the event until the endpoint responds with 2xx, for three days at most. Ignore unknown ' +
      'event types and unknown fields, because later versions can add them.',
    security: [],
    parameters: [
      {
        name: SIGNATURE_HEADER,
        in: 'header',
        required: true,
        description:
          '`t=<unix seconds>,v1=<hex>`: the time of signing, and the HMAC-SHA256 of `<t>.<raw body>` with the secret of ' +
          'the webhook. After a rotation of the secret, the header has several `v1`.',
        schema: { type: 'string' },
      },
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: toSchema(body, 'output'), example: exampleOf(type) } },
    },
    responses: { '2XX': { description: 'The endpoint received the event.' } },
  }
}

/** Returns an example event. Its IDs are the same in each process, so that the document does not change. */
function exampleOf(type: EventType): unknown {
  const data = eventFacts[type].example(EXAMPLE_TIME)
  const event = { id: newId(EXAMPLE_TIME), type, timestamp: EXAMPLE_TIME, correlationId: 'import-2027-05-20', data }
  let number = 0
  const text = JSON.stringify(event).replaceAll(UUID, () => SAMPLE_ID.slice(0, -2) + String(++number).padStart(2, '0'))
  return JSON.parse(text)
}
