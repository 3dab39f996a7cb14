// A receiver of webhooks with nothing but Node: PASSES_WEBHOOK_SECRET=whsec_… node examples/webhooks/node-http.js
import { createServer } from 'node:http'
import { verify, WebhookVerificationError } from 'wallet-passes-server/webhooks'

const secret = process.env.PASSES_WEBHOOK_SECRET
if (!secret) throw new Error('Set PASSES_WEBHOOK_SECRET to the signing secret of the webhook')

const MAX_BYTES = 1024 * 1024

/** Deliveries that were dealt with. In earnest: a unique column, written in the transaction that acts on the event. */
const done = new Set()

const server = createServer(async (request, response) => {
  try {
    const rawBody = await readBody(request)
    const event = verify(rawBody, request.headers['x-service-signature'], secret)
    if (!done.has(event.id)) handle(event)
    done.add(event.id)
    response.writeHead(204).end()
  } catch (error) {
    // Anything but 2xx is sent again later: what is not signed never gets through, a fault of ours may.
    const isForged = error instanceof WebhookVerificationError
    console.error(isForged ? `Refused: ${error.message} ${error.hint ?? ''}` : error)
    response.writeHead(isForged ? 400 : 500).end()
  }
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}/`)
})

/** Be quick: answer within 15 seconds, and leave long work to a queue. */
function handle(event) {
  switch (event.type) {
    case 'pass.voided':
      console.log(`${event.data.externalPassId} is void: ${event.data.reason ?? 'no reason given'}`)
      break
    // Types of a later version come here too; leave them alone.
    default:
      console.log(`${event.type} ${event.id}`)
  }
}

/** The bytes as they came: a parser in between would change them, and the signature would no longer match. */
async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error('The body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
