import { createServer } from 'node:http'
import { verify } from 'wallet-passes-client/webhooks'

const { PORT = '8080', PASSES_WEBHOOK_SECRET: secret = '' } = process.env
createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const event = verify(Buffer.concat(chunks), request.headers['x-service-signature'], secret)
    console.log(event.type, event.id)
    response.writeHead(204).end()
  } catch (error) {
    console.error(error)
    response.writeHead(400).end()
  }
}).listen(Number(PORT))
