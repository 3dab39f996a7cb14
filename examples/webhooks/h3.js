// A receiver of webhooks on h3: PASSES_WEBHOOK_SECRET=whsec_… node examples/webhooks/h3.js
import { bodyLimit, H3, HTTPError, serve } from 'h3'
import { verify, WebhookVerificationError } from 'wallet-passes-server/webhooks'

const secret = process.env.PASSES_WEBHOOK_SECRET
if (!secret) throw new Error('Set PASSES_WEBHOOK_SECRET to the signing secret of the webhook')

/** Deliveries that were dealt with. In earnest: a unique column, written in the transaction that acts on the event. */
const done = new Set()

const app = new H3()

app.use(bodyLimit(1024 * 1024))

app.post('/', async (event) => {
  // The text as it came, not readBody: JSON that is parsed and serialised again has another signature.
  const delivery = verifyOrRefuse(await event.req.text(), event.req.headers.get('x-service-signature'))
  if (!done.has(delivery.id)) console.log(`${delivery.type} ${delivery.id}`)
  done.add(delivery.id)
  event.res.status = 204
})

const server = serve(app, { port: Number(process.env.PORT ?? 8080), hostname: '127.0.0.1', silent: true })
await server.ready()
console.log(`Listening on ${server.url}`)

function verifyOrRefuse(rawBody, header) {
  try {
    return verify(rawBody, header, secret)
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    console.error(`Refused: ${error.message} ${error.hint ?? ''}`)
    throw new HTTPError({ status: 400 })
  }
}
