import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { ServerProcess } from '../e2e/support/server.ts'

/** A request that the server has begun to read (it sent 100 Continue), and whose body is not sent yet. */
export interface HeldRequest {
  /** Sends the body. Resolves to the status of the response, or to the error that interrupted the request. */
  finish(): Promise<number | string>
}

export async function holdRequest({ url, token }: ServerProcess, path: string, body: object): Promise<HeldRequest> {
  const text = JSON.stringify(body)
  const held = request(url + path, {
    method: 'POST',
    // Use a separate connection.
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      expect: '100-continue',
    },
  })
  const answered = new Promise<number | string>((resolve) => {
    held.once('response', (answer: IncomingMessage) => resolve(answer.resume().statusCode!))
    held.once('error', (error) => resolve(String(error)))
  })
  held.flushHeaders()
  await once(held, 'continue')
  return {
    finish() {
      held.end(text)
      return answered
    },
  }
}
