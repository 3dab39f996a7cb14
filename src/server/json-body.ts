import { assertBodySize, type H3Event, HTTPError } from 'h3'

/**
 * What a body of a service outside the contract says; undefined for whatever is no JSON.
 * @throws HTTPError 413
 */
export async function readJson(event: H3Event, maxBytes: number): Promise<unknown> {
  assertBodySize(event, maxBytes)
  return event.req.json().catch((error: unknown) => {
    if (error instanceof HTTPError) throw error
    return undefined
  })
}
